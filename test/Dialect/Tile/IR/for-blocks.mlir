// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

!t = tensor<64x1xf32, #tile.reg>

// CHECK-LABEL: func @range
// CHECK: tile.for_blocks %{{.*}} to %{{.*}} step 64 descending full(%{{.*}}, %{{.*}}) carry(%{{.*}} : tensor<64x1xf32, #tile.reg>)
// CHECK-NEXT: do(%[[J:.*]]: index, %[[P:.*]]: i1, %[[L:.*]]: tensor<64x1xf32, #tile.reg>) {
// CHECK-NEXT: tile.yield %[[L]]
func.func @range(%a: index, %b: index, %c: index, %d: index, %zero: !t) -> !t {
  %r = tile.for_blocks %a to %b step 64 descending full(%c, %d) carry(%zero : !t)
    do(%j: index, %partial: i1, %l: !t) {
      tile.yield %l : !t
    }
  return %r : !t
}

// CHECK-LABEL: func @at_least_once
// CHECK: tile.for_blocks %{{.*}} to %{{.*}} step 64 at_least_once full(%{{.*}}, %{{.*}}){{$}}
func.func @at_least_once(%a: index, %b: index) {
  tile.for_blocks %a to %b step 64 at_least_once full(%a, %b)
    do(%j: index, %partial: i1) {
      tile.yield
    }
  return
}

// CHECK-LABEL: func @visits
// CHECK: tile.for_blocks blocks %{{.*}} masked(%{{.*}}) init(%{{.*}} : i32) step 32
// CHECK-NEXT: visit(%[[N:.*]]: index, %[[W:.*]]: i32) {
// CHECK-NEXT: tile.yield %[[N]], %[[W]] : index, i32
// CHECK-NEXT: }
// CHECK-NEXT: do(%{{.*}}: index, %{{.*}}: i1) {
// CHECK-NEXT: tile.yield
// CHECK-NEXT: }
func.func @visits(%n: index, %m: index, %w: i32) {
  tile.for_blocks blocks %n masked(%m) init(%w : i32) step 32
    visit(%i: index, %word: i32) {
      tile.yield %i, %word : index, i32
    }
    do(%j: index, %partial: i1) {
      tile.yield
    }
  return
}

// CHECK-LABEL: func @is_partial
// CHECK-SAME: %[[N:.*]]: index, %[[A:.*]]: index, %[[B:.*]]: index
// CHECK-NEXT: tile.is_partial %[[N]] below %[[A]] from %[[B]]{{$}}
// CHECK-NEXT: tile.is_partial %[[N]] below %[[A]]{{$}}
// CHECK-NEXT: tile.is_partial %[[N]] from %[[B]]{{$}}
func.func @is_partial(%n: index, %a: index, %b: index) -> (i1, i1, i1) {
  %0 = tile.is_partial %n below %a from %b
  %1 = tile.is_partial %n below %a
  %2 = tile.is_partial %n from %b
  return %0, %1, %2 : i1, i1, i1
}
