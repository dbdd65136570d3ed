// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics | FileCheck %s

// One warp executes a role that fills pipelines, and all its lanes take part in
// the ballot; an elected lane acts for the warp.
// CHECK-LABEL: gpu.func @f
// CHECK: nvvm.setmaxregister{{ +}}decrease 24
// CHECK: scf.if
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync
// CHECK: %[[FLAG:.*]] = vector.to_elements %{{.*}} : vector<1xi1>
// CHECK: %[[BITS:.*]] = nvvm.vote.sync{{ +}}ballot %{{.*}}, %[[FLAG]] -> i32
// CHECK: llvm.intr.ctpop(%[[BITS]])
// CHECK: llvm.intr.cttz"(%[[BITS]]) <{is_zero_poison = false}>
// CHECK: mbarrier.try_wait
// CHECK: mbarrier.arrive.shared{{.*}}, %[[LEADER]] :
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?xi32>, ["S"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(64)
  gpu.func @f(%o: memref<?xi32, strided<[?]>>) kernel {
    %p = warp.pipeline offset(0) : !warp.pipeline<1>
    warp.specialize captures(%p, %o : !warp.pipeline<1>, memref<?xi32, strided<[?]>>)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !warp.pipeline<1>, %o0: memref<?xi32, strided<[?]>>):
        %c0 = arith.constant 0 : index
        %n = memref.load %o0[%c0] : memref<?xi32, strided<[?]>>
        %i = tile.iota dim 1 : tensor<1x32xi32, #warp.lanes>
        %b = tile.broadcast %n : i32 to tensor<1x32xi32, #warp.lanes>
        %f = arith.cmpi slt, %i, %b : tensor<1x32xi32, #warp.lanes>
        %bits = tile.ballot %f : tensor<1x32xi1, #warp.lanes>
        %s = math.ctpop %bits : i32
        %t = math.cttz %bits : i32
        warp.producer_acquire %p0[%s, %t] : !warp.pipeline<1>
        warp.producer_commit %p0[%s, %t] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p1: !warp.pipeline<1>, %o1: memref<?xi32, strided<[?]>>):
        %z = arith.constant 0 : i32
        warp.consumer_wait %p1[%z, %z] : !warp.pipeline<1>
        warp.consumer_release %p1[%z, %z] : !warp.pipeline<1>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @layout target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @layout() kernel {
    %i = tile.iota dim 1 : tensor<1x32xi32, #warp.mma_sync<warps = 4>>
    %f = arith.cmpi slt, %i, %i : tensor<1x32xi32, #warp.mma_sync<warps = 4>>
    // expected-error@below {{expected one flag per lane, found 'tensor<1x32xi1, #warp.mma_sync<warps = 4>>'}}
    // expected-error@below {{failed to legalize operation 'tile.ballot'}}
    %bits = tile.ballot %f : tensor<1x32xi1, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}
