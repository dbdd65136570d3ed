// Several accumulators: each has a dot, named after the sum, that reads its columns of the values.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},cse)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional},cse)))' | FileCheck %s --check-prefix=CONDITIONAL
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy},cse)))' | FileCheck %s --check-prefix=LAZY
// RUN: sed 's/<#warp.wgmma_unit/&, streams = [<"p", staged>, <"factor", staged>]/' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=conditional},cse)))' | FileCheck %s --check-prefix=STAGED

// CHECK-LABEL: gpu.func @latent(
// CHECK: tile.for_blocks
// K is loaded once.
// CHECK: %[[K:.*]] = tile.load "k"
// CHECK-NOT: tile.load
// CHECK: tile.dot "s"
// CHECK: %[[SCALED0:.*]] = arith.mulf %{{.*}} : tensor<64x32xf32, #tile.reg>
// CHECK: %[[SCALED1:.*]] = arith.mulf %{{.*}} : tensor<64x16xf32, #tile.reg>
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: %[[NEXT0:.*]] = tile.dot "o.0" %[[P]], %[[K]], %[[SCALED0]] columns(0)
// CHECK: %[[NEXT1:.*]] = tile.dot "o.1" %[[P]], %[[K]], %[[SCALED1]] columns(32)
// CHECK: tile.yield %{{.*}}, %{{.*}}, %[[NEXT0]], %[[NEXT1]] :

// One branch rescales all accumulators of a role.
// CONDITIONAL-LABEL: gpu.func @latent(
// CONDITIONAL: %[[KEPT:.*]]:3 = tile.if_any
// CONDITIONAL: tile.dot "o.0" %{{.*}}, %{{.*}}, %[[KEPT]]#1 columns(0)
// CONDITIONAL: tile.dot "o.1" %{{.*}}, %{{.*}}, %[[KEPT]]#2 columns(32)

// LAZY-LABEL: gpu.func @latent(
// LAZY: %[[KEPT:.*]]:2 = tile.if_any
// LAZY: tile.dot "o.0" %{{.*}}, %{{.*}}, %[[KEPT]]#0 columns(0)
// LAZY: tile.dot "o.1" %{{.*}}, %{{.*}}, %[[KEPT]]#1 columns(32)

// Accumulators of other roles have branches of their own.
// STAGED-LABEL: gpu.func @latent(
// STAGED: %[[FACTOR:.*]] = tile.stream "factor"
// STAGED: %[[KEPT0:.*]] = tile.if_any %{{.*}} init(%{{.*}} : tensor<64x32xf32, #tile.reg>)
// STAGED: %[[KEPT1:.*]] = tile.if_any %{{.*}} init(%{{.*}} : tensor<64x16xf32, #tile.reg>)
// STAGED: %[[P:.*]] = tile.stream "p"
// STAGED: tile.dot "o.0" %[[P]], %{{.*}}, %[[KEPT0]] columns(0)
// STAGED: tile.dot "o.1" %[[P]], %{{.*}}, %[[KEPT1]] columns(32)

!memory = memref<?x64xbf16, strided<[?, 1]>>
!keys = tensor<64x64xbf16, #tile.reg>
!scores = tensor<64x64xf32, #tile.reg>
!row = tensor<64x1xf32, #tile.reg>
gpu.module @m {
  launch.abi @latent target("sm_90a") plan(<#warp.wgmma_unit>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["M", "D"], 16>, #launch.tensor<"k", read, tensor<?x64xbf16>, ["N", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x48xf32>, ["M", "Dv"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @latent(%Q: !memory, %K: !memory, %O: memref<?x48xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !scores
    %n = memref.dim %K, %c0 : !memory
    %q = tile.load "q" %Q[%c0, %c0] dims [0, 1] : !memory to !keys
    %m, %l, %acc:2 = tile.softmax_sum "o" %c0 to %n step 64 full(%c0, %n) scale(0.125)
      scores(%j: index, %partial: i1) {
        %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !keys
        %s = tile.dot "s" %q, %k, %zero transpose_b : !keys, !keys, !scores
        tile.yield %s : !scores
      }
      values(%j: index) {
        %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !keys
        tile.yield %k : !keys
      } : !row, tensor<64x32xf32, #tile.reg>, tensor<64x16xf32, #tile.reg>
    %o:2, %lse = tile.softmax_finish %m, %l, %acc#0, %acc#1 : !row, tensor<64x32xf32, #tile.reg>, tensor<64x16xf32, #tile.reg>
    tile.store "out.0" %o#0, %O[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x48xf32, strided<[?, 1]>>
    tile.store "out.1" %o#1, %O[%c0, %c32] dims [0, 1] : tensor<64x16xf32, #tile.reg>, memref<?x48xf32, strided<[?, 1]>>
    gpu.return
  }
}
