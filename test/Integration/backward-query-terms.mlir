// score_mod terms that depend only on the query: with roles the preprocess kernel adds them to the row constants, and the
// dK/dV kernel omits them. Against f64, at all levels: relative positions, slopes by head, tables by query, with per-head
// terms, and with a soft cap; rows that divide no block, grouped heads, lengths, packed sequences, rows in which all scores
// are -inf, wide heads, ordered accumulation.
// DEFINE: %{check} = FileCheck %s --check-prefix=NUMBERS
// DEFINE: %{run} = fovea-run %s --random=1 --check --target=sm_90a
// DEFINE: %{sizes} = --dims=B=2,Hq=4,Hkv=2,Sq=200,Skv=150
// RUN: %{run} %{sizes} --entry=distance --level=tile | %{check}
// RUN: %{run} %{sizes} --entry=distance --level=warp --seeds=3 | %{check}
// RUN: %{run} %{sizes} --entry=distance --level=ptx | %{check}
// RUN: %{run} %{sizes} --entry=distance --level=ptx --schedule=tile_n=64 | %{check}
// RUN: %{run} %{sizes} --entry=places --level=ptx | %{check}
// RUN: %{run} %{sizes} --entry=query --level=ptx | %{check}
// RUN: %{run} %{sizes},capture0.0=4 --entry=slopes --level=tile | %{check}
// RUN: %{run} %{sizes},capture0.0=4 --entry=slopes --level=warp --seeds=3 | %{check}
// RUN: %{run} %{sizes},capture0.0=4 --entry=slopes --level=ptx | %{check}
// RUN: %{run} --dims=B=1,Hq=3,Hkv=3,Sq=150,Skv=200,capture0.0=3 --entry=slopes --level=ptx | %{check}
// RUN: %{run} %{sizes},capture0.0=200 --entry=table --level=tile | %{check}
// RUN: %{run} %{sizes},capture0.0=200 --entry=table --level=ptx | %{check}
// RUN: %{run} %{sizes},capture0.0=4,capture0.1=200,capture1.0=4 --entry=capped --level=tile | %{check}
// RUN: %{run} %{sizes},capture0.0=4,capture0.1=200,capture1.0=4 --entry=capped --level=warp --seeds=3 | %{check}
// RUN: %{run} %{sizes},capture0.0=4,capture0.1=200,capture1.0=4 --entry=capped --level=ptx | %{check}
// RUN: %{run} %{sizes},capture0.0=200 --entry=gathered --level=ptx | %{check}
// RUN: %{run} %{sizes} --entry=unseen --level=tile | %{check}
// RUN: %{run} %{sizes} --entry=unseen --level=ptx | %{check}
// RUN: %{run} %{sizes} --entry=constant --level=ptx | %{check}
// RUN: %{run} %{sizes} --entry=random --level=ptx | %{check}
// RUN: %{run} %{sizes} --integers=0:150 --entry=lengths --level=tile | %{check}
// RUN: %{run} %{sizes} --integers=0:150 --entry=lengths --level=ptx | %{check}
// RUN: %{run} --dims=B=1,Hq=2,Hkv=1,Sq=0,Skv=100 --entry=distance --level=ptx | %{check}
// Places that f32 has no fractions for are cancelled before the product is added.
// RUN: %{run} --dims=B=1,Hq=1,Hkv=1,Sq=100,Skv=130 --entry=far --level=ptx | %{check}

// DEFINE: %{packed} = fovea-run %s --random=3 --check --target=sm_90a --entry=packed --dims=Hq=4,Hkv=2,Sq=300,Skv=350,N+1=7,capture0.0=6,capture0.1=4
// RUN: %{packed} --level=tile | %{check}
// RUN: %{packed} --level=warp --seeds=3 | %{check}
// RUN: %{packed} --level=ptx | %{check}

// One order of the sums.
// RUN: sed 's/^    gradients(q, k, v)$/& deterministic/' %s > %t.ordered.mlir
// DEFINE: %{ordered} = fovea-run %t.ordered.mlir --random=1 --check --target=sm_90a
// RUN: %{ordered} %{sizes} --entry=distance --level=warp --seeds=3 | %{check}
// RUN: %{ordered} %{sizes},capture0.0=4 --entry=slopes --level=ptx | %{check}
// RUN: %{ordered} %{sizes},capture0.0=4,capture0.1=200,capture1.0=4 --entry=capped --level=ptx | %{check}

// 128: f32 weights. 144: two strips of keys. 256: roles for each sum.
// RUN: sed 's/x64xbf16/x128xbf16/g' %s > %t.128.mlir
// RUN: sed 's/x64xbf16/x144xbf16/g' %s > %t.144.mlir
// RUN: sed 's/x64xbf16/x256xbf16/g' %s > %t.256.mlir
// DEFINE: %{wide} = --random=1 --check --target=sm_90a --dims=B=1,Hq=2,Hkv=1,Sq=150,Skv=150
// RUN: fovea-run --target=sm_80 %t.128.mlir %{wide} --entry=distance --level=ptx | %{check}
// RUN: fovea-run --target=sm_80 %t.128.mlir %{wide},capture0.0=2,capture0.1=150,capture1.0=2 --entry=capped --level=ptx | %{check}
// RUN: fovea-run --target=sm_80 %t.144.mlir %{wide} --entry=distance --level=warp --seeds=3 | %{check}
// RUN: fovea-run --target=sm_80 %t.144.mlir %{wide},capture0.0=2 --entry=slopes --level=ptx | %{check}
// RUN: fovea-run --target=sm_80 %t.256.mlir %{wide},capture0.0=2 --entry=slopes --level=ptx | %{check}
// RUN: fovea-run --target=sm_80 %t.256.mlir %{wide},capture0.0=2,capture0.1=150,capture1.0=2 --entry=capped --level=warp --seeds=3 | %{check}

// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
!f = tensor<?xf32>
!table = tensor<?x?xf32>
!n = tensor<?xi32>
!packed = tensor<1x?x?x64xbf16>
!packed_rows = tensor<1x?x?xf32>

func.func @distance(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %n = arith.index_cast %d : index to i32
      %x = arith.sitofp %n : i32 to f32
      %c = arith.constant 0.25 : f32
      %y = arith.mulf %x, %c : f32
      %0 = arith.addf %s, %y : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// The same distance, of floats.
func.func @places(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 0.25 : f32
      %ii = arith.index_cast %i : index to i32
      %jj = arith.index_cast %j : index to i32
      %x = arith.sitofp %ii : i32 to f32
      %y = arith.sitofp %jj : i32 to f32
      %d = arith.subf %y, %x : f32
      %e = arith.mulf %d, %c : f32
      %0 = arith.addf %e, %s : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// Only a position.
func.func @query(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 0.25 : f32
      %ii = arith.index_cast %i : index to i32
      %x = arith.sitofp %ii : i32 to f32
      %y = arith.mulf %x, %c : f32
      %r = math.sin %x : f32
      %0 = arith.addf %s, %y : f32
      %1 = arith.addf %0, %r : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @slopes(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %slopes: !f) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    captures(%slopes : !f)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !f) {
      %d = arith.subi %j, %i : index
      %n = arith.index_cast %d : index to i32
      %x = arith.sitofp %n : i32 to f32
      %slope = tensor.extract %c[%h] : !f
      %y = arith.mulf %x, %slope : f32
      %0 = arith.addf %s, %y : f32
      attn.yield %0 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: !f) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @table(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %table: !f) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    captures(%table : !f)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !f) {
      %x = tensor.extract %c[%i] : !f
      %0 = arith.subf %s, %x : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @capped(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %table: !table, %heads: !f) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    captures(%table, %heads : !table, !f)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !table, %of_head: !f) {
      %x = tensor.extract %c[%h, %i] : !table
      %y = tensor.extract %of_head[%h] : !f
      %inner = arith.addf %s, %y : f32
      %cap = math.tanh %inner : f32
      %two = arith.constant 2.0 : f32
      %scaled = arith.mulf %cap, %two : f32
      %0 = arith.addf %scaled, %x : f32
      %1 = arith.addf %0, %y : f32
      attn.yield %1 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: !table, %of_head: !f) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// Read at half the query's position.
func.func @gathered(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %table: !f) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    captures(%table : !f)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !f) {
      %two = arith.constant 2 : index
      %half = arith.divui %i, %two : index
      %of_query = tensor.extract %c[%half] : !f
      %of_key = tensor.extract %c[%j] : !f
      %d = arith.subf %of_query, %of_key : f32
      %0 = arith.addf %s, %d : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// Every third query has no probabilities: each score is -inf.
func.func @unseen(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %three = arith.constant 3 : index
      %zero = arith.constant 0 : index
      %none = arith.constant 0xFF800000 : f32
      %some = arith.constant 1.5 : f32
      %rest = arith.remui %i, %three : index
      %is = arith.cmpi eq, %rest, %zero : index
      %x = arith.select %is, %none, %some : f32
      %0 = arith.addf %s, %x : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// The score is not used.
func.func @constant(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.addi %i, %h : index
      %n = arith.index_cast %d : index to i32
      %x = arith.sitofp %n : i32 to f32
      attn.yield %x : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @random(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %seed: i64, %offset: i64) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    dropout(2.5e-01, %seed, %offset)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %n = arith.index_cast %d : index to i32
      %x = arith.sitofp %n : i32 to f32
      %c = arith.constant -0.125 : f32
      %y = arith.mulf %x, %c : f32
      %0 = arith.addf %s, %y : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

// By the distance of a query from the end of the keys.
func.func @lengths(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: !n) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    lengths(%n : !n)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %length = attn.key_length
      %end = arith.subi %length, %i : index
      %n = arith.index_cast %end : index to i32
      %x = arith.sitofp %n : i32 to f32
      %c = arith.constant 0.125 : f32
      %y = arith.mulf %x, %c : f32
      %0 = arith.addf %s, %y : f32
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @far(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %far = arith.constant 4000000 : index
      %ii = arith.addi %i, %far : index
      %jj = arith.addi %j, %far : index
      %in = arith.index_cast %ii : index to i32
      %jn = arith.index_cast %jj : index to i32
      %x = arith.sitofp %in : i32 to f32
      %y = arith.sitofp %jn : i32 to f32
      %c = arith.constant 0.25 : f32
      %d = arith.subf %y, %x : f32
      %e = arith.mulf %d, %c : f32
      %0 = arith.addf %s, %e : f32
      attn.yield %0 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @packed(%q: !packed, %k: !packed, %v: !packed, %o: !packed, %lse: !packed_rows, %do: !packed, %cu_q: !n, %cu_k: !n, %slopes: !table) -> (!packed, !packed, !packed) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    gradients(q, k, v)
    packed(%cu_q, %cu_k : !n, !n)
    captures(%slopes : !table)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !table) {
      %m = attn.query_length
      %n = attn.key_length
      %slope = tensor.extract %c[%b, %h] : !table
      %x = arith.subi %i, %m : index
      %y = arith.subi %j, %n : index
      %d = arith.subi %y, %x : index
      %narrow = arith.index_cast %d : index to i32
      %f = arith.sitofp %narrow : i32 to f32
      %e = arith.mulf %f, %slope : f32
      %0 = arith.addf %s, %e : f32
      attn.yield %0 : f32
    } : !packed, !packed, !packed, !packed, !packed_rows, !packed -> !packed, !packed, !packed
  return %0#0, %0#1, %0#2 : !packed, !packed, !packed
}
