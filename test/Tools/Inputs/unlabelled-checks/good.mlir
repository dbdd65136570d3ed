// RUN: fovea-opt %s --verify-diagnostics 2>&1 | FileCheck %s
// CHECK: remark: [Missed] chain
func.func @f() {
}
// CHECK-LABEL: func.func @g
// CHECK: attn.backward
func.func @g() {
}
