// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax,tile-lower-blocks,cse,canonicalize)))' | FileCheck %s

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>

// The loop counts blocks and runs at least once. Masked blocks are those starting at
// full_upper or later, at least the first iteration, and those before full_lower.
// CHECK-LABEL: gpu.func @general
// CHECK-SAME: %[[LB:[a-z0-9]+]]: index, %[[UB:[a-z0-9]+]]: index, %[[FB:[a-z0-9]+]]: index, %[[FE:[a-z0-9]+]]: index
// CHECK: %[[SPAN:.*]] = arith.subi %[[UB]], %[[LB]]
// CHECK-NEXT: %[[POSITIVE:.*]] = arith.maxsi %[[SPAN]], %c0
// CHECK-NEXT: %[[CEIL:.*]] = arith.ceildivui %[[POSITIVE]], %c64
// CHECK-NEXT: %[[N:.*]] = arith.maxsi %[[CEIL]], %c1
// CHECK-NEXT: %[[MOST:.*]] = arith.subi %[[N]], %c1
// CHECK-NEXT: %[[OFFSET:.*]] = arith.muli %[[MOST]], %c64
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[LB]], %[[OFFSET]]
// CHECK-NEXT: %[[A0:.*]] = arith.subi %[[LAST]], %[[FE]]
// CHECK-NEXT: %[[A1:.*]] = arith.maxsi %[[A0]], %c0
// CHECK-NEXT: %[[A2:.*]] = arith.divui %[[A1]], %c64
// CHECK-NEXT: %[[A:.*]] = arith.addi %[[A2]], %c1
// CHECK-NEXT: %[[B0:.*]] = arith.subi %[[LAST]], %[[FB]]
// CHECK-NEXT: %[[B1:.*]] = arith.addi %[[B0]], %c64
// CHECK-NEXT: %[[B2:.*]] = arith.maxsi %[[B1]], %c0
// CHECK-NEXT: %[[B:.*]] = arith.divui %[[B2]], %c64
// CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %[[N]] step %c1
// CHECK-NEXT:   %[[DOWN:.*]] = arith.muli %[[I]], %c64
// CHECK-NEXT:   %[[J0:.*]] = arith.subi %[[LAST]], %[[DOWN]]
// CHECK-NEXT:   %[[J:.*]] = arith.maxsi %[[J0]], %c0
// CHECK-NEXT:   %[[PARTIAL:.*]] = tile.is_partial %[[I]] below %[[A]] from %[[B]]
// CHECK:        tile.load %{{.*}}[%{{.*}}, %[[J]]]
// CHECK:        arith.select %[[PARTIAL]]
gpu.module @kernels {
  gpu.func @general(%lb: index, %ub: index, %fb: index, %fe: index, %S: memref<16x?xf32>, %V: memref<?x32xbf16>,
                    %O: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %hidden = arith.constant dense<0xFF800000> : !full
    %m, %l, %acc = tile.softmax_sum %lb to %ub step 64 descending full(%fb, %fe) scale(0.125)
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

// -----

!row = tensor<16x1xf32, #tile.reg>
!full = tensor<16x64xf32, #tile.reg>
!acc = tensor<16x32xf32, #tile.reg>
!values = tensor<64x32xbf16, #tile.reg>

// Full up to the last whole block: only the first iteration is masked.
// CHECK-LABEL: gpu.func @whole
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1
// CHECK:   %[[PARTIAL:.*]] = tile.is_partial %[[I]] below %c1{{$}}
// CHECK:   arith.select %[[PARTIAL]]
gpu.module @kernels {
  gpu.func @whole(%ub: index, %S: memref<16x?xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %blocks = arith.divui %ub, %c64 : index
    %down = arith.muli %blocks, %c64 : index
    %fe = arith.maxsi %down, %c0 : index
    %hidden = arith.constant dense<0xFF800000> : !full
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 descending full(%c0, %fe) scale(0.125)
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
