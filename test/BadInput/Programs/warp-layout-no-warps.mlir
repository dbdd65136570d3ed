// A layout of no warps holds nothing.
// RUN: %reject %s

// expected-error @+1 {{found 0}}
func.func private @f(tensor<16x8xf32, #warp.mma_sync<warps = 0>>)
