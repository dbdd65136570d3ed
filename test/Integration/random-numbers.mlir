// Numbers of tiles as their kernels draw them: lanes that hold parts of the same
// eight neighbours compute counters for each other. Along rows four lanes do,
// along columns eight; in tiles of few columns some counters are left, which each
// lane computes for itself.
// REQUIRES: fovea-run
// DEFINE: %{arguments} = -81985529216486896 9223372032559808513
// DEFINE: %{shape} = 128x48
// DEFINE: %{dim} = 1
// DEFINE: %{draw} = sed -e 's/64x64/%{shape}/g' -e 's/dim 1/dim %{dim}/' %s > %t.mlir && \
// DEFINE:   fovea-run %t.mlir --level=ptx --target=sm_80 --inputs %{arguments} --outputs %t.npy && \
// DEFINE:   %python %S/../Interpreter/Inputs/philox.py %t.npy %{arguments} 24 48 %{dim}
// RUN: %{draw}
// REDEFINE: %{shape} = 64x40
// RUN: %{draw}
// REDEFINE: %{shape} = 64x8
// RUN: %{draw}
// REDEFINE: %{dim} = 0
// RUN: %{draw}
// REDEFINE: %{shape} = 128x64
// RUN: %{draw}
gpu.module @m {
  gpu.func @f(%key: i64, %stream: i64, %o: memref<64x64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c24 = arith.constant 24 : index
    %c48 = arith.constant 48 : index
    %r = tile.random key(%key) stream(%stream) [%c24, %c48] dim 1 : tensor<64x64xi32, #tile.reg>
    tile.store %r, %o[%c0, %c0] dims [0, 1] : tensor<64x64xi32, #tile.reg>, memref<64x64xi32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<64x64xi32>, ["A", "B"], 4>])
    parameters([#launch.scalar<"key", i64>, #launch.scalar<"stream", i64>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) generator(1)
}
