// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// Each of the two warps counts: three releases are six. All lanes poll, and
// synchronise afterwards. Before the release they synchronise, too, and one
// lane of each warp adds. Accesses are within the memref.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[TURN:[a-z0-9]+]]: i32, %[[SOME:[a-z0-9]+]]: i1) kernel
// CHECK-DAG: %[[WARPS:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: %[[COUNT:.*]] = arith.muli %[[TURN]], %[[WARPS]]
// CHECK: llvm.inline_asm has_side_effects "{{.*}}ld.acquire.gpu.global.b32 count, [$0];{{.*}}@!enough bra look;{{.*}}", "l,r,b,~{memory}" %{{.*}}, %[[COUNT]], %[[INSIDE]]
// CHECK: nvvm.bar.warp.sync %[[ALL]]
// CHECK: nvvm.bar.warp.sync %[[ALL]]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: %[[ADDS:.*]] = arith.andi %[[FIRST]], %[[INSIDE]]
// CHECK: %[[ADDS_IF:.*]] = arith.andi %[[ADDS]], %[[SOME]]
// CHECK: llvm.inline_asm has_side_effects "@$1 red.release.gpu.global.add.u32 [$0], 1;", "l,b,~{memory}" %{{.*}}, %[[ADDS_IF]]
gpu.module @m {
  gpu.func @f(%turns: memref<?xi32>, %i: index, %turn: i32, %some: i1) kernel {
    %zero = arith.constant dense<0.0> : tensor<32x16xf32, #warp.mma_sync<warps = 2>>
    tile.semaphore_wait %turns[%i] for %turn after(%zero : tensor<32x16xf32, #warp.mma_sync<warps = 2>>) : memref<?xi32>
    tile.semaphore_release %turns[%i] if(%some) : memref<?xi32>
    gpu.return
  }
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"turns", accumulate, tensor<?xi32>, ["A"], 4>])
    parameters([#launch.memref<"turns", [0]>, #launch.scalar<"i", index>, #launch.scalar<"turn", i32>, #launch.scalar<"some", i1>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
}
