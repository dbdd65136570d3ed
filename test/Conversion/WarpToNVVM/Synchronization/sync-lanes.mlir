// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize))' | FileCheck %s

// CHECK-LABEL: gpu.func @fences
gpu.module @m {
  launch.abi @fences target("sm_100a") plan(<#warp.mma_sync_unit, warps = 4>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @fences() kernel {
    // CHECK: %[[ALL:.*]] = arith.constant -1 : i32
    // CHECK-NEXT: nvvm.bar.warp.sync %[[ALL]] : i32
    warp.sync_lanes
    // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    // CHECK-NEXT: nvvm.bar.warp.sync
    warp.sync_lanes async_proxy
    // CHECK-NEXT: nvvm.tcgen05.fence <before>
    // CHECK-NEXT: nvvm.bar.warp.sync
    warp.sync_lanes tmem_loads
    // CHECK-NEXT: nvvm.fence.proxy
    // CHECK-NEXT: nvvm.tcgen05.wait <store>
    // CHECK-NEXT: nvvm.tcgen05.fence <before>
    // CHECK-NEXT: nvvm.bar.warp.sync
    // CHECK-NEXT: gpu.return
    warp.sync_lanes async_proxy tmem_stores
    gpu.return
  }
}

// -----

!vector = memref<1x32xf32, #warp.shared<row_bytes = 128>>
!ring = memref<1x1x32xf32, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @missing target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 1>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(1024)
  gpu.func @missing() kernel {
    %ring = warp.alloc offset(0) : !ring
    %p = warp.pipeline offset(512) : !p
    warp.specialize captures(%ring, %p : !ring, !p)
      role @compute warps(4) regs(208) {
      ^bb0(%b: !ring, %q: !p):
        %z = arith.constant 0 : i32
        %t = warp.stage %b[%z] : !ring to !vector
        warp.consumer_wait %q[%z, %z] : !p
        %x = warp.local_load %t : !vector to tensor<1x32xf32, #warp.wgmma<groups = 1>>
        // expected-error@+1 {{is not allowed here: expected 'warp-sync-lanes' to have run before 'warp-to-nvvm'}}
        warp.consumer_release %q[%z, %z] : !p
        warp.return
      }
    gpu.return
  }
}
