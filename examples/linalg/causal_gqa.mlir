// Causal attention with a bias and grouped heads, in linalg as a front end emits it:
// 8 query heads share 2 key heads. Tensors are (batch, sequence, heads, width).
//
//   fovea-opt causal_gqa.mlir --attn-raise-linalg      the result: one attn.forward
//   fovea-opt causal_gqa.mlir --attn-raise-linalg --fovea-to-nvvm=target=sm_90a
//   fovea-opt causal_gqa.mlir --attn-raise-linalg | fovea-compile - --target=sm_90a
#scores = affine_map<(b, h, i, j) -> (b, h, i, j)>
#rows = affine_map<(b, h, i, j) -> (b, h, i)>
func.func @causal_gqa(%q: tensor<?x?x8x64xbf16>, %k: tensor<?x?x2x64xbf16>, %v: tensor<?x?x2x64xbf16>, %bias: tensor<8x?xf32>)
    -> tensor<?x?x8x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %batch = tensor.dim %q, %c0 : tensor<?x?x8x64xbf16>
  %queries = tensor.dim %q, %c1 : tensor<?x?x8x64xbf16>
  %keys = tensor.dim %k, %c1 : tensor<?x?x2x64xbf16>

  // Heads before the sequence, keys and values repeated for the heads that share them.
  %qe = tensor.empty(%batch, %queries) : tensor<?x8x?x64xbf16>
  %qt = linalg.transpose ins(%q : tensor<?x?x8x64xbf16>) outs(%qe : tensor<?x8x?x64xbf16>) permutation = [0, 2, 1, 3]
  %ke = tensor.empty(%batch, %keys) : tensor<?x2x?x64xbf16>
  %kt = linalg.transpose ins(%k : tensor<?x?x2x64xbf16>) outs(%ke : tensor<?x2x?x64xbf16>) permutation = [0, 2, 1, 3]
  %vt = linalg.transpose ins(%v : tensor<?x?x2x64xbf16>) outs(%ke : tensor<?x2x?x64xbf16>) permutation = [0, 2, 1, 3]
  %re = tensor.empty(%batch, %keys) : tensor<?x2x4x?x64xbf16>
  %kr = linalg.broadcast ins(%kt : tensor<?x2x?x64xbf16>) outs(%re : tensor<?x2x4x?x64xbf16>) dimensions = [2]
  %vr = linalg.broadcast ins(%vt : tensor<?x2x?x64xbf16>) outs(%re : tensor<?x2x4x?x64xbf16>) dimensions = [2]
  %k4 = tensor.collapse_shape %kr [[0], [1, 2], [3], [4]] : tensor<?x2x4x?x64xbf16> into tensor<?x8x?x64xbf16>
  %v4 = tensor.collapse_shape %vr [[0], [1, 2], [3], [4]] : tensor<?x2x4x?x64xbf16> into tensor<?x8x?x64xbf16>

  // S = Q K^T
  %se = tensor.empty(%batch, %queries, %keys) : tensor<?x8x?x?xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>,
                                        affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%qt, %k4 : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) outs(%sz : tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>

  // A bias for each head and key; keys after the query are hidden.
  %x = linalg.generic {indexing_maps = [#scores, affine_map<(b, h, i, j) -> (h, j)>, #scores],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %bias : tensor<?x8x?x?xf32>, tensor<8x?xf32>) outs(%se : tensor<?x8x?x?xf32>) {
  ^bb0(%score: f32, %b: f32, %out: f32):
    %scaled = arith.mulf %score, %scale : f32
    %biased = arith.addf %scaled, %b : f32
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %seen = arith.cmpi sge, %i, %j : index
    %r = arith.select %seen, %biased, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<?x8x?x?xf32>

  // The softmax, written out.
  %me = tensor.empty(%batch, %queries) : tensor<?x8x?xf32>
  %mh = linalg.fill ins(%hidden : f32) outs(%me : tensor<?x8x?xf32>) -> tensor<?x8x?xf32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<?x8x?x?xf32>) outs(%mh : tensor<?x8x?xf32>) dimensions = [3]
  %e = linalg.generic {indexing_maps = [#scores, #rows, #scores], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x, %m : tensor<?x8x?x?xf32>, tensor<?x8x?xf32>) outs(%se : tensor<?x8x?x?xf32>) {
  ^bb0(%a: f32, %largest: f32, %out: f32):
    %less = arith.subf %a, %largest : f32
    %r = math.exp %less : f32
    linalg.yield %r : f32
  } -> tensor<?x8x?x?xf32>
  %nz = linalg.fill ins(%zero : f32) outs(%me : tensor<?x8x?xf32>) -> tensor<?x8x?xf32>
  %n = linalg.reduce { arith.addf } ins(%e : tensor<?x8x?x?xf32>) outs(%nz : tensor<?x8x?xf32>) dimensions = [3]
  %pe = tensor.empty(%batch, %queries, %keys) : tensor<?x8x?x?xbf16>
  %p = linalg.generic {indexing_maps = [#scores, #rows, #scores], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%e, %n : tensor<?x8x?x?xf32>, tensor<?x8x?xf32>) outs(%pe : tensor<?x8x?x?xbf16>) {
  ^bb0(%a: f32, %sum: f32, %out: bf16):
    %weight = arith.divf %a, %sum : f32
    %r = arith.truncf %weight : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x8x?x?xbf16>

  // O = P V, and back to the order of the inputs.
  %oe = tensor.empty(%batch, %queries) : tensor<?x8x?x64xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>,
                                        affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v4 : tensor<?x8x?x?xbf16>, tensor<?x8x?x64xbf16>) outs(%oz : tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  %te = tensor.empty(%batch, %queries) : tensor<?x?x8x64xbf16>
  %t = linalg.generic {indexing_maps = [affine_map<(b, i, h, d) -> (b, h, i, d)>, affine_map<(b, i, h, d) -> (b, i, h, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%o : tensor<?x8x?x64xf32>) outs(%te : tensor<?x?x8x64xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x?x8x64xbf16>
  return %t : tensor<?x?x8x64xbf16>
}
