// RUN: fovea-opt %s | FileCheck %s
// CHECK-LABEL: func.func @f
// CHECK: attn.forward
func.func @f() {
}
// CHECK: attn.backward
func.func @g() {
}
// Of this one nothing is expected.
func.func @h() {
}
