// RUN: fovea-translate %s --launch-abi-to-metadata | FileCheck %s
// RUN: fovea-translate %s --launch-abi-to-metadata | %python -m json.tool

// CHECK:      "target": "sm_90a",
// CHECK:      "parameters": [
// CHECK-NEXT:   {"kind":"tensor_map","tensor":"k","dims":[2,0,1],"box":[64,128,1],"swizzle":128},
// CHECK-NEXT:   {"kind":"workspace","bytes":4}
// CHECK-NEXT: ],
// CHECK:      "cluster": [2,1,1],
// CHECK-NEXT: "persistent": 1,
// CHECK-NEXT: "shared_memory": 232448,
gpu.module @kernels {
  gpu.func @f(%k: !llvm.ptr, %counter: !llvm.ptr<1>) kernel {
    gpu.return
  }
  launch.abi @f target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 12>)
    tensors([#launch.tensor<"k", read, tensor<?x8x64xbf16>, ["S", "H", "D"], 16>])
    parameters([#launch.tensor_map<"k", [2, 0, 1], box = [64, 128, 1], swizzle = 128>, #launch.workspace<4>])
    grid(["S"] affine_map<()[s] -> (s ceildiv 128)>) threads(384) shared_memory(232448) persistent(1) cluster(2)
}
