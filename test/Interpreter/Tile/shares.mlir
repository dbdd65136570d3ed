// Four items of 3, 3, 2 and 2 blocks in three shares of 4, 3 and 3 blocks. A block adds its number
// within the item; pieces are added in order.
// RUN: %python %S/../Inputs/npy.py write %t.extents.npy i32 "[3, 2]"
// RUN: fovea-run %s --inputs %t.extents.npy --outputs %t.sums.npy
// RUN: %python %S/../Inputs/npy.py print %t.sums.npy | FileCheck %s
// CHECK: shape 4 16
// CHECK-NEXT: {{^}}3{{(.0)?}} 3
// CHECK-NEXT: {{^}}3{{(.0)?}} 3
// CHECK-NEXT: {{^}}1{{(.0)?}} 1
// CHECK-NEXT: {{^}}1{{(.0)?}} 1

// RUN: sed 's/per(%%c2)/per(%%c3)/' %s > %t.per.mlir
// RUN: not fovea-run %t.per.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=PER
// PER: error: the number of items must be a multiple of 'per', found 4 and 3
// RUN: sed 's/tile.yield %%blocks : index/tile.yield %%c0 : index/' %s > %t.none.mlir
// RUN: not fovea-run %t.none.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: group 0 must have at least 1 block, found 0
// RUN: sed 's/part(%%part of %%parts at %%cta) rows/part(%%parts of %%parts at %%cta) rows/' %s > %t.part.mlir
// RUN: not fovea-run %t.part.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=PART
// PART: error: piece must be below the number of pieces, found 1 of 1
// RUN: sed 's/part(%%part of %%parts at %%cta) rows/part(%%part of %%c4 at %%c0) rows/' %s > %t.counter.mlir
// RUN: not fovea-run %t.counter.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: kernel must leave its workspace zero, but element 0 of argument #3 is not

// All six pieces arrive at one counter, and expect different numbers of arrivals.
// RUN: sed 's/part(%%part of %%parts at %%cta) rows/part(%%part of %%few at %%c0) rows/' %s > %t.many.mlir
// RUN: not fovea-run %t.many.mlir --inputs %t.extents.npy --outputs %t.sums.npy 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: counter must be below the 2 arrivals, found 2

!state = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"extents", read, tensor<?xi32>, ["N"], 4>, #launch.tensor<"sums", write, tensor<4x16xf32>, ["I", "J"], 4>])
    parameters([#launch.memref<"extents", [0]>, #launch.memref<"sums", [0, 1]>,
                #launch.scratch_memref<"parts", ["ctas"] affine_map<()[ctas] -> (ctas * 4, 16, 16)>>, #launch.workspace_memref])
    grid([] affine_map<() -> (3)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%extents: memref<?xi32>, %sums: memref<4x16xf32>, %parts_memory: memref<?x16x16xf32>, %counters: memref<8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !state
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %c4 schedule(shares) per(%c2)
      extent(%group: index) {
        %extent = memref.load %extents[%group] : memref<?xi32>
        %blocks = arith.index_cast %extent : i32 to index
        tile.yield %blocks : index
      } do {
      %few = arith.subi %c3, %part : index
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
