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
  let summary = "Derive from mask_mod which keys a block of queries sees";
  let description = [{
    Fills the `kv_bounds` region of each attention op that has a `mask_mod`
    and no `kv_bounds` yet, by evaluating the mask over intervals: for the
    queries `i0` to `i1`, keys outside `[lb, ub)` are visible to none of them,
    keys in `[fb, fe)` to all of them. The region is arithmetic on a few scalars
    that runs once per block of queries.

    Found exactly: conjunctions of comparisons that are linear in the key with
    a constant factor, also through divisions by positive values: causal,
    sliding window, prefix, chunked masks. Disjunctions get the hull, and the
    longer part that is known to be visible. Conditions on data (document ids)
    restrict nothing: `lb = fb = fe = 0`, `ub = key_length`.

    Where that is not exact, fills `kv_classify` as well: whether any, and
    whether every, query `i0` to `i1` sees any, every, key `j0` to `j1`. There
    keys have an interval as queries have, and an element of a captured tensor
    at the query or the key lies between `attn.block_min` and `attn.block_max`.
    A mask of which nothing is known gets no such region.

    Of `attn.backward`, fills `query_bounds` too: the same rules, applied to the
    mask with queries and keys in each other's places, say which queries see the
    keys `j0` to `j1`. `kv_classify` serves both sides.

    Warns of masks that can be seen to hide every key from every query. Remarks
    of category "mask" say what was derived, and which ops of the mask were in
    the way (`--remarks-filter=mask`).

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

    Sums are best found in canonical IR; run `canonicalize` before.

    **Ensures** that an attention op with a `mask_mod` has `kv_bounds`, and `attn.backward` `query_bounds`, too.
  }];
  let statistics = [
    Statistic<"numMasks", "masks", "Number of masks analysed">,
    Statistic<"numBounded", "bounded",
              "Number of masks that restrict the keys to visit">,
    Statistic<"numWithFullBlocks", "with-full-blocks",
              "Number of masks with keys that all queries see">,
    Statistic<"numClassified", "classified",
              "Number of masks with blocks that are classified at run time">,
    Statistic<"numUnknown", "unknown-conditions",
              "Number of conditions about which nothing is known">
  ];
}

def AttnDifferentiate : Pass<"attn-differentiate"> {
  let summary = "Derive score_gradient from score_mod";
  let description = [{
    Fills the `score_gradient` region of each `attn.backward` that has a
    `score_mod` and no `score_gradient` yet, by reverse mode: it repeats the ops of
    score_mod that the derivative needs, then goes through them backwards and
    sums what each op's rule, a `DifferentiableOpInterface`, gives for its operands.
    Only what lies between the score, or a captured value whose gradient is asked
    for, and the result has derivatives. Integers, and so the coordinates, are
    constants. Each element that is read of such a tensor gets an
    `attn.contribute`.

    Two rewrites of contributions follow. A contribution whose sum over the keys
    of a row is zero is erased: a number that all scores of a row are increased by
    changes no weight, unless there are sinks or a gradient by the log-sum-exp. A
    factor that is the same for all queries moves to the end of the product.

    Fails at an op without a rule. The page on gradients lists the rules, and what
    they give where a derivative does not exist.

    What comes out, where the first of the two regions went in:

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

    What is computed twice, and constants that are there twice, are left to `cse`.

    **Ensures** that an `attn.backward` with a `score_mod` has a `score_gradient`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
  let statistics = [
    Statistic<"numDifferentiated", "differentiated",
              "Number of score_mods differentiated">,
    Statistic<"numContributions", "contributions",
              "Number of attn.contribute made">
  ];
}

def AttnMakeGradient : Pass<"attn-make-gradient", "::mlir::ModuleOp"> {
  let summary = "Add functions that compute gradients of attention";
  let description = [{
    For each function `@f` that is one `attn.forward`, constants beside it, and the
    return of its results in any order: adds `@f_backward`, which is one
    `attn.backward` with the same clauses and regions. Its arguments are the op's
    q, k, v, then o and lse of the forward, the gradients of the loss by o and, with
    `lse-gradient`, by lse, then the other operands of the op. Constants stay
    constants. It returns the gradients by q, k, v, captured values, sinks and a
    run-time scale, as far as they are asked for, in this order; by constants only
    where they are asked for by name. The gradient by o has the element type of v,
    as kernels multiply it, also if o is f32.

    Gradients need o and lse. What `@f` does not return of them it returns from now
    on, last. If `@f` has callers, it stays as it is, and `@f_forward`, which is the
    same with these results, is added. A name that is taken gets a number.

    A function with an `attn.forward` among other things is an error, since its
    gradients are not those of its attention: `attn-outline` makes functions of
    the ops first, whose gradients the program's own can call.

    `attn-differentiate`, which the pipelines run, finds the derivative of the
    score_mod. Derivatives of derivatives are not made.

    **Ensures** that a function with an `attn.forward` has a gradient function beside it. Functions without one are left alone.

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
      "What gradients are by: 'q', 'k', 'v', 'sinks', 'scale', and captured values by their names, such as 'capture0'; all that have one by default">,
    Option<"lseGradient", "lse-gradient", "bool", /*default=*/"false",
      "The loss depends on lse, too">,
    Option<"deterministic", "deterministic", "bool", /*default=*/"false",
      "The gradients are the same, bit for bit, in each run">,
    Option<"onlyBackward", "only-backward", "bool", /*default=*/"false",
      "Drop the functions that gradients are of, unless they are called">
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Functions that compute gradients">
  ];
}

def AttnOutline : Pass<"attn-outline", "::mlir::ModuleOp"> {
  let summary = "Give each attn op a function of its own";
  let description = [{
    `attn-to-tile` makes one kernel of a function that is one attn op on the
    function's own arguments and the return of its results. Such functions are
    left alone; each `attn.forward` and `attn.merge` of another function moves to
    a new private function with one argument for each operand, and a call takes
    its place. With `public-functions`, public functions of that kind are no
    exception: they stay, for who calls them, and call a kernel.

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

    **Ensures** that a function with an attn op is that op, on the function's own arguments, and the return of its results.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [
    Option<"publicFunctions", "public-functions", "bool", /*default=*/"false",
      "Public functions that are one attn op stay, too, and call a kernel">
  ];
  let statistics = [
    Statistic<"numOutlined", "outlined", "Number of ops moved to functions">
  ];
}

#endif // FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_TD
