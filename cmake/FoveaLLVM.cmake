# Finds LLVM and MLIR, sets the flags that code linked with them needs.

find_program(FOVEA_LLVM_CONFIG NAMES llvm-config-22 llvm-config
             DOC "llvm-config of LLVM 22")
if(FOVEA_LLVM_CONFIG AND NOT LLVM_DIR)
  execute_process(COMMAND ${FOVEA_LLVM_CONFIG} --cmakedir
                  OUTPUT_VARIABLE fovea_llvm_cmake_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(LLVM_DIR ${fovea_llvm_cmake_dir})
  get_filename_component(MLIR_DIR ${fovea_llvm_cmake_dir}/../mlir ABSOLUTE)
endif()
find_package(LLVM 22.1 REQUIRED CONFIG)
find_package(MLIR REQUIRED CONFIG)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include(FoveaCompiler)
fovea_check_compiler(fovea_compiler_fits)
if(NOT fovea_compiler_fits)
  message(FATAL_ERROR "MLIR was compiled by another compiler than ${CMAKE_CXX_COMPILER}, and its names of traits differ: "
    "passes would find no ops. Take its compiler: -DCMAKE_CXX_COMPILER=clang++-22 (--preset default does)")
endif()

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
if(LLVM_ENABLE_RTTI)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-frtti>)
else()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()
add_compile_options(-ffunction-sections -fdata-sections)
# The warnings with which LLVM is built. LLVM's headers are system headers, so they cause no
# warnings.
add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-pedantic -Wwrite-strings -Wcast-qual -Wimplicit-fallthrough -Wcovered-switch-default -Wstring-conversion
    -Wmisleading-indentation)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wc++98-compat-extra-semi;-Wnon-virtual-dtor;-Wsuggest-override;-Wctad-maybe-unsupported>")
  add_link_options(-fuse-ld=lld)
endif()
if(FOVEA_WERROR)
  add_compile_options(-Werror)
endif()
if(FOVEA_SANITIZE)
  # Assertions stay enabled: those in LLVM's headers report a wrong cast where it happens. Two
  # checks need type information, which the LLVM libraries do not have.
  set(fovea_sanitize -fsanitize=${FOVEA_SANITIZE} -fno-sanitize=vptr,function -fno-sanitize-recover=all)
  add_compile_options(${fovea_sanitize} -O1 -fno-omit-frame-pointer -g1)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/StatisticsOfLLVM.h>")
  add_link_options(${fovea_sanitize})
endif()

# The two shared libraries contain everything; mixing them with the component archives would
# register every dialect twice. A portable build uses the archives instead.
add_library(fovea_mlir INTERFACE)
target_include_directories(fovea_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_features(fovea_mlir INTERFACE cxx_std_17)
install(TARGETS fovea_mlir EXPORT FoveaTargets)
if(FOVEA_STATIC_LLVM)
  execute_process(COMMAND ${FOVEA_LLVM_CONFIG} --link-static --libs nvptx passes core irreader orcjit x86 supportlsp
                  OUTPUT_VARIABLE fovea_llvm_libs OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(fovea_llvm_libs NATIVE_COMMAND ${fovea_llvm_libs})
  execute_process(COMMAND ${FOVEA_LLVM_CONFIG} --libdir
                  OUTPUT_VARIABLE fovea_llvm_libdir OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB fovea_mlir_libs ${fovea_llvm_libdir}/libMLIR*.a)
  list(FILTER fovea_mlir_libs EXCLUDE REGEX "Test|CAPI")
  target_link_libraries(fovea_mlir INTERFACE
    -Wl,--start-group ${fovea_mlir_libs} -L${fovea_llvm_libdir} ${fovea_llvm_libs} -Wl,--end-group
    -l:libzstd.a -l:libz.a -lpthread -ldl -lm)
  if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    # Before glibc 2.34, threads and the dynamic loader were separate libraries.
    add_library(fovea_older_glibc STATIC ${CMAKE_CURRENT_LIST_DIR}/OlderGlibc.c)
    target_link_libraries(fovea_older_glibc INTERFACE
      -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
    target_link_libraries(fovea_mlir INTERFACE fovea_older_glibc)
    install(TARGETS fovea_older_glibc EXPORT FoveaTargets)
  endif()
  add_link_options(-Wl,--gc-sections -Wl,--icf=all -Wl,-s -static-libstdc++ -static-libgcc)
else()
  target_link_libraries(fovea_mlir INTERFACE MLIR LLVM)
endif()
