// Items 0 and 1 have two tiles of 3 and 1 blocks, items 2 and 3 one tile of 2 blocks: 12 blocks, in
// the order of groups, tiles and items, in three shares. A block adds its number within the tile.
// RUN: %python %S/../Inputs/npy.py write %t.extents.npy i32 "[[3, 1], [2, 7]]"
// RUN: fovea-run %s --inputs %t.extents.npy --outputs %t.sums.npy
// RUN: %python %S/../Inputs/npy.py print %t.sums.npy | FileCheck %s
// CHECK: shape 8 16
// CHECK-NEXT: {{^}}3{{(.0)?}} 3
// CHECK-NEXT: {{^}}0{{(.0)?}} 0
// CHECK-NEXT: {{^}}3{{(.0)?}} 3
// CHECK-NEXT: {{^}}0{{(.0)?}} 0
// CHECK-NEXT: {{^}}1{{(.0)?}} 1
// CHECK: {{^}}1{{(.0)?}} 1

// RUN: sed 's/tile.yield %%tiles : index/tile.yield %%c0 : index/' %s > %t.none.mlir
// RUN: not fovea-run %t.none.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: group 0 must have at least 1 tile, found 0

!state = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"extents", read, tensor<2x2xi32>, ["N", "T"], 4>, #launch.tensor<"sums", write, tensor<8x16xf32>, ["I", "J"], 4>])
    parameters([#launch.memref<"extents", [0, 1]>, #launch.memref<"sums", [0, 1]>,
                #launch.scratch_memref<"parts", ["ctas"] affine_map<()[ctas] -> (ctas * 4, 16, 16)>>, #launch.workspace_memref])
    grid([] affine_map<() -> (3)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%extents: memref<2x2xi32>, %sums: memref<8x16xf32>, %parts_memory: memref<?x16x16xf32>, %counters: memref<8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !state
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) tile(%tile_of) to %c4 schedule(shares) per(%c2)
      tiles(%group: index) {
        %tiles = arith.subi %c2, %group : index
        tile.yield %tiles : index
      }
      extent(%group: index, %of: index) {
        %extent = memref.load %extents[%group, %of] : memref<2x2xi32>
        %blocks = arith.index_cast %extent : i32 to index
        tile.yield %blocks : index
      } do {
      %pair = arith.muli %w, %c2 : index
      %place = arith.addi %pair, %tile_of : index
      %sum = scf.for %block = %first to %end step %c1 iter_args(%acc = %zero) -> !state {
        %number = arith.index_cast %block : index to i32
        %float = arith.sitofp %number : i32 to f32
        %tile = tile.broadcast %float : f32 to !state
        %next = arith.addf %acc, %tile : !state
        scf.yield %next : !state
      }
      tile.join "sum" (%sum) part(%part of %parts at %cta) rows(%c1) memory(%parts_memory) counters(%counters) step 16
        : !state through memref<?x16x16xf32>, memref<8xi32>
        combine(%a: !state, %b: !state) {
          %both = arith.addf %a, %b : !state
          tile.yield %both : !state
        }
        whole(%x: !state) {
          %row = arith.addi %place, %c1 : index
          tile.store %x, %sums[%place, %c0] limit(%row) dims [0, 1] : !state, memref<8x16xf32>
          tile.yield
        }
        each(%down: index, %x: !state) {
          %row = arith.addi %place, %c1 : index
          tile.store %x, %sums[%place, %c0] limit(%row) dims [0, 1] : !state, memref<8x16xf32>
          tile.yield
        }
    }
    gpu.return
  }
}
