// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-distribute-work)))' | FileCheck %s

// The share is found once; an empty share has no iteration. The loop carries the item, the next
// block of the share, and the first block of the item, whose extent is computed again.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[N:.*]]: index, %[[PER:.*]]: index, %[[LENGTHS:.*]]: memref<?xi32>
// CHECK: %[[CTA:.*]] = gpu.block_id x
// CHECK: %[[CTAS:.*]] = gpu.grid_dim x
// CHECK: %[[GROUPS:.*]] = arith.divui %[[N]], %[[PER]]
// CHECK: %[[TOTAL:.*]], %[[FIRST:.*]], %[[END:.*]], %[[GROUP:.*]], %[[BEFORE:.*]] = tile.take_share %[[CTA]] of %[[CTAS]] over %[[GROUPS]]
// CHECK-NEXT: blocks(%[[G:.*]]: index) {
// CHECK-NEXT: %[[I:.*]] = memref.load %[[LENGTHS]][%[[G]]]
// CHECK-NEXT: %[[X:.*]] = arith.index_cast %[[I]]
// CHECK-NEXT: %[[ALL:.*]] = arith.muli %[[X]], %[[PER]]
// CHECK-NEXT: tile.yield %[[ALL]]
// CHECK: %[[LENGTH:.*]] = memref.load %[[LENGTHS]][%[[GROUP]]]
// CHECK: %[[EXTENT:.*]] = arith.index_cast %[[LENGTH]]
// CHECK: %[[IN:.*]] = arith.subi %[[FIRST]], %[[BEFORE]]
// CHECK: %[[INSIDE:.*]] = arith.divui %[[IN]], %[[EXTENT]]
// CHECK: %[[SOME:.*]] = arith.cmpi ult, %[[FIRST]], %[[END]]
// CHECK: %[[ONCE:.*]] = arith.index_castui %[[SOME]] : i1 to index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ONCE]]
// CHECK: scf.while (%[[ITEM:.*]] = %{{.*}}, %[[BLOCK:.*]] = %[[FIRST]], %[[START:.*]] = %{{.*}})
// CHECK: %[[OF:.*]] = arith.divui %[[ITEM]], %[[PER]]
// CHECK: %[[AGAIN:.*]] = memref.load %[[LENGTHS]][%[[OF]]]
// CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[AGAIN]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[START]], %[[BLOCKS]]
// CHECK: %[[LAST:.*]] = arith.minui %[[NEXT]], %[[END]]
// CHECK: %[[FROM:.*]] = arith.subi %[[BLOCK]], %[[START]]
// CHECK: %[[TO:.*]] = arith.subi %[[LAST]], %[[START]]
// CHECK: %[[W:.*]] = arith.index_cast %[[ITEM]]
// CHECK: memref.store %[[W]], %{{.*}}[%[[FROM]], %[[TO]]]
// CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[LAST]], %[[END]]
// CHECK: scf.condition(%[[MORE]]) %{{.*}}, %[[LAST]], %[[NEXT]]
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["N"], 4>, #launch.tensor<"y", write, tensor<?x?xi32>, ["A", "B"], 4>])
    parameters([#launch.scalar<"n", index>, #launch.scalar<"per", index>, #launch.memref<"x", [0]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%n: index, %per: index, %lengths: memref<?xi32>, %y: memref<?x?xi32>) kernel {
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%per)
      extent(%g: index) {
        %x = memref.load %lengths[%g] : memref<?xi32>
        %blocks = arith.index_cast %x : i32 to index
        tile.yield %blocks : index
      } do {
      %item = arith.index_cast %w : index to i32
      memref.store %item, %y[%first, %end] : memref<?x?xi32>
    }
    gpu.return
  }
}

// With tiles, the blocks of a group are those of all its tiles. The first tile of the share is
// searched within its group; the loop carries the tile, which changes after the group's last item.
// CHECK-LABEL: gpu.func @tiles
// CHECK-SAME: %[[N:[a-z0-9_]+]]: index, %[[PER:[a-z0-9_]+]]: index, %[[EXTENTS:[a-z0-9_]+]]: memref<?x?xi32>
// CHECK: tile.take_share
// CHECK-NEXT: blocks(%[[G:[a-z0-9_]+]]: index) {
// CHECK: %[[SUM:[a-z0-9_]+]] = scf.for %[[T:[a-z0-9_]+]] = %{{.*}} to %[[G]] step %{{.*}} iter_args(%[[ACC:[a-z0-9_]+]] = %{{.*}}) -> (index) {
// CHECK: memref.load %[[EXTENTS]][%[[G]], %[[T]]]
// CHECK: arith.addi %[[ACC]],
// CHECK: %[[ALL:[a-z0-9_]+]] = arith.muli %[[SUM]], %[[PER]]
// CHECK-NEXT: tile.yield %[[ALL]]
// CHECK: scf.while (%[[TILE:[a-z0-9_]+]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: memref.load %[[EXTENTS]][%{{.*}}, %[[TILE]]]
// CHECK: scf.while (%[[ITEM:[a-z0-9_]+]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[CURRENT:[a-z0-9_]+]] = %{{.*}})
// CHECK: %[[GROUP:[a-z0-9_]+]] = arith.divui %[[ITEM]], %[[PER]]
// CHECK: memref.load %[[EXTENTS]][%[[GROUP]], %[[CURRENT]]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[CURRENT]]]
// CHECK: %[[OF:[a-z0-9_]+]] = arith.divui %[[ITEM]], %[[PER]]
// CHECK: %[[NEXT_TILE:[a-z0-9_]+]] = arith.addi %[[CURRENT]],
// CHECK: %[[HAS:[a-z0-9_]+]] = arith.cmpi ult, %[[NEXT_TILE]], %[[OF]]
// CHECK: arith.select %[[HAS]]
gpu.module @n {
  launch.abi @tiles target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x?xi32>, ["N", "T"], 4>, #launch.tensor<"y", write, tensor<?x?xi32>, ["A", "B"], 4>])
    parameters([#launch.scalar<"n", index>, #launch.scalar<"per", index>, #launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @tiles(%n: index, %per: index, %extents: memref<?x?xi32>, %y: memref<?x?xi32>) kernel {
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) tile(%t) to %n schedule(shares) per(%per)
      tiles(%g: index) {
        tile.yield %g : index
      }
      extent(%g: index, %of: index) {
        %x = memref.load %extents[%g, %of] : memref<?x?xi32>
        %blocks = arith.index_cast %x : i32 to index
        tile.yield %blocks : index
      } do {
      %item = arith.index_cast %w : index to i32
      memref.store %item, %y[%first, %t] : memref<?x?xi32>
    }
    gpu.return
  }
}

// With pieces of a fixed size the share starts at the first piece that begins in it, and the loop
// goes on to the next item after the last piece of one. The number is odd if several CTAs execute
// pieces of the item.
// CHECK-LABEL: gpu.func @pieces
// CHECK-SAME: %[[N:[a-z0-9_]+]]: index, %[[PER:[a-z0-9_]+]]: index, %[[SIZE:[a-z0-9_]+]]: index
// CHECK: tile.take_share
// CHECK: %[[SKIPPED:.*]] = arith.ceildivui %{{.*}}, %[[SIZE]]
// CHECK-NEXT: %[[BLOCKS:.*]] = arith.muli %[[SKIPPED]], %[[SIZE]]
// CHECK-NEXT: arith.cmpi ult, %[[BLOCKS]], %{{.*}}
// CHECK: scf.while (%[[ITEM:.*]] = %{{.*}}, %[[BLOCK:.*]] = %{{.*}}, %[[START:.*]] = %{{.*}})
// CHECK: %[[NEXT:.*]] = arith.addi %[[START]], %[[EXTENT:.*]] : index
// CHECK: %[[FIRST:.*]] = arith.subi %[[BLOCK]], %[[START]]
// CHECK: %[[TO:.*]] = arith.addi %[[FIRST]], %[[SIZE]]
// CHECK: %[[END:.*]] = arith.minui %[[TO]], %[[EXTENT]]
// CHECK: %[[PARTS:.*]] = arith.ceildivui %[[EXTENT]], %[[SIZE]]
// CHECK: %[[ODD:.*]] = arith.index_castui %{{.*}} : i1 to index
// CHECK: %[[EVEN:.*]] = arith.muli %{{.*}}, %c2
// CHECK: %[[NUMBER:.*]] = arith.addi %[[EVEN]], %[[ODD]]
// CHECK: %[[PART:.*]] = arith.divui %[[FIRST]], %[[SIZE]]
// CHECK: %[[LAST:.*]] = arith.addi %[[START]], %[[END]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[FIRST]], %[[END]], %[[PART]], %[[PARTS]], %[[NUMBER]]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[LAST]], %[[NEXT]]
// CHECK: %[[THEN:.*]] = arith.select %[[INSIDE]], %[[ITEM]], %{{.*}}
// CHECK: %[[FROM:.*]] = arith.select %[[INSIDE]], %[[START]], %[[NEXT]]
// CHECK: scf.condition(%{{.*}}) %[[THEN]], %[[LAST]], %[[FROM]]
gpu.module @o {
  launch.abi @pieces target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["N"], 4>, #launch.tensor<"y", write, tensor<?x?x?x?x?xi32>, ["A", "B", "C", "D", "E"], 4>])
    parameters([#launch.scalar<"n", index>, #launch.scalar<"per", index>, #launch.scalar<"size", index>, #launch.memref<"x", [0]>, #launch.memref<"y", [0, 1, 2, 3, 4]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @pieces(%n: index, %per: index, %size: index, %lengths: memref<?xi32>, %y: memref<?x?x?x?x?xi32>) kernel {
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%per)
      extent(%g: index) {
        %x = memref.load %lengths[%g] : memref<?xi32>
        %blocks = arith.index_cast %x : i32 to index
        tile.yield %blocks, %size : index, index
      } do {
      %item = arith.index_cast %w : index to i32
      memref.store %item, %y[%first, %end, %part, %parts, %cta] : memref<?x?x?x?x?xi32>
    }
    gpu.return
  }
}
