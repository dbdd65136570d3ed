// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// A warp of 16 rows and 32 columns has 47 relative positions, two registers per
// lane. A thread needs 10 of them for 16 scores, 6 of which occur twice.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 48 : i32
// CHECK-DAG: %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[FIFTEEN:.*]] = arith.constant 15 : i32
// CHECK-DAG: %[[SIXTEEN:.*]] = arith.constant 16 : i32
// CHECK-DAG: %[[OFFSETS:.*]] = arith.constant dense<[0, 16]> : vector<2xi32>
// CHECK: %[[LANE:.*]] = arith.remui %[[T:.*]], %{{.*}} : i32
// CHECK: %[[WARP:.*]] = arith.divui %[[T]], %{{.*}} : i32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[WARP]], %[[SIXTEEN]]
// CHECK: %[[START:.*]] = arith.subi %[[FIRST]], %[[BEFORE]]
// CHECK: %[[BASE:.*]] = arith.addi %[[START]], %[[LANE]]
// CHECK: %[[HELD:.*]]:2 = vector.to_elements
// CHECK: %[[AT15:.*]] = arith.addi %[[D:.*]], %[[FIFTEEN]]
// CHECK: %[[ZERO:.*]] = nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#0, %[[AT15]]
// CHECK: %[[AT16:.*]] = arith.addi %[[D]], %[[SIXTEEN]]
// CHECK: %[[ONE:.*]] = nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#0, %[[AT16]]
// CHECK: %[[AT7:.*]] = arith.addi %[[D]], %[[SEVEN]]
// CHECK: %[[BELOW:.*]] = nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#0, %[[AT7]]
// CHECK: %[[AT8:.*]] = arith.addi %[[D]], %[[EIGHT]]
// CHECK: %[[NEXT:.*]] = nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#0, %[[AT8]]
// CHECK: %[[X:.*]] = nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#1, %[[AT7]]
// CHECK: %[[Y:.*]] = nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#1, %[[AT8]]
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}idx %{{.*}}, %[[HELD]]#1
// CHECK-NOT: nvvm.shfl.sync
// CHECK: %[[Z:.*]] = llvm.bitcast %[[ZERO]]
// CHECK: %[[O:.*]] = llvm.bitcast %[[ONE]]
// CHECK: llvm.bitcast %[[BELOW]]
// CHECK: llvm.bitcast %[[NEXT]]
// CHECK: llvm.bitcast %[[X]]
// CHECK: llvm.bitcast %[[Y]]
// CHECK: st.global{{.*}} %{{.*}}, %[[Z]], %{{.*}} : (!llvm.ptr<1>, i32, i32)
// CHECK: st.global{{.*}} %{{.*}}, %[[O]], %{{.*}} : (!llvm.ptr<1>, i32, i32)
!d = tensor<1x96xf32, #warp.diagonals<rows = 64, warps = 4>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %i = tile.iota dim 1 : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>>
    %f = arith.sitofp %i : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>> to !d
    %x = tile.diagonals %f : !d to tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    tile.store %x, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #warp.mma_sync<warps = 4>>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @warps target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @warps(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %f = arith.constant dense<1.0> : tensor<1x96xf32, #warp.diagonals<rows = 64, warps = 2>>
    // expected-error@+2 {{expected the relative positions in the warps that own their rows}}
    // expected-error@+1 {{failed to legalize operation 'tile.diagonals'}}
    %x = tile.diagonals %f : tensor<1x96xf32, #warp.diagonals<rows = 64, warps = 2>> to tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    tile.store %x, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #warp.mma_sync<warps = 4>>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}
