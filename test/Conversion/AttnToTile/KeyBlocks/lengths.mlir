// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

!t = tensor<?x1x?x16xf16>

// A batch entry's keys end at its length, clamped to the buffer. Scores of keys past it are masked;
// values past it are zero.
// CHECK-LABEL: gpu.func @lengths
// CHECK-SAME: %[[LENGTHS:[^ ]*]]: memref<?xi32, strided<[?]>>, %{{[^ ]*}}: memref<?x1x?x16xf16, strided<[?, ?, ?, 1]>>) kernel
func.func @lengths(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>) -> !t {
  // CHECK: %[[SKV:.*]] = memref.dim %arg1
  // CHECK: %[[LENGTH:.*]] = memref.load %[[LENGTHS]][%[[BATCH:[a-z0-9_]+]]]
  // CHECK: %[[WIDE:.*]] = arith.index_cast %[[LENGTH]] : i32 to index
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[WIDE]], %c0
  // CHECK: %[[KEYS:.*]] = arith.minsi %[[POSITIVE]], %[[SKV]]
  // CHECK: tile.load {{("[^"]+" )?}}%arg0[%[[BATCH]], {{.*}}] dims [2, 3]
  // CHECK: tile.softmax_sum "o" %{{.*}} to %[[KEYS]] step 32
  // CHECK: tile.load {{("[^"]+" )?}}%arg1[{{.*}}] dims [2, 3]
  // CHECK: scf.if
  // CHECK: arith.index_cast %[[KEYS]] : index to i32
  // CHECK: values
  // CHECK: tile.load {{("[^"]+" )?}}%arg2[{{.*}}] limit(%[[KEYS]]) dims [2, 3]
  %o = attn.forward %q, %k, %v lengths(%n : tensor<?xi32>) : !t, !t, !t -> !t
  return %o : !t
}

// attn.key_length is the entry's length.
// CHECK-LABEL: gpu.func @key_length
// CHECK: %[[KEYS:.*]] = arith.minsi
// CHECK: scf.if
// CHECK: arith.index_cast %[[KEYS]] : index to i32
// CHECK: arith.index_cast %[[KEYS]] : index to i32
func.func @key_length(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v lengths(%n : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keys = attn.key_length
      %keep = arith.cmpi slt, %i, %keys : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
