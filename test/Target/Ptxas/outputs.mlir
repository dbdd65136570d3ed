// REQUIRES: ptxas

// Copies to global memory, plain and accumulating, as PTX that ptxas accepts.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory,warp-sync-lanes,warp-verify-pipelines)),fovea-warp-to-nvvm)' \
// RUN:   | fovea-translate --nvvm-to-ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: %ptxas -arch=sm_90a -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SAID

// PTX-LABEL: .entry f(
// PTX: stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: fence.proxy.async.shared::cta;
// PTX: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// PTX: cp.async.bulk.commit_group;
// PTX: st.shared.v2.b32
// PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
// PTX: cp.async.bulk.wait_group.read 0;
// PTX: cp.async.bulk.wait_group 0;
// SAID: 0 bytes spill stores, 0 bytes spill loads
#reg = #warp.wgmma<groups = 2>
!o = memref<?x64xbf16, strided<[?, 1]>>
!d = memref<?x64xf32, strided<[?, 1]>>
!b = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!s = memref<128x64xf32, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"d", write, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.memref<"d", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%o: !o, %d: !d) kernel {
    %b = warp.alloc : !b
    %s = warp.alloc : !s
    warp.specialize captures(%o, %d, %b, %s : !o, !d, !b, !s)
      role @compute warps(8) regs(240) {
      ^bb0(%o0: !o, %d0: !d, %b0: !b, %s0: !s):
        %c0 = arith.constant 0 : index
        %block = gpu.block_id x
        %x = tile.load %d0[%block, %c0] dims [0, 1] : !d to tensor<128x64xf32, #reg>
        %y = arith.truncf %x : tensor<128x64xf32, #reg> to tensor<128x64xbf16, #reg>
        warp.local_store %y to %b0 : tensor<128x64xbf16, #reg>, !b
        warp.fence_stores %b0 : !b
        warp.copy_out async %b0 to %o0[%block, %c0] dims [0, 1] : !b to !o
        warp.local_store %x to %s0 : tensor<128x64xf32, #reg>, !s
        warp.fence_stores %s0 : !s
        warp.copy_out async add %s0 to %d0[%block, %c0] dims [0, 1] : !s to !d
        warp.copy_out_wait %b0 : !b
        warp.copy_out_wait written %s0 : !s
        warp.return
      }
    gpu.return
  }
}
