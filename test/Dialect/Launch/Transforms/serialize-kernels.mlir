// RUN: fovea-opt %s --launch-serialize-kernels --split-input-file --verify-diagnostics | FileCheck %s

// The name is already used: the binary gets another one. A scalar of the ABI is
// passed; a scalar that is not in the ABI is removed.
func.func private @f()
// CHECK-LABEL: func.func private @f(
// CHECK: launch.binary @f_0 target("sm_80")
// CHECK-SAME: tensors([#launch.tensor<"y", write, tensor<?x64xf32>, ["S", "D"], 4>]) scalars([#launch.scalar<"scale", f32>])
// CHECK-SAME: code("{{.*}}.entry f(
// CHECK-SAME: metadata("{\0A  \22version\22: 1,\0A  \22kernel\22: \22f\22,
// CHECK-NOT: gpu.module
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"y", write, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.pointer<"y">, #launch.scalar<"scale", f32>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  llvm.func @f(%y: !llvm.ptr<1>, %scale: f32) attributes {gpu.kernel, nvvm.kernel} {
    llvm.store %scale, %y : f32, !llvm.ptr<1>
    llvm.return
  }
}
// CHECK-LABEL: func.func @host
// CHECK: launch.call @f_0 ins("scale" = %{{.*}} : f32) outs("y"
func.func @host(%y: memref<?x64xf32>, %s: f32, %b: f32) {
  launch.call @m::@f ins("capture0" = %b : f32, "scale" = %s : f32) outs("y" = %y : memref<?x64xf32>)
  return
}
// Other modules are not changed.
// CHECK-LABEL: gpu.module @other
gpu.module @other {
  gpu.func @g() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0 of 'f' is still #launch.memref<"y", [0]>; launch metadata needs parameters that a host can pass}}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"y", write, tensor<?xf32>, ["S"], 4>]) parameters([#launch.memref<"y", [0]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(0)
  gpu.func @f(%y: memref<?xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<()[] -> (1)>) threads(128) shared_memory(0)
  llvm.func @f() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
  // expected-error@+1 {{kernels of a module must have the same target, found 'sm_80' and 'sm_90a'}}
  launch.abi @g target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<()[] -> (1)>) threads(128) shared_memory(0)
  llvm.func @g() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// -----

module attributes {gpu.container_module} {
  // expected-error@+1 {{only 'launch.call' may refer to a serialized kernel, found 'gpu.launch_func'}}
  gpu.module @m {
    launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
      grid([] affine_map<()[] -> (1)>) threads(128) shared_memory(0)
    llvm.func @f() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @host(%n: index) {
    // expected-note@+1 {{here}}
    gpu.launch_func @m::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}

// -----

// expected-error@+1 {{unknown target 'sm_1'}}
gpu.module @m {
  launch.abi @f target("sm_1") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<()[] -> (1)>) threads(128) shared_memory(0)
  llvm.func @f() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
