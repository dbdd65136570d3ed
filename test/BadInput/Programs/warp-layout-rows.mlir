// Rows are shared out evenly.
// RUN: %reject %s

// expected-error @+1 {{rows must be 1 or a multiple of 64 for 4 warps, found 16}}
func.func private @f(tensor<16x8xf32, #warp.mma_sync<warps = 4>>)
