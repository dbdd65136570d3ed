// Deterministic gradients with roles and a runtime block predicate: tiles of keys iterate over
// the blocks that see them, in ascending order, with ordered accumulation of dQ among these
// tiles. Against f64, at all levels: documents, sorted and in any order; with relative positions;
// neighbourhoods, whose blocks are not contiguous; steps; tiles that no query sees; more
// keys than queries and fewer; lengths that divide no tile; grouped heads; blocks of 128 and of
// 64 queries; the roles of wide heads; keys of a part of their tensor. Schedules with different
// seeds give the same bits. A missing semaphore slot would be an error.
// DEFINE: %{run} = fovea-run --target=sm_90a --check --random=1
// DEFINE: %{saved} = fovea-run --target=sm_90a --check
// DEFINE: %{inputs} = --inputs %t.in/q.npy %t.in/k.npy %t.in/v.npy %t.in/o.npy %t.in/lse.npy %t.in/do.npy %t.in/capture0.npy %t.in/capture1.npy
// DEFINE: %{inputs-of-parts} = --inputs %t.in/q.npy %t.in/k.npy %t.in/v.npy %t.in/o.npy %t.in/lse.npy %t.in/do.npy %t.in/lengths.npy %t.in/capture0.npy %t.in/capture1.npy
// DEFINE: %{ids} = %python %S/Inputs/summaries.py make %t.in
// DEFINE: %{numbers} = FileCheck %s --check-prefix=NUMBERS
// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// DEFINE: %{make} = rm -rf %t.in && fovea-run %s --target=sm_90a --entry=documents --level=tile --random=1 --save-inputs=%t.in --dims=

// RUN: %{make}B=1,Hq=4,Hkv=2,Sq=700,Skv=830,capture0.0=700,capture1.0=830
// RUN: %{ids} capture0 "np.sort(np.random.default_rng(0).integers(0, 7, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 9, shape[0]))"
// RUN: %{saved} %s --entry=documents --level=tile %{inputs} | %{numbers}
// RUN: %{saved} %s --entry=documents --level=warp --seeds=3 %{inputs} | %{numbers}
// RUN: %{saved} %s --entry=documents --level=ptx --seeds=2 %{inputs} | %{numbers}
// RUN: %{saved} %s --entry=causal_documents --level=warp --seeds=3 %{inputs} | %{numbers}
// RUN: %{saved} %s --entry=causal_documents --level=ptx %{inputs} | %{numbers}
// Documents in any order: some blocks that see a tile lie far from each other.
// RUN: %{ids} capture0 "np.repeat(np.random.default_rng(0).integers(0, 5, 44), 16)[:shape[0]]" capture1 "np.repeat(np.random.default_rng(1).integers(0, 9, 7), 128)[:shape[0]]"
// RUN: %{saved} %s --entry=documents --level=warp --seeds=3 %{inputs} | %{numbers}
// RUN: %{saved} %s --entry=documents --level=ptx %{inputs} | %{numbers}
// No query sees a key.
// RUN: %{ids} capture1 "np.full(shape[0], 99)"
// RUN: %{saved} %s --entry=documents --level=warp %{inputs} | %{numbers}
// RUN: %{saved} %s --entry=documents --level=ptx %{inputs} | %{numbers}

// RUN: %{run} %s --entry=neighbourhood --level=tile --dims=B=2,Hq=2,Hkv=1,Sq=600,Skv=700 | %{numbers}
// RUN: %{run} %s --entry=neighbourhood --level=warp --seeds=3 --dims=B=1,Hq=2,Hkv=1,Sq=900,Skv=1000 | %{numbers}
// RUN: %{run} %s --entry=neighbourhood --level=ptx --dims=B=1,Hq=2,Hkv=1,Sq=900,Skv=800 | %{numbers}
// RUN: %{run} %s --entry=steps --level=warp --seeds=3 --dims=B=1,Hq=2,Hkv=2,Sq=700,Skv=650 | %{numbers}
// RUN: %{run} %s --entry=steps --level=ptx --dims=B=1,Hq=2,Hkv=2,Sq=650,Skv=700 | %{numbers}

// Sequences without keys, and with a part of a tile's.
// RUN: rm -rf %t.in && fovea-run %s --target=sm_90a --entry=parts --level=tile --random=1 --save-inputs=%t.in --dims=B=4,Hq=2,Hkv=1,Sq=500,Skv=330,capture0.0=500,capture1.0=330
// RUN: %{ids} lengths "[330, 200, 0, 129]" capture0 "np.sort(np.random.default_rng(0).integers(0, 4, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 6, shape[0]))"
// RUN: %{saved} %s --entry=parts --level=ptx %{inputs-of-parts} | %{numbers}

// Blocks of 64 queries, and roles of wide heads: derivatives that need no scores, and such that do.
// RUN: sed 's/x64xbf16/x128xbf16/g' %s > %t.128.mlir
// RUN: sed 's/x64xbf16/x256xbf16/g' %s > %t.256.mlir
// RUN: rm -rf %t.in && fovea-run %t.128.mlir --target=sm_90a --entry=documents --level=tile --random=1 --save-inputs=%t.in --dims=B=1,Hq=2,Hkv=1,Sq=500,Skv=330,capture0.0=500,capture1.0=330
// RUN: %{ids} capture0 "np.sort(np.random.default_rng(0).integers(0, 4, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 6, shape[0]))"
// RUN: %{saved} %t.128.mlir --entry=documents --level=warp --seeds=3 %{inputs} | %{numbers}
// RUN: %{saved} %t.128.mlir --entry=causal_documents --level=ptx %{inputs} | %{numbers}
// RUN: %{saved} %t.128.mlir --entry=capped_documents --level=ptx %{inputs} | %{numbers}
// More than two bitmap words, and more semaphore slots than lanes; keys of documents without queries.
// RUN: rm -rf %t.in && fovea-run %t.128.mlir --target=sm_90a --entry=documents --level=tile --random=1 --save-inputs=%t.in --dims=B=1,Hq=1,Hkv=1,Sq=4500,Skv=300,capture0.0=4500,capture1.0=300
// RUN: %{ids} capture0 "np.arange(shape[0]) // 100" capture1 "np.where(np.arange(shape[0]) < 150, 7, 44 - np.arange(shape[0]) // 140)"
// RUN: %{saved} %t.128.mlir --entry=documents --level=tile %{inputs} | %{numbers}
// RUN: %{saved} %t.128.mlir --entry=documents --level=ptx %{inputs} | %{numbers}
// RUN: %{run} %t.128.mlir --entry=neighbourhood --level=ptx --dims=B=1,Hq=2,Hkv=1,Sq=700,Skv=800 | %{numbers}
// RUN: %{run} %t.256.mlir --entry=neighbourhood --level=warp --seeds=3 --dims=B=1,Hq=1,Hkv=1,Sq=600,Skv=500 | %{numbers}
// RUN: rm -rf %t.in && fovea-run %t.256.mlir --target=sm_90a --entry=documents --level=tile --random=1 --save-inputs=%t.in --dims=B=1,Hq=2,Hkv=1,Sq=500,Skv=330,capture0.0=500,capture1.0=330
// RUN: %{ids} capture0 "np.sort(np.random.default_rng(0).integers(0, 4, shape[0]))" capture1 "np.sort(np.random.default_rng(1).integers(0, 6, shape[0]))"
// RUN: %{saved} %t.256.mlir --entry=documents --level=ptx %{inputs} | %{numbers}
// RUN: %{saved} %t.256.mlir --entry=capped_documents --level=warp --seeds=3 %{inputs} | %{numbers}

// A tile that no block sees owns no semaphore slot, although it processes one block.
// RUN: fovea-compile %s --kernel=documents --target=sm_90a --emit=tile | FileCheck %s
// CHECK-LABEL: gpu.func @documents(
// CHECK: %[[FOUND:.*]] = arith.cmpi ne, %{{.*}}, %c0 : index
// CHECK: scf.for
// CHECK: tile.semaphore_wait "turn_acquire" {{.*}} if(%[[FOUND]])
// CHECK: tile.semaphore_release "turn_release" {{.*}} if(%[[FOUND]])
// The preprocess kernel computes a bitmap word for the semaphore slots of a warp, and for every
// slot the number of earlier tiles: a tile that no block sees reads one, too.
// CHECK-LABEL: gpu.func @documents_turns(
// CHECK: scf.for
// CHECK: tile.ballot
// CHECK: tile.scatter %{{[^ ]*}}, %{{[^ ]*}}[%{{.*}}] : tensor<1x32xi32

!x = tensor<?x?x?x64xbf16>
!w = tensor<?x?x?x256xbf16>
!r = tensor<?x?x?xf32>
!t = tensor<?xi32>
func.func @documents(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %ids: !t, %of_keys: !t) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    captures(%ids, %of_keys : !t, !t)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !t, %u: !t) {
      %x = tensor.extract %t[%i] : !t
      %y = tensor.extract %u[%j] : !t
      %m = arith.cmpi eq, %x, %y : i32
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
func.func @causal_documents(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %ids: !t, %of_keys: !t) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    captures(%ids, %of_keys : !t, !t)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !t, %u: !t) {
      %x = tensor.extract %t[%i] : !t
      %y = tensor.extract %u[%j] : !t
      %same = arith.cmpi eq, %x, %y : i32
      %back = arith.cmpi sge, %i, %j : index
      %m = arith.andi %same, %back : i1
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
// 3 x 33 pixels of an image 256 wide.
func.func @neighbourhood(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %width = arith.constant 256 : index
      %one = arith.constant 1 : index
      %radius = arith.constant 16 : index
      %rows = arith.constant 3 : index
      %columns = arith.constant 33 : index
      %queryRow = arith.divui %i, %width : index
      %queryColumn = arith.remui %i, %width : index
      %keyRow = arith.divui %j, %width : index
      %keyColumn = arith.remui %j, %width : index
      %down = arith.subi %queryRow, %keyRow : index
      %right = arith.subi %queryColumn, %keyColumn : index
      %rowDistance = arith.addi %down, %one : index
      %columnDistance = arith.addi %right, %radius : index
      %nearRow = arith.cmpi ult, %rowDistance, %rows : index
      %nearColumn = arith.cmpi ult, %columnDistance, %columns : index
      %keep = arith.andi %nearRow, %nearColumn : i1
      attn.yield %keep : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
// Every third group of 64 queries sees a key.
func.func @steps(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c3 = arith.constant 3 : index
      %x = arith.divui %i, %c64 : index
      %y = arith.divui %j, %c128 : index
      %rest = arith.remui %x, %c3 : index
      %other = arith.remui %y, %c3 : index
      %keep = arith.cmpi eq, %rest, %other : index
      attn.yield %keep : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
func.func @capped_documents(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %ids: !t, %of_keys: !t) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    captures(%ids, %of_keys : !t, !t)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !t, %u: !t) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %cap : f32
      attn.yield %z : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !t, %u: !t) {
      %x = tensor.extract %t[%i] : !t
      %y = tensor.extract %u[%j] : !t
      %m = arith.cmpi eq, %x, %y : i32
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
func.func @parts(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %n: !t, %ids: !t, %of_keys: !t) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic lengths(%n : !t)
    captures(%ids, %of_keys : !t, !t)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !t, %u: !t) {
      %x = tensor.extract %t[%i] : !t
      %y = tensor.extract %u[%j] : !t
      %m = arith.cmpi eq, %x, %y : i32
      attn.yield %m : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
