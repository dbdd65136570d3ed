// RUN: fovea-translate %s --split-input-file --launch-abi-to-metadata -verify-diagnostics | FileCheck %s

// The kernel of a prologue is not an entry kernel: it is part of the other
// kernel's metadata, whose version hosts without support for prologues reject.
// CHECK:      "version": 2,
// CHECK-NEXT: "kernel": "documents",
// CHECK:      "parameters": [
// CHECK-NEXT:   {"kind":"scratch","name":"least","bytes":["*",["*","B",["ceildiv","S",128]],8]}
// CHECK-NEXT: ],
// CHECK:      "shared_memory": 1024,
// CHECK-NEXT: "prologue": [
// CHECK-NEXT:   {"kernel":"summaries","parameters":[{"kind":"pointer","tensor":"doc"},{"kind":"scratch","name":"least","bytes":["*",["*","B",["ceildiv","S",128]],8]}],"grid":{{\[\[}}"ceildiv","S",128],1,1],"block":[32,1,1],"shared_memory":0,"schedule":{"tile_m":16,{{.*}}}}
// CHECK-NEXT: ],
// CHECK-NEXT: "overlapped": 1,
// CHECK-NEXT: "constraints": []
gpu.module @m {
  launch.abi @summaries target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"doc", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([#launch.pointer<"doc">, #launch.scratch<"least", ["B", "S"] affine_map<()[b, s] -> (b * (s ceildiv 128) * 8)>>])
    grid(["S"] affine_map<()[s] -> (s ceildiv 128)>) threads(32) shared_memory(0)
  gpu.func @summaries(%doc: !llvm.ptr, %least: !llvm.ptr<1>) kernel {
    gpu.return
  }
  launch.abi @documents target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"doc", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([#launch.scratch<"least", ["B", "S"] affine_map<()[b, s] -> (b * (s ceildiv 128) * 8)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(1024) prologue([@summaries]) overlapped
  gpu.func @documents(%least: !llvm.ptr<1>) kernel {
    gpu.return
  }
}

// -----

// A prologue that takes scalars, or writes tensors, needs a later version.
// CHECK:      "version": 3,
// CHECK-NEXT: "kernel": "keys",
// CHECK:      "prologue": [
// CHECK-NEXT:   {"kernel":"queries","parameters":[{"kind":"pointer","tensor":"dq"},{"kind":"scalar","name":"scale","type":"f32"}]
gpu.module @m {
  launch.abi @queries target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"dq", write, tensor<?xf32>, ["S"], 4>])
    parameters([#launch.pointer<"dq">, #launch.scalar<"scale", f32>])
    grid(["S"] affine_map<()[s] -> (s ceildiv 128)>) threads(32) shared_memory(0)
  gpu.func @queries(%dq: !llvm.ptr, %scale: f32) kernel {
    gpu.return
  }
  launch.abi @keys target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"dq", write, tensor<?xf32>, ["S"], 4>])
    parameters([#launch.scalar<"scale", f32>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(1024) prologue([@queries])
  gpu.func @keys(%scale: f32) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{parameter #0 of 'summaries' is still #launch.scratch_memref}}
  launch.abi @summaries target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"doc", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([#launch.scratch_memref<"least", ["S"] affine_map<()[s] -> (s ceildiv 128)>>])
    grid(["S"] affine_map<()[s] -> (s ceildiv 128)>) threads(32) shared_memory(0)
  gpu.func @summaries(%least: memref<?xi32>) kernel {
    gpu.return
  }
  launch.abi @documents target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"doc", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(128) shared_memory(1024) prologue([@summaries])
  gpu.func @documents() kernel {
    gpu.return
  }
}
