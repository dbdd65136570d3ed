// Launch requirements of a kernel that cannot be met. The file is a kernel; sed
// inserts the error.
// RUN: fovea-run %s --random=1 --dims S=3
// RUN: sed -e 's/(s, 1)/(s * 1000000000000, 1)/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=ROOM
// ROOM: error: there is no memory for scratch memory 'least'
// RUN: sed -e 's/(s, 1)/(s - 4, 1)/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: sed -e 's/grid(\["S"\]/grid(["E"]/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: no input has the dimension "E"
// RUN: sed -e 's/-> (s)>) threads/-> (s floordiv (s - 3))>) threads/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: cannot evaluate affine_map<()[s0] -> (s0 floordiv (s0 - 3))>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x3xi32>, ["S", "D"], 4>, #launch.tensor<"o", write, tensor<?x1xi32>, ["S", "E"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s, 1)>>, #launch.memref<"o", [0, 1]>, #launch.memref<"x", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(32) shared_memory(0)
  gpu.func @f(%least: memref<?x1xi32>, %o: memref<?x1xi32>, %x: memref<?x3xi32>) kernel {
    gpu.return
  }
}
