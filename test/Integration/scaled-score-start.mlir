// A score times a value per query, plus a term linear in the key: the product's accumulator can't
// start from the term. Found by random programs.
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --target=sm_90a --random=1 --check --dims=B=1,Hq=2,Hkv=1,Sq=100,Skv=130,c0.0=100
// RUN: %{run} --level=tile
// RUN: %{run} --level=ptx
func.func @attention(%q: tensor<?x?x?x16xbf16>, %k: tensor<?x?x?x16xbf16>, %v: tensor<?x?x?x16xbf16>, %c0: tensor<?xf32>) -> tensor<?x?x?x16xbf16> {
  %o = attn.forward %q, %k, %v captures(%c0 : tensor<?xf32>, names = ["c0"])
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c0: tensor<?xf32>) {
      %factor = tensor.extract %c0[%i] : tensor<?xf32>
      %scaled = arith.mulf %s, %factor : f32
      %distance = arith.subi %i, %j : index
      %i32 = arith.index_cast %distance : index to i32
      %term = arith.sitofp %i32 : i32 to f32
      %sum = arith.addf %scaled, %term : f32
      attn.yield %sum : f32
    } : tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16> -> tensor<?x?x?x16xbf16>
  return %o : tensor<?x?x?x16xbf16>
}
