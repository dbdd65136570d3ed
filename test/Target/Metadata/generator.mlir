// The metadata specifies the generator, so that hosts can reproduce a kernel's
// random numbers.
// RUN: fovea-translate %s --launch-abi-to-metadata | FileCheck %s
// CHECK: "shared_memory": 0,
// CHECK-NEXT: "generator": 1,
// CHECK-NEXT: "constraints": []
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) generator(1)
  gpu.func @f() kernel {
    gpu.return
  }
}
