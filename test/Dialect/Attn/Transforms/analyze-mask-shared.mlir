// Conditions and sums that share terms: there are 2^40 paths to the first terms, and
// the analysis traverses each term once.
//
// RUN: %python %S/Inputs/shared_parts.py 40 > %t.mlir
// RUN: fovea-opt %t.mlir --attn-analyze-mask | FileCheck %s
//
// CHECK-LABEL: func.func @conditions
// CHECK: kv_bounds
// CHECK-LABEL: func.func @choices
// CHECK: kv_bounds
// CHECK-LABEL: func.func @sums
// CHECK: kv_bounds
