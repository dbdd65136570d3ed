// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @rank target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x?x?x?x?x64xbf16>, ["A", "B", "C", "E", "S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1, 2, 3, 4, 5]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16400)
  gpu.func @rank(%K: memref<?x?x?x?x?x64xbf16, strided<[?, ?, ?, ?, ?, 1]>>) kernel {
    %b = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %P = warp.pipeline offset(16384) : !warp.pipeline<1>
    warp.specialize captures(%K, %b, %P : memref<?x?x?x?x?x64xbf16, strided<[?, ?, ?, ?, ?, 1]>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !warp.pipeline<1>)
      role @load warps(4) regs(56) {
      ^bb0(%k: memref<?x?x?x?x?x64xbf16, strided<[?, ?, ?, ?, ?, 1]>>, %b0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %p: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        // expected-error@+1 {{TMA supports up to 5 dimensions, found 6}}
        warp.copy async %k[%c0, %c0, %c0, %c0, %c0, %c0] dims [4, 5] to %b0 : memref<?x?x?x?x?x64xbf16, strided<[?, ?, ?, ?, ?, 1]>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%k: memref<?x?x?x?x?x64xbf16, strided<[?, ?, ?, ?, ?, 1]>>, %b0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %p: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

// Each CTA copies its part of the rows, in multiples of the swizzle pattern.
gpu.module @m {
  launch.abi @share target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(16400) cluster(2)
  gpu.func @share(%K: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    %b = warp.alloc offset(0) : memref<24x64xbf16, #warp.shared<row_bytes = 128>>
    %P = warp.pipeline offset(16384) : !warp.pipeline<1>
    warp.specialize captures(%K, %b, %P : memref<?x64xbf16, strided<[?, 1]>>, memref<24x64xbf16, #warp.shared<row_bytes = 128>>, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(56) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %b0: memref<24x64xbf16, #warp.shared<row_bytes = 128>>, %p: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        // expected-error@+1 {{each of 2 CTAs copies a multiple of 8 rows, found 24 in all}}
        warp.copy async %k[%c0, %c0] dims [0, 1] to %b0 : memref<?x64xbf16, strided<[?, 1]>> to memref<24x64xbf16, #warp.shared<row_bytes = 128>>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %b0: memref<24x64xbf16, #warp.shared<row_bytes = 128>>, %p: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @parts target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(16400) cluster(2)
  gpu.func @parts(%K: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    %b = warp.alloc offset(0) : memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 4>>
    %P = warp.pipeline offset(16384) : !warp.pipeline<1>
    warp.specialize captures(%K, %b, %P : memref<?x64xbf16, strided<[?, 1]>>, memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 4>>, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(56) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %b0: memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 4>>, %p: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        // expected-error@+1 {{needs a buffer partitioned among the cluster's 2 CTAs, found one for 4}}
        warp.copy async %k[%c0, %c0] dims [0, 1] to %b0 : memref<?x64xbf16, strided<[?, 1]>> to memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 4>>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %b0: memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 4>>, %p: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

// The copies of a stage are either for one CTA or for all.
gpu.module @m {
  launch.abi @mixed target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(24592) cluster(2)
  gpu.func @mixed(%K: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    %a = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %b = warp.alloc offset(8192) : memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
    %P = warp.pipeline offset(24576) : !warp.pipeline<1>
    warp.specialize captures(%K, %a, %b, %P : memref<?x64xbf16, strided<[?, 1]>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(56) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %a0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %b0: memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>, %p: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        warp.copy async %k[%c0, %c0] dims [0, 1] to %a0 : memref<?x64xbf16, strided<[?, 1]>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        // expected-error@+1 {{copies to one CTA: expected a copy to all CTAs of the cluster, as other copies of this pipeline}}
        warp.copy async %k[%c0, %c0] dims [0, 1] to %b0 : memref<?x64xbf16, strided<[?, 1]>> to memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %a0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %b0: memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>, %p: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @view target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16400)
  gpu.func @view(%A: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    %c2 = arith.constant 2 : index
    %K = memref.subview %A[0, 0] [%c2, 64] [1, 1] : memref<?x64xbf16, strided<[?, 1]>> to memref<?x64xbf16, strided<[?, 1]>>
    %b = warp.alloc offset(0) : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    %P = warp.pipeline offset(16384) : !warp.pipeline<1>
    warp.specialize captures(%K, %b, %P : memref<?x64xbf16, strided<[?, 1]>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !warp.pipeline<1>)
      role @load warps(4) regs(56) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %b0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %p: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        // expected-error@+1 {{global memory must be an argument of the kernel}}
        warp.copy async %k[%c0, %c0] dims [0, 1] to %b0 : memref<?x64xbf16, strided<[?, 1]>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%k: memref<?x64xbf16, strided<[?, 1]>>, %b0: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %p: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}

// -----

// A pipeline has one producer.
gpu.module @m {
  launch.abi @producers target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(16400)
  gpu.func @producers() kernel {
    %P = warp.pipeline offset(16384) : !warp.pipeline<1>
    warp.specialize captures(%P : !warp.pipeline<1>)
      role @load warps(4) regs(56) {
      ^bb0(%p: !warp.pipeline<1>):
        %z = arith.constant 0 : i32
        // expected-error@+1 {{pipeline has two producers: role 'compute' and role 'load'}}
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%p: !warp.pipeline<1>):
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
    gpu.return
  }
}

// -----

// A vector in fragments is copied to one CTA.
!vector = memref<1x64xf32, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @fragments target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(400) cluster(2)
  gpu.func @fragments(%K: memref<?x64xf32>) kernel {
    %b = warp.alloc offset(0) : !vector
    %P = warp.pipeline offset(256) : !warp.pipeline<1>
    warp.specialize captures(%K, %b, %P : memref<?x64xf32>, !vector, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(56) {
      ^bb0(%k: memref<?x64xf32>, %b0: !vector, %p: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p[%z, %z] : !warp.pipeline<1>
        // expected-error@+1 {{does not support fragments in a cluster}}
        warp.copy async %k[%c0, %c0] dims [-1, 1] fragments to %b0 : memref<?x64xf32> to !vector
        warp.producer_commit %p[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(192) {
      ^bb0(%k: memref<?x64xf32>, %b0: !vector, %p: !warp.pipeline<1>):
        warp.return
      }
    gpu.return
  }
}
