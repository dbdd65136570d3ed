// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// One address for all elements: sums a thread's eight elements (two rows of
// four columns), then those of the warp's lanes. The first lane of each warp
// adds the sum.
// CHECK-LABEL: gpu.func @all
// CHECK-COUNT-4: arith.select
// CHECK: arith.addf
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-1: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!tile = tensor<32x16xf32, #warp.mma_sync<warps = 2>>
gpu.module @m {
  launch.abi @all target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<1xf32>, ["A"], 4>]) parameters([#launch.memref<"o", [0]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @all(%o: memref<1xf32>, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    %c = tile.iota dim 1 : tensor<1x16xi32, #warp.mma_sync<warps = 2>>
    %last = arith.constant dense<15> : tensor<1x16xi32, #warp.mma_sync<warps = 2>>
    %keep = arith.cmpi slt, %c, %last : tensor<1x16xi32, #warp.mma_sync<warps = 2>>
    tile.scatter add %t, %o[%c0] mask(%keep : tensor<1x16xi1, #warp.mma_sync<warps = 2>>) : !tile, memref<1xf32>[index]
    gpu.return
  }
}

// -----

// An exact sum: a number is added to the integer of its exponent's bin, as a
// multiple of the bin's smallest unit.
// CHECK-LABEL: gpu.func @exact
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK: llvm.getelementptr {{.*}} -> !llvm.ptr<1>, i64
// CHECK-COUNT-1: red.global.add.u64
// CHECK-NOT: red.global
// CHECK: gpu.return
!tile = tensor<32x16xf32, #warp.mma_sync<warps = 2>>
gpu.module @m {
  launch.abi @exact target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<33x1xi64>, ["K", "A"], 8>]) parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @exact(%o: memref<33x1xi64>, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    tile.scatter add exact %t, %o[%c0] : !tile, memref<33x1xi64>[index]
    gpu.return
  }
}

// -----

// An address per row: two rows per thread, which four lanes share.
// CHECK-LABEL: gpu.func @rows
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-2: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!tile = tensor<32x16xf32, #warp.mma_sync<warps = 2>>
gpu.module @m {
  launch.abi @rows target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["A"], 4>]) parameters([#launch.memref<"o", [0]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @rows(%o: memref<?xf32>, %x: f32) kernel {
    %t = tile.broadcast %x : f32 to !tile
    %r = tile.iota dim 0 : tensor<32x1xi32, #warp.mma_sync<warps = 2>>
    tile.scatter add %t, %o[%r] : !tile, memref<?xf32>[tensor<32x1xi32, #warp.mma_sync<warps = 2>>]
    gpu.return
  }
}

// -----

// An address per pair: each thread adds its elements.
// CHECK-LABEL: gpu.func @pairs
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-8: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!tile = tensor<32x16xf32, #warp.mma_sync<warps = 2>>
gpu.module @m {
  launch.abi @pairs target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?x?xf32>, ["A", "B"], 4>]) parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @pairs(%o: memref<?x?xf32>, %x: f32) kernel {
    %t = tile.broadcast %x : f32 to !tile
    %r = tile.iota dim 0 : tensor<32x1xi32, #warp.mma_sync<warps = 2>>
    %c = tile.iota dim 1 : tensor<1x16xi32, #warp.mma_sync<warps = 2>>
    tile.scatter add %t, %o[%r, %c] : !tile, memref<?x?xf32>[tensor<32x1xi32, #warp.mma_sync<warps = 2>>, tensor<1x16xi32, #warp.mma_sync<warps = 2>>]
    gpu.return
  }
}

// -----

// The same with a per-pair index, such as a bucket of the relative position: if
// four registers of all lanes have the same address, they are summed first.
// CHECK-LABEL: gpu.func @buckets
// CHECK: %[[PLACE:.*]] = nvvm.shfl.sync idx
// CHECK-COUNT-4: arith.cmpi eq, %{{.*}}, %[[PLACE]] : i32
// CHECK: %[[ARE_ONE:.*]] = nvvm.vote.sync all
// CHECK: scf.if %[[ARE_ONE]]
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-COUNT-1: red.global.add.f32
// CHECK: } else {
// CHECK-COUNT-4: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: nvvm.vote.sync all
// CHECK-COUNT-5: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!tile = tensor<32x16xf32, #warp.mma_sync<warps = 2>>
!places = tensor<32x16xi32, #warp.mma_sync<warps = 2>>
gpu.module @m {
  launch.abi @buckets target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["A"], 4>]) parameters([#launch.memref<"o", [0]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @buckets(%o: memref<?xf32>, %x: f32) kernel {
    %t = tile.broadcast %x : f32 to !tile
    %r = tile.iota dim 0 : tensor<32x1xi32, #warp.mma_sync<warps = 2>>
    %c = tile.iota dim 1 : tensor<1x16xi32, #warp.mma_sync<warps = 2>>
    %rows = tile.broadcast %r : tensor<32x1xi32, #warp.mma_sync<warps = 2>> to !places
    %columns = tile.broadcast %c : tensor<1x16xi32, #warp.mma_sync<warps = 2>> to !places
    %sum = arith.addi %rows, %columns : !places
    %eight = arith.constant dense<8> : !places
    %bucket = arith.divui %sum, %eight : !places
    tile.scatter add %t, %o[%bucket] : !tile, memref<?xf32>[!places]
    gpu.return
  }
}

// -----

// An address per relative position: 16 rows and 32 columns of a warp have 47 of
// them. Of eight blocks of 8 rows and columns five have relative positions of
// their own, with two columns per thread. The thread reduces them to two
// registers with 5 + 3 + 2 exchanges, and moves these once more. No tile of
// relative positions is built. The index counts along relative positions, from
// the tensor's end if negative, so addresses are not compared.
// CHECK-LABEL: gpu.func @diagonals
// CHECK-DAG: %[[HELD:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xi32>
// CHECK-COUNT-12: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// Relative positions without a sum are not added, nor are duplicates in two
// registers.
// CHECK: arith.cmpf une
// CHECK-NOT: nvvm.vote
// CHECK-COUNT-2: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!tile = tensor<32x32xf32, #warp.mma_sync<warps = 2>>
!places = tensor<32x32xi32, #warp.mma_sync<warps = 2>>
!d = tensor<1x64xi32, #warp.diagonals<rows = 32, warps = 2>>
gpu.module @m {
  launch.abi @diagonals target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 32, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["A"], 4>]) parameters([#launch.memref<"o", [0]>, #launch.scalar<"x", f32>, #launch.scalar<"n", i32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @diagonals(%o: memref<?xf32>, %x: f32, %n: i32) kernel {
    %t = tile.broadcast %x : f32 to !tile
    %i = tile.iota dim 1 : !d
    %first = arith.constant dense<-31> : !d
    %zero = arith.constant dense<0> : !d
    %size = tile.broadcast %n : i32 to !d
    %distance = arith.addi %i, %first : !d
    %from_end = arith.addi %distance, %size : !d
    %negative = arith.cmpi slt, %distance, %zero : !d
    %index = arith.select %negative, %from_end, %distance : tensor<1x64xi1, #warp.diagonals<rows = 32, warps = 2>>, !d
    %place = tile.diagonals %index : !d to !places
    tile.scatter add %t, %o[%place] : !tile, memref<?xf32>[!places]
    gpu.return
  }
}

// -----

// Buckets of relative positions: if all have one address, a thread's elements
// are summed directly. Otherwise adjacent lanes may have one address, and the
// first of them adds the sum of all.
// CHECK-LABEL: gpu.func @runs
// CHECK: %[[HELD:.*]] = arith.divui %{{.*}}, %{{.*}} : vector<2xi32>
// CHECK: %[[PLACES:.*]]:2 = vector.to_elements %[[HELD]] : vector<2xi32>
// CHECK: %[[FIRST:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[PLACES]]#0, %{{.*}} : i32
// CHECK-DAG: arith.cmpi eq, %[[PLACES]]#0, %[[FIRST]]
// CHECK-DAG: arith.cmpi eq, %[[PLACES]]#1, %[[FIRST]]
// CHECK: %[[ARE_ONE:.*]] = nvvm.vote.sync all
// CHECK: scf.if %[[ARE_ONE]]
// CHECK-NOT: nvvm.shfl.sync idx
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-COUNT-1: red.global.add.f32
// CHECK: } else {
// CHECK-COUNT-12: nvvm.shfl.sync idx
// CHECK: %[[NEXT:.*]] = nvvm.shfl.sync down %{{.*}}, %[[PLACES]]#0, %{{.*}} : i32
// CHECK: arith.cmpi ne, %[[PLACES]]#0, %[[NEXT]] : i32
// CHECK: %[[ENDS:.*]] = nvvm.vote.sync ballot
// CHECK: %[[BEHIND:.*]] = arith.andi %[[ENDS]], %{{.*}} : i32
// CHECK: %[[LAST:.*]] = "llvm.intr.cttz"(%[[BEHIND]])
// CHECK: nvvm.shfl.sync down %{{.*}}, %[[PLACES]]#1, %{{.*}} : i32
// CHECK: %[[OTHER_ENDS:.*]] = nvvm.vote.sync ballot
// CHECK: %[[BEHIND:.*]] = arith.andi %[[OTHER_ENDS]], %{{.*}} : i32
// CHECK: %[[OTHER_LAST:.*]] = "llvm.intr.cttz"(%[[BEHIND]])
// The steps of both are interleaved, for distances of one lane, two, up to
// sixteen.
// CHECK: %[[PAIR:.*]] = nvvm.shfl.sync down %{{.*}}, %{{.*}}, %{{.*}}, %[[LAST]] {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
// CHECK: %[[VALUE:.*]] = llvm.extractvalue %[[PAIR]][0]
// CHECK: %[[GOES_ON:.*]] = llvm.extractvalue %[[PAIR]][1]
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[VALUE]] : f32
// CHECK: arith.select %[[GOES_ON]], %[[SUM]], %{{.*}} : f32
// CHECK-COUNT-4: nvvm.shfl.sync down {{.*}}, %[[LAST]]
// CHECK: nvvm.shfl.sync down {{.*}}, %[[OTHER_LAST]]
// CHECK-NOT: nvvm.shfl.sync
// CHECK: arith.cmpf une
// CHECK-COUNT-2: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!tile = tensor<32x32xf32, #warp.mma_sync<warps = 2>>
!places = tensor<32x32xi32, #warp.mma_sync<warps = 2>>
!d = tensor<1x64xi32, #warp.diagonals<rows = 32, warps = 2>>
gpu.module @m {
  launch.abi @runs target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 32, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["A"], 4>]) parameters([#launch.memref<"o", [0]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @runs(%o: memref<?xf32>, %x: f32) kernel {
    %t = tile.broadcast %x : f32 to !tile
    %i = tile.iota dim 1 : !d
    %sixteen = arith.constant dense<16> : !d
    %bucket = arith.divui %i, %sixteen : !d
    %place = tile.diagonals %bucket : !d to !places
    tile.scatter add %t, %o[%place] : !tile, memref<?xf32>[!places]
    gpu.return
  }
}

// -----

// Each warp holds the whole tile, and would add it.
!tile = tensor<1x16xf32, #warp.mma_sync<warps = 2>>
gpu.module @m {
  launch.abi @row target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, warps = 2>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["A"], 4>]) parameters([#launch.memref<"o", [0]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(64) shared_memory(0)
  gpu.func @row(%o: memref<?xf32>, %x: f32) kernel {
    %t = tile.broadcast %x : f32 to !tile
    %c = tile.iota dim 1 : tensor<1x16xi32, #warp.mma_sync<warps = 2>>
    // expected-error@+2 {{expected a tile of several rows whose elements are partitioned among threads, found 'tensor<1x16xf32, #warp.mma_sync<warps = 2>>'}}
    // expected-error@+1 {{failed to legalize operation 'tile.scatter'}}
    tile.scatter add %t, %o[%c] : !tile, memref<?xf32>[tensor<1x16xi32, #warp.mma_sync<warps = 2>>]
    gpu.return
  }
}
