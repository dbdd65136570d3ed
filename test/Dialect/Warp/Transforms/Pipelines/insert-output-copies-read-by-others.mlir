// An output may use a stage only if no other warp may still read it: the stage is the first
// operand, not transposed, of dots of the store's role. Otherwise threads store the tile, a remark
// gives the reason, and the plan changes.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' \
// RUN:   --remarks-filter=schedule 2>&1 >%t.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=CODE < %t.mlir

// CODE: launch.abi @second_operand
// CODE-NOT: copied
// CODE-NOT: warp.copy_out
// CODE: launch.abi @nearest
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
!o = memref<?x64xbf16>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
#p = #plan.kernel<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1, streams = [<"v", stages = 2>],
       stores = [<"out", copied, over = "v">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>
gpu.module @m {
  launch.abi @second_operand target("sm_90a") plan(#p)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @second_operand(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %zero = arith.constant dense<0.0> : !s
    %a = warp.alloc : !v
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    %v = warp.stage %vs[%z] : !ring to !v
    warp.copy async "v" %o[%c0, %c0] dims [0, 1] to %v : !o to !v
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
    %s = warp.dot "s" %a, %v, %zero transpose_b : !v, !v, !s
    warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    // CHECK: [[@LINE+1]]:5: remark: [Missed] output {{.*}}other warps may still read the stage that it would use
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, !o
    gpu.return
  }

  launch.abi @transposed target("sm_90a") plan(#p)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @transposed(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #warp.wgmma<groups = 1>>
    %a = warp.alloc : !v
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    %v = warp.stage %vs[%z] : !ring to !v
    warp.copy async "v" %o[%c0, %c0] dims [0, 1] to %v : !o to !v
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
    %s = warp.dot "s" %v, %a, %zero transpose_a : !v, !v, tensor<64x64xf32, #warp.wgmma<groups = 1>>
    warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    // CHECK: [[@LINE+1]]:5: remark: [Missed] output {{.*}}other warps may still read the stage that it would use
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, !o
    gpu.return
  }

  launch.abi @another_role target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"v", stages = 2>], stores = [<"out", copied, over = "v">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["s", "out"]>,
                <"other", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @another_role(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %zero = arith.constant dense<0.0> : !s
    %a = warp.alloc : !v
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    %v = warp.stage %vs[%z] : !ring to !v
    warp.copy async "v" %o[%c0, %c0] dims [0, 1] to %v : !o to !v
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
    %s = warp.dot "s" %v, %a, %zero transpose_b : !v, !v, !s
    %t = warp.dot "t" %v, %a, %zero transpose_b : !v, !v, !s
    warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    // CHECK: [[@LINE+1]]:5: remark: [Missed] output {{.*}}other warps may still read the stage that it would use
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, !o
    gpu.return
  }

  // The stage would be written while the copy of the previous iteration reads it.
  launch.abi @many_stores target("sm_90a") plan(#p)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @many_stores(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    %v = warp.stage %vs[%z] : !ring to !v
    warp.copy async "v" %o[%c0, %c0] dims [0, 1] to %v : !o to !v
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    scf.for %i = %c0 to %c3 step %c1 {
      // CHECK: [[@LINE+1]]:7: remark: [Missed] output {{.*}}the stage that it would use is not released before it in the same iteration
      tile.store "out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
    }
    gpu.return
  }

  launch.abi @other_shape target("sm_90a") plan(#p)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @other_shape(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<0.0> : !x
    // CHECK: [[@LINE+1]]:5: remark: [Missed] output {{.*}}no stream of that name loads tiles of its shape
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, !o
    gpu.return
  }

  // The later of two preceding releases counts: the stage of the first may already be refilled.
  // CODE-LABEL: gpu.func @nearest
  // CODE: %[[TWO:.*]] = arith.constant 1 : i32
  // CODE: warp.consumer_release
  // CODE: warp.consumer_wait
  // CODE-NEXT: %[[V:.*]] = warp.stage %{{.*}}[%[[TWO]]]
  // CODE-NEXT: warp.local_store "out" %{{.*}} to %[[V]]
  // CODE: warp.copy_out_wait
  // CODE-NEXT: warp.consumer_release %{{.*}}[%[[TWO]]
  launch.abi @nearest target("sm_90a") plan(#p)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @nearest(%o: !o) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = arith.constant dense<0.0> : !x
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    warp.producer_acquire %p[%z, %z] : !warp.pipeline<2>
    %v = warp.stage %vs[%z] : !ring to !v
    warp.copy async "v" %o[%c0, %c0] dims [0, 1] to %v : !o to !v
    warp.producer_commit %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%z, %z] : !warp.pipeline<2>
    warp.consumer_release %p[%z, %z] : !warp.pipeline<2>
    warp.producer_acquire %p[%one, %z] : !warp.pipeline<2>
    %w = warp.stage %vs[%one] : !ring to !v
    warp.copy async "v" %o[%c0, %c0] dims [0, 1] to %w : !o to !v
    warp.producer_commit %p[%one, %z] : !warp.pipeline<2>
    warp.consumer_wait %p[%one, %z] : !warp.pipeline<2>
    warp.consumer_release %p[%one, %z] : !warp.pipeline<2>
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, !o
    gpu.return
  }
}
