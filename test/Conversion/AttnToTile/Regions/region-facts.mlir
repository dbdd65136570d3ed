// RUN: fovea-region-test %s

// Facts about a region's values before any of them is emitted: the dimensions of a score block that
// they vary along, their ranges, and whether they are sums of coordinates, in any order of
// additions.

!t = tensor<1x4x?x16xf16>

func.func @sums(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-remark @below {{uniform; 5 to 5; 0 row + 0 key + 5}}
      %c5 = arith.constant 5 : index
      // expected-remark @below {{uniform; 0 to 1073741824; 0 row + 0 key + 0 + scalar}}
      %n = attn.key_length
      // expected-remark @below {{uniform; 0 to 1073741824; 0 row + 0 key + 0 + scalar}}
      %m = attn.query_length
      // expected-remark @below {{by row, shifted; 5 to 1073741829; 1 row + 0 key + 5}}
      %ahead = arith.addi %i, %c5 : index
      // expected-remark @below {{by distance; -1073741819 to 1073741829; 1 row + -1 key + 5}}
      %d = arith.subi %ahead, %j : index
      // expected-remark @below {{by row, shifted; 0 to 2147483648}}
      %far = arith.addi %i, %n : index
      // expected-remark @below {{by key, shifted; -1073741824 to 1073741824; 0 row + 1 key + 0 - scalar}}
      %back = arith.subi %j, %m : index
      // expected-remark @below {{by distance; -1073741819 to 1073741829; 1 row + -1 key + 5}}
      %d32 = arith.index_cast %d : index to i32
      // expected-remark @below {{by distance, narrowed}}
      %keep = arith.cmpi sgt, %d, %m : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Additions of captured integers may wrap around, and products are not sums; a difference of
// coordinates remains one.
func.func @no_sums(%q: !t, %k: !t, %v: !t, %x: i32, %y: index) -> !t {
  %o = attn.forward %q, %k, %v captures(%x, %y : i32, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: i32, %y: index) {
      // expected-remark @below {{by row; 0 to 1073741824; 1 row + 0 key + 0}}
      %i32 = arith.index_cast %i : index to i32
      // expected-remark @below {{by row; -2147483648 to 2147483647}}
      %wraps = arith.addi %i32, %x : i32
      // expected-remark @below {{by key, shifted; -9223372036854775808 to 9223372036854775807}}
      %wide = arith.addi %j, %y : index
      // expected-remark @below {{by row; 0 to 1152921504606846976}}
      %square = arith.muli %i, %i : index
      // expected-remark @below {{by row, narrowed}}
      %keep = arith.cmpi slt, %square, %y : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Values that reach a rounding or a comparison are computed as written.
func.func @exact(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-remark @below {{uniform; exact}}
      %c41 = arith.constant 41.0 : f32
      // expected-remark @below {{by distance; -1073741824 to 1073741824; -1 row + 1 key + 0}}
      %d = arith.subi %j, %i : index
      // expected-remark @below {{by distance; -1073741824 to 1073741824; -1 row + 1 key + 0}}
      %d32 = arith.index_cast %d : index to i32
      // expected-remark @below {{by distance, narrowed; exact}}
      %f = arith.sitofp %d32 : i32 to f32
      // expected-remark @below {{by distance, narrowed; exact}}
      %x = arith.divf %f, %c41 : f32
      // expected-remark @below {{by distance, narrowed}}
      %y = math.floor %x : f32
      // expected-remark @below {{by score, narrowed}}
      %r = arith.addf %s, %y : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
