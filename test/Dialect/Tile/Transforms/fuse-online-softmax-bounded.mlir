// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy tau=8},tile-lower-blocks,cse,canonicalize)))' | FileCheck %s
// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=deferred},tile-lower-blocks,cse,canonicalize)))' | FileCheck %s
// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=lazy tau=8 fixed-reference=false},tile-lower-blocks,cse,canonicalize)))' | FileCheck %s --check-prefix=OFF
// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax{recurrence=three-pass},tile-lower-blocks,cse,canonicalize)))' | FileCheck %s --check-prefix=OFF
// OFF-LABEL: gpu.func @capped
// OFF: tile.reduce max
// OFF-LABEL: gpu.func @clamped
// OFF: tile.reduce max

// A soft cap: the softmax offset is the middle of the score range, 0, plus the
// fraction by which a row's largest score exceeds it in the first block that the row
// sees. No other maximum is computed. Rows without visible keys have no offset at the
// end. The scale 20.0 is 28.85 in base 2.
// CHECK-LABEL: gpu.func @capped
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<2.885390e+01> : tensor<16x64xf32, #tile.reg>
// CHECK-DAG: %[[ROW_SCALE:.*]] = arith.constant dense<2.885390e+01> : tensor<16x1xf32, #tile.reg>
// CHECK-DAG: %[[OPEN:.*]] = arith.constant dense<0xFF800000> : tensor<16x1xf32, #tile.reg>
// CHECK: %[[R:.*]]:3 = scf.for %[[J:.*]] = %[[C0:.*]] to %{{.*}} iter_args(%[[OLD:[^ ]*]] = %[[OPEN]], {{.*}} -> (tensor<16x1xf32, #tile.reg>, tensor<16x8xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>)
// CHECK: %[[S:.*]] = scf.if
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[J]], %[[C0]]
// CHECK: %[[MAY:.*]] = arith.ori %[[FIRST]], %{{.*}}
// CHECK: %[[M:.*]]:2 = scf.if %[[MAY]] -> (tensor<16x1xf32, #tile.reg>, tensor<16x1xf32, #tile.reg>)
// CHECK:   %[[IS_OPEN:.*]] = arith.cmpf oeq, %[[OLD]], %[[OPEN]]
// CHECK:   tile.if_any %[[IS_OPEN]] init(%[[OLD]]
// CHECK:   %[[MOST:.*]] = tile.reduce max dim 1 %[[S]]
// CHECK:   %[[ABOVE:.*]] = math.fma %[[MOST]], %[[ROW_SCALE]], %{{.*}}
// CHECK:   %[[FLOOR:.*]] = math.floor %[[ABOVE]]
// CHECK:   arith.subf %[[ABOVE]], %[[FLOOR]]
// CHECK:   arith.cmpf oeq, %[[MOST]], %[[OPEN]]
// CHECK:   arith.select %[[IS_OPEN]]
// Rows that see no key of the block keep offset -inf.
// CHECK:   %[[NONE:.*]] = arith.cmpf oeq, %[[NEXT:.*]], %[[OPEN]]
// CHECK:   %[[GUARDED:.*]] = arith.select %[[NONE]], %{{.*}}, %[[NEXT]]
// CHECK:   scf.yield %[[NEXT]], %[[GUARDED]]
// All rows see all keys of an unmasked block and keep their offset.
// CHECK: } else {
// CHECK:   %[[KEPT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OLD]]
// CHECK:   scf.yield %[[KEPT]], %[[KEPT]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[M]]#1
// CHECK: %[[OFFSET:.*]] = tile.broadcast %[[MINUS]]
// CHECK: %[[X:.*]] = math.fma %[[S]], %[[SCALE]], %[[OFFSET]]
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[X]]
// CHECK-NOT: tile.reduce max
// CHECK-NOT: tile.if_any
// CHECK: %[[L:.*]] = tile.reduce add dim 1 %[[R]]#1
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[L]]
// CHECK: arith.select %[[EMPTY]], %[[OPEN]]
gpu.module @m {
  gpu.func @capped(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xbf16>, %M: memref<16x1xf32>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %inf = arith.constant dense<0xFF800000> : tensor<16x64xf32, #tile.reg>
    %mask = arith.constant dense<true> : tensor<16x64xi1, #tile.reg>
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(20.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %t = math.tanh %s : tensor<16x64xf32, #tile.reg>
        %x = scf.if %partial -> (tensor<16x64xf32, #tile.reg>) {
          %i = tile.load %K[%c0, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
          %less = arith.cmpf olt, %i, %s : tensor<16x64xf32, #tile.reg>
          %masked = arith.select %less, %t, %inf : tensor<16x64xi1, #tile.reg>, tensor<16x64xf32, #tile.reg>
          scf.yield %masked : tensor<16x64xf32, #tile.reg>
        } else {
          scf.yield %t : tensor<16x64xf32, #tile.reg>
        }
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %m, %M[%c0, %c0] dims [0, 1] : tensor<16x1xf32, #tile.reg>, memref<16x1xf32>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// Clamped on one side by a bounded value: from 96 to 104, so 100 is 144.27 in base 2,
// which the largest probability allows.
// CHECK-LABEL: gpu.func @clamped
// CHECK-DAG: arith.constant dense<144.269{{[0-9]*}}> : tensor<16x1xf32, #tile.reg>
// CHECK: math.floor
gpu.module @m {
  gpu.func @clamped(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %high = arith.constant dense<52.0> : tensor<16x64xf32, #tile.reg>
    %low = arith.constant dense<48.0> : tensor<16x64xf32, #tile.reg>
    %two = arith.constant dense<2.0> : tensor<16x64xf32, #tile.reg>
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %below = arith.minimumf %s, %high : tensor<16x64xf32, #tile.reg>
        %both = arith.maximumf %below, %low : tensor<16x64xf32, #tile.reg>
        %x = arith.mulf %both, %two : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// A function whose bounds follow from its operands: a sigmoid, from 0 to 1. The
// middle is 0.5.
// CHECK-LABEL: gpu.func @sigmoid
// CHECK-DAG: arith.constant dense<7.2134{{[0-9]*}}> : tensor<16x1xf32, #tile.reg>
// CHECK: math.floor
gpu.module @m {
  gpu.func @sigmoid(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<16x64xf32, #tile.reg>
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(10.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %n = arith.negf %s : tensor<16x64xf32, #tile.reg>
        %e = math.exp %n : tensor<16x64xf32, #tile.reg>
        %d = arith.addf %one, %e : tensor<16x64xf32, #tile.reg>
        %x = arith.divf %one, %d : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// The cap is too wide for one offset.
// CHECK-LABEL: gpu.func @wide
// CHECK: tile.reduce max
// CHECK-NOT: math.floor
gpu.module @m {
  gpu.func @wide(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(53.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %x = math.tanh %s : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// The probabilities of a row may be too small for float16.
// CHECK-LABEL: gpu.func @half
// CHECK: tile.reduce max
// CHECK-NOT: math.floor
gpu.module @m {
  gpu.func @half(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xf16>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(2.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %x = math.tanh %s : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xf16> to tensor<64x32xf16, #tile.reg>
        tile.yield %v : tensor<64x32xf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// Bounded on one side only.
// CHECK-LABEL: gpu.func @one_side
// CHECK: tile.reduce max
gpu.module @m {
  gpu.func @one_side(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<16x64xf32, #tile.reg>
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %x = arith.minimumf %s, %one : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}

// -----

// A product with a masked value is unbounded.
// CHECK-LABEL: gpu.func @masked_before
// CHECK: tile.reduce max
gpu.module @m {
  gpu.func @masked_before(%ub: index, %K: memref<?x64xf32>, %V: memref<?x32xbf16>, %O: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<16x64xf32, #tile.reg>
    %inf = arith.constant dense<0xFF800000> : tensor<16x64xf32, #tile.reg>
    %m, %l, %acc = tile.softmax_sum %c0 to %ub step 64 full(%c0, %ub) scale(1.0)
      scores(%j: index, %partial: i1) {
        %s = tile.load %K[%j, %c0] dims [0, 1] : memref<?x64xf32> to tensor<16x64xf32, #tile.reg>
        %t = math.tanh %s : tensor<16x64xf32, #tile.reg>
        %less = arith.cmpf olt, %s, %one : tensor<16x64xf32, #tile.reg>
        %y = arith.select %less, %t, %inf : tensor<16x64xi1, #tile.reg>, tensor<16x64xf32, #tile.reg>
        %x = arith.mulf %y, %t : tensor<16x64xf32, #tile.reg>
        tile.yield %x : tensor<16x64xf32, #tile.reg>
      }
      values(%j: index) {
        %v = tile.load %V[%j, %c0] dims [0, 1] : memref<?x32xbf16> to tensor<64x32xbf16, #tile.reg>
        tile.yield %v : tensor<64x32xbf16, #tile.reg>
      }
      : tensor<16x1xf32, #tile.reg>, tensor<16x32xf32, #tile.reg>
    tile.store %acc, %O[%c0, %c0] dims [0, 1] : tensor<16x32xf32, #tile.reg>, memref<16x32xf32>
    gpu.return
  }
}
