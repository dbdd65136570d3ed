// Operands and accumulator of a dot.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @dot_rank(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>,
                    %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{operands must have rank 2, found}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xbf16, #tile.reg>, memref<2x16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @dot_element(%a: tensor<16x16xf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                       %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{operands must have the same element type, found}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @dot_sum(%a: tensor<16x32xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                   %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{shapes do not form a matrix product}}
  %0 = warp.dot %a, %b, %c : tensor<16x32xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

// Transposed, the buffer's rows are the product's columns.
func.func @dot_transposed(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x32xbf16, #warp.shared<row_bytes = 64>>,
                          %c: tensor<16x32xf32, #tile.reg>) {
  // expected-error@+1 {{shapes do not form a matrix product}}
  %0 = warp.dot %a, %b, %c transpose_b : tensor<16x16xbf16, #tile.reg>, memref<16x32xbf16, #warp.shared<row_bytes = 64>>, tensor<16x32xf32, #tile.reg>
  return
}

// -----

func.func @dot_acc(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                   %c: tensor<16x16xbf16, #tile.reg>) {
  // expected-error@+1 {{operand #2 must be}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xbf16, #tile.reg>
  return
}

// -----

func.func @dot_turns_registers(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>,
                               %c: tensor<16x16xf32, #tile.reg>) {
  // expected-error@+1 {{needs a transposed first operand in shared memory, found 'tensor<16x16xbf16, #tile.reg>'}}
  %0 = warp.dot %a, %b, %c transpose_a : tensor<16x16xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, tensor<16x16xf32, #tile.reg>
  return
}

// -----

func.func @dot_accumulator(%a: tensor<16x16xbf16, #tile.reg>, %b: memref<16x16xbf16, #warp.shared<row_bytes = 32>>, %c: f32) {
  // expected-error@+1 {{accumulator of a dot must be a tile}}
  %0 = warp.dot %a, %b, %c : tensor<16x16xbf16, #tile.reg>, memref<16x16xbf16, #warp.shared<row_bytes = 32>>, f32
  return
}
