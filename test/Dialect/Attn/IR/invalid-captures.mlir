// A captured tensor must have an element for each batch entry and head that indexes it,
// and for each query and key at unmasked accesses. Hosts check dynamic sizes:
// test/Conversion/AttnToTile/Regions/captured-sizes.mlir.
// RUN: fovea-opt %s -split-input-file -verify-diagnostics

!t = tensor<2x8x30x64xbf16>
func.func @heads(%q: !t, %c: tensor<4xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%c : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<4xf32>) {
      // expected-error @+1 {{'tensor.extract' op reads dimension 0 of captured value #0 at the query head: expected a size of at least 8, found 'tensor<4xf32>'}}
      %x = tensor.extract %t[%h] : tensor<4xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<4xf32>) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x30x8x64xbf16>
func.func @batch_of_second(%q: !t, %c: tensor<2x30xi32>, %d: tensor<3x1xi32>) -> !t {
  %o = attn.forward %q, %q, %q layout(bshd) captures(%c, %d : tensor<2x30xi32>, tensor<3x1xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<2x30xi32>, %u: tensor<3x1xi32>) {
      %x = tensor.extract %t[%b, %j] : tensor<2x30xi32>
      // expected-error @+1 {{'tensor.extract' op reads dimension 1 of captured value #1 at the batch entry: expected a size of at least 2, found 'tensor<3x1xi32>'}}
      %y = tensor.extract %u[%b, %b] : tensor<3x1xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x30x64xbf16>
func.func @queries_of_mask(%q: !t, %c: tensor<29xi1>) -> !t {
  %o = attn.forward %q, %q, %q captures(%c : tensor<29xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<29xi1>) {
      // expected-error @+1 {{at the query: expected a size of at least 30}}
      %keep = tensor.extract %t[%i] : tensor<29xi1>
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x30x64xbf16>
func.func @keys_of_plain_score(%q: !t, %c: tensor<29xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%c : tensor<29xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<29xf32>) {
      // expected-error @+1 {{at the key: expected a size of at least 30}}
      %x = tensor.extract %t[%j] : tensor<29xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// A mask, lengths and offsets may hide missing elements.
!t = tensor<1x8x30x64xbf16>
func.func @hidden(%q: !t, %c: tensor<29xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%c : tensor<29xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<29xf32>) {
      %x = tensor.extract %t[%j] : tensor<29xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<29xf32>) {
      %c29 = arith.constant 29 : index
      %keep = arith.cmpi slt, %j, %c29 : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @lengths(%q: !t, %n: tensor<1xi32>, %c: tensor<29xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%c : tensor<29xf32>) lengths(%n : tensor<1xi32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<29xf32>) {
      %x = tensor.extract %t[%j] : tensor<29xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @packed(%q: !t, %n: tensor<3xi32>, %c: tensor<29xi1>) -> !t {
  %o = attn.forward %q, %q, %q captures(%c : tensor<29xi1>) packed(%n, %n : tensor<3xi32>, tensor<3xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<29xi1>) {
      %keep = tensor.extract %t[%i] : tensor<29xi1>
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
