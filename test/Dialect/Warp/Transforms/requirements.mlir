// Passes name the facts that they require of a kernel, and the pass that establishes each fact.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops)))'
// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-sink-coordinates)))' -o /dev/null

#r = #tile.reg
gpu.module @m {
  gpu.func @dots(%a: tensor<16x16xbf16, #r>, %b: tensor<16x16xbf16, #r>, %c: tensor<16x16xf32, #r>) kernel {
    // expected-error@+1 {{'tile.dot' op is not allowed here: expected 'tile-to-warp' to have run before 'warp-schedule-loops'}}
    %d = tile.dot %a, %b, %c : tensor<16x16xbf16, #r>, tensor<16x16xbf16, #r>, tensor<16x16xf32, #r>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @roles() kernel {
    // expected-error@+1 {{'warp.specialize' op is not allowed here: expected 'warp-schedule-loops' to have run before 'warp-specialize'}}
    warp.specialize
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(4) regs(240) { warp.return }
    gpu.return
  }
}
