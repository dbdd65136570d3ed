// A progression that products of Q and K start from, with schedules that do not
// have it by default, and biases that are added after the product: a progression, a
// tensor and a table. With a log-sum-exp, which the examples have, no product
// starts from a summand by default.
//
// REQUIRES: fovea-run
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_80 --schedule=add_by_dot=1,recurrence=normalized --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_90a --schedule=add_by_dot=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/alibi.mlir --level=warp --target=sm_90a --schedule=add_by_dot=1,score_stages=0,overlap=0,chain=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-run %examples/logit_bias.mlir --level=warp --target=sm_90a --schedule=add_by_dot=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4,capture0.1=100,capture0.2=300
// RUN: fovea-run %examples/relative_bias.mlir --level=warp --target=sm_90a --schedule=add_by_dot=0 --check --random=1 --magnitude=4 --dims B=1,Hq=4,Hkv=4,Sq=100,Skv=300,capture0.0=4
// RUN: fovea-opt %examples/alibi.mlir --fovea-to-tile="target=sm_90a schedule=add_by_dot=1" | FileCheck %s --check-prefix=BY_DOT
// RUN: fovea-opt %examples/alibi.mlir --fovea-to-tile=target=sm_90a | FileCheck %s --check-prefix=BEHIND
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a | FileCheck %s --check-prefix=BY_DOT
// RUN: fovea-opt %s --fovea-to-tile="target=sm_90a schedule=add_by_dot=0" | FileCheck %s --check-prefix=BEHIND
// BY_DOT-LABEL: gpu.func @{{alibi|output_alone}}(
// BY_DOT:      %[[START:.*]] = scf.if
// BY_DOT:        tile.ramp
// BY_DOT:      tile.dot "s" %{{.*}}, %{{.*}}, %[[START]] transpose_b
// BEHIND-LABEL: gpu.func @{{alibi|output_alone}}(
// BEHIND:      %[[DOT:.*]] = tile.dot {{.*}} transpose_b
// BEHIND:      math.fma %[[DOT]]

func.func @output_alone(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                        %slopes: tensor<?xf32>) -> tensor<?x?x?x64xbf16> {
  %o = attn.forward %q, %k, %v captures(%slopes : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<?xf32>) {
      %distance = arith.subi %j, %i : index
      %integer = arith.index_cast %distance : index to i32
      %number = arith.sitofp %integer : i32 to f32
      %slope = tensor.extract %slopes[%h] : tensor<?xf32>
      %bias = arith.mulf %slope, %number : f32
      %biased = arith.addf %s, %bias : f32
      attn.yield %biased : f32
    } : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
