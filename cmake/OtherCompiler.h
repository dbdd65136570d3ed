// Included when Fovea's C++ libraries are used with a compiler that is
// incompatible with MLIR's; see FoveaCompiler.cmake.
#error                                                                         \
    "MLIR was compiled by another compiler, whose names of traits differ: passes would find no ops, silently. Take its compiler: cmake -DCMAKE_CXX_COMPILER=clang++-22"
