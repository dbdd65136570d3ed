// RUN: fovea-opt %s --launch-to-llvm --split-input-file --verify-diagnostics

#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#y]) scalars([]) code("ptx") metadata("{}")
func.func @tensors(%y: tensor<8x64xf16>) -> tensor<8x64xf16> {
  // expected-error@+1 {{launch needs memrefs, found tensors: run 'one-shot-bufferize' first}}
  %r = launch.call @b ins() outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return %r : tensor<8x64xf16>
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<()[] -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    gpu.return
  }
}
func.func @early() {
  // expected-error@+1 {{kernel '@m::@f' has no code: run 'launch-serialize-kernels' first}}
  launch.call @m::@f ins() outs()
  return
}

// -----

launch.binary @b target("sm_80") tensors([]) scalars([#launch.scalar<"s", f64>]) code("ptx") metadata("{}")
func.func @scalar(%s: f64) {
  // expected-error@+1 {{scalar 's' must be f32, i32, i64 or index, found 'f64'}}
  launch.call @b ins("s" = %s : f64) outs()
  return
}

// -----

// expected-note@+1 {{here}}
llvm.func @fovea_embedded_call(i32) -> i32
launch.binary @b target("sm_80") tensors([]) scalars([]) code("ptx") metadata("{}")
func.func @declared() {
  // expected-error@+1 {{'fovea_embedded_call' has another declaration}}
  launch.call @b ins() outs()
  return
}
