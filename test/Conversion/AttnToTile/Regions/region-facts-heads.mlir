// RUN: fovea-region-test --rows=heads %s
// RUN: sed -e /expected-remark/d -e s/expected-several/expected-remark/ %s > %t.mlir
// RUN: fovea-region-test --rows=queries-of-heads %t.mlir

// With PackGQA of one query, the row's coordinate is the head; with several queries per head,
// neither the head nor the query is.

!t = tensor<1x4x1x16xf16>
!k = tensor<1x1x?x16xf16>

func.func @rows(%q: !t, %k: !k, %v: !k, %by_head: tensor<4xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%by_head : tensor<4xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %by_head: tensor<4xi32>) {
      // expected-remark @+2 {{by row, narrowed}}
      // expected-several @+1 {{by row, narrowed}}
      %w = tensor.extract %by_head[%h] : tensor<4xi32>
      // expected-remark @+2 {{by distance; -1073741824 to 1073741824; 1 row + -1 key + 0}}
      // expected-several @+1 {{by score; -1073741824 to 1073741824}}
      %d = arith.subi %h, %j : index
      // expected-remark @+2 {{by key, shifted; -1073741824 to 1073741824}}
      // expected-several @+1 {{by score; -1073741824 to 1073741824}}
      %e = arith.subi %j, %i : index
      // expected-remark @+2 {{by score, narrowed}}
      // expected-several @+1 {{by score, narrowed}}
      %keep = arith.cmpi slt, %d, %e : index
      attn.yield %keep : i1
    } : !t, !k, !k -> !t
  return %o : !t
}
