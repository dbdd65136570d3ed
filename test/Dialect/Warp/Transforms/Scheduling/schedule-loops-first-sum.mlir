// In the first iteration, whose accumulator is zero, only a multiplication folds away: an addition
// to it or a comparison remains, also if S is prefetched and also under a ballot.
//
// REQUIRES: fovea-run
// DEFINE: %{op} = addf
// DEFINE: %{entry} = all
// DEFINE: %{program} = sed 's/arith.addf/arith.%{op}/' %s | fovea-run - --random=1 --dims M=128,N=256,D=64
// DEFINE: %{compare} = %{program} --level=tile --entry=%{entry} --outputs %t.tile.npy && \
// DEFINE:   %{program} --level=warp --entry=%{entry} --outputs %t.warp.npy --seeds=2 && cmp %t.tile.npy %t.warp.npy
// RUN: %{compare}
// REDEFINE: %{op} = maximumf
// RUN: %{compare}
// REDEFINE: %{op} = mulf
// RUN: %{compare}
// REDEFINE: %{entry} = voted
// RUN: %{compare}
// REDEFINE: %{op} = addf
// RUN: %{compare}
//
// RUN: fovea-opt %s --fovea-to-warp=target=sm_80 | FileCheck %s
// RUN: sed 's/arith.addf/arith.mulf/' %s | fovea-opt --fovea-to-warp=target=sm_80 | FileCheck %s --check-prefix=PRODUCT

// CHECK-LABEL: gpu.func @all
// CHECK: role @compute
// CHECK: warp.dot
// CHECK: arith.addf
// CHECK: scf.for
// CHECK-LABEL: gpu.func @voted
// CHECK: role @compute
// CHECK: warp.dot
// CHECK: arith.addf
// CHECK: scf.for
// PRODUCT-LABEL: gpu.func @all
// PRODUCT: role @compute
// PRODUCT-NOT: arith.mulf
// PRODUCT: scf.for
// PRODUCT: arith.mulf
// PRODUCT-LABEL: gpu.func @voted
// PRODUCT: role @compute
// PRODUCT-NOT: arith.mulf
// PRODUCT: scf.for
// PRODUCT: arith.mulf
!memory = memref<?x?xbf16, strided<[?, 1]>>
!omem = memref<?x?xf32, strided<[?, 1]>>
!q = tensor<128x64xbf16, #tile.reg>
!k = tensor<64x64xbf16, #tile.reg>
!s = tensor<128x64xf32, #tile.reg>
!rows = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  launch.abi @all target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8, stages = 2,
         order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
         roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"q", read, tensor<?x?xbf16>, ["M", "D"], 16>,
             #launch.tensor<"k", read, tensor<?x?xbf16>, ["N", "D"], 16>,
             #launch.tensor<"v", read, tensor<?x?xbf16>, ["N", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>,
                #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 128)>)
    threads(256) shared_memory(0)
  gpu.func @all(%Q: !memory, %K: !memory, %V: !memory, %O: !omem) kernel {
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
        %acc1 = arith.addf %acc, %mb : !s
        %next = tile.dot "o" %p, %v, %acc1 : !q, !k, !s
        scf.yield %next : !s
    }
    tile.store "out" %sum, %O[%i, %c0] dims [0, 1] : !s, !omem
    gpu.return
  }

  launch.abi @voted target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8, stages = 2,
         order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
         roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"q", read, tensor<?x?xbf16>, ["M", "D"], 16>,
             #launch.tensor<"k", read, tensor<?x?xbf16>, ["N", "D"], 16>,
             #launch.tensor<"v", read, tensor<?x?xbf16>, ["N", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "D"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>,
                #launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 128)>)
    threads(256) shared_memory(0)
  gpu.func @voted(%Q: !memory, %K: !memory, %V: !memory, %O: !omem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !s
    %least = arith.constant dense<-1.0e30> : !rows
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
        %asks = arith.cmpf ogt, %m, %least : !rows
        %acc1 = tile.if_any %asks init(%acc : !s) : tensor<128x1xi1, #tile.reg> {
        ^bb0(%x: !s):
          %y = arith.addf %x, %mb : !s
          tile.yield %y : !s
        }
        %next = tile.dot "o" %p, %v, %acc1 : !q, !k, !s
        scf.yield %next : !s
    }
    tile.store "out" %sum, %O[%i, %c0] dims [0, 1] : !s, !omem
    gpu.return
  }
}
