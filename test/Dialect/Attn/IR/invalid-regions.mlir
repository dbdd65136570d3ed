// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @mask_arguments(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{mask_mod must have arguments ('index', 'index', 'index', 'index'), found ('index', 'index')}}
  %o = attn.forward %q, %q, %q
    mask_mod(%i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @captured_arguments(%q: tensor<2x4x?x64xbf16>, %w: index) {
  // expected-error @+1 {{mask_mod must have arguments}}
  %o = attn.forward %q, %q, %q captures(%w : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @score_arguments(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{score_mod must have arguments}}
  %o = attn.forward %q, %q, %q
    score_mod(%s: bf16, %b: index, %h: index, %i: index, %j: index) {
      %r = arith.extf %s : bf16 to f32
      attn.yield %r : f32
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @mask_result(%q: tensor<2x4x?x64xbf16>) {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{in mask_mod must yield ('i1'), found ('index')}}
      attn.yield %i : index
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @bounds_results(%q: tensor<2x4x?x64xbf16>) {
  %o = attn.forward %q, %q, %q
    kv_bounds(%b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{in kv_bounds must yield ('index', 'index', 'index', 'index'), found ('index')}}
      attn.yield %i : index
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @side_effect(%q: tensor<2x4x?x64xbf16>, %w: index) {
  %o = attn.forward %q, %q, %q captures(%w : index)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: index) {
      // expected-error @+1 {{is not allowed in score_mod: it may have side effects}}
      %buffer = memref.alloc() : memref<4xf32>
      attn.yield %s : f32
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @nested_side_effect(%q: tensor<2x4x?x64xbf16>) {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi sge, %i, %j : index
      scf.if %c {
        // expected-error @+1 {{is not allowed in mask_mod: it may have side effects}}
        %buffer = memref.alloc() : memref<4xf32>
      }
      attn.yield %c : i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @isolated(%q: tensor<2x4x?x64xbf16>, %w: index) {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{use of undeclared SSA value name}}
      %keep = arith.cmpi sge, %i, %w : index
      attn.yield %keep : i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @terminator(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{mask_mod must end with 'attn.yield'}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      llvm.unreachable
    }, {}, {}) : (tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @empty_block(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{expects a non-empty block}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
    }, {}, {}) : (tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @region_count(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{expected 4 regions}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({})
    : (tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @two_blocks(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{expects region #1 to have 0 or 1 blocks}}
  %o = "attn.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, sequence = #attn.dense}> ({}, {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      cf.br ^bb1
    ^bb1:
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }, {}, {}) : (tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @outside() -> index {
  // expected-error @+1 {{is only valid inside a region of an attention op}}
  %n = attn.key_length
  return %n : index
}

// -----

func.func @yield_outside(%x: i1) {
  // expected-error @+1 {{expects parent op to be one of 'attn.forward, attn.backward'}}
  attn.yield %x : i1
}

// -----

func.func @classify_arguments(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{kv_classify must have arguments ('index', 'index', 'index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index')}}
  %o = attn.forward %q, %q, %q
    kv_classify(%b: index, %h: index, %i0: index, %i1: index) {
      %true = arith.constant true
      attn.yield %true, %true : i1, i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @classify_results(%q: tensor<2x4x?x64xbf16>) {
  %o = attn.forward %q, %q, %q
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %true = arith.constant true
      // expected-error @+1 {{in kv_classify must yield ('i1', 'i1'), found ('i1')}}
      attn.yield %true : i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}
