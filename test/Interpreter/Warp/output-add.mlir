// Two warp groups add three f32 tiles each to the same elements; the last rows
// are out of bounds. All copies are outstanding together, and the sums are the
// same in any order.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f32 "np.arange(3 * 128 * 32).reshape(3, 128, 32) % 7 - 3"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy --seeds=20
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s
// CHECK: shape 100 32
// Ten, and (-3 + -2 + -1), (-2 + -1 + 0), ...: 4096 elements are one more than
// 585 times 7.
// CHECK-NEXT: {{^}}4 7 10 13 16 12 8 4 7
// CHECK-COUNT-99: {{^[0-9]+ }}

// The wait is for the writes of earlier copies, not only for their reads.
// RUN: sed 's/copy_out_wait written/copy_out_wait/' %s > %t.read.mlir
// RUN: not fovea-run %t.read.mlir --inputs %t.x.npy --seeds=20
#reg = #warp.wgmma<groups = 2>
!x = memref<3x128x32xf32>
!o = memref<100x32xf32>
!t = tensor<128x32xf32, #reg>
!bs = memref<3x128x32xf32, #warp.shared<row_bytes = 128>>
!b = memref<128x32xf32, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<3x128x32xf32>, ["N", "R", "C"], 16>, #launch.tensor<"o", write, tensor<100x32xf32>, ["S", "C"], 16>])
    parameters([#launch.memref<"x", [0, 1, 2]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%x: !x, %o: !o) kernel {
    %bs = warp.alloc : !bs
    warp.specialize captures(%x, %o, %bs : !x, !o, !bs)
      role @compute warps(8) regs(240) {
      ^bb0(%x0: !x, %o0: !o, %bs0: !bs):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %z = arith.constant 0 : i32
        %ten = arith.constant dense<10.0> : !t
        %first = warp.stage %bs0[%z] : !bs to !b
        warp.local_store %ten to %first : !t, !b
        warp.fence_stores %first : !b
        warp.copy_out async %first to %o0[%c0, %c0] dims [0, 1] : !b to !o
        warp.copy_out_wait written %first : !b
        scf.for %n = %c0 to %c3 step %c1 {
          %s = arith.index_cast %n : index to i32
          %stage = warp.stage %bs0[%s] : !bs to !b
          %part = tile.load %x0[%n, %c0, %c0] dims [1, 2] : !x to !t
          warp.local_store %part to %stage : !t, !b
          warp.fence_stores %stage : !b
          warp.copy_out async add %stage to %o0[%c0, %c0] dims [0, 1] : !b to !o
        }
        warp.copy_out_wait %bs0 : !bs
        warp.return
      }
    gpu.return
  }
}
