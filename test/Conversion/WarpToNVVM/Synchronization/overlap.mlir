// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics | FileCheck %s

// Each role that reads scratch memory waits for the earlier kernels, so the
// host need not wait. Loads use a pointer that is defined at the wait.
// CHECK: launch.abi @helper
// CHECK-NOT: overlapped
// CHECK-LABEL: gpu.func @helper
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: launch.abi @f
// CHECK-SAME: prologue([@helper]) overlapped
// CHECK-LABEL: gpu.func @f
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.setmaxregister {{ *}}decrease 24
// CHECK: nvvm.griddepcontrol wait
// CHECK: nvvm.setmaxregister {{.*}}240
// CHECK: nvvm.griddepcontrol wait
// CHECK: %[[SCRATCH:.*]] = llvm.inline_asm has_side_effects "", "=l,0" %{{.*}} : (!llvm.ptr<1>) -> !llvm.ptr<1>
// CHECK: llvm.inline_asm "{{.*}}ld.global{{.*}} %[[SCRATCH]],
// CHECK: llvm.store
// CHECK-NOT: griddepcontrol
!s = memref<?xi32>
gpu.module @m {
  launch.abi @helper target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>]) parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @helper(%s: !s) kernel {
    launch.allow_overlap
    %c0 = arith.constant 0 : index
    %least = arith.constant 0 : i32
    memref.store %least, %s[%c0] : !s
    gpu.return
  }
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 8, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>, #launch.tensor<"y", write, tensor<64xi32>, ["T"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>, #launch.memref<"y", [0]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16) prologue([@helper])
  gpu.func @f(%s: !s, %y: memref<64xi32>) kernel {
    warp.specialize captures(%s, %y : !s, memref<64xi32>)
      role @load warps(4) regs(24) {
      ^bb0(%s0: !s, %y0: memref<64xi32>):
        launch.await_previous
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%s0: !s, %y0: memref<64xi32>):
        %c0 = arith.constant 0 : index
        launch.await_previous
        %x = memref.load %s0[%c0] : !s
        %t = tile.broadcast %x : i32 to tensor<64x1xi32, #warp.wgmma<groups = 1>>
        tile.store %t, %y0[%c0] dims [0, -1] : tensor<64x1xi32, #warp.wgmma<groups = 1>>, memref<64xi32>
        warp.return
      }
    gpu.return
  }
}

// -----

// One role waits, the other one reads.
!s = memref<?xi32>
gpu.module @m {
  launch.abi @helper target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>]) parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @helper(%s: !s) kernel {
    %c0 = arith.constant 0 : index
    %least = arith.constant 0 : i32
    memref.store %least, %s[%c0] : !s
    gpu.return
  }
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 8, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>, #launch.tensor<"y", write, tensor<64xi32>, ["T"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>, #launch.memref<"y", [0]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16) prologue([@helper])
  gpu.func @f(%s: !s, %y: memref<64xi32>) kernel {
    warp.specialize captures(%s, %y : !s, memref<64xi32>)
      role @load warps(4) regs(24) {
      ^bb0(%s0: !s, %y0: memref<64xi32>):
        launch.await_previous
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%s0: !s, %y0: memref<64xi32>):
        %c0 = arith.constant 0 : index
        // expected-error@+1 {{accesses scratch memory of an earlier kernel: expected 'launch.await_previous' before it}}
        %x = memref.load %s0[%c0] : !s
        %t = tile.broadcast %x : i32 to tensor<64x1xi32, #warp.wgmma<groups = 1>>
        tile.store %t, %y0[%c0] dims [0, -1] : tensor<64x1xi32, #warp.wgmma<groups = 1>>, memref<64xi32>
        warp.return
      }
    gpu.return
  }
}

// -----

// A wait in a branch does not precede a use outside of the branch.
!s = memref<?xi32>
gpu.module @m {
  launch.abi @helper target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>]) parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @helper(%s: !s) kernel {
    %c0 = arith.constant 0 : index
    %least = arith.constant 0 : i32
    memref.store %least, %s[%c0] : !s
    gpu.return
  }
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>, #launch.scalar<"c", i1>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) prologue([@helper])
  gpu.func @f(%s: !s, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    scf.if %c {
      launch.await_previous
    }
    // expected-error@+1 {{accesses scratch memory of an earlier kernel: expected 'launch.await_previous' before it}}
    %x = memref.load %s[%c0] : !s
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{is in the first kernel of its launch: expected an earlier kernel}}
    launch.await_previous
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{is not for target 'sm_80', where launches do not overlap}}
    launch.allow_overlap
    gpu.return
  }
}

// -----

// A view of scratch memory, created and read before the wait.
!s = memref<?xi32>
gpu.module @m {
  launch.abi @helper target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>]) parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @helper(%s: !s) kernel {
    %c0 = arith.constant 0 : index
    %least = arith.constant 0 : i32
    memref.store %least, %s[%c0] : !s
    gpu.return
  }
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) prologue([@helper])
  gpu.func @f(%s: !s) kernel {
    // expected-error@+1 {{accesses scratch memory of an earlier kernel: expected 'launch.await_previous' before it}}
    %view = memref.cast %s : !s to memref<4xi32>
    launch.await_previous
    gpu.return
  }
}

// -----

// The second kernel of a prologue does not access the memory of the first one:
// it waits at its end, for the kernels that wait for it. Sizes may be read
// without a wait.
// CHECK-LABEL: launch.abi @first
// CHECK-NOT: overlapped
// CHECK: launch.abi @second
// CHECK-SAME: overlapped
// CHECK-LABEL: gpu.func @second
// CHECK: memref.store
// CHECK: nvvm.griddepcontrol wait
// CHECK: gpu.return
!s = memref<?xi32>
gpu.module @m {
  launch.abi @first target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>]) parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @first(%s: !s) kernel {
    %c0 = arith.constant 0 : index
    %least = arith.constant 0 : i32
    memref.store %least, %s[%c0] : !s
    gpu.return
  }
  launch.abi @second target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>, #launch.scratch_memref<"most", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
  gpu.func @second(%least: !s, %most: !s) kernel {
    %c0 = arith.constant 0 : index
    %size = memref.dim %least, %c0 : !s
    %number = arith.index_cast %size : index to i32
    memref.store %number, %most[%c0] : !s
    launch.await_previous
    gpu.return
  }
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 8, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s)>>, #launch.scratch_memref<"most", ["S"] affine_map<()[s] -> (s)>>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0) prologue([@first, @second])
  gpu.func @f(%least: !s, %most: !s) kernel {
    gpu.return
  }
}
