// The semantics of attn.forward, compared with attention in numpy.
// RUN: rm -rf %t && mkdir %t
// RUN: fovea-run %s --entry=gqa_bshd --precision=exact --random=1 --dims B=2,Sq=9,Skv=7,Hq=6,Hkv=2 --save-inputs=%t --outputs %t/o.npy %t/lse.npy
// RUN: %python %S/../Inputs/attention.py %t %t/o.npy %t/lse.npy layout=bshd scale=0.5 | FileCheck %s
// RUN: fovea-run %s --entry=alibi --precision=exact --random=2 --dims B=1,Sq=70,Skv=70,Hq=3,Hkv=3,capture0.0=3 --save-inputs=%t --outputs %t/o.npy %t/lse.npy
// RUN: %python %S/../Inputs/attention.py %t %t/o.npy %t/lse.npy "score=s + load('capture0')[h] * (j - i)" "mask=i >= j" | FileCheck %s
// RUN: fovea-run %s --entry=soft_cap --precision=exact --random=3 --magnitude=30 --dims B=1,Sq=5,Skv=300,Hq=1,Hkv=1 --save-inputs=%t --outputs %t/o.npy %t/lse.npy
// RUN: %python %S/../Inputs/attention.py %t %t/o.npy %t/lse.npy "score=20 * np.tanh(s / 20)" | FileCheck %s
// RUN: fovea-run %s --entry=bottom_right --precision=exact --random=4 --dims B=3,Sq=8,Skv=6,Hq=1,Hkv=1 --save-inputs=%t --outputs %t/o.npy %t/lse.npy
// RUN: %python %S/../Inputs/attention.py %t %t/o.npy %t/lse.npy "mask=(j < np.clip(load('lengths'), 0, 6)[b]) & (j - np.clip(load('lengths'), 0, 6)[b] <= i - 8)" | FileCheck %s --check-prefix=EMPTY
// CHECK: agrees with numpy, empty rows: 0
// EMPTY: agrees with numpy, empty rows: {{[1-9]}}

// Six query heads share two key heads; Dv is not D; the output is f32.
func.func @gqa_bshd(%q: tensor<?x?x?x8xf16>, %k: tensor<?x?x?x8xf16>, %v: tensor<?x?x?x24xf16>)
    -> (tensor<?x?x?x24xf32>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v scale(0.5) layout(bshd)
    : tensor<?x?x?x8xf16>, tensor<?x?x?x8xf16>, tensor<?x?x?x24xf16> -> tensor<?x?x?x24xf32>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x24xf32>, tensor<?x?x?xf32>
}

func.func @alibi(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>, %slopes: tensor<?xf32>)
    -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32> -> tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}

func.func @soft_cap(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32
    } : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32> -> tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}

// Causal from the end of sequences with individual lengths.
func.func @bottom_right(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>, %n: tensor<?xi32>)
    -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v lengths(%n : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %nq = attn.query_length
      %nk = attn.key_length
      %jr = arith.subi %j, %nk : index
      %ir = arith.subi %i, %nq : index
      %keep = arith.cmpi sle, %jr, %ir : index
      attn.yield %keep : i1
    } : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32> -> tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}
