// RUN: fovea-translate %s --nvvm-to-ptx -split-input-file -verify-diagnostics | FileCheck %s

// The limit of the target's PTX version: 4352 bytes before PTX 8.1.
// CHECK: .version 7.4
// CHECK-LABEL: .entry fits(
gpu.module @m {
  launch.abi @fits target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"y", write, tensor<?xf32>, ["S"], 4>]) parameters([#launch.pointer<"y">, #launch.pointer<"y">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  llvm.func @fits(%y: !llvm.ptr<1>, %x: !llvm.ptr {llvm.byval = !llvm.array<4344 x i8>}) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// -----

// A later version allows more.
// CHECK: .version 8.1
// CHECK-LABEL: .entry more(
gpu.module @m {
  launch.abi @more target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"y", write, tensor<?xf32>, ["S"], 4>]) parameters([#launch.pointer<"y">, #launch.pointer<"y">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  llvm.func @more(%y: !llvm.ptr<1>, %x: !llvm.ptr {llvm.byval = !llvm.array<4345 x i8>}) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{kernel 'most' has 32765 bytes of parameters (addresses, sizes and strides of its tensors), but PTX allows 32764: capture fewer tensors, or tensors of lower rank}}
  launch.abi @most target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"y", write, tensor<?xf32>, ["S"], 4>]) parameters([#launch.pointer<"y">, #launch.pointer<"y">])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  llvm.func @most(%y: !llvm.ptr<1>, %x: !llvm.ptr {llvm.byval = !llvm.array<32757 x i8>}) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
