// Four items of 7, 7, 3 and 3 blocks in pieces of 2 blocks: 4 pieces of the first two, 2 of the others, in shares of 7, 7
// and 6 blocks. A block adds its number within the item.
// RUN: %python %S/../Inputs/npy.py write %t.extents.npy i32 "[7, 3]"
// RUN: fovea-run %s --inputs %t.extents.npy --outputs %t.sums.npy
// RUN: %python %S/../Inputs/npy.py print %t.sums.npy | FileCheck %s
// CHECK: shape 4 16
// CHECK-NEXT: {{^}}21{{(.0)?}} 21
// CHECK-NEXT: {{^}}21{{(.0)?}} 21
// CHECK-NEXT: {{^}}3{{(.0)?}} 3
// CHECK-NEXT: {{^}}3{{(.0)?}} 3

// At the warp level.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-shares,warp-distribute-work)))' | fovea-run - --inputs %t.extents.npy --outputs %t.warp.npy
// RUN: cmp %t.sums.npy %t.warp.npy

// RUN: sed 's/tile.yield %%blocks, %%c2/tile.yield %%blocks, %%c0/' %s > %t.none.mlir
// RUN: not fovea-run %t.none.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: pieces of group 0 must have at least 1 block, found 0
// RUN: sed 's/slots(%%slot) rows(%%c1)/slots(%%slot) rows(%%c16)/; s/x16x16xf32>, %%counters/x8x16xf32>, %%counters/; s/ctas \* 8, 16/ctas * 8, 8/; s/through memref<?x16x/through memref<?x8x/' %s > %t.rows.mlir
// RUN: not fovea-run %t.rows.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: slots have 8 rows, but 16 rows count

!state = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"extents", read, tensor<?xi32>, ["N"], 4>, #launch.tensor<"sums", write, tensor<4x16xf32>, ["I", "J"], 4>])
    parameters([#launch.memref<"extents", [0]>, #launch.memref<"sums", [0, 1]>,
                #launch.scratch_memref<"parts", ["ctas"] affine_map<()[ctas] -> (ctas * 8, 16, 16)>>, #launch.workspace_memref])
    grid([] affine_map<() -> (3)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%extents: memref<?xi32>, %sums: memref<4x16xf32>, %parts_memory: memref<?x16x16xf32>, %counters: memref<8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant dense<0.0> : !state
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %c4 schedule(shares) per(%c2)
      extent(%group: index) {
        %extent = memref.load %extents[%group] : memref<?xi32>
        %blocks = arith.index_cast %extent : i32 to index
        tile.yield %blocks, %c2 : index, index
      } do {
      %slot = arith.muli %w, %c4 : index
      %sum = scf.for %block = %first to %end step %c1 iter_args(%acc = %zero) -> !state {
        %number = arith.index_cast %block : index to i32
        %float = arith.sitofp %number : i32 to f32
        %tile = tile.broadcast %float : f32 to !state
        %next = arith.addf %acc, %tile : !state
        scf.yield %next : !state
      }
      tile.join "sum" (%sum) part(%part of %parts at %cta) slots(%slot) rows(%c1) memory(%parts_memory) counters(%counters) step 16
        : !state through memref<?x16x16xf32>, memref<8xi32>
        combine(%a: !state, %b: !state) {
          %both = arith.addf %a, %b : !state
          tile.yield %both : !state
        }
        whole(%x: !state) {
          %row = arith.addi %w, %c1 : index
          tile.store %x, %sums[%w, %c0] limit(%row) dims [0, 1] : !state, memref<4x16xf32>
          tile.yield
        }
        each(%down: index, %x: !state) {
          %row = arith.addi %w, %c1 : index
          tile.store %x, %sums[%w, %c0] limit(%row) dims [0, 1] : !state, memref<4x16xf32>
          tile.yield
        }
    }
    gpu.return
  }
}
