// Scales of 8-bit inputs and the mean of the values, at every level. A row sees no key, and the last tiles are ragged.
// REQUIRES: fovea-run
// RUN: fovea-run %s --level=attn --random=1 --dims=Sq=140,Skv=200 --check
// RUN: fovea-run %s --level=tile --random=1 --dims=Sq=140,Skv=200 --check
// RUN: fovea-run %s --level=warp --seeds=2 --random=1 --dims=Sq=140,Skv=200 --check
// RUN: fovea-run %s --level=ptx --random=1 --dims=Sq=140,Skv=200 --check
// RUN: fovea-run %s --level=ptx --random=2 --dims=Sq=40,Skv=0 --check
// RUN: fovea-run %s --level=ptx --random=3 --dims=Sq=70,Skv=700 --magnitude=30 --check
// RUN: fovea-run %s --level=tile --random=3 --dims=Sq=70,Skv=300 --recurrence=deferred --check
// RUN: fovea-run %s --level=tile --random=3 --dims=Sq=70,Skv=300 --recurrence=three-pass --check
// RUN: fovea-run %s --level=tile --random=3 --dims=Sq=70,Skv=300 --recurrence=conditional --check
!q = tensor<2x4x?x96xf8E4M3FN>
!k = tensor<2x2x?x96xf8E4M3FN>
!v = tensor<2x2x?x128xf8E4M3FN>
!o = tensor<2x4x?x128xbf16>
!l = tensor<2x4x?xf32>
!mean = tensor<1x2x128xf32>
func.func @scaled(%q: !q, %k: !k, %v: !v, %sq: tensor<1x1xf32>, %sk: tensor<2x2xf32>, %sv: tensor<2x1xf32>, %mean: !mean,
                  %sinks: tensor<4xf32>) -> (!o, !l) {
  %o, %lse = attn.forward %q, %k, %v
    scales(%sq, %sk, %sv, %mean : tensor<1x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>, !mean, names = ["q", "k", "v", "v_mean"])
    sinks(%sinks : tensor<4xf32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c3 = arith.constant 3 : index
      %keep = arith.cmpi ugt, %i, %c3 : index
      attn.yield %keep : i1
    } : !q, !k, !v -> !o, !l
  return %o, %lse : !o, !l
}
