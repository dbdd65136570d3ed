// Random masks: no visible key is outside [lb, ub), and no masked key in [fb, fe).
//
// RUN: %python %S/Inputs/mask_bounds.py generate 20 150 > %t.mlir
// RUN: fovea-opt %t.mlir --attn-analyze-mask --mlir-print-op-generic | %python %S/Inputs/mask_bounds.py check 20 | FileCheck %s
// CHECK: 150 masks hold
