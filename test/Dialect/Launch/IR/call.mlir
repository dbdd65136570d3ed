// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

// A kernel as a function, and a serialized one.
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>, #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>, #launch.scalar<"scale", f32>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf16>, %y: memref<?x64xf16>, %scale: f32) kernel {
    gpu.return
  }
}
// CHECK: launch.binary @b target("sm_80") tensors([#launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>,
// CHECK-SAME: scalars([#launch.scalar<"scale", f32>]) code("ptx") metadata("{}")
launch.binary @b target("sm_80")
  tensors([#launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>, #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>])
  scalars([#launch.scalar<"scale", f32>]) code("ptx") metadata("{}")

// Types may be more or less specific than the ABI. The kernel does not read 'extra'.
// CHECK-LABEL: func.func @tensors
func.func @tensors(%x: tensor<8x?xf16>, %y: tensor<8x64xf16>, %s: f32) -> tensor<8x64xf16> {
  // CHECK: launch.call @m::@f ins("x" = %{{.*}} : tensor<8x?xf16>, "extra" = %{{.*}} : f32, "scale" = %{{.*}} : f32) outs("y" = %{{.*}} : tensor<8x64xf16>) -> tensor<8x64xf16>
  %r = launch.call @m::@f ins("x" = %x : tensor<8x?xf16>, "extra" = %s : f32, "scale" = %s : f32) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return %r : tensor<8x64xf16>
}

// CHECK-LABEL: func.func @memrefs
func.func @memrefs(%x: memref<?x64xf16, strided<[?, 1], offset: ?>>, %y: memref<?x64xf16>, %s: f32, %stream: !llvm.ptr) {
  // CHECK: launch.call @b ins("scale" = %{{.*}} : f32, "x" = %{{.*}} : memref<{{.*}}>) outs("y" = %{{.*}} : memref<?x64xf16>){{$}}
  launch.call @b ins("scale" = %s : f32, "x" = %x : memref<?x64xf16, strided<[?, 1], offset: ?>>) outs("y" = %y : memref<?x64xf16>)
  // CHECK: launch.call @b ins({{.*}}) outs({{.*}}) stream(%{{.*}} : !llvm.ptr)
  launch.call @b ins("scale" = %s : f32, "x" = %x : memref<?x64xf16, strided<[?, 1], offset: ?>>) outs("y" = %y : memref<?x64xf16>) stream(%stream : !llvm.ptr)
  return
}
