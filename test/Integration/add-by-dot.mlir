// Biases that products of Q and K start from, and that are added behind them: a
// ramp, a tensor, and a table that both branches of an scf.if add. With schedules
// that don't have it by default, and without it where they do.
//
// REQUIRES: fovea-run
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1,recurrence=normalized --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_90a --schedule=add_by_dot=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_90a --schedule=add_by_dot=1,score_stages=0,overlap=0,chain=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/logit_bias.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4,capture0.1=100,capture0.2=300
// RUN: fovea-run %examples/logit_bias.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1,recurrence=normalized --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4,capture0.1=100,capture0.2=300
// RUN: fovea-run %examples/logit_bias.mlir --level=warp --target=sm_90a --schedule=add_by_dot=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4,capture0.1=100,capture0.2=300
// RUN: fovea-run %examples/logit_bias.mlir --level=warp --target=sm_90a --schedule=add_by_dot=1,score_stages=0,overlap=0,chain=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4,capture0.1=100,capture0.2=300
// RUN: fovea-run %examples/relative_bias.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/relative_bias.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1,recurrence=normalized --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/relative_bias.mlir --level=warp --target=sm_90a --schedule=add_by_dot=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/relative_bias.mlir --level=warp --target=sm_90a --schedule=add_by_dot=1,score_stages=0,overlap=0,chain=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-opt %examples/alibi.mlir --fovea-to-tile=target=sm_90a | FileCheck %s --check-prefix=BY_DOT
// RUN: fovea-opt %examples/alibi.mlir --fovea-to-tile="target=sm_90a schedule=add_by_dot=0" | FileCheck %s --check-prefix=BEHIND
// RUN: fovea-opt %examples/relative_bias.mlir --fovea-to-tile=target=sm_90a | FileCheck %s --check-prefix=BRANCHES
// BY_DOT:      %[[RAMP:.*]] = tile.ramp
// BY_DOT-NEXT: %[[BIAS:.*]] = tile.broadcast %[[RAMP]]
// BY_DOT-NEXT: tile.dot %{{.*}}, %{{.*}}, %[[BIAS]] transpose_b
// BEHIND:      %[[DOT:.*]] = tile.dot {{.*}} transpose_b
// BEHIND:      arith.addf %[[DOT]]
// BRANCHES:      %[[BIAS:.*]] = scf.if
// BRANCHES:      tile.dot %{{.*}}, %{{.*}}, %[[BIAS]] transpose_b
