// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s -mlir-print-op-generic | fovea-opt | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: launch.abi @f
  // CHECK-SAME:  parameters([#launch.tensor_map<"k", [3, 2, 1, 0], box = [64, 128, 1, 1], swizzle = 128>,
  // CHECK-SAME:    #launch.tensor_map<"ids", [0], box = [16], swizzle = 0>, #launch.workspace<4>, #launch.workspace<64>])
  // CHECK-SAME:  threads(384) shared_memory(0) persistent(1) cluster(2) constraints([#launch.at_most<"S", 7>])
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 12>)
    tensors([#launch.tensor<"k", read, tensor<?x8x?x64xbf16>, ["B", "H", "S", "D"], 16>,
             #launch.tensor<"ids", read, tensor<?xi1>, ["S"], 16>])
    parameters([#launch.tensor_map<"k", [3, 2, 1, 0], box = [64, 128, 1, 1], swizzle = 128>,
                #launch.tensor_map<"ids", [0], box = [16], swizzle = 0>, #launch.workspace<4>, #launch.workspace<64>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(384) shared_memory(0) persistent(1) cluster(2)
    constraints([#launch.at_most<"S", 7>])
  gpu.func @f(%k: !llvm.ptr, %ids: !llvm.ptr, %w: !llvm.ptr<1>, %x: !llvm.ptr) kernel {
    gpu.return
  }

  // A cluster of one CTA is not printed.
  // CHECK-LABEL: launch.abi @g
  // CHECK-NOT: cluster
  // CHECK:     gpu.func @g
  launch.abi @g target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 12>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(384) shared_memory(0) cluster(1)
  gpu.func @g() kernel {
    gpu.return
  }
}
