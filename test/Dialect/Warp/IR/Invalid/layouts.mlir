// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'of' must be the layout of an accumulator in registers, found #warp.lanes}}
func.func private @f(tensor<1x32xf32, #warp.operand<of = #warp.lanes, element_bits = 8>>)

// -----

// expected-error@+1 {{'of' must be the layout of an accumulator in registers, found 4 : i64}}
func.func private @f(tensor<16x32xf32, #warp.operand<of = 4, element_bits = 8>>)

// -----

// expected-error@+1 {{'element_bits' must be 8 or 32, found 16}}
func.func private @f(tensor<16x32xf32, #warp.operand<of = #warp.mma_sync<warps = 1>, element_bits = 16>>)

// -----

// The rows must match the layout of the accumulator.
// expected-error@+1 {{rows must be 1 or 64 for 1 warp groups, found 128}}
func.func private @f(tensor<128x32xf32, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>)

// -----

// expected-error@+1 {{columns must be 1 or a multiple of 16, found 24}}
func.func private @f(tensor<64x24xf32, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>)

// -----

// expected-error@+1 {{'#warp.thread_rows' needs 1 row or 128, found 64}}
func.func private @f(tensor<64x32xf32, #warp.thread_rows>)

// -----

func.func @f(%x: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{needs layouts that divide rows among warps, found 'tensor<64x32xf32, #tile.reg>'}}
  %y = warp.convert_layout %x : tensor<64x32xf32, #tile.reg> to tensor<64x32xf32, #warp.mma_sync<warps = 4>>
  return
}

// -----

func.func @f(%x: tensor<64x32xf32, #warp.mma_sync<warps = 4>>) {
  // expected-error@+1 {{cannot move rows between warps: found layouts of 4 and 2 warps, expected a stream ('tile.stream')}}
  %y = warp.convert_layout %x : tensor<64x32xf32, #warp.mma_sync<warps = 4>> to tensor<64x32xf32, #warp.mma_sync<warps = 2>>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32, #warp.mma_sync<warps = 4>>) {
  // expected-error@+1 {{requires the same element type for all operands and results}}
  %z = warp.convert_layout %x : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    to tensor<64x8xf16, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 32>>
  return
}

// -----

func.func @f(%x: tensor<64x32xf32, #warp.mma_sync<warps = 4>>) {
  // expected-error@+1 {{requires the same shape for all operands and results}}
  %y = warp.convert_layout %x : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    to tensor<64x16xf32, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 32>>
  return
}

// -----

// expected-error@+1 {{'warps' must be in [1, 32], found 0}}
func.func private @f(tensor<64x32xf8E4M3FN, #warp.row_pairs<warps = 0>>)

// -----

// expected-error@+1 {{'neighbours' must be 2 or 4, found 3}}
func.func private @f(tensor<64x32xf8E4M3FN, #warp.row_pairs<warps = 4, neighbours = 3>>)

// -----

// expected-error@+1 {{rows must be 1 or a multiple of 64 for 4 warps, found 32}}
func.func private @f(tensor<32x32xf8E4M3FN, #warp.row_pairs<warps = 4>>)
