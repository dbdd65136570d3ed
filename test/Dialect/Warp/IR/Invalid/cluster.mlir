// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'ctas' must be at least 1, found 0}}
func.func private @f(memref<64x64xbf16, #warp.shared<row_bytes = 128, ctas = 0>>)

// -----

func.func @f() {
  // expected-error@+1 {{rows must be a multiple of 'ctas' = 3, found 64}}
  %b = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128, ctas = 3>>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{cluster must be in [1, 16], found 0}}
  warp.specialize cluster(0)
    role @compute warps(8) regs(168) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{cluster must be in [1, 16], found 17}}
  warp.specialize cluster(17)
    role @compute warps(8) regs(168) { warp.return }
  return
}
