// An arbitrary mask, one bit per pair: bit j mod 32 of %bits[b, i, j div 32] is
// set if query i sees key j. Each bitmap word is read once for 32 keys of a row.
func.func @bitmask(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %bits: tensor<?x?x?xi32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%bits : tensor<?x?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %bits: tensor<?x?x?xi32>) {
      %c32 = arith.constant 32 : index
      %at = arith.divui %j, %c32 : index
      %bit = arith.remui %j, %c32 : index
      %bit32 = arith.index_cast %bit : index to i32
      %word = tensor.extract %bits[%b, %i, %at] : tensor<?x?x?xi32>
      %shifted = arith.shrui %word, %bit32 : i32
      %keep = arith.trunci %shifted : i32 to i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
