// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-ping-pong)))' --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}
