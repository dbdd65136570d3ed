// Remarks on derived bounds and on obstacles, with locations.
// RUN: fovea-opt %s --attn-analyze-mask --remarks-filter=mask -o /dev/null 2>&1 | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// Clamps to the sequence are not printed.
// CHECK: :[[# @LINE + 7]]:7: remark: [Analysis] kv_bounds | Category:mask | Function=window | Reason="queries i0 to i1 skip keys before i0 - 99 (blocks below the diagonal) and keys from i1 + 1 on (blocks above the diagonal); keys from i1 - 99 to i0 + 1 need no mask"
func.func @window(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 100 : index
      %distance = arith.subi %i, %j : index
      %keep = arith.cmpi ult, %distance, %size : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: kv_bounds {{.*}} Function=floats | Reason="queries i0 to i1 skip keys from i1 + 1 on (blocks above the diagonal); every processed block evaluates the mask"
// CHECK: kv_classify {{.*}} Reason="a block of queries i0 to i1 and keys j0 to j1 may have visible pairs if j0 <= i1; it always evaluates the mask"
// CHECK: :[[# @LINE + 6]]:15: remark: [Missed] unknown | Category:mask | Function=floats | Op=arith.cmpf, Reason="it compares floats, whose ranges are unknown: it skips no block, and every processed block evaluates the mask"
func.func @floats(%q: !t, %x: tensor<?xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%x : tensor<?xf32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>) {
      %p = tensor.extract %x[%i] : tensor<?xf32>
      %n = tensor.extract %x[%j] : tensor<?xf32>
      %near = arith.cmpf olt, %p, %n : f32
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Data of the query and of the key gives a block predicate.
// CHECK: kv_bounds {{.*}} Function=documents | Reason="no keys are skipped by their position; every processed block evaluates the mask"
// CHECK: kv_classify {{.*}} may have visible pairs if (min(capture0[b, i0..i1]) <= max(capture0[b, j0..j1])) and (min(capture0[b, j0..j1]) <= max(capture0[b, i0..i1])); it needs no mask if
// CHECK: :[[# @LINE + 4]]:12: remark: [Missed] unknown {{.*}} Op=tensor.extract, Reason="it reads data: it gives no range of keys; kernels with warp roles test each block at run time"
func.func @documents(%q: !t, %x: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%x : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xi32>) {
      %p = tensor.extract %x[%b, %i] : tensor<?x?xi32>
      %n = tensor.extract %x[%b, %j] : tensor<?x?xi32>
      %keep = arith.cmpi eq, %p, %n : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Data at other positions gives nothing.
// CHECK: kv_bounds {{.*}} Function=bits
// CHECK: :[[# @LINE + 4]]:12: remark: [Missed] unknown {{.*}} Op=tensor.extract, Reason="it reads data at other positions than the query's or the key's: it skips no block, and every processed block evaluates the mask"
func.func @bits(%q: !t, %x: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%x : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xi32>) {
      %n = tensor.extract %x[%i, %j] : tensor<?x?xi32>
      %zero = arith.constant 0 : i32
      %keep = arith.cmpi ne, %n, %zero : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: kv_bounds {{.*}} Function=union | Reason="queries i0 to i1 skip keys from max(i1 + 1, 64) on
// CHECK: :[[# @LINE + 11]]:15: remark: [Missed] hull | Category:mask | Function=union | Op=arith.ori, Reason="its keys are not one range: kernels with warp roles test each block of the smallest enclosing range at run time"
func.func @union(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %first = arith.constant 64 : index
      %size = arith.constant 128 : index
      %near = arith.subi %i, %j : index
      %global = arith.cmpi slt, %j, %first : index
      %window = arith.cmpi slt, %near, %size : index
      %causal = arith.cmpi sge, %i, %j : index
      %local = arith.andi %window, %causal : i1
      %keep = arith.ori %global, %local : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Two remainders of the key. Long formulas are truncated.
// CHECK: kv_bounds {{.*}} Function=parity
// CHECK: kv_classify {{.*}} (((j0 % 2) if ((j0 // 2) == (j1 // 2)) else 0) <= {{.*}}...
// CHECK: Op=arith.cmpi, Reason="more than one of its terms depends on the key: it gives no range of keys; kernels with warp roles test each block at run time"
func.func @parity(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %two = arith.constant 2 : index
      %three = arith.constant 3 : index
      %p = arith.remui %j, %two : index
      %n = arith.remui %j, %three : index
      %keep = arith.cmpi eq, %p, %n : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: [Analysis] mask | Category:mask | Function=dense | Reason="no mask: all blocks are processed"
func.func @dense(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: [Analysis] mask | Category:mask | Function=listed | Reason="block lists determine the processed blocks; the mask is not analysed"
func.func @listed(%q: !t, %n: tensor<?x?x?xi32>, %i: tensor<?x?x?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q blocks(%n, %i : tensor<?x?x?xi32>, tensor<?x?x?x?xi32>, size = [64, 64])
    mask_mod(%b: index, %h: index, %p: index, %k: index) {
      %keep = arith.cmpi sge, %p, %k : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: [Analysis] mask | Category:mask | Function=given | Reason="the program specifies the bounds; the mask is not analysed"
func.func @given(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %n = attn.key_length
      %zero = arith.constant 0 : index
      attn.yield %zero, %zero, %zero, %n : index, index, index, index
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: :[[# @LINE + 4]]:15: remark: [Missed] unknown | {{.*}} Function=all_but_some | Op=arith.cmpi, Reason="all keys except some are not one range: it gives no range of keys; kernels with warp roles test each block at run time"
func.func @all_but_some(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi ne, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: remark: [Missed] unknown | {{.*}} Function=without_sign | Op=arith.cmpi, Reason="it compares a value that may be negative as unsigned
func.func @without_sign(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %distance = arith.subi %j, %i : index
      %keep = arith.cmpi ult, %i, %distance : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: remark: [Missed] unknown | {{.*}} Function=any_factor | Op=arith.cmpi, Reason="its sum may overflow
func.func @any_factor(%q: !t, %n: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%n : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %m: index) {
      %key = arith.muli %j, %m : index
      %keep = arith.cmpi slt, %key, %i : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: remark: [Missed] unknown | {{.*}} Function=remainder | Op=arith.remui, Reason="a bound on 'arith.remui' gives no bound on the key
func.func @remainder(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %three = arith.constant 3 : index
      %rest = arith.remui %j, %three : index
      %keep = arith.cmpi slt, %rest, %i : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// An op without a rule for ranges, and a comparison of booleans.
// CHECK: :[[# @LINE + 5]]:12: remark: [Missed] unknown {{.*}} Function=power | Op=math.ipowi, Reason="there is no range analysis for 'math.ipowi': it skips no block
func.func @power(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %j : index to i32
      %x = math.ipowi %n, %n : i32
      %keep = arith.cmpi eq, %x, %n : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK: :[[# @LINE + 7]]:15: remark: [Missed] unknown {{.*}} Function=sides | Op=arith.cmpi, Reason="its sides are not sums of bounded terms: it gives no range of keys; kernels with warp roles test each block at run time"
func.func @sides(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %four = arith.constant 4 : index
      %x = arith.cmpi ult, %i, %four : index
      %y = arith.cmpi ult, %j, %four : index
      %keep = arith.cmpi ult, %x, %y : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A block predicate without an upper bound: a term has no range analysis.
// CHECK: kv_classify {{.*}} Function=either | Reason="a block of queries i0 to i1 and keys j0 to j1 may always have visible pairs; it needs no mask if j1 <= i0"
func.func @either(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %j : index to i32
      %x = math.ipowi %n, %n : i32
      %odd = arith.cmpi eq, %x, %n : i32
      %causal = arith.cmpi ule, %j, %i : index
      %keep = arith.ori %odd, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
