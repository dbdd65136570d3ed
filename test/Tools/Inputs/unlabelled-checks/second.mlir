// RUN: fovea-opt %s | FileCheck %s
// CHECK-LABEL: func.func @f
// CHECK: attn.forward
func.func @f() {
}
// CHECK: attn.backward
func.func @g() {
}
// The test expects nothing of this function.
func.func @h() {
}
