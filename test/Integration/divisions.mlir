// Integer divisions by captured values: elements past the end read as 0, and
// those that a mask hides may be 0. Float divisions that end in a floor.
//
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --integers=1:70 --dims B=1,Hq=2,Hkv=2,Sq=70,Skv=70
// RUN: %{run} --entry=keys --level=tile --target=sm_80
// RUN: %{run} --entry=keys --level=warp --target=sm_90a
// RUN: %{run} --entry=queries --level=tile --target=sm_80
// RUN: %{run} --entry=queries --level=warp --target=sm_90a
// RUN: fovea-run %s --check --random=1 --integers=0:2 --dims B=1,Hq=4,Hkv=2,Sq=70,Skv=70 --entry=hidden --level=tile --target=sm_80
// RUN: fovea-run %s --check --random=1 --integers=0:2 --dims B=1,Hq=4,Hkv=2,Sq=70,Skv=70 --entry=hidden --level=warp --target=sm_90a
// RUN: %{run} --entry=floors --level=attn
// RUN: %{run} --entry=floors --level=tile --target=sm_80
// RUN: %{run} --entry=floors --level=warp --target=sm_90a

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
!w = tensor<?xi32>

func.func @keys(%q: !t, %k: !t, %v: !t, %w: tensor<70xi32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : tensor<70xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<70xi32>) {
      %most = arith.constant 3 : i32
      %x = tensor.extract %t[%j] : tensor<70xi32>
      %row = arith.index_cast %i : index to i32
      %n = arith.floordivsi %row, %x : i32
      %keep = arith.cmpi sle, %n, %most : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @queries(%q: !t, %k: !t, %v: !t, %w: tensor<70xi32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : tensor<70xi32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<70xi32>) {
      %tenth = arith.constant 0.1 : f32
      %x = tensor.extract %t[%i] : tensor<70xi32>
      %key = arith.index_cast %j : index to i32
      %n = arith.remsi %key, %x : i32
      %f = arith.sitofp %n : i32 to f32
      %y = arith.mulf %f, %tenth : f32
      %r = arith.addf %s, %y : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// Heads whose divisor is 0 see nothing.
func.func @hidden(%q: !t, %k: !t, %v: !t, %w: tensor<4xi32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : tensor<4xi32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<4xi32>) {
      %tenth = arith.constant 0.1 : f32
      %x = tensor.extract %t[%h] : tensor<4xi32>
      %key = arith.index_cast %j : index to i32
      %n = arith.floordivsi %key, %x : i32
      %f = arith.sitofp %n : i32 to f32
      %y = arith.mulf %f, %tenth : f32
      %r = arith.addf %s, %y : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<4xi32>) {
      %c0 = arith.constant 0 : i32
      %x = tensor.extract %t[%h] : tensor<4xi32>
      %keep = arith.cmpi ne, %x, %c0 : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// floor(i / 41), floor(i / (1 + j)) and the root of a square.
func.func @floors(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %one = arith.constant 1.0 : f32
      %c41 = arith.constant 41.0 : f32
      %row = arith.index_cast %i : index to i32
      %x = arith.sitofp %row : i32 to f32
      %key = arith.index_cast %j : index to i32
      %y = arith.sitofp %key : i32 to f32
      %a = arith.divf %x, %c41 : f32
      %fa = math.floor %a : f32
      %z = arith.addf %y, %one : f32
      %c = arith.divf %x, %z : f32
      %fc = math.floor %c : f32
      %d = math.sqrt %y : f32
      %fd = math.floor %d : f32
      %s0 = arith.addf %s, %fa : f32
      %s1 = arith.addf %s0, %fc : f32
      %r = arith.addf %s1, %fd : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
