// Parameters of layouts and pipelines, and shapes of tiles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{rows of a panel must have 32, 64 or 128 bytes, found 96}}
func.func private @panel(memref<16x48xbf16, #warp.shared<row_bytes = 96>>)

// -----

// expected-error@+1 {{a pipeline must have at least one stage, found 0}}
func.func private @stages(!warp.pipeline<0>)

// -----

// expected-error@+1 {{'warps' must be in [1, 32], found 0}}
func.func private @no_warps(tensor<16x16xf32, #warp.mma_sync<warps = 0>>)

// -----

// expected-error@+1 {{'warps' must be in [1, 32], found 33}}
func.func private @too_many_warps(tensor<16x16xf32, #warp.mma_sync<warps = 33>>)

// -----

// expected-error@+1 {{rows must be 1 or a multiple of 64 for 4 warps, found 96}}
func.func private @rows(tensor<96x16xf32, #warp.mma_sync<warps = 4>>)

// -----

// expected-error@+1 {{columns must be 1 or a multiple of 8, found 12}}
func.func private @columns(tensor<64x12xf32, #warp.mma_sync<warps = 4>>)

// -----

// expected-error@+1 {{'column_warps' must be a power of two in [1, 8] for 4 warps that divide the rows, found 3}}
func.func private @odd_column_warps(tensor<64x96xf32, #warp.mma_sync<warps = 4, column_warps = 3>>)

// -----

// expected-error@+1 {{'column_warps' must be a power of two in [1, 8] for 4 warps that divide the rows, found 16}}
func.func private @many_column_warps(tensor<64x256xf32, #warp.mma_sync<warps = 4, column_warps = 16>>)

// -----

// expected-error@+1 {{columns must be 1 or a multiple of 64 for 4 warps that share them, found 96}}
func.func private @shared_columns(tensor<64x96xf32, #warp.mma_sync<warps = 2, column_warps = 4>>)

// -----

// expected-error@+1 {{rank 2}}
func.func private @rank(tensor<64xf32, #warp.mma_sync<warps = 4>>)

// -----

// expected-error@+1 {{the stages of a pipeline must be at most 32, found 33}}
func.func private @many_stages(!warp.pipeline<33>)
