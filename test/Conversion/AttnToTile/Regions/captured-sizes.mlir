// Minimum sizes of captured tensors whose types have dynamic sizes.
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 | FileCheck %s
// RUN: not fovea-run %s --entry=slopes --random=1 --dims B=1,Hq=8,Hkv=2,Sq=20,Skv=30,capture0.0=7 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: dimension capture0.0 must be at least 8, which is Hq, found 7
// Without a size in --dims they get the minimum.
// RUN: fovea-run --target=sm_80 %s --entry=slopes --random=1 --dims B=1,Hq=8,Hkv=2,Sq=20,Skv=30 --check --level=warp
// RUN: fovea-run --target=sm_80 %s --entry=both --random=1 --dims B=1,Hq=2,Hkv=2,Sq=20,Skv=30 --check --level=warp

!t = tensor<?x?x?x64xbf16>
// CHECK-LABEL: launch.abi @slopes
// CHECK-SAME: constraints([#launch.multiple<"Hq", of "Hkv">, #launch.at_most<"Sq", 1073741824>, #launch.at_most<"Skv", 1073741824>, #launch.covers<"capture0.0", block = 1, of "Hq">])
func.func @slopes(%q: !t, %k: !t, %v: !t, %c: tensor<?xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%c : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %x = tensor.extract %t[%h] : tensor<?xf32>
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// One tensor indexed by queries and keys; one that is loaded twice, and once by neither; the second
// one keeps its index.
// CHECK-LABEL: launch.abi @both
// CHECK-SAME: #launch.covers<"capture1.0", block = 1, of "B">, #launch.covers<"capture1.1", block = 1, of "Sq">, #launch.covers<"capture1.1", block = 1, of "Skv">])
func.func @both(%q: !t, %k: !t, %v: !t, %c: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%c : tensor<?x?xi32>, numbers = [1])
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?xi32>) {
      %c0 = arith.constant 0 : index
      %x = tensor.extract %t[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %t[%b, %j] : tensor<?x?xi32>
      %z = tensor.extract %t[%c0, %i] : tensor<?x?xi32>
      %m = arith.maxsi %x, %z : i32
      %keep = arith.cmpi sle, %y, %m : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Elements for hidden pairs need not exist.
// CHECK-LABEL: launch.abi @hidden
// CHECK-SAME: #launch.at_most<"Skv", 1073741824>])
func.func @hidden(%q: !t, %k: !t, %v: !t, %c: tensor<?xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%c : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %x = tensor.extract %t[%j] : tensor<?xf32>
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %t, %c0 : tensor<?xf32>
      %keep = arith.cmpi slt, %j, %n : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
