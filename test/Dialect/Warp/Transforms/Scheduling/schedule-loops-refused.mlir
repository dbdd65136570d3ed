// Loops of a kernel without roles, whose MMA unit is synchronous, stay as they are. A remark gives
// the reason, and the plan changes.
//
// RUN: fovea-opt %s --fovea-to-warp=target=sm_80 --remarks-filter=schedule 2>&1 >%t.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=CODE --implicit-check-not='" + 1' --implicit-check-not='warp.dot async' < %t.mlir
// CODE: launch.abi @one_program
//
// REQUIRES: fovea-run
// DEFINE: %{entry} = one_program
// DEFINE: %{run} = fovea-run %s --entry=%{entry} --random=1 --dims M=128,N=256,D=64
// RUN: %{run} --level=tile --target=sm_80 --outputs %t.tile.npy
// RUN: %{run} --level=warp --target=sm_80 --outputs %t.warp.npy
// RUN: cmp %t.tile.npy %t.warp.npy

!memory = memref<?x?xbf16, strided<[?, 1]>>
!omem = memref<?x?xf32, strided<[?, 1]>>
!q = tensor<128x64xbf16, #tile.reg>
!k = tensor<64x64xbf16, #tile.reg>
!s = tensor<128x64xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  launch.abi @one_program target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 64, warps = 8, stages = 2,
         order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1]>)
    tensors([#launch.tensor<"q", read, tensor<?x?xbf16>, ["M", "D"], 16>,
             #launch.tensor<"k", read, tensor<?x?xbf16>, ["N", "D"], 16>,
             #launch.tensor<"v", read, tensor<?x?xbf16>, ["N", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>,
                #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 128)>)
    threads(256) shared_memory(0)
  // CHECK: [[@LINE+1]]:3: remark: [Missed] overlap {{.*}}the kernel has no roles, or its MMA unit is synchronous
  gpu.func @one_program(%Q: !memory, %K: !memory, %V: !memory, %O: !omem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !s
    %n = memref.dim %K, %c0 : !memory
    %end = arith.maxsi %n, %c1 : index
    %b = gpu.block_id x
    %i = arith.muli %b, %c128 : index
    %q = tile.load "q" %Q[%i, %c0] dims [0, 1] : !memory to !q
    %sum = scf.for %l = %c0 to %end step %c64 iter_args(%acc = %zero) -> !s {
        %k = tile.load "k" %K[%l, %c0] dims [0, 1] : !memory to !k
        %s = tile.dot "s" %q, %k, %zero transpose_b : !q, !k, !s
        %p = arith.truncf %s : !s to !q
        %m = tile.reduce max dim 1 %s : !s to !rows
        %mb = tile.broadcast %m : !rows to !s
        %v = tile.load "v" %V[%l, %c0] dims [0, 1] : !memory to !k
        %acc1 = arith.mulf %acc, %mb : !s
        %next = tile.dot "o" %p, %v, %acc1 : !q, !k, !s
        scf.yield %next : !s
    }
    tile.store "out" %sum, %O[%i, %c0] dims [0, 1] : !s, !omem
    gpu.return
  }
}
