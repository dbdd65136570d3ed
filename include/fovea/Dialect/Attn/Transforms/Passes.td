//===- Passes.td - Passes of the attn dialect --------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnAnalyzeMask : Pass<"attn-analyze-mask"> {
  let summary = "Derive key bounds of query blocks from mask_mod";
  let description = [{
    Creates the `kv_bounds` region of each attention op that has a `mask_mod`
    and no `kv_bounds`, by interval analysis of the mask. For the queries `i0`
    to `i1`, keys outside `[lb, ub)` are visible to none of them, and keys in
    `[fb, fe)` to all of them. The region is scalar arithmetic that runs once
    per block of queries.

    The bounds are exact for conjunctions of comparisons that are linear in the
    key with a constant factor, also through divisions by positive values:
    causal, sliding window, prefix and chunked masks. For a disjunction,
    `[lb, ub)` is the convex hull and `[fb, fe)` the longer of the ranges.
    Conditions on data, for example document ids, restrict nothing:
    `lb = fb = fe = 0` and `ub = key_length`.

    If the bounds are not exact, the pass also creates `kv_classify`, a runtime
    block predicate. It tells whether some query from `i0` to `i1` may see some
    key from `j0` to `j1`, and whether each of these queries sees each of these
    keys. In this analysis keys are intervals like queries, and an element of a
    captured tensor at the query or the key is between `attn.block_min` and
    `attn.block_max`. The pass does not create this region if nothing is known
    about the mask.

    For `attn.backward`, the pass also creates `query_bounds`: the same analysis
    with queries and keys exchanged returns the queries that see the keys `j0`
    to `j1`. `kv_classify` serves both directions.

    The pass warns about masks that hide every key from every query. Remarks of
    category "mask" report the derived bounds and the ops of the mask that
    prevented better ones (`--remarks-filter=mask`).

    Before: `mask_mod(...) { i >= j }`. After, in addition:

    ```mlir
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %n = attn.key_length
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %last = arith.addi %i1, %c1 : index
      %ub = arith.minsi %last, %n : index
      %first = arith.addi %i0, %c1 : index
      %fe = arith.minsi %first, %ub : index
      attn.yield %c0, %c0, %fe, %ub : index, index, index, index
    }
    ```

    Run `canonicalize` first: the analysis recognises sums in canonical IR.

    **Ensures** that each attention op with a `mask_mod` has `kv_bounds`, and
    each `attn.backward` with a `mask_mod` has `query_bounds`.
  }];
  let statistics = [
    Statistic<"numMasks", "masks", "Number of masks analysed">,
    Statistic<"numBounded", "bounded",
              "Number of masks that restrict the range of keys">,
    Statistic<"numWithFullBlocks", "with-full-blocks",
              "Number of masks with full blocks">,
    Statistic<"numClassified", "classified",
              "Number of masks with a runtime block predicate">,
    Statistic<"numUnknown", "unknown-conditions",
              "Number of conditions without bounds">
  ];
}

def AttnDifferentiate : Pass<"attn-differentiate"> {
  let summary = "Derive score_gradient from score_mod";
  let description = [{
    Creates the `score_gradient` region of each `attn.backward` that has a
    `score_mod` and no `score_gradient`, by reverse-mode differentiation. It
    clones the ops of score_mod that the derivative needs, and then accumulates
    adjoints in reverse order by the rule of each op, a
    `DifferentiableOpInterface`. Only ops between the score, or a captured value
    whose gradient is computed, and the result have derivatives. Integers are
    constants, including coordinates. Each element that is read of such a
    captured tensor gets an `attn.contribute`.

    Two rewrites of contributions follow. A contribution whose sum over the keys
    of a row is zero is erased: adding the same number to all scores of a row
    does not change the probabilities, unless there are sinks or a gradient with
    respect to the log-sum-exp. A factor that is the same for all queries is
    moved to the end of the product.

    The pass reports an error at an op without a rule.
    docs/Specification/Gradients.md lists the rules and their values at points
    without a derivative.

    The pass adds the second region of this op:

    ```mlir
    %dq, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, captures = [0])
      captures(%table : tensor<16xf32>)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<16xf32>) {
        %0 = tensor.extract %t[%h] : tensor<16xf32>
        %1 = arith.mulf %s, %0 : f32
        attn.yield %1 : f32
      }
      score_gradient(%s: f32, %ds: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<16xf32>) {
        %0 = tensor.extract %t[%h] : tensor<16xf32>
        %1 = arith.mulf %ds, %0 : f32
        %2 = arith.mulf %ds, %s : f32
        attn.contribute %2 to %t[%h] : tensor<16xf32>
        attn.yield %1 : f32
      }
      : tensor<4x16x?x64xbf16>, tensor<4x16x?x64xbf16>, tensor<4x16x?x64xbf16>,
        tensor<4x16x?x64xbf16>, tensor<4x16x?xf32>, tensor<4x16x?x64xbf16>
      -> tensor<4x16x?x64xbf16>, tensor<16xf32>
    ```

    Duplicate ops and constants are left to `cse`.

    **Ensures** that an `attn.backward` with a `score_mod` has a
    `score_gradient`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
  let statistics = [
    Statistic<"numDifferentiated", "differentiated",
              "Number of score_mods differentiated">,
    Statistic<"numContributions", "contributions",
              "Number of attn.contribute created">
  ];
}

def AttnMakeGradient : Pass<"attn-make-gradient", "::mlir::ModuleOp"> {
  let summary = "Add functions that compute gradients of attention";
  let description = [{
    For each function `@f` whose body is one `attn.forward`, constants, and the
    return of its results in any order, the pass adds `@f_backward`, which
    contains one `attn.backward` with the same clauses and regions. Its
    arguments are q, k and v, then o and lse of the forward op, the gradients
    with respect to o and, with `lse-gradient`, lse, and then the other operands
    of the forward op. With `query-blocks`, the transposed block lists follow,
    if the forward op has block lists. Constants stay constants. The function
    returns the requested gradients in this order: q, k, v, captured values,
    sinks, run-time scale. Gradients with respect to constants are returned only
    if requested by name. The gradient with respect to o has the element type of
    v, in which kernels multiply it, even if o is f32.

    Gradients need o and lse. If `@f` does not return them, they are appended to
    its results. If `@f` has callers, it is not changed; instead the pass adds
    `@f_forward`, a copy with these results. A name that is already used gets a
    numeric suffix.

    A function with other ops besides an `attn.forward` is an error, since its
    gradients are not the gradients of its attention. `attn-outline` moves the
    ops to functions first, whose gradient functions the program can call.

    `attn-differentiate`, which the pipelines run, computes the derivative of
    the score_mod. Second derivatives are not supported.

    **Ensures** that each function with an `attn.forward` has a gradient
    function. Other functions are not changed.

    ```mlir
    !t = tensor<2x8x?x64xbf16>
    func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
      %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
      return %o : !t
    }
    ```

    becomes

    ```mlir
    !t = tensor<2x8x?x64xbf16>
    !rows = tensor<2x8x?xf32>
    func.func @f(%q: !t, %k: !t, %v: !t) -> (!t, !rows) {
      %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> !t, !rows
      return %o, %lse : !t, !rows
    }
    func.func @f_backward(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
      %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
        : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
      return %dq, %dk, %dv : !t, !t, !t
    }
    ```
  }];
  let options = [
    ListOption<"gradients", "gradients", "std::string",
      "Gradients to compute: 'q', 'k', 'v', 'sinks', 'scale', and captured values by name, such as 'capture0'; by default all that exist">,
    Option<"lseGradient", "lse-gradient", "bool", /*default=*/"false",
      "The loss also depends on lse">,
    Option<"deterministic", "deterministic", "bool", /*default=*/"false",
      "The gradients are bitwise reproducible">,
    Option<"queryBlocks", "query-blocks", "bool", /*default=*/"false",
      "The gradients take transposed block lists">,
    Option<"onlyBackward", "only-backward", "bool", /*default=*/"false",
      "Remove the forward functions, unless they have callers">
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Number of gradient functions created">
  ];
}

def AttnOutline : Pass<"attn-outline", "::mlir::ModuleOp"> {
  let summary = "Outline attn ops into functions";
  let description = [{
    `attn-to-tile` creates one kernel per function whose body is one attn op on
    the function's arguments and the return of its results. Such functions are
    not changed. Each such op (`KernelOpInterface`) of another function is
    moved to a new private function with one argument per operand, and is
    replaced by a call. With `public-functions`, public functions of the first
    kind are also outlined: they remain for their callers and call the kernel's
    function.

    ```mlir
    func.func @layer(...) -> tensor<2x8x?x64xbf16> {
      ...
      %o = attn.forward %q, %k, %v : ...
      ...
    }
    ```

    becomes

    ```mlir
    func.func private @layer_forward(%q: ..., %k: ..., %v: ...) -> ... {
      %o = attn.forward %q, %k, %v : ...
      return %o : tensor<2x8x?x64xbf16>
    }
    func.func @layer(...) -> tensor<2x8x?x64xbf16> {
      ...
      %o = call @layer_forward(%q, %k, %v) : ...
      ...
    }
    ```

    **Ensures** that each function with an attn op consists of that op, on the
    function's arguments, and the return of its results.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [
    Option<"publicFunctions", "public-functions", "bool", /*default=*/"false",
      "Keep public functions that are one attn op, and outline their op">
  ];
  let statistics = [
    Statistic<"numOutlined", "outlined", "Number of ops outlined">
  ];
}

#endif // FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_TD
