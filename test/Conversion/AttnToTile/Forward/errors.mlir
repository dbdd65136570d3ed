// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --split-input-file --verify-diagnostics

!t = tensor<1x1x?x12xf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@+1 {{head dims must be multiples of 8 up to 256 on 'sm_80', found 12 for the query}}
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x264xf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@+1 {{head dims must be multiples of 8 up to 256 on 'sm_80', found 264 for the query}}
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// -----

func.func @f(%q: tensor<1x1x?x16xf16>, %k: tensor<1x1x?x16xf16>, %v: tensor<1x1x?x4xf16>) -> tensor<1x1x?x4xf16> {
  // expected-error@+1 {{head dims must be multiples of 8 up to 256 on 'sm_80', found 4 for the value}}
  %o = attn.forward %q, %k, %v : tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>, tensor<1x1x?x4xf16> -> tensor<1x1x?x4xf16>
  return %o : tensor<1x1x?x4xf16>
}

// -----

func.func @f(%q: tensor<2x4x?x32xf16>, %k: tensor<2x1x?x32xf16>) -> tensor<2x4x?x16xf16> {
  // expected-error@+1 {{'value_columns' from 16 on are not lowered to kernels: expected columns from 0 on}}
  %o = attn.forward %q, %k value_columns(16, 16) : tensor<2x4x?x32xf16>, tensor<2x1x?x32xf16> -> tensor<2x4x?x16xf16>
  return %o : tensor<2x4x?x16xf16>
}

// -----

func.func @f(%q: tensor<2x4x?x32xf16>, %k: tensor<?x4x?x32xf16>, %v: tensor<?x4x?x32xf16>, %table: tensor<2x?xi32>,
             %n: tensor<2xi32>) -> tensor<2x4x?x32xf16> {
  // expected-error@+1 {{pages must have their number of rows in the type of key and value, found 'tensor<?x4x?x32xf16>'}}
  %o = attn.forward %q, %k, %v paged(%table, %n : tensor<2x?xi32>, tensor<2xi32>, page = 16)
    : tensor<2x4x?x32xf16>, tensor<?x4x?x32xf16>, tensor<?x4x?x32xf16> -> tensor<2x4x?x32xf16>
  return %o : tensor<2x4x?x32xf16>
}

// -----

!t = tensor<1x1x?x16xf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %yes = arith.constant true
      %c = arith.cmpi sge, %i, %j : index
      // expected-error@+1 {{'scf.if' has regions and cannot be evaluated on a tile: use 'arith.select'}}
      %keep = scf.if %c -> i1 {
        scf.yield %yes : i1
      } else {
        scf.yield %c : i1
      }
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>
// expected-note @+1 {{'attn-outline' moves it into a function that this one calls}}
func.func @among_others(%q: !t, %k: !t, %v: !t) -> !t {
  %twice = arith.addf %q, %q : !t
  // expected-error @+1 {{shares its function with other ops: expected a function of its own}}
  %o = attn.forward %twice, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
