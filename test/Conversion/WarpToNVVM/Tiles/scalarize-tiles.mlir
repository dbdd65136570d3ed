// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

!layout = tensor<64x16xi32, #warp.mma_sync<warps = 4>>
!scores = tensor<64x16xf32, #warp.mma_sync<warps = 4>>
!flags = tensor<64x16xi1, #warp.mma_sync<warps = 4>>
!rows = tensor<64x1xi32, #warp.mma_sync<warps = 4>>
!columns = tensor<1x16xi32, #warp.mma_sync<warps = 4>>
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  // A thread holds rows r and r + 8, columns c, c + 1, c + 8 and c + 9. Both
  // begin at non-negative positions, so one difference serves all elements: the
  // eight have six relative positions. Each condition precedes its select.
  // CHECK-LABEL: gpu.func @window
  // CHECK: %[[ROW_COPY:.*]] = llvm.inline_asm has_side_effects "mov.b32
  // CHECK: %[[ROW:.*]] = arith.andi %[[ROW_COPY]], %c55_i32
  // CHECK: %[[COLUMN_COPY:.*]] = llvm.inline_asm has_side_effects "mov.b32
  // CHECK: %[[COLUMN:.*]] = arith.andi %[[COLUMN_COPY]], %c6_i32
  // CHECK-DAG: %[[I:.*]] = arith.addi %{{.*}}, %[[ROW]] overflow<nsw> : i32
  // CHECK-DAG: %[[J:.*]] = arith.addi %{{.*}}, %[[COLUMN]] overflow<nsw> : i32
  // CHECK: %[[D:.*]] = arith.subi %[[I]], %[[J]] overflow<nsw> : i32
  // CHECK: %[[A:.*]] = arith.cmpi slt, %[[D]], %c100_i32
  // CHECK-NEXT: arith.select %[[A]], %{{.*}}, %{{.*}} : f32
  // CHECK-NEXT: %[[B:.*]] = arith.cmpi slt, %[[D]], %c101_i32
  // CHECK-NEXT: arith.select %[[B]], %{{.*}}, %{{.*}} : f32
  // CHECK-NEXT: arith.cmpi slt, %[[D]], %c92_i32
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: arith.cmpi slt, %[[D]], %c93_i32
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: arith.cmpi slt, %[[D]], %c108_i32
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: arith.cmpi slt, %[[D]], %c109_i32
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: arith.select %[[A]]
  // CHECK-NEXT: arith.select %[[B]]
  launch.abi @window target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @window(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %most = arith.constant 2147483584 : i32
    %i0 = arith.andi %row, %most : i32
    %j0 = arith.andi %key, %most : i32
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %i0 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %j0 : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %i = tile.broadcast %r : !rows to !layout
    %j = tile.broadcast %c : !columns to !layout
    %d = arith.subi %i, %j : !layout
    %w = arith.constant dense<100> : !layout
    %keep = arith.cmpi slt, %d, %w : !layout
    %s = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %kept = arith.select %keep, %s, %hidden : !flags, !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }

  // The same holds for unsigned comparisons, whose order equals the signed one
  // here.
  // CHECK-LABEL: gpu.func @unsigned
  // CHECK: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
  // CHECK: arith.cmpi sge, %[[D]], %c0_i32
  // CHECK: arith.cmpi sge, %[[D]], %c1_i32
  // CHECK: arith.cmpi sge, %[[D]], %c-8_i32
  launch.abi @unsigned target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @unsigned(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %most = arith.constant 2147483584 : i32
    %i0 = arith.andi %row, %most : i32
    %j0 = arith.andi %key, %most : i32
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %i0 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %j0 : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %i = tile.broadcast %r : !rows to !layout
    %j = tile.broadcast %c : !columns to !layout
    %keep = arith.cmpi uge, %i, %j : !layout
    %s = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %kept = arith.select %keep, %s, %hidden : !flags, !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }

  // For positions that may be negative, differences may overflow: comparisons
  // are not rewritten, except equality, and constants of sums are still added
  // last.
  // CHECK-LABEL: gpu.func @anywhere
  // CHECK: %[[D:.*]] = arith.subi %[[I:.*]], %[[J:.*]] : i32
  // CHECK: arith.cmpi eq, %[[D]], %c0_i32
  // CHECK: arith.cmpi slt, %[[I]], %[[J]] : i32
  // CHECK: arith.cmpi eq, %[[D]], %c1_i32
  // CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1_i32 : i32
  // CHECK: arith.cmpi slt, %[[I]], %[[NEXT]] : i32
  launch.abi @anywhere target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @anywhere(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %i0 = arith.addi %row, %row : i32
    %j0 = arith.addi %key, %key : i32
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %i0 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %j0 : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %i = tile.broadcast %r : !rows to !layout
    %j = tile.broadcast %c : !columns to !layout
    %same = arith.cmpi eq, %i, %j : !layout
    %before = arith.cmpi slt, %i, %j : !layout
    %keep = arith.ori %same, %before : !flags
    %s = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %kept = arith.select %keep, %s, %hidden : !flags, !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }

  // The upper bits of columns are one value per thread, the lower bits another
  // one plus a constant.
  // CHECK-LABEL: gpu.func @parts
  // CHECK: %[[J:.*]] = arith.addi %{{.*}}, %{{.*}} overflow<nsw> : i32
  // CHECK: %[[LOW:.*]] = arith.andi %[[J]], %c15_i32 : i32
  // CHECK: %[[HIGH:.*]] = arith.shrui %[[J]], %c4_i32 : i32
  // CHECK: %[[D:.*]] = arith.subi %[[LOW]], %[[HIGH]] overflow<nsw> : i32
  // CHECK: arith.cmpi sge, %[[D]], %c0_i32
  // CHECK: arith.cmpi sge, %[[D]], %c-1_i32
  // CHECK: arith.cmpi sge, %[[D]], %c-8_i32
  // CHECK-NOT: arith.shrui
  // CHECK-NOT: arith.remui
  launch.abi @parts target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @parts(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %most = arith.constant 2147483584 : i32
    %i0 = arith.andi %row, %most : i32
    %j0 = arith.andi %key, %most : i32
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %i0 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %j0 : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %sixteen = arith.constant dense<16> : !columns
    %high = arith.divui %c, %sixteen : !columns
    %low = arith.remui %c, %sixteen : !columns
    %far = arith.cmpi sge, %low, %high : !columns
    %keep = tile.broadcast %far : tensor<1x16xi1, #warp.mma_sync<warps = 4>> to !flags
    %s = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %kept = arith.select %keep, %s, %hidden : !flags, !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }

  // The address of each element is computed right before its load.
  // CHECK-LABEL: gpu.func @gather
  // CHECK: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
  // CHECK: arith.extui %[[D]] : i32 to i64
  // CHECK: ld.global.b32
  // CHECK: %[[NEXT:.*]] = arith.addi %[[D]], %c-1_i32 overflow<nsw> : i32
  // CHECK: arith.extui %[[NEXT]] : i32 to i64
  // CHECK: ld.global.b32
  launch.abi @gather target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @gather(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %most = arith.constant 2147483584 : i32
    %i0 = arith.andi %row, %most : i32
    %j0 = arith.andi %key, %most : i32
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %i0 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %j0 : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %i = tile.broadcast %r : !rows to !layout
    %j = tile.broadcast %c : !columns to !layout
    %d = arith.subi %i, %j : !layout
    %kept = tile.gather %k[%d, %d] : !memory[!layout, !layout] to !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }

  // The same holds for the flags of a ballot.
  // CHECK-LABEL: gpu.func @vote
  // CHECK: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
  // CHECK: %[[A:.*]] = arith.cmpi slt, %[[D]], %c0_i32
  // CHECK: %[[B:.*]] = arith.cmpi slt, %[[D]], %c1_i32
  // CHECK: %[[AB:.*]] = arith.ori %[[A]], %[[B]]
  // CHECK: arith.cmpi slt, %[[D]], %c-8_i32
  // CHECK: nvvm.vote.sync any
  launch.abi @vote target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @vote(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %most = arith.constant 2147483584 : i32
    %i0 = arith.andi %row, %most : i32
    %j0 = arith.andi %key, %most : i32
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %i0 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %j0 : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %i = tile.broadcast %r : !rows to !layout
    %j = tile.broadcast %c : !columns to !layout
    %before = arith.cmpi slt, %i, %j : !layout
    %any = warp.any %before : !flags
    %s = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %kept = arith.select %any, %s, %hidden : !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }

  // Nothing is known about the results of a loop.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: scf.for
  // CHECK: arith.cmpi slt
  launch.abi @loop target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"row", i32>, #launch.scalar<"key", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @loop(%k: !memory, %row: i32, %key: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %first = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !scores
    %found:2 = scf.for %n = %c0 to %c8 step %c1 iter_args(%sum = %first, %at = %row) -> (!scores, i32) {
      %next = arith.addf %sum, %sum : !scores
      %after = arith.addi %at, %key : i32
      scf.yield %next, %after : !scores, i32
    }
    %ri = tile.iota dim 0 : !rows
    %rs = tile.broadcast %found#1 : i32 to !rows
    %r = arith.addi %ri, %rs overflow<nsw> : !rows
    %ci = tile.iota dim 1 : !columns
    %cs = tile.broadcast %key : i32 to !columns
    %c = arith.addi %ci, %cs overflow<nsw> : !columns
    %i = tile.broadcast %r : !rows to !layout
    %j = tile.broadcast %c : !columns to !layout
    %before = arith.cmpi slt, %i, %j : !layout
    %hidden = arith.constant dense<0xFF800000> : !scores
    %kept = arith.select %before, %found#0, %hidden : !flags, !scores
    tile.store %kept, %k[%c0, %c0] dims [0, 1] : !scores, !memory
    gpu.return
  }
}
