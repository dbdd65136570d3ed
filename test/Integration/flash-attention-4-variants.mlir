// FlashAttention 4's forward on sm_100a for scores of other kinds. Its recurrence
// is `conditional`: outputs are rescaled where a row's maximum has moved by more
// than `tau` powers of two.
// REQUIRES: fovea-run
// DEFINE: %{entry} = dense
// DEFINE: %{sizes} = B=1,Hq=2,Hkv=1,Sq=300,Skv=500
// DEFINE: %{more} =
// DEFINE: %{run} = fovea-run %s --entry=%{entry} --level=warp --target=sm_100a --random=1 --check --seeds=20 --dims %{sizes} %{more} | FileCheck %s
// CHECK: o {{.*}}: passed
// CHECK: lse {{.*}}: passed

// RUN: %{run}
// Whole tiles and blocks.
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=2,Sq=512,Skv=512
// RUN: %{run}
// Distant maxima, and probabilities that reach 2^tau.
// REDEFINE: %{more} = --magnitude=30
// RUN: %{run}
// A reference that follows every maximum, and one that stays where it was.
// REDEFINE: %{more} = --magnitude=3 --schedule=tau=0
// RUN: %{run}
// REDEFINE: %{more} = --magnitude=3 --schedule=tau=60
// RUN: %{run}

// Bounded scores need no reference.
// REDEFINE: %{entry} = soft_cap
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=1,Sq=300,Skv=500
// REDEFINE: %{more} = --magnitude=30
// RUN: %{run}

// A cap that is too wide for that.
// REDEFINE: %{entry} = wide_cap
// RUN: %{run}

// Scores that grow by 6 powers of two per block towards the first key, which is
// processed last: every other iteration changes the softmax offset.
// REDEFINE: %{entry} = growing
// REDEFINE: %{more} =
// RUN: %{run}
// REDEFINE: %{sizes} = B=1,Hq=1,Hkv=1,Sq=140,Skv=1000
// RUN: %{run}
// REDEFINE: %{more} = --schedule=row_tiles=1,output=direct
// RUN: %{run}
// Towards the first key in every third row, towards the last one in the others.
// REDEFINE: %{entry} = either_way
// REDEFINE: %{more} =
// RUN: %{run}

// Rows that see nothing between rows that do, for some or all blocks; the first
// keys of each are others'.
// REDEFINE: %{entry} = rows
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=1,Sq=300,Skv=500
// REDEFINE: %{more} =
// RUN: %{run}
// REDEFINE: %{more} = --schedule=recurrence=deferred
// DEFINE: %{few} = fovea-run %s --entry=%{entry} --level=warp --target=sm_100a --random=1 --check --seeds=5 --dims %{sizes} %{more} | FileCheck %s
// RUN: %{few}
// REDEFINE: %{entry} = growing
// RUN: %{few}

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>

func.func @dense(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @soft_cap(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 30.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @wide_cap(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 80.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @growing(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // -6 * ln(2) / 128
      %slope = arith.constant -0.0325 : f32
      %j32 = arith.index_cast %j : index to i32
      %jf = arith.sitofp %j32 : i32 to f32
      %more = arith.mulf %jf, %slope : f32
      %r = arith.addf %s, %more : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @either_way(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %n = arith.remui %i, %c3 : index
      %isFirst = arith.cmpi eq, %n, %c0 : index
      %falls = arith.constant -0.0325 : f32
      %rises = arith.constant 0.0325 : f32
      %slope = arith.select %isFirst, %falls, %rises : f32
      %j32 = arith.index_cast %j : index to i32
      %jf = arith.sitofp %j32 : i32 to f32
      %more = arith.mulf %jf, %slope : f32
      %r = arith.addf %s, %more : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @rows(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // Of 8 rows the first sees nothing, row n the keys from 64 n on.
      %c0 = arith.constant 0 : index
      %c7 = arith.constant 7 : index
      %c64 = arith.constant 64 : index
      %n = arith.andi %i, %c7 : index
      %sees = arith.cmpi ne, %n, %c0 : index
      %first = arith.muli %n, %c64 : index
      %behind = arith.cmpi sge, %j, %first : index
      %keep = arith.andi %sees, %behind : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
