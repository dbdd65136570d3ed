// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

!state = tensor<64x32xf32, #tile.reg>
!row = tensor<64x1xf32, #tile.reg>
!rows = tensor<16x32xf32, #tile.reg>
!one = tensor<16x1xf32, #tile.reg>

// CHECK-LABEL: func @work
// CHECK: tile.foreach_work %[[W:.*]] blocks(%[[FIRST:.*]] to %[[END:.*]]) part(%[[PART:.*]] of %[[PARTS:.*]] at %[[CTA:.*]]) to %{{.*}} schedule(shares) per(%{{.*}})
// CHECK-NEXT: extent(%[[G:.*]]: index) {
// CHECK-NEXT: tile.yield %[[G]] : index
// CHECK-NEXT: } do {
// CHECK: tile.join "sum" (%{{.*}}, %{{.*}}) part(%[[PART]] of %[[PARTS]] at %[[CTA]]) rows(%[[END]]) memory(%{{.*}}, %{{.*}}) counters(%{{.*}}) step 16 : tensor<64x32xf32, #tile.reg>, tensor<64x1xf32, #tile.reg> through memref<?x64x32xf32>, memref<?x64xf32>, memref<8xi32>
// CHECK-NEXT: combine(%[[A:.*]]: tensor<16x32xf32, #tile.reg>, %[[AL:.*]]: tensor<16x1xf32, #tile.reg>, %[[B:.*]]: tensor<16x32xf32, #tile.reg>, %{{.*}}: tensor<16x1xf32, #tile.reg>) {
// CHECK: whole(%{{.*}}: tensor<64x32xf32, #tile.reg>, %{{.*}}: tensor<64x1xf32, #tile.reg>) {
// CHECK: each(%{{.*}}: index, %{{.*}}: tensor<16x32xf32, #tile.reg>, %{{.*}}: tensor<16x1xf32, #tile.reg>) {
// CHECK: } {note = "x"}
func.func @work(%n: index, %per: index, %x: !state, %l: !row, %memory: memref<?x64x32xf32>, %sums: memref<?x64xf32>, %counters: memref<8xi32>) {
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%per)
    extent(%g: index) {
      tile.yield %g : index
    } do {
    tile.join "sum" (%x, %l) part(%part of %parts at %cta) rows(%end) memory(%memory, %sums) counters(%counters) step 16
      : !state, !row through memref<?x64x32xf32>, memref<?x64xf32>, memref<8xi32>
      combine(%a: !rows, %al: !one, %b: !rows, %bl: !one) {
        %sum = arith.addf %a, %b : !rows
        tile.yield %sum, %al : !rows, !one
      }
      whole(%all: !state, %alll: !row) {
        tile.yield
      }
      each(%r: index, %some: !rows, %somel: !one) {
        tile.yield
      } {note = "x"}
  }
  return
}

// CHECK-LABEL: func @share
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = tile.take_share %{{.*}} of %{{.*}} over %{{.*}}
// CHECK-NEXT: blocks(%[[N:.*]]: index) {
// CHECK-NEXT: tile.yield %[[N]] : index
// CHECK: %{{.*}} = tile.arrive "x" %{{.*}}[%{{.*}}] of %{{.*}} : memref<8xi32>
func.func @share(%share: index, %shares: index, %count: index, %counters: memref<8xi32>) -> (index, i1) {
  %total, %first, %end, %group, %before = tile.take_share %share of %shares over %count
    blocks(%n: index) {
      tile.yield %n : index
    }
  %last = tile.arrive "x" %counters[%share] of %shares : memref<8xi32>
  return %total, %last : index, i1
}

// CHECK-LABEL: func @tiles
// CHECK: tile.foreach_work %{{.*}} blocks(%{{.*}} to %{{.*}}) part(%{{.*}} of %{{.*}} at %{{.*}}) tile(%[[T:.*]]) to %{{.*}} schedule(shares) per(%{{.*}})
// CHECK-NEXT: tiles(%[[G:.*]]: index) {
// CHECK-NEXT: tile.yield %[[G]] : index
// CHECK-NEXT: }
// CHECK-NEXT: extent(%{{.*}}: index, %[[OF:.*]]: index) {
// CHECK-NEXT: tile.yield %[[OF]] : index
// CHECK-NEXT: } do {
// CHECK-NEXT: memref.load %{{.*}}[%[[T]]]
func.func @tiles(%n: index, %per: index, %m: memref<?xf32>) {
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) tile(%t) to %n schedule(shares) per(%per)
    tiles(%g: index) {
      tile.yield %g : index
    }
    extent(%g: index, %of: index) {
      tile.yield %of : index
    } do {
    %x = memref.load %m[%t] : memref<?xf32>
  }
  return
}

// Pieces of a fixed size, whose states have slots of their own with 16 of the 64 rows.
// CHECK-LABEL: func @pieces
// CHECK: extent(%[[G:.*]]: index) {
// CHECK-NEXT: tile.yield %[[G]], %[[G]] : index, index
// CHECK-NEXT: } do {
// CHECK: tile.join (%{{.*}}) part(%{{.*}} of %{{.*}} at %{{.*}}) slots(%[[W:.*]]) rows(%{{.*}}) memory(%{{.*}}) counters(%{{.*}}) step 16 : tensor<64x32xf32, #tile.reg> through memref<?x16x32xf32>, memref<8xi32>
func.func @pieces(%n: index, %per: index, %x: !state, %memory: memref<?x16x32xf32>, %counters: memref<8xi32>) {
  tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%per)
    extent(%g: index) {
      tile.yield %g, %g : index, index
    } do {
    tile.join (%x) part(%part of %parts at %cta) slots(%w) rows(%end) memory(%memory) counters(%counters) step 16
      : !state through memref<?x16x32xf32>, memref<8xi32>
      combine(%a: !rows, %b: !rows) {
        tile.yield %a : !rows
      }
      whole(%all: !state) {
        tile.yield
      }
      each(%r: index, %some: !rows) {
        tile.yield
      }
  }
  return
}
