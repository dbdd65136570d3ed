// Copies into a buffer that is allocated in the loop, and copies outside of loops.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  // A buffer allocated in a loop: the ring starts outside. With one stage, only the phase changes.
  // CHECK-LABEL: gpu.func @inner
  // CHECK: warp.alloc : memref<1x64x32xbf16
  // CHECK-NEXT: %[[P:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<1>
  // CHECK: scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) -> (i32, i32)
  // CHECK-NOT: warp.alloc
  // CHECK: warp.producer_acquire %[[P]][%[[STAGE]], %[[PHASE]]]
  // CHECK: %[[FLIPPED:.*]] = arith.xori %[[PHASE]],
  // CHECK: scf.yield %[[STAGE]], %[[FLIPPED]] : i32, i32
  launch.abi @inner target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @inner(%k: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %j = %c0 to %n step %c64 {
      %b = warp.alloc : !buffer
      warp.copy "k" %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
      %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    }
    gpu.return
  }

  // A copy outside of loops: the first stage, in the first phase.
  // CHECK-LABEL: gpu.func @straight
  // CHECK: %[[Z:.*]] = arith.constant 0 : i32
  // CHECK: warp.producer_acquire %{{.*}}[%[[Z]], %[[Z]]]
  // CHECK: warp.copy async
  // CHECK: warp.producer_commit
  // CHECK: warp.consumer_wait %{{.*}}[%[[Z]], %[[Z]]]
  // CHECK: warp.local_load
  // CHECK: warp.consumer_release
  launch.abi @straight target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @straight(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    warp.copy "k" %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}
