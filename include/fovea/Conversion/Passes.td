//===- Passes.td - Passes from one level to the next -------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_CONVERSION_PASSES_TD
#define FOVEA_CONVERSION_PASSES_TD

include "fovea/Dialect/Warp/IR/KernelFacts.td"

include "mlir/Pass/PassBase.td"

def AttnToTile : Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Turn attention functions into tile programs";
  let description = [{
    Each `func.func` that holds one attn op on its own arguments, and returns
    its results, becomes a `gpu.module` with one kernel, a `gpu.func` of the
    function's name, and the `launch.abi` that says how to call it. A CTA computes
    one tile of queries of one head of one batch entry; the KV loop appears as
    one `tile.softmax_sum`. Regions are cloned onto tiles. The function goes if
    nothing refers to it, else it stays as a declaration. With `launch-calls` its
    calls become launches of the kernel, `launch.call`, and it goes.

    An attn op in a function with others is an error: `attn-outline` gives it one
    of its own, which the pipelines do first.

    Before:

    ```mlir
    !t = tensor<2x8x?x64xbf16>
    func.func @causal(%q: !t, %k: !t, %v: !t) -> !t {
      %o = attn.forward %q, %k, %v
        mask_mod(%b: index, %h: index, %i: index, %j: index) {
          %seen = arith.cmpi sge, %i, %j : index
          attn.yield %seen : i1
        } : !t, !t, !t -> !t
      return %o : !t
    }
    ```

    After, in `gpu.module @causal_module`; bounds come from `kv_bounds`, which the mask's analysis found:

    ```mlir
    launch.abi @causal target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 64, ...>) ...
    gpu.func @causal(%q: memref<2x8x?x64xbf16, strided<[?, ?, ?, 1]>>, ...) kernel {
      ...
      tile.foreach_work %item to %items schedule(single) {
        ...                                  // %batch, %head, %row and bounds of keys, from %item
        %q_tile = tile.load "q" %q[%batch, %head, %row, %c0] dims [2, 3] : ... to tensor<128x64xbf16, #tile.reg>
        %m, %l, %acc = tile.softmax_sum "o" %lb to %ub step 64 full(%fb, %fe) scale(1.250000e-01)
          scores(%key: index, %is_partial: i1) {
            %k_tile = tile.load "k" %k[%batch, %kv_head, %key, %c0] dims [2, 3] : ... to tensor<64x64xbf16, #tile.reg>
            %s = tile.dot "s" %q_tile, %k_tile, %zero transpose_b : ...
            %scores = scf.if %is_partial -> (tensor<128x64xf32, #tile.reg>) {
              ...                            // %i, %j: tiles of the queries' and the keys' numbers
              %seen = arith.cmpi sge, %i, %j : tensor<128x64xi32, #tile.reg>
              %masked = arith.select %seen, %s, %infinite : ...
              scf.yield %masked : tensor<128x64xf32, #tile.reg>
            } else {
              scf.yield %s : tensor<128x64xf32, #tile.reg>
            }
            tile.yield %scores : tensor<128x64xf32, #tile.reg>
          }
          values(%key: index) { ... } : ...
        %output, %lse = tile.softmax_finish %m, %l, %acc : ...
        ...                                  // %out: rounded
        tile.store "out" %out, %o[%batch, %head, %row, %c0] dims [2, 3] : ...
      }
    ```

    **Requires** that a function with an attn op is that op, on the function's own arguments, and the return of its results
    (`attn-outline`), that an `attn.backward` with a `score_mod` has a `score_gradient` (`attn-differentiate`). Without
    `kv_bounds` (`attn-analyze-mask`) all blocks are visited and masked.

    **Ensures** that no attn op is left, that each kernel has a `launch.abi` with a plan; with `launch-calls`, that its function is gone, and each call of it a
    `launch.call`.
  }];
  let options = [
    Option<"target", "target", "std::string", "::fovea::kDefaultTarget",
           "Chip to compile for (default sm_90a)">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "'auto', or fields of the schedule to override, for example "
           "\"tile_n=32,stages=3\"">,
    Option<"scheduleTable", "schedule-table", "std::string", "\"\"",
           "File of schedules that were measured (docs/Running.md); fields of "
           "'schedule' go first">,
    Option<"explainSchedule", "explain-schedule", "bool", "false",
           "Remark on each op which schedule it got, for which problem, as a "
           "schedule table says it">,
    Option<"accurateTanh", "accurate-tanh", "bool", "false",
           "Leave tanh in score_mod as it is. Else it is marked 'afn': the "
           "chip's instruction, which is three times as fast, and off by up to "
           "2^-16.5 of the result (measured on an H200; the ISA promises 2^-11)">,
    Option<"heldRows", "held-rows", "bool", "true",
           "Warp groups mask what their own rows need, not all of the tile's">,
    Option<"finalTiles", "final-tiles", "bool", "true",
           "Uneven tiles in order of arrival: each head's first tiles last">,
    Option<"overlapPrologue", "overlap-prologue", "bool", "true",
           "Kernels get ready under those before them in the launch, where the target can">,
    Option<"launchCalls", "launch-calls", "bool", "false",
           "Calls of the functions become launches of the kernels">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::DLTIDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::math::MathDialect",
                           "::fovea::launch::LaunchDialect",
                           "::fovea::tile::TileDialect",
                           "::fovea::warp::WarpDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels made">
  ];
}

def AttnRaiseLinalg : Pass<"attn-raise-linalg"> {
  let summary = "Find attention in linalg on tensors";
  let description = [{
    Makes an `attn.forward` of each pair of contractions with a softmax between
    them: what front ends leave of attention when they lower it to `linalg`. Goes
    from the second contraction, `O = P V`, backwards.

    - *Contractions* are recognised by what they compute, not by their names:
      `linalg.matmul`, `linalg.batch_matmul`, `linalg.contract`, `linalg.generic`,
      with operands in any order, transposed or with extensions in the body. They
      sum over one dimension and start at 0.
    - *The softmax* is a `linalg.softmax`, or exponentials divided by their sum,
      in however many ops, fused or not. What is subtracted from the scores, if it
      is the same for all keys, cancels.
    - *What is done to scores* between the first contraction and the softmax
      becomes `score_mod`: elementwise ops of linalg, arith and math, of the scores
      and of anything else. Tensors are followed back through elementwise ops, so
      that a mask that was computed from `linalg.index` is arithmetic on
      coordinates again; at other ops they are captured. Constant factors become
      the scale, those of Q and K as well.
    - *A choice of -inf* by a condition that does not depend on scores, also as a
      term that is added, becomes `mask_mod`. With `masked-below` so do finite
      constants: `masked-below=-1e4` takes the large negative numbers for what
      they stand for.
    - *Shapes*: reshapes, transpositions and broadcasts on the way are followed.
      Any number of batch dimensions; keys and values may lack some of those of
      the queries, or be repeated along them, which makes grouped heads. Layouts
      bhsd and bshd are read as they are, others are transposed.

    **Requires** linalg on tensors.

    **Ensures** that a contraction of a softmax's result is left only with a remark that says why
    (`--remarks-filter=raise`), that ops of which nothing is used any more are erased.

    The result differs by rounding: conversions to narrower floats between the
    contractions are left out, scores are computed in f32, f16 and bf16 operands
    that were extended are read as they are, so that weights are rounded to that type
    before the second contraction, factors of Q and K are applied to scores, sums
    are f32. And a row that sees no key is 0 where linalg gives NaN. A number above
    `masked-below` hides no key: of a row of such numbers weights are uniform, as in
    linalg.

    ```mlir
    func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %seen: tensor<4x6xi1>) -> tensor<4x8xf32> {
      %zs = arith.constant dense<0.0> : tensor<4x6xf32>
      %zo = arith.constant dense<0.0> : tensor<4x8xf32>
      %hidden = arith.constant dense<0xFF800000> : tensor<4x6xf32>
      %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
      %x = linalg.select ins(%seen, %s, %hidden : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
      %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
      %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
      return %o : tensor<4x8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %seen: tensor<4x6xi1>) -> tensor<4x8xf32> {
      %q4 = tensor.expand_shape %q [[0, 1, 2], [3]] output_shape [1, 1, 4, 8] : tensor<4x8xf32> into tensor<1x1x4x8xf32>
      %e = tensor.empty() : tensor<6x8xf32>
      %t = linalg.transpose ins(%k : tensor<8x6xf32>) outs(%e : tensor<6x8xf32>) permutation = [1, 0]
      %k4 = tensor.expand_shape %t [[0, 1, 2], [3]] output_shape [1, 1, 6, 8] : tensor<6x8xf32> into tensor<1x1x6x8xf32>
      %v4 = tensor.expand_shape %v [[0, 1, 2], [3]] output_shape [1, 1, 6, 8] : tensor<6x8xf32> into tensor<1x1x6x8xf32>
      %o4 = attn.forward %q4, %k4, %v4 scale(1.0) captures(%seen : tensor<4x6xi1>)
        mask_mod(%b: index, %h: index, %i: index, %j: index, %m: tensor<4x6xi1>) {
          %keep = tensor.extract %m[%i, %j] : tensor<4x6xi1>
          attn.yield %keep : i1
        }
        : tensor<1x1x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32> -> tensor<1x1x4x8xf32>
      %o = tensor.collapse_shape %o4 [[0, 1, 2], [3]] : tensor<1x1x4x8xf32> into tensor<4x8xf32>
      return %o : tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"maskedBelow", "masked-below", "double",
           "-std::numeric_limits<double>::infinity()",
           "Constants that are chosen for scores hide the key if they are at or "
           "below this number">
  ];
  let dependentDialects = ["::fovea::attn::AttnDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numRaised", "raised", "Number of attn.forward made">
  ];
}

def TileToWarp
    : KernelPass<"tile-to-warp", [SoftmaxIsLoops, BlocksAreLoops],
                 [DotsReadMemory]> {
  let summary = "Put the operands of dots into shared memory";
  let body = [{
    A `tile.load` that feeds a `tile.dot` becomes a buffer in shared memory, a
    copy into it where the load was, and a `warp.dot` that reads it. The first
    operand stays in registers if it was computed there, or if the plan says
    so for queries. Loads that feed other ops are left as they are: threads
    read them from global memory.

    Before:

    ```mlir
    !memory = memref<?x64xbf16, strided<[?, 1]>>
    !k = tensor<64x64xbf16, #tile.reg>
    !scores = tensor<128x64xf32, #tile.reg>
    scf.for %j = %from to %to step %c64 {
      %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !k
      %s = tile.dot "s" %q, %k, %zero transpose_b : tensor<128x64xbf16, #tile.reg>, !k, !scores
      ...
      %v = tile.load "v" %V[%j, %c0] dims [0, 1] : !memory to !k
      %o = tile.dot "o" %p, %v, %acc : tensor<128x64xbf16, #tile.reg>, !k, !scores
      ...
    }
    ```

    After; `%p` was computed and stays in registers, `%q` was loaded and lies in memory:

    ```mlir
    !memory = memref<?x64xbf16, strided<[?, 1]>>
    !buffer = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    !scores = tensor<128x64xf32, #tile.reg>
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    ...
    scf.for %j = %from to %to step %c64 {
      warp.copy "k" %K[%j, %c0] dims [0, 1] to %k : !memory to !buffer
      %s = warp.dot "s" %q, %k, %zero transpose_b : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, !buffer, !scores
      ...
      warp.copy "v" %V[%j, %c0] dims [0, 1] to %v : !memory to !buffer
      %o = warp.dot "o" %p, %v, %acc : tensor<128x64xbf16, #tile.reg>, !buffer, !scores
      ...
    }
    ```

    A dot with ones, which sums up rows, becomes more columns of the dot beside
    it that has the same first operand: one `warp.dot` with `ones`, between
    `warp.concat_columns` and `warp.extract_columns`. Only programs with roles
    have that, and only where the product's columns fill one panel.

    Where dots accumulate in tensor memory (`row_tiles`) they become
    `warp.dot_into`, whose operands both lie in memory: loads, or streams. A
    stream of which the plan says so lies over the accumulator of another
    dot. An accumulator that starts at zero is read by `warp.tmem_load` where the
    dot stood. One that a loop carries for the dot, from zero on, stays in tensor
    memory: the dot adds to it in all rounds but the first; the arithmetic on the
    carried value is done in place in just these rounds, by a `warp.tmem_store`
    that has the dot's name and `.update`; and what used the loop's result loads
    it. In place of arithmetic a `tile.if_any` may change it. That becomes a vote
    and a branch, so that where no row asks nothing is loaded or stored. Other
    accumulators are an error.

    A stream that no dot reads crosses roles: `warp.local_load` reads it back, or
    `warp.copy_out` writes it to memory where the schedule leaves a store to the
    copy engine.
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [
    Statistic<"numBuffers", "buffers", "Number of shared buffers made">,
    Statistic<"numSums", "sums", "Number of row sums by a product with ones">
  ];
}

def WarpToNVVM : Pass<"warp-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn warp programs into one thread's program";
  let description = [{
    Register tiles become one vector a thread, by their layouts; copies, dots
    and pipelines become NVVM ops; memref arguments become pointers, sizes and
    strides, and the kernel's `launch.abi` says so. Arguments that nothing reads
    are dropped. What is left is upstream: arith, math, scf, vector, gpu, llvm
    and nvvm.

    Conditions that scores are chosen by, places that are gathered from, flags
    that warps vote on and integers that are reduced are computed as scalars,
    one element after the other, if a thread has many. The layout's offsets go
    last: elements of a thread share differences of coordinates, which they
    compare with constants.

    [Warp](../Warp.md#instructions) has the instructions of each op, on each chip.

    Functions of f32 become the chip's instructions. Divisions are within 2
    units in the last place, reciprocals `1 / x` within 1, and 0 where the
    result is subnormal or infinite where `x` is: no branches, which a division
    rounded to nearest would take.

    Before, with `!tile` for `tensor<64x32xf32, #warp.mma_sync<warps = 4>>`, of which a thread has 16 elements:

    ```mlir
    gpu.func @f(%K: memref<?x32xbf16, strided<[?, 1]>>, ...) kernel {
      warp.copy async "k" %K[%c0, %c0] dims [0, 1] to %k : ...
      warp.producer_commit %keys[%stage, %phase] : ...
      warp.consumer_wait %keys[%stage, %phase] : ...
      %s = warp.dot "s" %q, %k, %zero transpose_b : ..., !tile
      %m = tile.reduce max dim 1 %s : !tile to tensor<64x1xf32, #warp.mma_sync<warps = 4>>
      %w = tile.broadcast %m : tensor<64x1xf32, #warp.mma_sync<warps = 4>> to !tile
      %x = arith.subf %s, %w : !tile
    ```

    After, on sm_80:

    ```mlir
    gpu.func @f(%K: !llvm.ptr<1>, %rows: i32, %stride: i32, ...) kernel {
      ...                                       // places in memory, from the thread's number
      nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      gpu.barrier
      %b = nvvm.ldmatrix %address {...} : ...
      %s0 = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%z0, %z1, %z2, %z3] {...} : ...
      ...                                       // 7 more; each thread has 8 elements in each of two rows
      %m1 = arith.maximumf %s0, %s1 : f32
      ...
      %other = nvvm.shfl.sync bfly %all, %m7, %c1_i32, %c31_i32 : f32 -> f32
      ...                                       // four lanes have a row
      %w = vector.shuffle %m, %m [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
      %x = arith.subf %s, %w : vector<16xf32>
    ```

    **Requires** that softmax sums are loops, that loops over blocks are `scf.for`, that loops over work are the CTA's own,
    that dots read their second operands from memory on chip, that what is seldom needed stands behind a vote and a branch,
    that a kernel whose plan has roles is roles, that tiles in registers say which thread holds which element, that buffers
    have their offsets in shared memory.

    **Ensures** that no op of the tile, warp and launch dialects is left in a kernel, that its arguments are scalars,
    pointers and tensor maps.
  }];
  let options = [
    Option<"splitVectorLoads", "split-vector-loads", "bool", "true",
           "Code that uses vectors from memory stands twice: for those that "
           "exist whole, side by side, and for others">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::vector::VectorDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels lowered">];
}

def LaunchToLLVM : Pass<"launch-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn launches into calls of the runtime library";
  let description = [{
    A `launch.binary` becomes a global that holds its code and its metadata, and
    a place where libFoveaRuntime keeps what it has loaded
    (`fovea/Runtime/fovea_embedded.h`). A `launch.call` on memrefs becomes
    `fovea_embedded_call`, or `fovea_embedded_call_async` with a stream: address,
    sizes and strides of each tensor, and the scalars, in a row on the stack. What
    comes of it goes to `fovea_embedded_check`, which ends the program after a
    message, unless the host has set something else.

    Memrefs are taken apart by `memref.extract_strided_metadata`: the pass may run
    before or after other parts of the host's code are lowered, but before
    `expand-strided-metadata` and `finalize-memref-to-llvm`.

    Before:

    ```mlir
    launch.binary @f target("sm_80") tensors([#launch.tensor<"q", ...>, ...]) ...
    func.func @host(%q: memref<2x8x?x64xbf16>, ...) {
      launch.call @f ins("q" = %q : memref<2x8x?x64xbf16>, ...) outs(...)
    ```

    After:

    ```mlir
    llvm.mlir.global internal @f_kernel() : !llvm.struct<(i64, ptr, i64, ptr, i64, ptr)> { ... }
    func.func @host(%q: memref<2x8x?x64xbf16>, ...) {
      ...
      %status = llvm.call @fovea_embedded_call(%kernel, %words, %count) : (!llvm.ptr, !llvm.ptr, i64) -> i32
      llvm.call @fovea_embedded_check(%status) : (i32) -> ()
    ```

    **Requires** that the code of kernels is written (`launch-serialize-kernels`), that launches are on memrefs (`one-shot-bufferize`).

    **Ensures** that no op of the launch dialect is left in a host's code.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numLaunches", "launches", "Number of launches turned into calls">
  ];
}

#endif // FOVEA_CONVERSION_PASSES_TD
