// RUN: fovea-opt %s --split-input-file --verify-diagnostics --attn-to-tile="target=sm_90a schedule=work=shares"

// Fields of the schedule and ops that shares do not go with:
// RUN: not fovea-compile %examples/dense.mlir --target=sm_90a --schedule=chain=1,work=shares --emit=tile 2>&1 | FileCheck %s --check-prefix=CHAIN
// CHAIN: error: 'work' shares is not supported with 'chain'
// RUN: not fovea-compile %examples/dense.mlir --target=sm_90a --schedule=cluster=2,work=shares --emit=tile 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: error: schedule's 'cluster' 2 needs 'work' to be single or static
// RUN: not fovea-compile %examples/block_sparse.mlir --target=sm_90a --schedule=work=shares --emit=tile 2>&1 | FileCheck %s --check-prefix=LISTS
// LISTS: error: 'work' shares is not supported with block-sparse lists
// RUN: not fovea-compile %examples/documents.mlir --target=sm_90a --schedule=work=shares,classify=1 --emit=tile 2>&1 | FileCheck %s --check-prefix=CLASSIFY
// CLASSIFY: error: 'work' shares is not supported with 'classify'
// RUN: not fovea-compile %examples/packed.mlir --target=sm_90a --schedule=work=shares,longest_first=1 --emit=tile 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: 'work' shares is not supported with 'longest_first'
// RUN: not fovea-compile %examples/dense.mlir --target=sm_100a --schedule=work=shares --emit=tile 2>&1 | FileCheck %s --check-prefix=TMEM
// TMEM: error: 'work' shares is not supported with accumulators in tensor memory
// RUN: not fovea-compile %examples/dense.mlir --target=sm_80 --schedule=work=static --emit=tile 2>&1 | FileCheck %s --check-prefix=ROLES
// ROLES: error: schedule's 'work' must be single or shares without roles ('producer_registers'), found static

// A clause that says more than cuts at the borders of shares keep:
// RUN: sed 's/%%q, %%k, %%v/%%q, %%k, %%v invariant/' %examples/gqa_decode.mlir > %t.invariant.mlir
// RUN: not fovea-compile %t.invariant.mlir --target=sm_90a --schedule=split=0 --emit=tile 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: error: with 'invariant', 'work' shares needs 'split', which makes pieces independent of other sequences
// RUN: not fovea-compile %examples/dense.mlir --target=sm_90a --schedule=split=512 --emit=tile 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: 'split' needs 'work' shares, found
// RUN: not fovea-compile %examples/dense.mlir --target=sm_80 --schedule=split=512 --emit=tile 2>&1 | FileCheck %s --check-prefix=NO_ROLES
// NO_ROLES: error: 'split' needs 'work' shares, found single
// RUN: not fovea-compile %examples/gqa_decode.mlir --target=sm_90a --schedule=split=-1 --emit=tile 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: schedule's 'split' must be in [0, 1048576], found -1
