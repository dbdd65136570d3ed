// The module's data layout sets a 32-bit index. Index scalars that might need more bits are
// computed as i64, unless an op needs them as index.
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// CHECK-LABEL: gpu.module @narrow_module attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i32>}
func.func @narrow(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %next = arith.addi %h, %c1 : index
      %keep = arith.cmpi sge, %i, %next : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Captured scalars may have any value, even if only tiles read them.
// CHECK-LABEL: gpu.module @captured_module {
func.func @captured(%q: !t, %k: !t, %v: !t, %n: index) -> !t {
  %o = attn.forward %q, %k, %v captures(%n : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %most: index) {
      %keep = arith.cmpi slt, %j, %most : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A product with the head index that exceeds 32 bits.
// CHECK-LABEL: gpu.module @wide_module attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i32>}
// CHECK: %[[HEAD:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[FACTOR:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[FAR:.*]] = arith.muli %[[HEAD]], %[[FACTOR]] : i64
// CHECK: tile.broadcast %[[FAR]] : i64
func.func @wide(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 1000000 : index
      %far = arith.muli %h, %c : index
      %keep = arith.cmpi sge, %far, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Constants, signed and unsigned casts, and casts back to values that fit.
// CHECK-LABEL: gpu.module @casts_module attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i32>}
// CHECK-DAG: %[[WORD:.*]] = memref.load {{.*}} : memref<?xi32
// CHECK-DAG: %[[LONG:.*]] = memref.load {{.*}} : memref<?xi64
// CHECK-DAG: %[[CUT:.*]] = arith.constant 4294967296 : i64
// CHECK-DAG: %[[PLUS:.*]] = arith.extui %[[WORD]] : i32 to i64
// CHECK-DAG: %[[SUM:.*]] = arith.addi %[[PLUS]], %[[LONG]] : i64
// CHECK:     %[[REST:.*]] = arith.remui %[[SUM]], %[[CUT]] : i64
// CHECK:     %[[LOW:.*]] = arith.trunci %[[REST]] : i64 to i32
// CHECK:     %[[SMALL:.*]] = arith.minui %[[REST]], %{{.*}} : i64
// CHECK:     %[[BACK:.*]] = arith.index_cast %[[SMALL]] : i64 to index
// CHECK:     arith.index_cast %[[BACK]] : index to i32
func.func @casts(%q: !t, %k: !t, %v: !t, %words: tensor<?xi32>, %longs: tensor<?xi64>) -> !t {
  %o = attn.forward %q, %k, %v captures(%words, %longs : tensor<?xi32>, tensor<?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: tensor<?xi32>, %l: tensor<?xi64>) {
      %cut = arith.constant 4294967296 : index
      %seven = arith.constant 7 : index
      %word = tensor.extract %w[%b] : tensor<?xi32>
      %long = tensor.extract %l[%b] : tensor<?xi64>
      %x = arith.index_castui %word : i32 to index
      %y = arith.index_cast %long : i64 to index
      %sum = arith.addi %x, %y : index
      %rest = arith.remui %sum, %cut : index
      %low = arith.index_cast %rest : index to i32
      %small = arith.minui %rest, %seven : index
      %same = arith.cmpi eq, %low, %word : i32
      %near = arith.cmpi sge, %j, %small : index
      %keep = arith.andi %same, %near : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// An index of a tensor remains an index.
// CHECK-LABEL: gpu.module @read_module {
// CHECK: %[[AT:.*]] = arith.muli %{{.*}} : i64
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[AT]] : i64 to index
// CHECK: memref.load %{{.*}}[%[[INDEX]]]
func.func @read(%q: !t, %k: !t, %v: !t, %words: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%words : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: tensor<?xi32>) {
      %c = arith.constant 1000000 : index
      %zero = arith.constant 0 : i32
      %far = arith.muli %h, %c : index
      %word = tensor.extract %w[%far] : tensor<?xi32>
      %keep = arith.cmpi ne, %word, %zero : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
