// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" --canonicalize --cse | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s --check-prefix=ROLES

!t = tensor<?x2x?x64xf16>

// Positions count tiles of 32 keys, four per block; an index in a list is clamped to the block past
// the last one. Only partial blocks are masked, any block may be ragged.
// CHECK-LABEL: gpu.module @both_module
// CHECK: launch.abi @both
// CHECK-SAME: constraints([#launch.multiple<"Hq", of "Hkv">, #launch.at_most<"Sq", 1073741824>, #launch.at_most<"Skv", 1073741824>, #launch.at_most<"partial_index.3", 67108864>, #launch.at_most<"full_index.3", 67108864>, #launch.covers<"Qblocks", block = 128, of "Sq">, #launch.at_least<"partial_index.3", 1>, #launch.at_least<"full_index.3", 1>])
// CHECK: gpu.func @both
// CHECK-SAME: %[[PC:[^ ]*]]: memref<?x2x?xi32, strided<[?, ?, ?]>>, %[[PI:[^ ]*]]: memref<?x2x?x?xi32, strided<[?, ?, ?, ?]>>, %[[FC:[^ ]*]]: memref<1x1x?xi32, strided<[?, ?, ?]>>, %[[FI:[^ ]*]]: memref<1x1x?x?xi32, strided<[?, ?, ?, ?]>>, %{{[^ ]*}}: memref<?x2x?x64xf16, strided<[?, ?, ?, 1]>>) kernel
// CHECK-DAG: %[[SKV:.*]] = memref.dim %arg1
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c64
// CHECK: %[[QB:.*]] = arith.divui %[[ROW]], %c128
// CHECK: %[[KB:.*]] = arith.ceildivui %[[SKV]], %c128
// CHECK: %[[PW:.*]] = memref.dim %[[PI]], %c3
// CHECK: %[[PLAST:.*]] = arith.subi %[[PW]], %c1
// CHECK: memref.load %[[PC]][%{{.*}}, %{{.*}}, %[[QB]]]
// CHECK: arith.maxsi %{{.*}}, %c0
// CHECK: arith.minsi %{{.*}}, %[[PW]]
// CHECK: %[[MASKED:.*]] = arith.muli %{{.*}}, %c4
// CHECK: memref.load %[[FC]][%c0, %c0, %[[QB]]]
// CHECK: %[[FULL:.*]] = arith.muli %{{.*}}, %c4
// CHECK: %[[COUNT:.*]] = arith.addi %[[MASKED]], %[[FULL]]
// CHECK: tile.softmax_sum "o" blocks %[[COUNT]] masked(%[[MASKED]]) step 32
// CHECK-NEXT: visit(%[[N:.*]]: index) {
// CHECK-NEXT:   %[[SLOT:.*]] = arith.divui %[[N]], %c4
// CHECK-NEXT:   %[[INSIDE:.*]] = arith.minui %[[SLOT]], %[[PLAST]]
// CHECK-NEXT:   %[[P:.*]] = memref.load %[[PI]][%{{.*}}, %{{.*}}, %[[QB]], %[[INSIDE]]]
// CHECK-NEXT:   %[[P1:.*]] = arith.index_cast %[[P]]
// CHECK-NEXT:   %[[IS:.*]] = tile.is_partial %[[N]] below %[[MASKED]]
// CHECK-NEXT:   %[[BEHIND:.*]] = arith.subi %[[N]], %[[MASKED]]
// CHECK:        memref.load %[[FI]][%c0, %c0, %[[QB]], %{{.*}}]
// CHECK:        %[[EITHER:.*]] = arith.select %[[IS]], %[[P1]], %{{.*}}
// CHECK-NEXT:   %[[NUMBER:.*]] = arith.minui %[[EITHER]], %[[KB]]
// CHECK-NEXT:   %[[FIRST:.*]] = arith.muli %[[NUMBER]], %c128
// CHECK-NEXT:   %[[SUB:.*]] = arith.remui %[[N]], %c4
// CHECK-NEXT:   %[[OFFSET:.*]] = arith.muli %[[SUB]], %c32
// CHECK-NEXT:   %[[KEY:.*]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK-NEXT:   tile.yield %[[KEY]] : index
// CHECK:      scores(%[[J:.*]]: index, %[[PARTIAL:.*]]: i1) {
// CHECK:        scf.if %[[PARTIAL]]
// CHECK:        %[[END:.*]] = arith.addi %[[J]], %c32
// CHECK:        %[[RAGGED:.*]] = arith.cmpi sgt, %[[END]], %[[SKV]]
// CHECK:        scf.if %[[RAGGED]]

// Loops that run at least once: an empty row yields a block past the last key.
// ROLES-LABEL: gpu.module @both_module
// ROLES: launch.abi @both {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 128,
// ROLES: gpu.func @both
// ROLES: arith.divui %{{.*}}, %c128
// ROLES-NEXT: %[[KB:.*]] = arith.ceildivui
// ROLES: memref.load
// ROLES: memref.load
// ROLES: %[[ALL:.*]] = arith.addi
// ROLES: %[[COUNT:.*]] = arith.maxsi %[[ALL]], %c1
// ROLES: %[[NONE:.*]] = arith.cmpi eq, %[[ALL]], %c0
// ROLES: %[[LEAST:.*]] = arith.select %[[NONE]], %[[KB]], %c0
// ROLES: tile.softmax_sum "o" blocks %[[COUNT]]
// ROLES: arith.maxui %{{.*}}, %[[LEAST]]
func.func @both(%q: !t, %k: !t, %v: !t, %pc: tensor<?x2x?xi32>, %pi: tensor<?x2x?x?xi32>, %fc: tensor<1x1x?xi32>, %fi: tensor<1x1x?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v
    blocks(%pc, %pi, %fc, %fi : tensor<?x2x?xi32>, tensor<?x2x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [128, 128])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Without full blocks all blocks are masked unconditionally.
// CHECK-LABEL: gpu.module @masked_module
// CHECK: tile.softmax_sum "o" blocks %[[COUNT:.*]] masked(%[[COUNT]])
// CHECK: scores(
// CHECK-NEXT: tile.load
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK: scf.if
func.func @masked(%q: !t, %k: !t, %v: !t, %pc: tensor<?x2x?xi32>, %pi: tensor<?x2x?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v
    blocks(%pc, %pi : tensor<?x2x?xi32>, tensor<?x2x?x?xi32>, size = [64, 32])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
