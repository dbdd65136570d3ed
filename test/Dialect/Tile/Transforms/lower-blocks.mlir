// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-blocks)))' | FileCheck %s

!t = tensor<16x1xf32, #tile.reg>
gpu.module @m {
  // Masks apply before and after the range of full blocks.
  // CHECK-LABEL: gpu.func @range(
  // CHECK-SAME: %[[A:.*]]: index, %[[B:.*]]: index, %[[C:.*]]: index, %[[D:.*]]: index
  // CHECK: %[[STEP:.*]] = arith.constant 64 : index
  // CHECK-NEXT: %[[R:.*]] = scf.for %[[J:.*]] = %[[A]] to %[[B]] step %[[STEP]] iter_args(%[[L:.*]] = %{{.*}}) -> (tensor
  // CHECK-NEXT: %[[P:.*]] = tile.is_partial %[[J]] below %[[C]] from %[[D]]
  // CHECK-NEXT: %[[S:.*]] = arith.select %[[P]], %[[L]], %{{.*}}
  // CHECK-NEXT: scf.yield %[[S]]
  // CHECK: tile.store %[[R]]
  gpu.func @range(%a: index, %b: index, %c: index, %d: index, %to: memref<16xf32>) kernel {
    %zero = arith.constant dense<0.0> : !t
    %one = arith.constant dense<1.0> : !t
    %c0 = arith.constant 0 : index
    %r = tile.for_blocks %a to %b step 64 full(%c, %d) carry(%zero : !t)
      do(%j: index, %partial: i1, %l: !t) {
        %s = arith.select %partial, %l, %one : !t
        tile.yield %s : !t
      }
    tile.store %r, %to[%c0] dims [0, -1] : !t, memref<16xf32>
    gpu.return
  }

  // From the last block, at least once.
  // CHECK-LABEL: gpu.func @descending(
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivui
  // CHECK: %[[COUNT:.*]] = arith.maxsi %[[BLOCKS]], %{{.*}}
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]]
  // CHECK: arith.muli %[[I]]
  // CHECK: tile.is_partial %[[I]] below %{{.*}} from
  gpu.func @descending(%a: index, %b: index, %c: index, %d: index, %to: memref<16xf32>) kernel {
    %zero = arith.constant dense<0.0> : !t
    %one = arith.constant dense<1.0> : !t
    %c0 = arith.constant 0 : index
    %r = tile.for_blocks %a to %b step 64 descending full(%c, %d) carry(%zero : !t)
      do(%j: index, %partial: i1, %l: !t) {
        %s = arith.select %partial, %l, %one : !t
        tile.yield %s : !t
      }
    tile.store %r, %to[%c0] dims [0, -1] : !t, memref<16xf32>
    gpu.return
  }

  // The same in ascending order: the first block is always partial.
  // CHECK-LABEL: gpu.func @at_least_once(
  // CHECK-SAME: %[[LOWER:[a-z0-9]+]]: index
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivui
  // CHECK: %[[COUNT:.*]] = arith.maxsi %[[BLOCKS]], %[[ONE]]
  // CHECK: %[[LAST:.*]] = arith.addi %[[LOWER]]
  // CHECK: %[[PARTIAL:.*]] = arith.maxsi %{{.*}}, %[[ONE]]
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]]
  // CHECK: %[[AWAY:.*]] = arith.muli %[[I]]
  // CHECK: %[[UP:.*]] = arith.addi %[[LOWER]], %[[AWAY]]
  // CHECK: arith.minsi %[[UP]], %[[LAST]]
  // CHECK: tile.is_partial %[[I]] below %[[PARTIAL]] from
  gpu.func @at_least_once(%a: index, %b: index, %c: index, %d: index, %to: memref<16xf32>) kernel {
    %zero = arith.constant dense<0.0> : !t
    %one = arith.constant dense<1.0> : !t
    %c0 = arith.constant 0 : index
    %r = tile.for_blocks %a to %b step 64 at_least_once full(%c, %d) carry(%zero : !t)
      do(%j: index, %partial: i1, %l: !t) {
        %s = arith.select %partial, %l, %one : !t
        tile.yield %s : !t
      }
    tile.store %r, %to[%c0] dims [0, -1] : !t, memref<16xf32>
    gpu.return
  }

  // A nested loop whose visit region carries a word, and which carries nothing itself.
  // CHECK-LABEL: gpu.func @visits(
  // CHECK-SAME: %[[N:.*]]: index, %[[M:.*]]: index, %[[W:.*]]: i32
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[WORD:.*]] = %[[W]]) -> (i32)
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[WORD]], %{{.*}}
  // CHECK-NEXT: %[[PARTIAL:.*]] = tile.is_partial %[[I]] below %[[M]]{{$}}
  // CHECK: scf.for {{.*}} {
  // CHECK: scf.if %[[PARTIAL]]
  // CHECK: }
  // CHECK: scf.yield %[[NEXT]]
  // CHECK-NOT: tile.for_blocks
  gpu.func @visits(%n: index, %m: index, %w: i32, %to: memref<16xf32>) kernel {
    %one = arith.constant dense<1.0> : !t
    %more = arith.constant 1 : i32
    tile.for_blocks blocks %n masked(%m) init(%w : i32) step 16
      visit(%i: index, %word: i32) {
        %next = arith.addi %word, %more : i32
        tile.yield %i, %next : index, i32
      }
      do(%j: index, %partial: i1) {
        tile.for_blocks %j to %n step 16 full(%j, %n)
          do(%k: index, %inner: i1) {
            scf.if %partial {
              tile.store %one, %to[%k] dims [0, -1] : !t, memref<16xf32>
            }
            tile.yield
          }
        tile.yield
      }
    gpu.return
  }
}
