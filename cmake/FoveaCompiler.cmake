# fovea_check_compiler(VARIABLE): true if this project's C++ compiler is compatible with the MLIR
# found.
#
# MLIR identifies a trait by its name as the compiler prints it. GCC prints other names than Clang,
# with which Debian's packages are built. A program that mixes both links and runs but finds no
# trait of any op, so that matchers silently match nothing. (Without -fvisibility=hidden, with which
# Fovea's libraries are compiled, the dynamic linker may hide the problem.)

include(CheckCXXSourceRuns)

function(fovea_check_compiler variable)
  set(${variable} ON PARENT_SCOPE)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT CXX IN_LIST languages OR CMAKE_CXX_COMPILER_ID MATCHES Clang OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(CMAKE_REQUIRED_FLAGS "-std=c++17 -fPIC -fvisibility=hidden")
  if(NOT LLVM_ENABLE_RTTI)
    string(APPEND CMAKE_REQUIRED_FLAGS " -fno-rtti")
  endif()
  set(CMAKE_REQUIRED_INCLUDES ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  if(TARGET MLIR)
    set(CMAKE_REQUIRED_LIBRARIES MLIR LLVM)
  else()
    set(CMAKE_REQUIRED_LIBRARIES MLIRArithDialect)
  endif()
  check_cxx_source_runs([[
    #include "mlir/Dialect/Arith/IR/Arith.h"
    int main() {
      mlir::MLIRContext context;
      context.loadDialect<mlir::arith::ArithDialect>();
      return !mlir::OperationName("arith.constant", &context).hasTrait<mlir::OpTrait::ConstantLike>();
    }]] FOVEA_COMPILER_KNOWS_TRAITS)
  if(NOT FOVEA_COMPILER_KNOWS_TRAITS)
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()
