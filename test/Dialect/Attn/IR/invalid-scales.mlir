// RUN: fovea-opt %s --split-input-file --verify-diagnostics
!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x64xbf16>

func.func @unknown(%q: !t, %s: tensor<1x1xf32>) -> !o {
  // expected-error @+1 {{scales must be different ones of 'q', 'k', 'v' and 'v_mean', found 'x'}}
  %o = attn.forward %q, %q, %q scales(%s : tensor<1x1xf32>, names = ["x"]) : !t, !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x64xbf16>
func.func @twice(%q: !t, %s: tensor<1x1xf32>) -> !o {
  // expected-error @+1 {{scales must be different ones of 'q', 'k', 'v' and 'v_mean', found 'q' twice}}
  %o = attn.forward %q, %q, %q scales(%s, %s : tensor<1x1xf32>, tensor<1x1xf32>, names = ["q", "q"]) : !t, !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x64xbf16>
func.func @names(%q: !t, %s: tensor<1x1xf32>) -> !o {
  // expected-error @+1 {{expected a name for each of 1 scales, found 2}}
  %o = attn.forward %q, %q, %q scales(%s : tensor<1x1xf32>, names = ["q", "k"]) : !t, !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x64xbf16>
func.func @heads(%q: !t, %s: tensor<1x3xf32>) -> !o {
  // expected-error @+1 {{scale 'k' must be an f32 tensor of (B or 1, Hkv or 1), found 'tensor<1x3xf32>'}}
  %o = attn.forward %q, %q, %q scales(%s : tensor<1x3xf32>, names = ["k"]) : !t, !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x64xbf16>
func.func @mean(%q: !t, %s: tensor<1x4x32xf32>) -> !o {
  // expected-error @+1 {{scale 'v_mean' must be an f32 tensor of (B or 1, Hkv or 1, Dv), found 'tensor<1x4x32xf32>'}}
  %o = attn.forward %q, %q, %q scales(%s : tensor<1x4x32xf32>, names = ["v_mean"]) : !t, !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x32xbf16>
func.func @columns(%q: !t, %s: tensor<1x1xf32>) -> !o {
  // expected-error @+1 {{scale 'v' needs values, but they are columns of K}}
  %o = attn.forward %q, %q value_columns(0, 32) scales(%s : tensor<1x1xf32>, names = ["v"]) : !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
!o = tensor<2x4x?x64xbf16>
func.func @dropout(%q: !t, %s: tensor<1x4x64xf32>, %seed: i64) -> !o {
  // expected-error @+1 {{scale 'v_mean' is not supported with dropout}}
  %o = attn.forward %q, %q, %q scales(%s : tensor<1x4x64xf32>, names = ["v_mean"]) dropout(0.1, %seed, %seed) : !t, !t, !t -> !o
  return %o : !o
}

// -----

!t = tensor<2x4x?x64xf8E4M3FN>
func.func @output(%q: !t) -> !t {
  // expected-error @+1 {{output must be f16, bf16 or f32, found 'f8E4M3FN'}}
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}
