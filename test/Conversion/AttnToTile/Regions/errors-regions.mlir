// Regions may contain arithmetic on scalars and loads of captured tensors.
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --split-input-file --verify-diagnostics

!t = tensor<1x1x?x16xf16>
func.func @uniform(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-error@+1 {{'affine.apply' is not supported in a kernel: expected 'arith' or 'math' on scalars, or 'tensor.extract' or 'tensor.dim' of a captured tensor}}
      %x = affine.apply affine_map<(d0) -> (d0 * 2)>(%h)
      %keep = arith.cmpi sge, %x, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// A thread index is not a property of a score.
!t = tensor<1x1x?x16xf16>
func.func @thread(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-error@+1 {{'gpu.thread_id' is not supported in a kernel}}
      %x = gpu.thread_id x
      %keep = arith.cmpi sge, %x, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @tensors(%q: !t, %k: !t, %v: !t, %c: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%c : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?xi32>) {
      // expected-error@+1 {{'arith.addi' is not supported in a kernel: expected 'arith' or 'math' on scalars}}
      %sum = arith.addi %d, %d : tensor<?xi32>
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @two_results(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.index_cast %i : index to i32
      // expected-error@+1 {{'arith.addui_extended' is not supported on values that differ within a block of scores}}
      %sum, %keep = arith.addui_extended %x, %x : i32, i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @dim_outside(%q: !t, %k: !t, %v: !t, %c: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%c : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %dim = arith.constant -1 : index
      // expected-error@+1 {{dimension must be a constant from 0 to 1, found -1}}
      %x = tensor.dim %d, %dim : tensor<?x?xi32>
      %keep = arith.cmpi sge, %x, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @dim_of_key(%q: !t, %k: !t, %v: !t, %c: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%c : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      // expected-error@+1 {{dimension must be a constant from 0 to 1}}
      %x = tensor.dim %d, %j : tensor<?x?xi32>
      %keep = arith.cmpi sge, %x, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @constant_tensor(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-error@+1 {{'arith.constant' is not supported in a kernel: expected 'arith' or 'math' on scalars}}
      %table = arith.constant dense<[1, 2]> : tensor<2xi32>
      %x = tensor.extract %table[%b] : tensor<2xi32>
      %y = arith.index_cast %x : i32 to index
      %keep = arith.cmpi sge, %y, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @eight_bits(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error@+1 {{'arith.truncf' is not supported on 'f8E4M3FN' in a kernel, which computes with f16, bf16, f32 and f64}}
      %a = arith.truncf %s : f32 to f8E4M3FN
      %c = arith.extf %a : f8E4M3FN to f32
      attn.yield %c : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
