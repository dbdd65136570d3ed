// What C++ sees that links Fovea's libraries by a compiler that does not
// understand MLIR's: see FoveaCompiler.cmake.
#error                                                                         \
    "MLIR was compiled by another compiler, whose names of traits differ: passes would find no ops, silently. Take its compiler: cmake -DCMAKE_CXX_COMPILER=clang++-22"
