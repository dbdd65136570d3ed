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
                              ["getDimMultiples", "getDimSuccessors",
                               "getDimLimits", "getDimCovers",
                               "getNonEmptyDims", "getContents",
                               "isOperandCopied", "isResultCopied"]>,
    AttentionOpInterface]> {
  let summary = "attention forward pass";
  let description = [{
    Computes, in exact arithmetic, for batch entry `b`, query head `h`, query
    `i` and key `j`:

    ```
    s[i,j] = score_mod(scale * sum_d q[b,h,i,d] * k[b,h/g,j,d], b, h, i, j)
    s[i,j] = -inf where mask_mod(b, h, i, j) is false
    P      = softmax(s) over j
    O[i]   = sum_j P[i,j] * v[b,h/g,j]
    LSE[i] = log(sum_j exp(s[i,j]))            natural logarithm, f32
    ```

    where `g = Hq / Hkv` is the number of query heads per key head. A row
    without visible keys has `O = 0` and `LSE = -inf`, never NaN. A NaN in Q or
    K affects only the rows that use it.

    With `value_columns(first, Dv)` there is no V: the values are the `Dv`
    columns of K from `first` on, as in latent attention, where they are the
    first 512 of 576 columns. A kernel then loads these columns once:

    ```mlir
    %o = attn.forward %q, %k value_columns(0, 128)
      : tensor<4x16x?x192xbf16>, tensor<4x1x?x192xbf16> -> tensor<4x16x?x128xbf16>
    ```

    `sinks(%t : tensor<Hqxf32>)` adds one score without a value to each row:
    `exp(t[h])` is added to the sums of `P` and `LSE`. A row without visible
    keys then has `LSE = t[h]`. A sink must be less than +inf; -inf means no
    sink.

    `dropout(p, %seed, %offset)` replaces `P[i,j]` by 0 with probability `p`,
    and by `P[i,j] / (1 - p)` otherwise. `LSE` does not include dropout. `p` is
    a constant and is rounded to the nearest multiple of 1/65536; `%seed` and
    `%offset` are run-time i64 values. The dropped elements depend only on these
    two values and on `b`, `h`, `i` and `j`, so the backward pass can recompute
    them. `P[i,j]` is kept if the following random number is at least `65536 p`.
    Eight consecutive keys of a query share a counter. Philox 4x32-7 computes
    four 32-bit words from

    ```
    counter = (j div 8,  i,  b Hq + h,  offset mod 2^32)
    key     = (seed mod 2^32,  seed div 2^32 xor offset div 2^32)
    ```

    The random number, from 0 to 65535, is the low half of word
    `(j mod 8) div 2` for even `j` and the high half for odd `j`.

    This function is generator 1, the default:
    `dropout(p, %seed, %offset, generator = 1)`. The numbers of a generator
    never change. A release rejects generators that it does not implement.

    Shapes, with `layout(bhsd)` (the default) or `layout(bshd)`:

    | value | bhsd | bshd |
    |---|---|---|
    | q | (B, Hq, Sq, D) | (B, Sq, Hq, D) |
    | k | (B, Hkv, Skv, D) | (B, Skv, Hkv, D) |
    | v | (B, Hkv, Skv, Dv) | (B, Skv, Hkv, Dv) |
    | o | (B, Hq, Sq, Dv) | (B, Sq, Hq, Dv) |
    | lse, optional | (B, Hq, Sq), f32 | the same |

    Head dims must be static; all other sizes may be static or dynamic. Hq must
    be a multiple of Hkv. Each sequence length is at most 2^30. Q, K and V are
    all f16, all bf16, all f32 or all f8E4M3FN; O has the same type or f32, and
    f16, bf16 or f32 for 8-bit inputs. Strides are not part of the types; they
    are given at each call.

    8-bit inputs have few exponents, so they are quantized with scales:

    ```
    scales(%sq, %sk, %sv, %mean : tensor<1x1xf32>, tensor<1x8xf32>, tensor<1x8xf32>,
           tensor<1x8x128xf32>, names = ["q", "k", "v", "v_mean"])
    ```

    Each is optional, f32, and (B or 1, Hkv or 1), that is one per tensor, batch
    entry or key head; an extent of 1 is broadcast only if it is static. The op
    then reads `q * q_scale[b, h/g]`, `k * k_scale[b, h/g]` and
    `v * v_scale[b, h/g] + v_mean[b, h/g]`; `v_mean` has Dv columns in addition.
    Scales must be positive and finite. V is best quantized without its mean
    over the keys: MMA units for 8 bits lose the low bits of long sums of equal
    sign. `v_mean` is not supported with dropout. Probabilities of 8-bit inputs
    are rounded to f8E4M3FN for the product with V, after multiplication by a
    power of two that makes use of the type's range. The host passes the
    operands as `q_scale`, `k_scale`, `v_scale` and `v_mean`.

    `scale` is a constant or a run-time f32. The default is `1/sqrt(D)`.

    The regions must be pure, have one block and use only their arguments.
    `score_mod` takes the score and the coordinates, `mask_mod` the coordinates;
    both then take the captured values in the order of `captures`. The regions
    may read captured tensors with `tensor.extract`. `attn.query_length` and
    `attn.key_length` return the sequence lengths.

    A dimension of a captured tensor that is indexed by `b` or `h` must have an
    element for each batch entry or head. A dimension that `mask_mod` indexes by
    `i` or `j` must have an element for each query or key. The same holds for
    `score_mod` if the op has no mask, which could hide the access. Numbers of
    batch entries, queries or keys that lengths or offsets determine impose no
    such constraint.

    `attn-analyze-mask` creates the regions `kv_bounds` and `kv_classify`.
    `kv_bounds` yields `lb, fb, fe, ub` for the queries `i0` to `i1`, both
    inclusive: all visible keys are in `[lb, ub)`, and every key in `[fb, fe)`
    is visible to every query. `kv_classify` is a runtime block predicate for
    masks that these bounds do not describe exactly. It yields `any, all` for
    the queries `i0` to `i1` and the keys `j0` to `j1`, all inclusive and within
    the sequence: if `any` is false, no query of the block sees a key of it; if
    `all` is true, every query sees every key. `true, false` is always valid.

    `blocks` is a block-sparse list: for each block of `QB` queries, the blocks
    of `KB` keys that it attends to. `mask_mod`, if present, applies to
    *partial* blocks; all keys of *full* blocks are visible. Keys in other
    blocks are masked.

    ```
    blocks(%pc, %pi, %fc, %fi : tensor<?x?x?xi32>, tensor<?x?x?x?xi32>,
           tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [128, 128])
    ```

    Counts are (B or 1, Hq or 1, Qblocks) and indices are (B or 1, Hq or 1,
    Qblocks, width), all i32. An extent of 1 is broadcast only if it is static.
    The full lists are optional. A block may occur at most once, in any order.
    Indices outside of the sequence denote blocks without keys. Counts are
    clamped to `[0, width]`. Sequences must be dense or have `lengths`.

    With `invariant`, the bits of a sequence's results do not depend on other
    sequences of the call, on the number of batch entries, or on the GPU's
    number of SMs. They depend on the sequence's own queries and keys, and on
    the kernel.

    Products of f32 matrices have about the error of f32: kernels compute each
    as three tf32 products. With `tf32`, which needs f32 tensors, they may round
    the factors to tf32 instead (10 fraction bits), as PyTorch does for
    `torch.set_float32_matmul_precision("high")`. That is faster.

    The host passes captured values by name. With
    `captures(%a, %b : t, u, names = ["slopes", "gain"])` the names are `slopes`
    and `gain`: different identifiers of ASCII letters, digits and `_`, and not
    names of other operands or results. Without names they are `capture0`,
    `capture1` and so on, in the order of `captures`. Canonicalisation removes
    unused and repeated captured values. The others keep their names, if need be
    by a list of numbers: with `captures(%a, %b : t, u, numbers = [0, 2])` the
    names are `capture0` and `capture2`. Numbers must ascend.

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
    Arg<Optional<AnyRankedTensor>, "V: (B, Hkv, Skv, Dv) in the layout bhsd; none: columns of K">:$value,
    Arg<Variadic<AnyRankedTensor>, "scales of Q, K and V, and V's mean, by `scaleNames`: (B, Hkv), f32">:$scales,
    Arg<Optional<F32>, "the run-time softmax scale; excludes `scale`">:$scaleValue,
    Arg<Variadic<AnyType>, "captured values of the regions: scalars and tensors">:$captures,
    Arg<Variadic<AnyRankedTensor>, "operands of the sequence form: lengths, offsets or pages">:$sequenceOperands,
    Arg<Optional<AnyRankedTensor>, "attention sinks, one score per query head: (Hq), f32">:$sinks,
    Arg<Optional<I64>, "the seed of dropout's random numbers">:$dropoutSeed,
    Arg<Optional<I64>, "the offset into the random numbers of the seed">:$dropoutOffset,
    Arg<Variadic<AnyRankedTensor>, "counts and indices of partial blocks, then of full blocks: i32">:$blockLists,
    Arg<OptionalAttr<StrArrayAttr>, "which scales are given: different ones of q, k, v and v_mean">:$scaleNames,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "the numbers in the names of captured values, if some were removed">:$captureNumbers,
    Arg<OptionalAttr<StrArrayAttr>, "the names of captured values, one for each">:$captureNames,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "queries and keys per block of the lists: [QB, KB]">:$blockSize,
    Arg<OptionalAttr<F64Attr>, "the constant softmax scale; default 1/sqrt(D)">:$scale,
    Arg<OptionalAttr<F64Attr>, "the dropout probability, in [0, 1)">:$dropout,
    Arg<DefaultValuedOptionalAttr<I64Attr, "::fovea::generator::kVersion">, "the version of the random number generator">:$dropoutGenerator,
    Arg<DefaultValuedAttr<Attn_LayoutAttr, "::fovea::attn::Layout::BHSD">, "the dimension order of Q, K, V and O">:$layout,
    Arg<SequenceFormAttrInterface, "the memory layout and lengths of the sequences">:$sequence,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "the columns of K that are the values: the first one and their number; excludes `value`">:$valueColumns,
    Arg<UnitAttr, "the bits of a sequence's results do not depend on other sequences">:$invariant,
    Arg<UnitAttr, "products of f32 may round their factors to tf32">:$tf32);
  let results = (outs
    Res<AnyRankedTensor, "O: (B, Hq, Sq, Dv) in the layout bhsd">:$output,
    Res<Optional<AnyRankedTensor>, "log-sum-exp of the scores, natural logarithm: (B, Hq, Sq), f32">:$lse);
  let regions = (region
    Described<AnyRegion, "modifies a score; empty: no change">:$scoreMod,
    Described<AnyRegion, "true if a query sees a key; empty: all keys are visible">:$maskMod,
    Described<AnyRegion, "bounds of the keys that a block of queries sees; empty: not analyzed">:$kvBounds,
    Described<AnyRegion, "runtime block predicate: any key visible, all keys visible; empty: not analyzed">:$kvClassify);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getOutputType() {
      return ::mlir::cast<::mlir::RankedTensorType>(getOutput().getType());
    }
    /// The number of Q, K and V.
    unsigned getNumTensors() { return getValue() ? 3 : 2; }
    unsigned getFirstVariantOperand() {
      return getNumTensors() + getScales().size();
    }
    /// The operand that `scaleNames` calls `name`, or null.
    ::mlir::OpOperand *getScaleOperand(::llvm::StringRef name);
    /// The name of an operand among `scales`, as the host passes it.
    std::string getScaleOperandName(unsigned index);
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
  let summary = "attention backward pass";
  let description = [{
    Computes the gradients of a loss with respect to the operands of
    `attn.forward`, from the gradients with respect to its results, `do` and
    optionally `lse_gradient`. The clauses and regions of `attn.forward` have
    the same meaning and must be those of the forward op; `o` and `lse` are its
    results. With `s0` the scaled products, `s` and `P` as in `attn.forward`,
    and `m[i,j]` the factor of dropout (1 without dropout):

    ```
    P[i,j]  = exp(s[i,j] - lse[i])             0 where masked or s = -inf
    delta[i] = sum_d do[i,d] * o[i,d] - lse_gradient[i]
    dP[i,j] = m[i,j] * sum_d do[i,d] * v[j,d]
    ds[i,j] = P[i,j] * (dP[i,j] - delta[i])
    ds0     = ds * (derivative of score_mod with respect to the score)
    dq[i]   = scale * sum_j ds0[i,j] * k[j]
    dk[j]   = scale * sum_i ds0[i,j] * q[i]    over all query heads of a key head
    dv[j]   = sum_i m[i,j] * P[i,j] * do[i]    over all query heads of a key head
    dsinks[h] = - sum_i exp(sink[h] - lse[i]) * delta[i]
    dscale  = sum ds0 * s0 / scale
    dcapture = sum of ds * (derivative of score_mod with respect to the capture)
    ```

    If a pair is masked, or its score is -inf, all its contributions are 0, even
    if a derivative is infinite or NaN there. A row that sees no key
    (`lse = -inf`) contributes nothing and has `dq = 0`. The same holds for rows
    whose `lse` is at least 2^25 in absolute value, for example if all scores
    are -1e9: an f32 of that size cannot represent the differences between the
    scores. mask_mod has no derivative.

    `gradients(q, k, v, captures = [0, 2], sinks, scale)` lists the computed
    gradients, in this order. The default is `q, k, v`. `captures` lists
    positions of captured values, each a float tensor or an f32. A gradient has
    the shape of its operand (`tensor<f32>` for a scalar) and its element type,
    or f32.

    | value | shape | element |
    |---|---|---|
    | q, k, v, o | as in `attn.forward` | as there |
    | lse, lse_gradient | (B, Hq, Sq), natural logarithm | f32 |
    | do | that of o | that of o or q; kernels multiply in the type of q |

    An LSE to base 2 results in wrong gradients. Only the interpreter of this op
    detects it, if at least four rows show it and no row contradicts.

    `tf32` is that of `attn.forward`.

    With `deterministic`, the results are bitwise reproducible: each sum has a
    fixed order, or is exact. Without it, partial gradients may be accumulated
    with atomics in any order.

    `attn-differentiate` creates `score_gradient` if there is a `score_mod`. Its
    arguments are the score before `score_mod`, the derivative of the loss with
    respect to the modified score, the coordinates and the captured values. It
    yields the derivative with respect to the score before `score_mod`;
    `attn.contribute` accumulates the gradients of captured values.

    `attn-analyze-mask` creates `query_bounds`, the counterpart of `kv_bounds`
    for keys: for the keys `j0` to `j1`, both inclusive, it yields
    `lb, fb, fe, ub`. All queries that see one of these keys are in `[lb, ub)`,
    and every query in `[fb, fe)` sees every key.

    `query_blocks` are the lists of `blocks` transposed: for each block of `KB`
    keys, the blocks of `QB` queries that attend to it. Kernels over key tiles
    read them. Without them, or if such a kernel needs another form, a prologue
    kernel transposes `blocks`.

    ```
    query_blocks(%pc, %pi, %fc, %fi : tensor<?x?x?xi32>, tensor<?x?x?x?xi32>,
                 tensor<?x?x?xi32>, tensor<?x?x?x?xi32>)
    ```

    Counts are (B or 1, Hq or 1, Kblocks) and indices are (B or 1, Hq or 1,
    Kblocks, width), all i32, with as many tensors as `blocks`. Broadcast,
    counts and indices are as in `blocks`. Both must list the same pairs of
    blocks as partial and as full, else the gradients are undefined; the
    interpreter of this op reports a difference. The operands have the names
    `partial_query_count`, `partial_query_index`, `full_query_count` and
    `full_query_index`.

    Source: Dao et al., FlashAttention (2022), algorithm 4. score_mod and the
    gradients with respect to captured values follow PyTorch's FlexAttention.

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
    Arg<AnyRankedTensor, "the gradient with respect to O: O's shape, O's or Q's element type">:$outputGradient,
    Arg<Optional<AnyRankedTensor>, "the gradient with respect to LSE, of LSE's type; none: 0">:$lseGradient,
    Arg<Optional<F32>, "the run-time softmax scale; excludes `scale`">:$scaleValue,
    Arg<Variadic<AnyType>, "captured values of the regions: scalars and tensors">:$captures,
    Arg<Variadic<AnyRankedTensor>, "operands of the sequence form: lengths or offsets">:$sequenceOperands,
    Arg<Optional<AnyRankedTensor>, "attention sinks, one score per query head: (Hq), f32">:$sinks,
    Arg<Optional<I64>, "the seed of dropout's random numbers">:$dropoutSeed,
    Arg<Optional<I64>, "the offset into the random numbers of the seed">:$dropoutOffset,
    Arg<Variadic<AnyRankedTensor>, "counts and indices of partial blocks, then of full blocks: i32">:$blockLists,
    Arg<Variadic<AnyRankedTensor>, "the same lists transposed, the query blocks of each key block: i32">:$queryBlockLists,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "the numbers in the names of captured values, if some were removed">:$captureNumbers,
    Arg<OptionalAttr<StrArrayAttr>, "the names of captured values, one for each">:$captureNames,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "queries and keys per block of the lists: [QB, KB]">:$blockSize,
    Arg<OptionalAttr<F64Attr>, "the constant softmax scale; default 1/sqrt(D)">:$scale,
    Arg<OptionalAttr<F64Attr>, "the dropout probability, in [0, 1)">:$dropout,
    Arg<DefaultValuedOptionalAttr<I64Attr, "::fovea::generator::kVersion">, "the version of the random number generator">:$dropoutGenerator,
    Arg<DefaultValuedAttr<Attn_LayoutAttr, "::fovea::attn::Layout::BHSD">, "the dimension order of Q, K, V and O">:$layout,
    Arg<SequenceFormAttrInterface, "the memory layout and lengths of the sequences">:$sequence,
    Arg<DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">, "positions of the captured values whose gradients are computed">:$differentiated,
    Arg<UnitAttr, "results are bitwise reproducible">:$deterministic,
    Arg<UnitAttr, "products of f32 may round their factors to tf32">:$tf32);
  let results = (outs
    Res<Optional<AnyRankedTensor>, "the optional gradient with respect to Q: shape of Q">:$queryGradient,
    Res<Optional<AnyRankedTensor>, "the optional gradient with respect to K: shape of K">:$keyGradient,
    Res<Optional<AnyRankedTensor>, "the optional gradient with respect to V: shape of V">:$valueGradient,
    Res<Variadic<AnyRankedTensor>, "the gradients with respect to the captured values in `differentiated`">:$captureGradients,
    Res<Optional<AnyRankedTensor>, "the optional gradient with respect to the sinks: (Hq)">:$sinksGradient,
    Res<Optional<AnyRankedTensor>, "the optional gradient with respect to the scale: tensor of rank 0">:$scaleGradient);
  let regions = (region
    Described<AnyRegion, "modifies a score; empty: no change">:$scoreMod,
    Described<AnyRegion, "true if a query sees a key; empty: all keys are visible">:$maskMod,
    Described<AnyRegion, "bounds of the keys that a block of queries sees; empty: not analyzed">:$kvBounds,
    Described<AnyRegion, "runtime block predicate: any key visible, all keys visible; empty: not analyzed">:$kvClassify,
    Described<AnyRegion, "the derivative of score_mod with respect to the score; empty: not created yet">:$scoreGradient,
    Described<AnyRegion, "bounds of the queries that see a block of keys; empty: not analyzed">:$queryBounds);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    unsigned getFirstVariantOperand() { return getLseGradient() ? 7 : 6; }
    /// Number of score_gradient's arguments before the captured values.
    static constexpr unsigned kScoreGradientArguments = 6;
    static constexpr unsigned kQueryBoundsArguments = 4;
    /// The gradient of captured value `index`, or null.
    ::mlir::Value getGradientOfCapture(unsigned index);
  }];
}

def Attn_ContributeOp : Attn_Op<"contribute", [
    ParentOneOf<["BackwardOp"]>, MemoryEffects<[MemWrite]>]> {
  let summary = "accumulates the gradient of a captured value";
  let description = [{
    Adds the contribution of one pair of a query and a key to the gradient of a
    captured value. The op is valid in `score_gradient` of `attn.backward` only.
    The target is the region's argument of a captured value whose gradient is
    computed; for a tensor, indices select the element. Contributions of all
    unmasked pairs are summed in any order. Indices must be within the tensor.

    Example:

    ```mlir
    attn.contribute %ds to %table[%h] : tensor<16xf32>
    ```
  }];
  let arguments = (ins
    Arg<F32, "the contribution">:$value,
    Arg<AnyType, "the region's argument of a captured value">:$target,
    Arg<Variadic<Index>, "the indices of the element, one per dimension of the tensor">:$indices);
  let assemblyFormat = [{
    $value `to` $target (`[` $indices^ `]`)? attr-dict `:` type($target)
  }];
  let hasVerifier = 1;
}

def Attn_MergeOp : Attn_Op<"merge", [
    Pure, SameVariadicOperandSize,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<KernelOpInterface, ["getDimLimits", "isOperandCopied", "isResultCopied"]>]> {
  let summary = "merges attention over disjoint sets of keys";
  let description = [{
    Merges pairs (O, LSE) of the same queries over disjoint sets of keys into
    (O, LSE) over the union of the keys:

    ```
    LSE = log(sum_p exp(LSE_p))       O = sum_p exp(LSE_p - LSE) * O_p
    ```

    A row whose parts all have `LSE_p = -inf` has `O = 0` and `LSE = -inf`. A
    part with `LSE_p = -inf` has no effect, whatever values its O contains.
    Parts are merged in ascending order. The op serves split KV, ring attention
    and cascade inference.

    An O has the shape (B, Hq, Sq, Dv) or, with `layout(bshd)`,
    (B, Sq, Hq, Dv), and the element type f16, bf16 or f32. An LSE has the shape
    (B, Hq, Sq) and the element type f32.

    If the only pair has one more leading dimension, the parts are *stacked*:
    that dimension counts them. Its size may be dynamic, and 0, which gives
    `O = 0` and `LSE = -inf`. The kernel then has one loop over the parts.

    Example:

    ```mlir
    %o, %lse = attn.merge (%o0, %lse0), (%o1, %lse1)
      : tensor<2x8x?x64xf32>, tensor<2x8x?xf32> -> tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
    %p, %plse = attn.merge (%os, %lses)
      : tensor<?x2x8x?x64xf32>, tensor<?x2x8x?xf32> -> tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<AnyRankedTensor>, "O of each part, (B, Hq, Sq, Dv) in the layout bhsd; or of all, with a leading dimension">:$outputs,
    Arg<Variadic<AnyRankedTensor>, "LSE of each part or of all, natural logarithm: (B, Hq, Sq), f32">:$lses,
    Arg<DefaultValuedAttr<Attn_LayoutAttr, "::fovea::attn::Layout::BHSD">, "the dimension order of the outputs">:$layout);
  let results = (outs
    Res<AnyRankedTensor, "O over the keys of all parts, the shape of a part">:$output,
    Res<Optional<AnyRankedTensor>, "LSE over the keys of all parts: (B, Hq, Sq), f32">:$lse);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if the leading dimension of one pair counts the parts.
    bool isStacked();
  }];
}

def Attn_AppendOp : Attn_Op<"append", [
    AttrSizedOperandSegments, Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<KernelOpInterface,
                              ["getDimLimits", "getUpdatedOperand",
                               "isOperandCopied", "isResultCopied"]>]> {
  let summary = "writes new rows of keys and values into a cache";
  let description = [{
    Returns the caches with new rows of K and V at given positions; all other
    rows keep their contents. The kernel updates the caches in place: its ABI
    has one tensor for a cache and its result, with the access `update`.

    A cache has the shape (pages, rows of a page, Hkv, D) or (rows, Hkv, D),
    which has pages of one row. `slots` gives the position of each new row:
    `page * rows of a page + row`. With `lengths`, the row `t` of sequence `b`
    has the position `n = lengths[b] + t`, where `lengths` are those before the
    op:

    | operands | new rows | position in the cache |
    |---|---|---|
    | `slots` | (T, Hkv, D) or (B, S, Hkv, D) | `slots[t]` or `slots[b, t]` |
    | `lengths` | (B, S, Hkv, D) | row `n` of page `b`, for a cache with a page per sequence |
    | `page_table`, `lengths` | (B, S, Hkv, D) | row `n mod rows` of page `page_table[b, n div rows]` |
    | `offsets` in addition to `lengths` | (T, Hkv, D) | the same; row `offsets[b] + t` is row `t` of sequence `b` |

    A row without a position in the cache is skipped: with a slot, page or `n`
    that is negative or too large, or in no sequence. So all integers are
    valid, and nothing outside of a cache is written. Offsets that do not ascend
    give rows unspecified positions. No two rows may have the same position: the
    interpreter reports it, and a kernel writes one of them.

    K and V have the element type of their cache: f8E4M3FN, f16, bf16 or f32.
    They may have different head dims. A cache of latent attention has no V.

    Example:

    ```mlir
    %kc, %vc = attn.append (%k, %v) to (%k_cache, %v_cache) slots(%slots : tensor<?xi64>)
      : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>
      to tensor<?x64x8x128xbf16>, tensor<?x64x8x128xbf16>
    %c = attn.append (%kv) to (%cache) page_table(%table : tensor<4x?xi32>) lengths(%n : tensor<4xi32>)
      : tensor<4x?x1x576xbf16> to tensor<?x64x1x576xbf16>
    ```
  }];
  let arguments = (ins
    Arg<AnyRankedTensor, "the new keys: (T, Hkv, D) or (B, S, Hkv, D)">:$key,
    Arg<Optional<AnyRankedTensor>, "the new values; none: a cache of keys only">:$value,
    Arg<AnyRankedTensor, "the keys of the cache: (pages, rows, Hkv, D) or (rows, Hkv, D)">:$keyCache,
    Arg<Optional<AnyRankedTensor>, "the values of the cache">:$valueCache,
    Arg<Optional<AnyRankedTensor>, "the position of each new row, i32 or i64: (T) or (B, S)">:$slots,
    Arg<Optional<AnyRankedTensor>, "the pages of each sequence, i32: (B, P)">:$pageTable,
    Arg<Optional<AnyRankedTensor>, "the number of keys of each sequence before the op, i32: (B)">:$lengths,
    Arg<Optional<AnyRankedTensor>, "the first new row of each packed sequence, and their end, i32: (B + 1)">:$offsets);
  let results = (outs
    Res<AnyRankedTensor, "the keys of the cache with the new rows">:$keys,
    Res<Optional<AnyRankedTensor>, "the values of the cache with the new rows">:$values);
  let assemblyFormat = [{
    ` ` `(` $key (`,` $value^)? `)` `to` ` ` `(` $keyCache (`,` $valueCache^)? `)`
    (`slots` `(` $slots^ `:` type($slots) `)`)?
    (`page_table` `(` $pageTable^ `:` type($pageTable) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    attr-dict `:` type($key) (`,` type($value)^)?
    `to` type($keyCache) (`,` type($valueCache)^)?
  }];
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["ForwardOp", "BackwardOp"]>]> {
  let summary = "terminator of the regions of attn ops";
  let description = [{
    Yields the modified score from `score_mod`, the i1 from `mask_mod`, the four
    bounds from `kv_bounds` and `query_bounds`, two i1 from `kv_classify`, and
    the derivative with respect to the score from `score_gradient`.

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
    Returns the number of }] # what # [{ in the sequence of batch entry `b`. The
    op is valid in regions of attention ops only. For example, a causal mask
    aligned to the bottom right is `j - key_length <= i - query_length`.

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
    Returns the }] # what # [{ element of a captured tensor in positions `first`
    to `last` of one dimension, both inclusive. The op is valid in `kv_classify`
    only. The positions must be `i0` and `i1`, the block's queries, or `j0` and
    `j1`, its keys. The other indices must not depend on the block.

    Integers compare as signed numbers; for i1, true is the larger value.
    Positions outside the tensor are ignored. A lower level may use the block
    min/max of a larger range, for example of whole tiles: the result of
    `kv_classify` is then less precise but still valid.

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
    Arg<AnyRankedTensor, "a captured integer tensor">:$tensor,
    Arg<Variadic<Index>, "indices of the tensor's other dimensions, in order">:$indices,
    Arg<Index, "the block's first position, inclusive">:$first,
    Arg<Index, "the block's last position, inclusive">:$last,
    Arg<I64Attr, "the dimension of the positions">:$dim);
  let results = (outs Res<AnySignlessInteger, "the " # what # " element">:$result);
  let assemblyFormat = [{
    $tensor `` custom<BlockIndices>($indices, $first, $last, $dim) attr-dict `:`
    type($tensor)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if the positions are the block's queries, false for its keys.
    bool isOverQueries();
  }];
}

def Attn_BlockMinOp : Attn_BlockExtremeOp<"block_min", "smallest", "sle">;
def Attn_BlockMaxOp : Attn_BlockExtremeOp<"block_max", "largest", "sge">;

def Attn_QueryLengthOp : Attn_LengthOp<"query_length", "queries">;
def Attn_KeyLengthOp : Attn_LengthOp<"key_length", "keys">;

#endif // FOVEA_DIALECT_ATTN_IR_ATTNOPS_TD
