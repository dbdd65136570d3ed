// A lowered kernel, whose parameters are those of a host, is rejected.
// RUN: not fovea-run %s --random=1 --dims S=4 2>&1 | FileCheck %s

gpu.module @m {
  // CHECK: lowered-kernel.mlir:[[@LINE+1]]:{{.*}}error: the interpreter executes tile-level kernels, whose parameters are memrefs and scalars, found #launch.tensor_map<"k", [1, 0], box = [64, 128], swizzle = 128>
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 12>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.tensor_map<"k", [1, 0], box = [64, 128], swizzle = 128>, #launch.workspace<4>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(384) shared_memory(0)
  gpu.func @f(%k: !llvm.ptr, %counter: !llvm.ptr<1>) kernel {
    gpu.return
  }
}
