// FlashAttention 4's forward for sm_100a, compiled from attn.forward: two tiles of
// 128 queries with a softmax role each, a correction role, a role that issues dots,
// one that loads and one that stores.
// (test/Dialect/Warp/Transforms/Roles/specialize-flash-attention-4.mlir is a hand-written
// program before specialisation; flash-attention-4-variants.mlir has other scores.)
// REQUIRES: fovea-run
// RUN: fovea-opt %s --fovea-to-warp=target=sm_100a | FileCheck %s
// RUN: fovea-compile %s --target=sm_100a -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: %if ptxas %{ %ptxas -arch=sm_100a %t.ptx -o %t.cubin %}
// PTX-LABEL: .target sm_100a
// PTX: tcgen05.alloc
// PTX: tcgen05.dealloc

// Several tiles for each CTA and one, ragged ones, tiles of queries that see no
// key, rows without any (more queries than keys, from the bottom right).
// DEFINE: %{sizes} =
// DEFINE: %{schedule} = auto
// DEFINE: %{run} = fovea-run %s --level=warp --target=sm_100a --schedule=%{schedule} --random=1 --check --seeds=20 --dims %{sizes} | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: o {{.*}}: passed
// NUMBERS: lse {{.*}}: passed
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=1,Sq=300,Skv=300
// RUN: %{run}
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=2,Sq=512,Skv=384
// RUN: %{run}
// REDEFINE: %{sizes} = B=1,Hq=1,Hkv=1,Sq=600,Skv=150
// RUN: %{run}
// REDEFINE: %{sizes} = B=2,Hq=1,Hkv=1,Sq=1,Skv=450
// RUN: %{run}
// REDEFINE: %{sizes} = B=1,Hq=1,Hkv=1,Sq=140,Skv=0
// RUN: %{run}

// The PTX on the emulator.
// DEFINE: %{target} =
// DEFINE: %{ptx} = fovea-run %s --level=ptx --target=%{target} --schedule=%{schedule} --random=1 --check --dims %{sizes} | FileCheck %s --check-prefix=NUMBERS
// REDEFINE: %{target} = sm_100a
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=1,Sq=300,Skv=300
// RUN: %{ptx}
// REDEFINE: %{target} = sm_103a
// RUN: %{ptx}

// Each iteration rescales.
// DEFINE: %{few} = fovea-run %s --level=warp --target=sm_100a --schedule=%{schedule} --random=1 --check --seeds=5 --dims %{sizes} | FileCheck %s --check-prefix=NUMBERS
// REDEFINE: %{sizes} = B=1,Hq=2,Hkv=1,Sq=300,Skv=300
// REDEFINE: %{schedule} = recurrence=deferred
// RUN: %{few}
// RUN: fovea-opt %s --fovea-to-warp="target=sm_100a schedule=%{schedule}" | FileCheck %s --check-prefix=DEFERRED

// Other schedules: one tile of rows, no early scores, shorter rings, smaller
// blocks, rows stored by the correction role.
// REDEFINE: %{sizes} = B=2,Hq=2,Hkv=1,Sq=300,Skv=200
// REDEFINE: %{schedule} = row_tiles=1
// RUN: %{run}
// REDEFINE: %{schedule} = overlap=0
// RUN: %{run}
// REDEFINE: %{schedule} = key_stages=1,stages=1
// RUN: %{run}
// REDEFINE: %{schedule} = tile_n=32
// RUN: %{run}
// REDEFINE: %{schedule} = output=direct
// RUN: %{run}
// REDEFINE: %{schedule} = work=single
// RUN: %{run}

// CHECK-LABEL: gpu.func @causal
// Tensor memory is full: scores and an output for each tile.
// CHECK-DAG: warp.tmem_alloc column(0) : memref<128x128xf32, #warp.tmem>
// CHECK-DAG: warp.tmem_alloc column(128) : memref<128x128xf32, #warp.tmem>
// CHECK-DAG: warp.tmem_alloc column(256) : memref<128x128xf32, #warp.tmem>
// CHECK-DAG: warp.tmem_alloc column(384) : memref<128x128xf32, #warp.tmem>

// Each tile's softmax waits for its scores, sends the factor before it computes
// exponentials, and stores the probabilities in place of the scores.
// CHECK: role @softmax0 warps(4) regs(192)
// CHECK-NOT: warp.copy
// CHECK-NOT: warp.dot_into
// CHECK-NOT: warp.any
// CHECK: scf.for
// CHECK: %[[X:.*]] = warp.tmem_load
// CHECK: tile.reduce max dim 1 %{{.*}} : tensor<128x128xf32
// A row whose softmax offset is unchanged sends exactly 1.
// CHECK: %[[SHRINK:.*]] = math.exp2 %{{.*}} : tensor<128x1xf32
// CHECK: %[[FACTOR:.*]] = arith.select %{{.*}}, %[[SHRINK]], %
// CHECK: warp.local_store "factor.0" %[[FACTOR]]
// CHECK: math.exp2 %{{.*}} : tensor<128x112xf32
// CHECK: warp.tmem_store "p.0"
// CHECK: warp.consumer_release
// CHECK: warp.local_store "scale.0"
// CHECK: tile.store "lse.0"
// CHECK: role @softmax1 warps(4) regs(192)
// CHECK-NOT: "p.0"
// CHECK: warp.tmem_store "p.1"
// CHECK: tile.store "lse.1"

// One tile's correction does not wait for the other's factor. Outputs are loaded
// and stored, 32 columns at a time, if some factor is not 1; their stages are
// always signalled.
// CHECK: role @correction warps(4) regs(72)
// CHECK-NOT: tensor<128x128xbf16
// CHECK: scf.for
// CHECK: %[[BY:.*]] = warp.local_load
// CHECK: %[[CHANGES:.*]] = arith.cmpf une, %[[BY]],
// CHECK: scf.if
// CHECK: %[[ANY:.*]] = warp.any %[[CHANGES]]
// CHECK: warp.consumer_wait %[[O:.*]][
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT: warp.tmem_view %{{.*}} from 0 : {{.*}} to memref<128x16xf32, #warp.tmem>
// CHECK-NEXT: warp.tmem_load
// CHECK-COUNT-8: warp.tmem_store "o.0.update" {{.*}} : tensor<128x16xf32
// CHECK-NEXT: }
// CHECK-NEXT: warp.sync_lanes tmem_loads tmem_stores
// CHECK-NEXT: warp.consumer_release %[[O]][
// CHECK: warp.local_load
// CHECK: scf.if
// CHECK: warp.any
// CHECK: scf.if
// CHECK: warp.tmem_store "o.1.update"
// CHECK: }
// CHECK-COUNT-8: warp.local_store "y.0" {{.*}} column({{[0-9]+}}) : tensor<128x16xbf16
// CHECK-COUNT-8: warp.local_store "y.1" {{.*}} column({{[0-9]+}}) : tensor<128x16xbf16

// The next block's scores of a tile follow this block's product of that tile.
// CHECK: role @mma warps(1) regs(56)
// CHECK-NOT: tensor<
// CHECK: warp.dot_into "s.0"
// CHECK: warp.dot_into "s.1"
// CHECK: scf.for
// CHECK: warp.dot_into "o.0"
// CHECK: scf.if
// CHECK: warp.dot_into "s.0"
// CHECK: }
// CHECK: warp.dot_into "o.1"
// CHECK: scf.if
// CHECK: warp.dot_into "s.1"
// CHECK: }

// CHECK: role @load warps(1) regs(56)
// CHECK-NOT: warp.consumer_wait
// CHECK: warp.copy async "q.0"
// CHECK: warp.copy async "q.1"
// CHECK: warp.copy async "k"
// CHECK: scf.for
// CHECK: warp.copy async "v"
// CHECK: scf.if
// CHECK: warp.copy async "k"

// CHECK: role @epilogue warps(2) regs(56)
// CHECK-NOT: scf.for
// CHECK: warp.copy_out "out.0"
// CHECK: warp.copy_out "out.1"

// DEFERRED-LABEL: gpu.func @causal(
// DEFERRED: role @correction
// DEFERRED: scf.for
// DEFERRED-NOT: warp.any
// DEFERRED: warp.tmem_store "o.0.update"
// DEFERRED-NOT: warp.any
// DEFERRED: warp.tmem_store "o.1.update"
func.func @causal(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %queries = attn.query_length
      %keys = attn.key_length
      %fromEnd = arith.subi %i, %queries : index
      %last = arith.addi %fromEnd, %keys : index
      %keep = arith.cmpi sle, %j, %last : index
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
