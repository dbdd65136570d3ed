// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=64,classify=1" --canonicalize --cse | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s --check-prefix=DEFAULT
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=classify=0" --canonicalize --cse | FileCheck %s --check-prefix=RANGE
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --canonicalize --cse | FileCheck %s --check-prefix=RANGE

!t = tensor<?x1x?x64xbf16>

// The predicate is evaluated for 32 blocks at a time: once to count them, then, from the next
// nonempty word on, bit by bit. The first word stays live.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[WORDS:.*]] = arith.ceildivui %{{.*}}, %c32
// CHECK: tile.iota dim 1 : tensor<1x32xi32, #tile.reg>
// CHECK: %[[ANY0:.*]] = tile.ballot
// CHECK: %[[ALL0:.*]] = tile.ballot
// CHECK: %[[SOME0:.*]] = arith.xori %[[ANY0]], %[[ALL0]] : i32
// CHECK: %[[SOME:.*]] = math.ctpop %[[SOME0]]
// CHECK: %[[FULL:.*]] = math.ctpop %[[ALL0]]
// CHECK: %[[SUMS:.*]]:2 = scf.for %[[W:.*]] = %c1 to %[[WORDS]] step %c1 iter_args(%{{.*}} = %[[SOME]], %{{.*}} = %[[FULL]])
// CHECK:   %[[ANY1:.*]] = tile.ballot
// CHECK:   %[[ALL1:.*]] = tile.ballot
// CHECK:   %[[SOME1:.*]] = arith.xori %[[ANY1]], %[[ALL1]] : i32
// CHECK:   math.ctpop %[[SOME1]]
// CHECK:   math.ctpop %[[ALL1]]
// CHECK: %[[MASKED:.*]] = arith.index_cast %[[SUMS]]#0 : i32 to index
// CHECK: %[[COUNT:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK: tile.softmax_sum "o" blocks %[[COUNT]] masked(%[[MASKED]]) init(%c0_i32, %[[SOME0]] : i32, i32) step 64
// CHECK-NEXT: visit(%[[N:.*]]: index, %[[NUMBER:.*]]: i32, %[[BITS:.*]]: i32) {
// CHECK:        %[[RESTARTS:.*]] = arith.cmpi eq, %[[N]], %[[MASKED]]
// CHECK:        arith.select %[[RESTARTS]], %c0_i32, %[[NUMBER]]
// CHECK:        %[[LEFT:.*]] = arith.select %[[RESTARTS]], %[[ALL0]], %[[BITS]]
// CHECK:        %[[NONE:.*]] = arith.cmpi eq, %[[LEFT]], %c0_i32
// CHECK:        scf.if %[[NONE]]
// CHECK:          scf.while
// CHECK:          tile.ballot
// CHECK:        math.cttz
// CHECK:        tile.yield %{{.*}}, %{{.*}}, %{{.*}} : index, i32, i32
// DEFAULT-LABEL: gpu.func @f
// DEFAULT: tile.softmax_sum "o" blocks
// RANGE-LABEL: gpu.func @f
// RANGE-NOT: tile.ballot
// RANGE: tile.softmax_sum "o" %c0
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %any = arith.cmpi sge, %i1, %j0 : index
      %all = arith.cmpi sge, %i0, %j1 : index
      attn.yield %any, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}
