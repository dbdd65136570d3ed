// A user-specified field that the program has no use for is an error. If a schedule table set the
// field, a remark reports it and the field is dropped.
// DEFINE: %{entry} =
// DEFINE: %{field} =
// DEFINE: %{refused} = sed -n '/^!t/p;/@%{entry}(/,/^}/p' %s > %t.mlir && not fovea-opt %t.mlir --attn-to-tile="target=sm_90a schedule=%{field}" 2>&1
// DEFINE: %{left_out} = sed -n '/^!t/p;/@%{entry}(/,/^}/p' %s > %t.mlir && \
// DEFINE:   echo '{"schedules": [{"problem": {"target": "sm_90a", "elements": "bf16", "head_dim": 64, "value_head_dim": 64}, "schedule": "%{field}"}]}' > %t.json && \
// DEFINE:   fovea-opt %t.mlir --remarks-filter=schedule --attn-to-tile="target=sm_90a schedule-table=%t.json" 2>&1

// REDEFINE: %{entry} = plain
// REDEFINE: %{field} = score_stages=2
// RUN: %{refused} | FileCheck %s --check-prefix=SCORES
// SCORES: error: schedule's 'score_stages' is user-specified but cannot be applied: score_mod reads no captured tensor block by block
// RUN: %{left_out} | FileCheck %s --check-prefix=SCORES_REMARK
// SCORES_REMARK: remark: [Missed] score_stages | Category:schedule | Function=plain | Reason="score_mod reads no captured tensor block by block"
// SCORES_REMARK-LABEL: launch.abi @plain {{.*}} plan(<{{.*}}streams = [<"q"{{.*}}, <"k", stages = {{[0-9]+}}>], dots

// REDEFINE: %{field} = classify=1
// RUN: %{refused} | FileCheck %s --check-prefix=CLASSIFY
// CLASSIFY: error: schedule's 'classify' is user-specified but cannot be applied: the mask hides no block within its range of keys
// RUN: %{left_out} | FileCheck %s --check-prefix=CLASSIFY_REMARK
// CLASSIFY_REMARK: remark: [Missed] classify | Category:schedule | Function=plain | Reason="the mask hides no block within its range of keys"
// CLASSIFY_REMARK-NOT: classify,

// REDEFINE: %{entry} = listed
// RUN: %{refused} | FileCheck %s --check-prefix=LISTED
// LISTED: error: schedule's 'classify' is user-specified but cannot be applied: the op has block-sparse lists

// REDEFINE: %{entry} = few
// RUN: %{refused} | FileCheck %s --check-prefix=FEW
// FEW: error: schedule's 'classify' is user-specified but cannot be applied: with few queries a block costs less than its runtime predicate

// Row sums by the MMA unit do not work with a log-sum-exp or with dropout; the planner chooses none
// then, whatever a table has.
// REDEFINE: %{entry} = lse
// REDEFINE: %{field} = sum_by_dot=1
// RUN: %{refused} | FileCheck %s --check-prefix=LSE
// LSE: error: schedule's 'sum_by_dot' is user-specified but cannot be applied: row sums of rounded probabilities are too inaccurate for the log-sum-exp
// RUN: %{left_out} | FileCheck %s --check-prefix=LSE_CHOSEN
// LSE_CHOSEN: remark: [Missed] sum_by_dot | {{.*}} Reason="row sums of rounded probabilities are too inaccurate for the log-sum-exp"
// LSE_CHOSEN-NOT: sum_by_dot,

// REDEFINE: %{entry} = dropout
// RUN: %{refused} | FileCheck %s --check-prefix=DROPOUT
// DROPOUT: error: schedule's 'sum_by_dot' is user-specified but cannot be applied: dropout zeroes probabilities of the product that the row sum needs

!t = tensor<?x8x?x64xbf16>
func.func @plain(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

func.func @listed(%q: !t, %k: !t, %v: !t, %n: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v blocks(%n, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

func.func @few(%q: tensor<?x8x4x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x8x4x64xbf16> {
  %o = attn.forward %q, %k, %v : tensor<?x8x4x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x8x4x64xbf16>
  return %o : tensor<?x8x4x64xbf16>
}

func.func @lse(%q: !t, %k: !t, %v: !t) -> (!t, tensor<?x8x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> !t, tensor<?x8x?xf32>
  return %o, %lse : !t, tensor<?x8x?xf32>
}

func.func @dropout(%q: !t, %k: !t, %v: !t, %seed: i64) -> !t {
  %o = attn.forward %q, %k, %v dropout(0.1, %seed, %seed) : !t, !t, !t -> !t
  return %o : !t
}
