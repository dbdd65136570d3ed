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
