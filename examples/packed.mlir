// Sequences of different lengths end to end, without padding: sequence n has
// queries cu_q[n] to cu_q[n+1] and keys cu_k[n] to cu_k[n+1]. Each is causal on its
// own, aligned to its last query and key.
//
// Training on documents and prefill of a batch of prompts, known as varlen. Rows
// that belong to no sequence are not written. Sequences are processed in the
// given order; with --schedule=longest_first=1 those with the most keys come
// first, so that short ones fill the tail.
func.func @packed(%q: tensor<1x?x?x64xbf16>, %k: tensor<1x?x?x64xbf16>, %v: tensor<1x?x?x64xbf16>, %cu_q: tensor<?xi32>, %cu_k: tensor<?xi32>)
    -> (tensor<1x?x?x64xbf16>, tensor<1x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v packed(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %m = attn.query_length
      %n = attn.key_length
      %x = arith.subi %i, %m : index
      %y = arith.subi %j, %n : index
      %keep = arith.cmpi sge, %x, %y : index
      attn.yield %keep : i1
    }
    : tensor<1x?x?x64xbf16>, tensor<1x?x?x64xbf16>, tensor<1x?x?x64xbf16>
    -> tensor<1x?x?x64xbf16>, tensor<1x?x?xf32>
  return %o, %lse : tensor<1x?x?x64xbf16>, tensor<1x?x?xf32>
}
