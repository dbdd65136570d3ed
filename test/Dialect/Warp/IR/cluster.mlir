// RUN: fovea-opt %s | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @f
func.func @f() {
  // CHECK: warp.alloc : memref<2x256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
  %q = warp.alloc : memref<2x256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
  // CHECK: warp.stage {{.*}} to memref<256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
  %z = arith.constant 0 : i32
  %s = warp.stage %q[%z] : memref<2x256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>> to memref<256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
  // By default each CTA keeps all rows, and one CTA runs the program.
  // CHECK: warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
  %k = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128, ctas = 1>>
  // CHECK: warp.specialize captures(%{{.*}} : i32) cluster(2)
  // CHECK-NEXT: role @compute warps(8) regs(168)
  warp.specialize captures(%z : i32) cluster(2)
    role @compute warps(8) regs(168) {
    ^bb0(%z0: i32):
      warp.return
    }
  // CHECK: warp.specialize
  // CHECK-NOT: cluster
  warp.specialize cluster(1)
    role @compute warps(8) regs(168) { warp.return }
  return
}
