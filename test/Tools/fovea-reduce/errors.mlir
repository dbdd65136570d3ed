// The reason of a failed reduction is printed.
// RUN: not fovea-reduce %s --reduction-tree="traversal-mode=0 test=%S/Inputs/has-mask.sh" -o %t.mlir 2>&1 | FileCheck %s
// CHECK: errors.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: use of undeclared SSA value name
func.func @f() -> index { return %none : index }
