// Remarks on the queries that tiles of keys skip, where a bound is a choice.
// RUN: fovea-opt %examples/prefix_lm.mlir --attn-make-gradient --attn-analyze-mask --remarks-filter=mask -o /dev/null 2>&1 | FileCheck %s --check-prefix=PREFIX
// RUN: fovea-opt %examples/strided.mlir --attn-make-gradient --attn-analyze-mask --remarks-filter=mask -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRIDED
// PREFIX: query_bounds {{.*}}Reason="keys j0 to j1 skip queries before the first visible one; queries that see all these keys need no mask"
// STRIDED: query_bounds {{.*}}Reason="keys j0 to j1 skip queries before j0 (blocks above the diagonal) and queries after the last visible one; queries that see all these keys need no mask"
