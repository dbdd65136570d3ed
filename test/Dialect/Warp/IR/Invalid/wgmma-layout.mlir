// Parameters of wgmma layouts, and shapes of tiles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'groups' must be in [1, 8], found 0}}
func.func private @f(tensor<64x16xf32, #warp.wgmma<groups = 0>>)

// -----

// expected-error@+1 {{'groups' must be in [1, 8], found 9}}
func.func private @f(tensor<64x16xf32, #warp.wgmma<groups = 9>>)

// -----

// expected-error@+1 {{rows must be 1 or a multiple of 128 for 8 warps, found 64}}
func.func private @f(tensor<64x16xf32, #warp.wgmma<groups = 2>>)

// -----

// expected-error@+1 {{rows must be 1 or 128 for 2 warp groups, found 256}}
func.func private @f(tensor<256x16xf32, #warp.wgmma<groups = 2>>)

// -----

// expected-error@+1 {{columns must be 1 or a multiple of 8, found 12}}
func.func private @f(tensor<128x12xf32, #warp.wgmma<groups = 2>>)

// -----

// expected-error@+1 {{rank 2}}
func.func private @f(tensor<128xf32, #warp.wgmma<groups = 2>>)
