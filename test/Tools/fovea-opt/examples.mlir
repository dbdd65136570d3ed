// Every example parses, verifies, and prints to what parses to the same.
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: fovea-opt %examples/causal.mlir -o %t.dir/once.mlir
// RUN: fovea-opt %t.dir/once.mlir -o %t.dir/twice.mlir
// RUN: diff %t.dir/once.mlir %t.dir/twice.mlir
// RUN: fovea-opt %examples/causal.mlir --emit-bytecode -o %t.dir/causal.mlirbc
// RUN: fovea-opt %t.dir/causal.mlirbc -o %t.dir/bytecode.mlir
// RUN: diff %t.dir/once.mlir %t.dir/bytecode.mlir
