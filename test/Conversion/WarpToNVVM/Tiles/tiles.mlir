// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-lower-ballots),warp-to-nvvm))' --split-input-file | FileCheck %s

// A thread holds rows l / 4 and l / 4 + 8 of its warp's 16.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[OFFSETS:.*]] = arith.constant dense<[0, 8]> : vector<2xi32>
// CHECK-DAG: %[[STEPS:.*]] = arith.constant dense<[0, 1, 8, 9]> : vector<4xi32>
// CHECK-DAG: arith.constant dense<1.000000e+00> : vector<8xf32>
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    // CHECK: %[[LANE:.*]] = arith.remui %[[T:.*]], %{{.*}} : i32
    // CHECK: %[[ROW:.*]] = arith.divui %[[LANE]], %{{.*}} : i32
    // CHECK: %[[WARP:.*]] = arith.divui %[[T]], %{{.*}} : i32
    // CHECK: %[[FIRST:.*]] = arith.muli %[[WARP]], %{{.*}} : i32
    // CHECK: %[[BASE:.*]] = arith.addi %[[FIRST]], %[[ROW]]
    // CHECK: %[[APART:.*]] = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %[[BASE]]
    // CHECK: %[[KNOWN:.*]] = arith.andi %[[APART]], %{{.*}} : i32
    // CHECK: %[[BASES:.*]] = vector.broadcast %[[KNOWN]] : i32 to vector<2xi32>
    // CHECK: %[[ROWS:.*]] = arith.addi %[[BASES]], %[[OFFSETS]]
    %rows = tile.iota dim 0 : tensor<64x1xi32, #warp.mma_sync<warps = 4>>
    // CHECK: %[[COLUMNS:.*]] = arith.addi %{{.*}}, %[[STEPS]] : vector<4xi32>
    %columns = tile.iota dim 1 : tensor<1x16xi32, #warp.mma_sync<warps = 4>>
    // CHECK: %[[R:.*]] = vector.shuffle %[[ROWS]], %[[ROWS]] [0, 0, 1, 1, 0, 0, 1, 1]
    %r = tile.broadcast %rows : tensor<64x1xi32, #warp.mma_sync<warps = 4>> to tensor<64x16xi32, #warp.mma_sync<warps = 4>>
    // CHECK: %[[C:.*]] = vector.shuffle %[[COLUMNS]], %[[COLUMNS]] [0, 1, 0, 1, 2, 3, 2, 3]
    %c = tile.broadcast %columns : tensor<1x16xi32, #warp.mma_sync<warps = 4>> to tensor<64x16xi32, #warp.mma_sync<warps = 4>>
    // CHECK: arith.subi %[[R]], %[[C]] : vector<8xi32>
    %distance = arith.subi %r, %c : tensor<64x16xi32, #warp.mma_sync<warps = 4>>
    // A progression: one multiply-add for the thread's first element, then
    // constants.
    // CHECK: %[[AT:.*]] = arith.sitofp %{{.*}} : i32 to f32
    // CHECK: %[[START:.*]] = llvm.call_intrinsic "llvm.fma"(%[[AT]], %[[F:.*]], %[[F]])
    // CHECK: %[[STARTS:.*]] = vector.broadcast %[[START]] : f32 to vector<4xf32>
    // CHECK: llvm.call_intrinsic "llvm.fma"(%{{.*}}, %{{.*}}, %[[STARTS]])
    %f = arith.constant 3.0 : f32
    %ramp = tile.ramp %f step %f dim 1 : tensor<1x16xf32, #warp.mma_sync<warps = 4>>
    %wide = tile.broadcast %ramp : tensor<1x16xf32, #warp.mma_sync<warps = 4>> to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %one = arith.constant dense<1.0> : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %biased = arith.addf %one, %wide : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %far = arith.sitofp %distance : tensor<64x16xi32, #warp.mma_sync<warps = 4>> to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %sel = arith.addf %biased, %far : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %c0 = arith.constant 0 : index
    tile.store %sel, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// The four lanes of a row exchange values: two rows, two shuffles each.
// CHECK-LABEL: gpu.func @f
// CHECK-COUNT-3: arith.addf
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.addf
// CHECK: nvvm.shfl.sync bfly
// CHECK-COUNT-3: arith.addf
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: arith.addf
// Reductions to a multiple of 8 columns stay within a thread.
// CHECK: arith.maximumf
// CHECK-NOT: nvvm.shfl
// CHECK: gpu.return
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %sum = tile.reduce add dim 1 %x : tensor<64x16xf32, #warp.mma_sync<warps = 4>> to tensor<64x1xf32, #warp.mma_sync<warps = 4>>
    %max = tile.reduce max dim 1 %x : tensor<64x16xf32, #warp.mma_sync<warps = 4>> to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    tile.store %sum, %k[%c0, %c0] dims [0, -1] : tensor<64x1xf32, #warp.mma_sync<warps = 4>>, !memory
    tile.store %max, %k[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// A ballot of a warp's rows.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[ANY:.*]] = arith.ori
// CHECK: %[[VOTE:.*]] = nvvm.vote.sync any %{{.*}}, %[[ANY]] -> i1
// CHECK: scf.if %[[VOTE]] -> (vector<2xf32>)
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X:.*]], %[[X]] : vector<2xf32>
// CHECK-NEXT: scf.yield %[[Y]]
// CHECK: else
// CHECK-NEXT: scf.yield %[[X]]
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %x = arith.constant dense<1.0> : tensor<64x1xf32, #warp.mma_sync<warps = 4>>
    %c0 = arith.constant 0 : index
    %v = tile.load %k[%c0, %c0] dims [0, -1] : !memory to tensor<64x1xf32, #warp.mma_sync<warps = 4>>
    %c = arith.cmpf ogt, %v, %x : tensor<64x1xf32, #warp.mma_sync<warps = 4>>
    %y = tile.if_any %c init(%v : tensor<64x1xf32, #warp.mma_sync<warps = 4>>) : tensor<64x1xi1, #warp.mma_sync<warps = 4>> {
    ^bb0(%a: tensor<64x1xf32, #warp.mma_sync<warps = 4>>):
      %s = arith.addf %a, %a : tensor<64x1xf32, #warp.mma_sync<warps = 4>>
      tile.yield %s : tensor<64x1xf32, #warp.mma_sync<warps = 4>>
    }
    tile.store %y, %k[%c0, %c0] dims [0, -1] : tensor<64x1xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Integer maxima form a chain, from which ptxas makes three-input maxima. A
// condition in any column holds for its row.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[A:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: %[[B:.*]] = arith.maxsi %[[A]], %{{.*}} : i32
// CHECK-NEXT: arith.maxsi %[[B]], %{{.*}} : i32
// CHECK: %[[C:.*]]:4 = vector.to_elements %{{.*}} : vector<4xi1>
// CHECK-NEXT: %[[O1:.*]] = arith.ori %[[C]]#0, %[[C]]#1
// CHECK-NEXT: %[[O2:.*]] = arith.ori %[[O1]], %[[C]]#2
// CHECK-NEXT: %[[O3:.*]] = arith.ori %[[O2]], %[[C]]#3
// CHECK: nvvm.vote.sync any %{{.*}}, %[[O3]]
!memory = memref<?x32xi32, strided<[?, 1]>>
#l = #warp.mma_sync<warps = 4>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xi32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x32xi32, #l>
    %most = tile.reduce max dim 1 %x : tensor<64x32xi32, #l> to tensor<64x8xi32, #l>
    %bound = arith.constant dense<7> : tensor<64x8xi32, #l>
    %c = arith.cmpi sge, %most, %bound : tensor<64x8xi32, #l>
    %y = tile.if_any %c init(%most : tensor<64x8xi32, #l>) : tensor<64x8xi1, #l> {
    ^bb0(%a: tensor<64x8xi32, #l>):
      %s = arith.select %c, %bound, %a : tensor<64x8xi1, #l>, tensor<64x8xi32, #l>
      tile.yield %s : tensor<64x8xi32, #l>
    }
    tile.store %y, %k[%c0, %c0] dims [0, 1] : tensor<64x8xi32, #l>, !memory
    gpu.return
  }
}
