// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax,tile-lower-blocks,cse,canonicalize)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy},tile-lower-blocks,cse,canonicalize)))' | FileCheck %s --check-prefix=LAZY

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>

// The loop counts iterations of visit; its carried scalars follow the softmax state.
// CHECK-LABEL: gpu.func @visit
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: index, %[[MASKED:[a-z0-9]+]]: index, %[[WORD:[a-z0-9]+]]: i32, %[[L:[a-z0-9]+]]: memref<?xindex>
// CHECK: scf.for %[[N:.*]] = %c0 to %[[COUNT]] step %c1 iter_args(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[W:.*]] = %[[WORD]])
// CHECK-NEXT: %[[J:.*]] = memref.load %[[L]][%[[N]]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[W]], %c1_i32
// CHECK-NEXT: %[[PARTIAL:.*]] = tile.is_partial %[[N]] below %[[MASKED]]{{$}}
// CHECK-NEXT: tile.load %{{.*}}[%c0, %[[J]]]
// CHECK-NEXT: arith.select %[[PARTIAL]]
// CHECK: tile.load %{{.*}}[%[[J]], %c0]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[NEXT]]
// LAZY-LABEL: gpu.func @visit(
// LAZY: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 iter_args({{.*}}, %{{[^,]*}} = %arg2)
gpu.module @kernels {
  gpu.func @visit(%count: index, %masked: index, %word: i32, %L: memref<?xindex>, %S: memref<16x?xf32>,
                  %V: memref<?x32xbf16>, %O: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    %hidden = arith.constant dense<0xFF800000> : !full
    %m, %l, %acc = tile.softmax_sum blocks %count masked(%masked) init(%word : i32) step 64 scale(0.125)
      visit(%n: index, %w: i32) {
        %j = memref.load %L[%n] : memref<?xindex>
        %next = arith.addi %w, %c1 : i32
        tile.yield %j, %next : index, i32
      }
      scores(%j: index, %partial: i1) {
        %s = tile.load %S[%c0, %j] dims [0, 1] : memref<16x?xf32> to !full
        %x = arith.select %partial, %hidden, %s : !full
        tile.yield %x : !full
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to !values
        tile.yield %v : !values
      } : !row, !acc
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : !acc, memref<16x32xf32>
    gpu.return
  }
}
