//===- AttnOps.td - Operations of the attn dialect ---------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_IR_ATTNOPS_TD
#define FOVEA_DIALECT_ATTN_IR_ATTNOPS_TD

include "fovea/Dialect/Attn/IR/AttnAttrs.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Attn_ForwardOp : Attn_Op<"forward", [
    AttrSizedOperandSegments, IsolatedFromAbove, Pure, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames",
                                                 "getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<KernelOpInterface,
                              ["getDimMultiples", "getDimLimits",
                               "getDimCovers", "getNonEmptyDims",
                               "getContents", "isOperandCopied",
                               "isResultCopied"]>,
    AttentionOpInterface]> {
  let summary = "attention, forward";
  let description = [{
    In exact arithmetic, for batch entry `b`, query head `h`, query `i`, key `j`:

    ```
    s[i,j] = score_mod(scale * sum_d q[b,h,i,d] * k[b,h/g,j,d], b, h, i, j)
    s[i,j] = -inf where mask_mod(b, h, i, j) is false
    P      = softmax(s) over j
    O[i]   = sum_j P[i,j] * v[b,h/g,j]
    LSE[i] = log(sum_j exp(s[i,j]))            natural logarithm, f32
    ```

    with `g = Hq / Hkv` query heads per key head. A row with nothing to attend
    to gives `O = 0` and `LSE = -inf`, never NaN. A NaN in Q or K reaches only
    the rows that use it.

    `sinks(%t : tensor<Hqxf32>)` gives each query head a score that takes part
    in the softmax and has no value: `exp(t[h])` joins the sums of `P` and `LSE`,
    so that a row with nothing to attend to has `LSE = t[h]`. A sink is a number
    below +inf; -inf is none.

    `dropout(p, %seed, %offset)` replaces `P[i,j]` by 0 with probability `p`, and
    by `P[i,j] / (1 - p)` otherwise; `LSE` does not see it. `p` is a constant, taken
    as the nearest multiple of 1/65536, `%seed` and `%offset` are run-time i64.
    What is dropped depends on these two and on `b`, `h`, `i`, `j` only, so that
    it can be computed again: `P[i,j]` is kept where the number below is at least
    `65536 p`. Eight neighbouring keys of a query share a counter: Philox 4x32-7
    makes four words of

    ```
    counter = (j div 8,  i,  b Hq + h,  offset mod 2^32)
    key     = (seed mod 2^32,  seed div 2^32 xor offset div 2^32)
    ```

    and the number, from 0 to 65535, is a half of word `(j mod 8) div 2`: the low
    one for even `j`, the high one for odd `j`.

    That is generator 1. `dropout(p, %seed, %offset, generator = 1)` says so, and
    is meant where nothing is said. The numbers of a generator never change; a
    release that does not know one refuses it.

    Shapes, with `layout(bhsd)` (the default) or `layout(bshd)`:

    | value | bhsd | bshd |
    |---|---|---|
    | q | (B, Hq, Sq, D) | (B, Sq, Hq, D) |
    | k | (B, Hkv, Skv, D) | (B, Skv, Hkv, D) |
    | v | (B, Hkv, Skv, Dv) | (B, Skv, Hkv, Dv) |
    | o | (B, Hq, Sq, Dv) | (B, Sq, Hq, Dv) |
    | lse, optional | (B, Hq, Sq), f32 | the same |

    Head dims are static, all others static or dynamic; Hq is a multiple of
    Hkv; each sequence length is at most 2^30. Q, K and V are all f16, all bf16
    or all f32; O has that type or f32. What strides the tensors have is a fact
    of the call.

    `scale` is a constant or a run-time f32; without one it is `1/sqrt(D)`.

    The regions are pure, have one block and see nothing but their arguments:
    `score_mod` the score and the coordinates, `mask_mod` the coordinates, both
    then the captured values in the order of `captures`. They may read captured
    tensors with `tensor.extract`; `attn.query_length` and `attn.key_length`
    tell how long the sequences are. A dimension that is indexed by `b` or `h`
    has an element for each of them; so it is with `i` and `j` where no mask
    hides what is read, in `mask_mod` for one, unless lengths or offsets say how
    many there are. `kv_bounds` is made by
    `attn-analyze-mask`: for the queries `i0` to `i1`, both included, it yields
    `lb, fb, fe, ub`: all visible keys lie in `[lb, ub)`, and in `[fb, fe)` every
    key is visible to every query. `kv_classify`, made by the same pass where
    those bounds are not all there is to know, yields `any, all` for the queries
    `i0` to `i1` and the keys `j0` to `j1`, all included and in the sequence:
    without `any` no query of the block sees a key of it, with `all` every query
    sees every key. `true, false` is always right.

    `blocks` lists, for each block of `QB` queries, the blocks of `KB` keys that
    they see: in *partial* ones what `mask_mod` shows, if there is one, in *full*
    ones all. Keys in blocks that are not listed are hidden.

    ```
    blocks(%pc, %pi, %fc, %fi : tensor<?x?x?xi32>, tensor<?x?x?x?xi32>,
           tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [128, 128])
    ```

    Counts are (B or 1, Hq or 1, Qblocks), indices (B or 1, Hq or 1, Qblocks,
    width), all i32; an extent of 1 stands for all only if the type says so. The
    full lists may be left out. A block is listed once at most, in any order;
    indices outside of the sequence are blocks without keys, counts are clamped
    to `[0, width]`. Sequence forms are `dense` and `lengths`.

    Hosts pass captured values by the names `capture0`, `capture1` and so on, in
    the order of `captures`. Canonicalisation drops captured values that nothing
    reads and those that are repeated; the others keep their names by their
    numbers: `captures(%a, %b : t, u, numbers = [0, 2])` are `capture0` and
    `capture2`. Numbers ascend.

    Example:

    ```mlir
    %o, %lse = attn.forward %q, %k, %v scale(0.125)
      captures(%slopes : tensor<16xf32>)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<16xf32>) {
        %slope = tensor.extract %sl[%h] : tensor<16xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %bias = arith.mulf %slope, %df : f32
        %r = arith.addf %s, %bias : f32
        attn.yield %r : f32
      }
      mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<16xf32>) {
        %keep = arith.cmpi sge, %i, %j : index
        attn.yield %keep : i1
      }
      : tensor<4x16x?x64xbf16>, tensor<4x4x?x64xbf16>, tensor<4x4x?x64xbf16>
      -> tensor<4x16x?x64xbf16>, tensor<4x16x?xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyRankedTensor, "Q: (B, Hq, Sq, D) in the layout bhsd">:$query,
    Arg<AnyRankedTensor, "K: (B, Hkv, Skv, D) in the layout bhsd">:$key,
    Arg<AnyRankedTensor, "V: (B, Hkv, Skv, Dv) in the layout bhsd">:$value,
    Arg<Optional<F32>, "what scores are multiplied by, known at run time; excludes `scale`">:$scaleValue,
    Arg<Variadic<AnyType>, "values that the regions read: scalars and tensors">:$captures,
    Arg<Variadic<AnyRankedTensor>, "what the sequence form takes: lengths, offsets or pages">:$sequenceOperands,
    Arg<Optional<AnyRankedTensor>, "one more score for each query head: (Hq), f32">:$sinks,
    Arg<Optional<I64>, "the seed of the numbers that say what is dropped">:$dropoutSeed,
    Arg<Optional<I64>, "which of that seed's numbers these are">:$dropoutOffset,
    Arg<Variadic<AnyRankedTensor>, "counts and indices of partial blocks, then those of full ones: i32">:$blockLists,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "the numbers in the names of captured values, where some are gone">:$captureNumbers,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "queries and keys of a listed block: [QB, KB]">:$blockSize,
    Arg<OptionalAttr<F64Attr>, "what scores are multiplied by, a constant; 1/sqrt(D) without one">:$scale,
    Arg<OptionalAttr<F64Attr>, "the probability that a weight is dropped, from 0 to below 1">:$dropout,
    Arg<DefaultValuedOptionalAttr<I64Attr, "::fovea::generator::kVersion">, "the version of the random numbers">:$dropoutGenerator,
    Arg<DefaultValuedAttr<Attn_LayoutAttr, "::fovea::attn::Layout::BHSD">, "the order of the dimensions of Q, K, V and O">:$layout,
    Arg<SequenceFormAttrInterface, "which queries and keys of the tensors exist">:$sequence);
  let results = (outs
    Res<AnyRankedTensor, "O: (B, Hq, Sq, Dv) in the layout bhsd">:$output,
    Res<Optional<AnyRankedTensor>, "log-sum-exp of the scores, natural logarithm: (B, Hq, Sq), f32">:$lse);
  let regions = (region
    Described<AnyRegion, "changes a score; empty: scores stay as they are">:$scoreMod,
    Described<AnyRegion, "says whether a query sees a key; empty: all are seen">:$maskMod,
    Described<AnyRegion, "the keys that a block of queries sees; empty: not analyzed">:$kvBounds,
    Described<AnyRegion, "whether a block's queries see any of its keys, and whether all; empty: not analyzed">:$kvClassify);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getOutputType() {
      return ::mlir::cast<::mlir::RankedTensorType>(getOutput().getType());
    }
    unsigned getFirstVariantOperand() { return 3; }
  }];
}

def Attn_BackwardOp : Attn_Op<"backward", [
    AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove, Pure,
    SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames",
                                                 "getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<KernelOpInterface,
                              ["getDimMultiples", "getDimLimits",
                               "getDimCovers", "getNonEmptyDims",
                               "getContents", "isOperandCopied",
                               "isResultCopied"]>,
    AttentionOpInterface]> {
  let summary = "attention, gradients";
  let description = [{
    The gradients of a loss by what `attn.forward` took, given those by what it
    gave, `do` and perhaps `lse_gradient`. Clauses and regions that
    `attn.forward` has mean the same here and must be the forward's; `o` and
    `lse` are its results. With `s0` the scaled products, `s` and `P` as there,
    `m[i,j]` what dropout multiplies weights by (1 without):

    ```
    P[i,j]  = exp(s[i,j] - lse[i])             0 where masked or s = -inf
    D[i]    = sum_d do[i,d] * o[i,d] - lse_gradient[i]
    dP[i,j] = m[i,j] * sum_d do[i,d] * v[j,d]
    ds[i,j] = P[i,j] * (dP[i,j] - D[i])
    ds0     = ds * (derivative of score_mod by its score)
    dq[i]   = scale * sum_j ds0[i,j] * k[j]
    dk[j]   = scale * sum_i ds0[i,j] * q[i]    over all query heads of a key head
    dv[j]   = sum_i m[i,j] * P[i,j] * do[i]    likewise
    dsinks[h] = - sum_i exp(sink[h] - lse[i]) * D[i]
    dscale  = sum ds0 * s0 / scale
    dcapture = sum of what score_mod's derivative by it gives for ds
    ```

    Where a pair is masked, or its score is -inf, everything that depends on it
    is 0, also where the derivative there is infinite or NaN. A row that sees
    nothing (`lse = -inf`) has no influence and `dq = 0`. Nor has a row whose
    `lse` is 2^25 or more in absolute value, as where all its scores are -1e9:
    an f32 of that size has no room for what tells its weights. mask_mod has no
    derivative.

    `gradients(q, k, v, captures = [0, 2], sinks, scale)` lists the gradients
    that are asked for, in this order; it is `q, k, v` where nothing is said.
    `captures` gives positions among the captured values, each a float tensor or
    an f32. A gradient has the shape of what it is by (that of a scalar is
    `tensor<f32>`) and its element type, or f32.

    | value | shape | element |
    |---|---|---|
    | q, k, v, o | as in `attn.forward` | as there |
    | lse, lse_gradient | (B, Hq, Sq), natural logarithm | f32 |
    | do | that of o | that of o, or of q: kernels take it as they multiply it |

    An LSE to base 2 gives wrong gradients; the interpreter says so at this level,
    and so does `fovea-run --check`, where all rows are such.

    With `deterministic` the same operands give the same results, bit for bit, in
    each run: sums have one order, or are exact. Else parts of a gradient may be added to memory
    as they come, where that is faster.

    `score_gradient` is made by `attn-differentiate` where there is a
    `score_mod`: of the score before it, the derivative of the loss by the score
    behind it, the coordinates and the captured values, it yields the derivative
    by the score before it; `attn.contribute` says what it adds to the gradients
    of captured values. `query_bounds`, made by `attn-analyze-mask`, is
    `kv_bounds` seen from the keys: for the keys `j0` to `j1`, both included, it
    yields `lb, fb, fe, ub`: all queries that see one of them lie in `[lb, ub)`,
    and in `[fb, fe)` every query sees every key.

    Source: Dao et al., FlashAttention (2022), algorithm 4; FlexAttention's
    score_mod and the derivatives by what it captures follow PyTorch's.

    Example:

    ```mlir
    %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do
      gradients(q, k, v, captures = [0])
      captures(%table : tensor<16xf32>)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<16xf32>) {
        %bias = tensor.extract %t[%h] : tensor<16xf32>
        %r = arith.addf %s, %bias : f32
        attn.yield %r : f32
      }
      : tensor<4x16x?x64xbf16>, tensor<4x16x?x64xbf16>, tensor<4x16x?x64xbf16>,
        tensor<4x16x?x64xbf16>, tensor<4x16x?xf32>, tensor<4x16x?x64xbf16>
      -> tensor<4x16x?x64xbf16>, tensor<4x16x?x64xbf16>, tensor<4x16x?x64xbf16>, tensor<16xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyRankedTensor, "Q: (B, Hq, Sq, D) in the layout bhsd">:$query,
    Arg<AnyRankedTensor, "K: (B, Hkv, Skv, D) in the layout bhsd">:$key,
    Arg<AnyRankedTensor, "V: (B, Hkv, Skv, Dv) in the layout bhsd">:$value,
    Arg<AnyRankedTensor, "O, the forward's result: (B, Hq, Sq, Dv) in the layout bhsd">:$output,
    Arg<AnyRankedTensor, "LSE, the forward's result, natural logarithm: (B, Hq, Sq), f32">:$lse,
    Arg<AnyRankedTensor, "the loss's gradient by O, of O's shape and O's or Q's element type">:$outputGradient,
    Arg<Optional<AnyRankedTensor>, "the loss's gradient by LSE, of LSE's type; none: 0">:$lseGradient,
    Arg<Optional<F32>, "what scores are multiplied by, known at run time; excludes `scale`">:$scaleValue,
    Arg<Variadic<AnyType>, "values that the regions read: scalars and tensors">:$captures,
    Arg<Variadic<AnyRankedTensor>, "what the sequence form takes: lengths or offsets">:$sequenceOperands,
    Arg<Optional<AnyRankedTensor>, "one more score for each query head: (Hq), f32">:$sinks,
    Arg<Optional<I64>, "the seed of the numbers that say what is dropped">:$dropoutSeed,
    Arg<Optional<I64>, "which of that seed's numbers these are">:$dropoutOffset,
    Arg<Variadic<AnyRankedTensor>, "counts and indices of partial blocks, then those of full ones: i32">:$blockLists,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "the numbers in the names of captured values, where some are gone">:$captureNumbers,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "queries and keys of a listed block: [QB, KB]">:$blockSize,
    Arg<OptionalAttr<F64Attr>, "what scores are multiplied by, a constant; 1/sqrt(D) without one">:$scale,
    Arg<OptionalAttr<F64Attr>, "the probability that a weight is dropped, from 0 to below 1">:$dropout,
    Arg<DefaultValuedOptionalAttr<I64Attr, "::fovea::generator::kVersion">, "the version of the random numbers">:$dropoutGenerator,
    Arg<DefaultValuedAttr<Attn_LayoutAttr, "::fovea::attn::Layout::BHSD">, "the order of the dimensions of Q, K, V and O">:$layout,
    Arg<SequenceFormAttrInterface, "which queries and keys of the tensors exist">:$sequence,
    Arg<DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">, "positions of the captured values whose gradients are asked for">:$differentiated,
    Arg<UnitAttr, "each sum has one order, so that results repeat bit for bit">:$deterministic);
  let results = (outs
    Res<Optional<AnyRankedTensor>, "the gradient by Q, if it is asked for: shape of Q">:$queryGradient,
    Res<Optional<AnyRankedTensor>, "the gradient by K, if it is asked for: shape of K">:$keyGradient,
    Res<Optional<AnyRankedTensor>, "the gradient by V, if it is asked for: shape of V">:$valueGradient,
    Res<Variadic<AnyRankedTensor>, "the gradients by the captured values in `differentiated`">:$captureGradients,
    Res<Optional<AnyRankedTensor>, "the gradient by the sinks, if it is asked for: (Hq)">:$sinksGradient,
    Res<Optional<AnyRankedTensor>, "the gradient by the scale, if it is asked for: tensor of rank 0">:$scaleGradient);
  let regions = (region
    Described<AnyRegion, "changes a score; empty: scores stay as they are">:$scoreMod,
    Described<AnyRegion, "says whether a query sees a key; empty: all are seen">:$maskMod,
    Described<AnyRegion, "the keys that a block of queries sees; empty: not analyzed">:$kvBounds,
    Described<AnyRegion, "whether a block's queries see any of its keys, and whether all; empty: not analyzed">:$kvClassify,
    Described<AnyRegion, "the derivative by the score before score_mod; empty: not made yet">:$scoreGradient,
    Described<AnyRegion, "the queries that see a block of keys; empty: not analyzed">:$queryBounds);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    unsigned getFirstVariantOperand() { return getLseGradient() ? 7 : 6; }
    /// Number of score_gradient's arguments before the captured values.
    static constexpr unsigned kScoreGradientArguments = 6;
    static constexpr unsigned kQueryBoundsArguments = 4;
    /// The result that is the gradient of captured value `index`, or null.
    ::mlir::Value getGradientOfCapture(unsigned index);
  }];
}

def Attn_ContributeOp : Attn_Op<"contribute", [
    ParentOneOf<["BackwardOp"]>, MemoryEffects<[MemWrite]>]> {
  let summary = "adds to the gradient of a captured value";
  let description = [{
    Within `score_gradient` of `attn.backward`: what one pair of a query and a
    key adds to the gradient of a captured value, and where. The target is the
    region's argument for a captured value whose gradient is asked for; with
    indices if that is a tensor. Contributions of all pairs that are not masked
    are summed, in any order. Indices lie within the tensor.

    Example:

    ```mlir
    attn.contribute %ds to %table[%h] : tensor<16xf32>
    ```
  }];
  let arguments = (ins
    Arg<F32, "what is added">:$value,
    Arg<AnyType, "the region's argument for a captured value">:$target,
    Arg<Variadic<Index>, "the element that it is added to: an index for each of the tensor's dimensions">:$indices);
  let assemblyFormat = [{
    $value `to` $target (`[` $indices^ `]`)? attr-dict `:` type($target)
  }];
  let hasVerifier = 1;
}

def Attn_MergeOp : Attn_Op<"merge", [
    Pure, SameVariadicOperandSize,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<KernelOpInterface, ["getDimLimits", "isOperandCopied", "isResultCopied"]>]> {
  let summary = "combines attention over parts of the keys";
  let description = [{
    Given (O, LSE) of the same queries over disjoint sets of keys, gives (O,
    LSE) over their union:

    ```
    LSE = log(sum_p exp(LSE_p))       O = sum_p exp(LSE_p - LSE) * O_p
    ```

    A row whose parts all have `LSE_p = -inf` gives `O = 0`, `LSE = -inf`; a part
    with `LSE_p = -inf` has no influence, whatever its O holds. Split KV, ring
    attention and cascade inference share this op.

    Outputs are (B, Hq, Sq, Dv) or, with `layout(bshd)`, (B, Sq, Hq, Dv), f16,
    bf16 or f32; LSEs (B, Hq, Sq), f32.

    Example:

    ```mlir
    %o, %lse = attn.merge (%o0, %lse0), (%o1, %lse1)
      : tensor<2x8x?x64xf32>, tensor<2x8x?xf32> -> tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<AnyRankedTensor>, "O of each part: (B, Hq, Sq, Dv) in the layout bhsd">:$outputs,
    Arg<Variadic<AnyRankedTensor>, "LSE of each part, natural logarithm: (B, Hq, Sq), f32">:$lses,
    Arg<DefaultValuedAttr<Attn_LayoutAttr, "::fovea::attn::Layout::BHSD">, "the order of the dimensions of the outputs">:$layout);
  let results = (outs
    Res<AnyRankedTensor, "O over the keys of all parts, the shape of a part">:$output,
    Res<Optional<AnyRankedTensor>, "LSE over the keys of all parts: (B, Hq, Sq), f32">:$lse);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["ForwardOp", "BackwardOp"]>]> {
  let summary = "ends a region of an attn op";
  let description = [{
    Yields the modified score from `score_mod`, the i1 from `mask_mod`, the four
    bounds from `kv_bounds` and `query_bounds`, two i1 from `kv_classify`, the
    derivative by the score from `score_gradient`.

    Example:

    ```mlir
    attn.yield %keep : i1
    ```
  }];
  let arguments = (ins Arg<Variadic<AnyType>, "the region's results">:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

class Attn_LengthOp<string mnemonic, string what> : Attn_Op<mnemonic, [
    Pure,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "number of " # what # " in the current sequence";
  let description = [{
    Within a region of an attention op: how many }] # what # [{ the sequence of
    batch entry `b` has. With them a causal mask aligned to the bottom right is
    `j - key_length <= i - query_length`.

    Example:

    ```mlir
    %n = attn.}] # mnemonic # [{
    ```
  }];
  let results = (outs Res<Index, "number of " # what>:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

class Attn_BlockExtremeOp<string mnemonic, string what, string comparison> : Attn_Op<mnemonic, [
    Pure, TypesMatchWith<"the result has the tensor's element type", "tensor",
                         "result", "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = what # " captured value of a block";
  let description = [{
    Within `kv_classify`: the }] # what # [{ of the captured tensor's elements
    from position `first` to position `last` of one dimension, both included.
    These are `i0` and `i1`, the block's queries, or `j0` and `j1`, its keys; the
    other indices are the same for all blocks of a head.

    Integers compare as signed numbers, of an i1 true is the larger value.
    Positions outside the tensor count for nothing. A lower level may take the
    extreme over a larger part of the tensor, say over whole tiles: what
    `kv_classify` says stays true, it says less.

    Example:

    ```mlir
    %o = attn.forward %q, %k, %v captures(%doc : tensor<4x?xi32>)
      mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<4x?xi32>) {
        %id = tensor.extract %doc[%b, %j] : tensor<4x?xi32>
        %zero = arith.constant 0 : i32
        %keep = arith.cmpi eq, %id, %zero : i32
        attn.yield %keep : i1
      }
      kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index,
                  %doc: tensor<4x?xi32>) {
        %zero = arith.constant 0 : i32
        %x = attn.}] # mnemonic # [{ %doc[%b, %j0 to %j1] : tensor<4x?xi32>
        %may = arith.cmpi }] # comparison # [{, %x, %zero : i32
        %false = arith.constant false
        attn.yield %may, %false : i1, i1
      } : tensor<4x8x?x64xbf16>, tensor<4x8x?x64xbf16>, tensor<4x8x?x64xbf16> -> tensor<4x8x?x64xbf16>
    ```
  }];
  let arguments = (ins
    Arg<AnyRankedTensor, "a captured tensor of integers">:$tensor,
    Arg<Variadic<Index>, "indices of the tensor's other dimensions, in order">:$indices,
    Arg<Index, "the block's first position, included">:$first,
    Arg<Index, "the block's last position, included">:$last,
    Arg<I64Attr, "the dimension of the tensor that the block runs along">:$dim);
  let results = (outs Res<AnySignlessInteger, "the " # what # " element">:$result);
  let assemblyFormat = [{
    $tensor `` custom<BlockIndices>($indices, $first, $last, $dim) attr-dict `:`
    type($tensor)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the block's queries are read, else its keys.
    bool isOverQueries();
  }];
}

def Attn_BlockMinOp : Attn_BlockExtremeOp<"block_min", "smallest", "sle">;
def Attn_BlockMaxOp : Attn_BlockExtremeOp<"block_max", "largest", "sge">;

def Attn_QueryLengthOp : Attn_LengthOp<"query_length", "queries">;
def Attn_KeyLengthOp : Attn_LengthOp<"key_length", "keys">;

#endif // FOVEA_DIALECT_ATTN_IR_ATTNOPS_TD
