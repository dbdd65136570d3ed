// Columns come in blocks.
// RUN: %reject %s

// expected-error @+1 {{columns must be 1 or a multiple of 8, found 12}}
func.func private @f(tensor<64x12xf32, #warp.mma_sync<warps = 4>>)
