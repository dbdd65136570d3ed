//===- Passes.td - Passes between levels -------------------*- tablegen -*-===//
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
  let summary = "Lower attention functions to tile programs";
  let description = [{
    Lowers each `func.func` that consists of one attn op on the function's
    arguments and the return of its results. It becomes a `gpu.module` with one
    kernel, a `gpu.func` of the same name, and the `launch.abi` that describes
    its launch. A CTA computes one query tile of one head of one batch entry;
    the KV loop is one `tile.softmax_sum`. The regions are cloned onto tiles.
    The function is erased if it has no uses; otherwise it remains as a
    declaration. With `launch-calls`, its calls become `launch.call` and it is
    erased.

    An attn op in a function with other ops is an error. `attn-outline`, which
    the pipelines run first, moves it to its own function.

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

    After, in `gpu.module @causal_module`; the bounds come from `kv_bounds`,
    which the mask analysis created:

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
              ...                            // %i, %j: tiles of query and key indices
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

    **Requires** that each function with an attn op consists of that op, on the
    function's arguments, and the return of its results (`attn-outline`), and
    that each `attn.backward` with a `score_mod` has a `score_gradient`
    (`attn-differentiate`). Without `kv_bounds` (`attn-analyze-mask`) all blocks
    are processed and masked.

    **Ensures** that no attn op is left and that each kernel has a `launch.abi`
    with a plan. With `launch-calls`, also that the functions are erased and
    their calls are `launch.call`s.
  }];
  let options = [
    Option<"target", "target", "std::string", "::fovea::kDefaultTarget",
           "GPU target (default sm_90a)">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "'auto', or fields of the schedule to override, for example "
           "\"tile_n=32,stages=3\", or plans by kernel name as in launch "
           "metadata: \"{causal = #plan.kernel<...>}\"">,
    Option<"scheduleTable", "schedule-table", "std::string", "\"\"",
           "File of measured schedules (docs/Performance.md); fields of "
           "'schedule' take precedence">,
    Option<"explainSchedule", "explain-schedule", "bool", "false",
           "Emit a remark with the schedule and the problem of each op, in the "
           "format of a schedule table">,
    Option<"accurateTanh", "accurate-tanh", "bool", "false",
           "Do not mark tanh in score_mod as 'afn'. 'afn' selects the "
           "approximate instruction, which is three times as fast and has a "
           "relative error of up to 2^-16.5 (measured on an H200; the ISA "
           "guarantees 2^-11). Products of f32 without 'tf32' imply this "
           "option">,
    Option<"heldRows", "held-rows", "bool", "true",
           "Warp groups mask for their owned rows instead of all rows of the "
           "tile">,
    Option<"finalTiles", "final-tiles", "bool", "true",
           "With dynamic scheduling of uneven tiles, process each head's first "
           "tiles last">,
    Option<"overlapPrologue", "overlap-prologue", "bool", "true",
           "Start the kernels of a launch before the preceding ones have ended, "
           "if the target supports it">,
    Option<"launchCalls", "launch-calls", "bool", "false",
           "Replace calls of the functions by launches of the kernels">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::DLTIDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::math::MathDialect",
                           "::fovea::launch::LaunchDialect",
                           "::fovea::tile::TileDialect",
                           "::fovea::warp::WarpDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels created">
  ];
}

def AttnRaiseLinalg : Pass<"attn-raise-linalg"> {
  let summary = "Raise linalg on tensors to attention";
  let description = [{
    Replaces each pair of contractions with a softmax between them by an
    `attn.forward`. This is the form of attention after front ends have lowered
    it to `linalg`. The match starts at the second contraction, `O = P V`, and
    proceeds backwards.

    - *Contractions* are matched by semantics: `linalg.matmul`,
      `linalg.batch_matmul`, `linalg.contract` and `linalg.generic`, with
      operands in any order, transposed or extended in the body. They must have
      one reduction dimension and start at 0.
    - *The softmax* is a `linalg.softmax`, or exponentials divided by their sum,
      in any number of ops, fused or not. A value that is subtracted from the
      scores cancels if it is uniform across keys.
    - *Ops on scores* between the first contraction and the softmax become
      `score_mod`: elementwise ops of linalg, arith and math on the scores and
      other values. Tensor operands are traced through elementwise ops, so that
      a mask computed from `linalg.index` becomes arithmetic on coordinates.
      Other tensors are captured. Constant factors become the scale, including
      those of Q and K.
    - *Selections of -inf* by a condition that does not depend on scores, also
      as an added term, become `mask_mod`. With `masked-below`, so do finite
      constants: `masked-below=-1e4` treats large negative numbers as masks.
    - *Shapes*: reshapes, transpositions and broadcasts are traced. Any number
      of batch dimensions is allowed. Keys and values may lack some of the
      queries' batch dimensions, or be repeated along them, which results in
      grouped-query attention. The layouts bhsd and bshd are used as is; other
      layouts are transposed.

    **Requires** linalg on tensors.

    **Ensures** that each contraction of a softmax result that remains has a
    remark with the reason (`--remarks-filter=raise`), and that ops without uses
    are erased.

    Results may differ by rounding. Conversions to narrower floats between the
    contractions are removed, and scores and sums are f32. Extended f16 and bf16
    operands are used without the extension, so the probabilities are rounded to
    that type before the second contraction. Factors of Q and K are applied to
    the scores. A row that sees no key is 0, where linalg gives NaN. Numbers
    greater than `masked-below` do not mask a key: a row of such numbers has
    uniform probabilities, as in linalg.

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
           "Constants selected for scores mask the key if they are at most this "
           "number">
  ];
  let dependentDialects = ["::fovea::attn::AttnDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numRaised", "raised", "Number of attn.forward created">
  ];
}

def TileToWarp
    : KernelPass<"tile-to-warp", [JoinsAreStores, SoftmaxIsLoops, BlocksAreLoops],
                 [DotsReadMemory]> {
  let summary = "Move the operands of dots to shared memory";
  let body = [{
    Replaces a `tile.load` that feeds a `tile.dot` by a buffer in shared memory,
    a copy to it at the position of the load, and a `warp.dot` that reads it.
    The first operand stays in registers if it was computed there, or if the
    plan requires it for queries. Loads that feed other ops are not changed:
    threads load them from global memory.

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

    After; `%p` was computed and stays in registers, `%q` was loaded and is in shared memory:

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

    A dot with ones, which computes row sums, is merged into the dot with the
    same first operand: one `warp.dot` with `ones`, between
    `warp.concat_columns` and `warp.extract_columns`. This requires a program
    with roles, and that the columns of the product fill one panel.

    If dots accumulate in tensor memory (`row_tiles`), they become
    `warp.dot_into`. Both operands must be in shared memory: loads or streams.
    If the plan requires it, a stream overlays the accumulator of another dot. A
    zero-initialised accumulator is loaded by `warp.tmem_load` at the position
    of the dot.

    A zero-initialised accumulator that a loop carries stays in tensor memory:
    the dot accumulates in all iterations but the first. Arithmetic on the
    carried value is performed in place in these iterations, by a
    `warp.tmem_store` with the dot's name and the suffix `.update`. Users of the
    loop's result load it. If a `tile.if_any` updates the value, it becomes a
    ballot and a branch, so that nothing is loaded or stored if no row requires
    the update. Other accumulators are an error.

    A stream that no dot reads transfers tiles between roles: `warp.local_load`
    loads a tile back into registers, or `warp.copy_out` writes it to memory if
    the plan assigns the store to TMA.
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [
    Statistic<"numBuffers", "buffers", "Number of shared buffers created">,
    Statistic<"numSums", "sums", "Number of row sums by a dot with ones">
  ];
}

def WarpToNVVM : Pass<"warp-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower warp programs to programs of one thread";
  let description = [{
    Register tiles become one vector per thread, by their layouts. Copies, dots
    and pipelines become NVVM ops. Memref arguments become pointers, sizes and
    strides, and the kernel's `launch.abi` is updated. Unused arguments are
    removed. The result consists of upstream arith, math, scf, vector, gpu, llvm
    and nvvm ops.

    Conditions of selects on scores, addresses of gathers, flags of ballots and
    reduced integers are scalarised: a thread computes its elements one by one.
    The layout's offsets are added last. The elements of a thread therefore
    share differences of coordinates and compare them with constants.

    [Warp](../Dialects/Warp.md#instructions) lists the instructions of each op.

    f32 functions become approximate instructions. Divisions have an error of at
    most 2 ULP, reciprocals `1 / x` of at most 1 ULP. A reciprocal is 0 if the
    result is subnormal and infinite if `x` is subnormal. This avoids the
    branches of a correctly rounded division.

    Before, with `!tile` for `tensor<64x32xf32, #warp.mma_sync<warps = 4>>`, of
    which each thread owns 16 elements:

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

    **Requires** that `tile.softmax_sum` is lowered to loops, that loops over
    blocks are lowered to `scf.for`, that work loops are distributed to CTAs,
    that dots are warp-level ops, which read their second operand from shared
    memory, that conditional code (`tile.if_any`) is lowered to a warp ballot
    and a branch, that a kernel whose plan lists roles is partitioned into them,
    that register tiles have a thread layout, that buffers, barriers of roles
    and mailboxes have shared-memory offsets.

    **Ensures** that no op of the tile, warp and launch dialects is left in a
    kernel, and that its arguments are scalars, pointers and tensor maps.
  }];
  let options = [
    Option<"splitVectorLoads", "split-vector-loads", "bool", "true",
           "Emit code with vectors loaded from memory twice: for vectors that "
           "are contiguous and complete, and for other ones">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::vector::VectorDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels lowered">];
}

def LaunchToLLVM : Pass<"launch-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower launches to calls of the runtime library";
  let description = [{
    Replaces a `launch.binary` by a global that holds its code, its metadata
    and a pointer that libFoveaRuntime owns (`fovea_embedded` in
    `fovea/Runtime/fovea_embedded.h`). A `launch.call` on memrefs becomes
    `fovea_embedded_call`, or `fovea_embedded_call_async` with a stream. The
    addresses, sizes and strides of the tensors and the scalars are passed in an
    array on the stack. The result is passed to `fovea_embedded_check`, which by
    default prints a message and terminates the program on an error.

    Memrefs are decomposed by `memref.extract_strided_metadata`. The pass may
    run before or after other host code is lowered, but before
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

    **Requires** that kernels are serialized (`launch-serialize-kernels`) and
    that launches are on memrefs (`one-shot-bufferize`).

    **Ensures** that no op of the launch dialect is left in host code.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numLaunches", "launches", "Number of launches lowered">
  ];
}

#endif // FOVEA_CONVERSION_PASSES_TD
