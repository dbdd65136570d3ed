// The interpreter compares the bounds of the examples with their masks.
//
// REQUIRES: fovea-run
// RUN: fovea-opt %examples/causal.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=130 --check-kv-bounds=16
// RUN: fovea-opt %examples/causal_bottom_right.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir --random=2 --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=130 --check-kv-bounds=16
// RUN: fovea-run %t.mlir --random=3 --dims=B=1,Hq=2,Hkv=1,Sq=130,Skv=70 --check-kv-bounds=16
// RUN: fovea-opt %examples/prefix_lm.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir --random=4 --dims=B=3,Hq=1,Hkv=1,Sq=90,Skv=90,capture0.0=3 --integers=0:90 --check-kv-bounds=16
//
// kv_classify is exact at these sizes.
//
// DEFINE: %{sizes} = --random=1 --dims=B=1,Hq=1,Hkv=1,Sq=300,Skv=1500
// RUN: fovea-opt %examples/dilated_window.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir %{sizes} --check-kv-bounds=64 --check-kv-classify=64x32,exact
// RUN: fovea-opt %examples/strided.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir %{sizes} --check-kv-bounds=64 --check-kv-classify=64x32,exact
// RUN: fovea-opt %examples/prefix_window_global.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir %{sizes} --check-kv-bounds=64 --check-kv-classify=64x32,exact
// RUN: fovea-opt %examples/neighbourhood_2d.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir %{sizes} --check-kv-bounds=64 --check-kv-classify=64x32,exact
// RUN: fovea-opt %examples/butterfly.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir %{sizes} --check-kv-bounds=64 --check-kv-classify=64x32,exact
//
// Ascending documents of 45 positions, causal within them. For arbitrary numbers the
// predicate is less precise but valid.
//
// RUN: fovea-opt %examples/documents.mlir --attn-analyze-mask -o %t.mlir
// RUN: fovea-run %t.mlir --random=1 --dims=B=2,Hq=1,Hkv=1,Sq=150,Skv=150,capture0.0=2,capture0.1=150 --integers=0:6 --check-kv-bounds=16 --check-kv-classify=16x16
// RUN: %python -c "import sys, numpy as n; q = n.zeros((2, 1, 150, 128), n.uint16); n.save(sys.argv[1], q); n.save(sys.argv[2], n.tile(n.arange(150, dtype=n.int32) // 45, (2, 1)))" %t.q.npy %t.doc.npy
// RUN: fovea-run %t.mlir --dtype=bf16 --inputs %t.q.npy %t.q.npy %t.q.npy %t.doc.npy --check-kv-classify=16x16,exact
// RUN: fovea-run %t.mlir --dtype=bf16 --inputs %t.q.npy %t.q.npy %t.q.npy %t.doc.npy --check-kv-classify=15x5,exact
