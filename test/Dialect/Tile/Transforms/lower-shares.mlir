// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-shares{unroll=4})))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-shares{unroll=1})))' | FileCheck %s --check-prefix=ONE
// RUN: not fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-shares{unroll=0})))' 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: option 'unroll' must be positive, found 0

!state = tensor<64x32xf32, #tile.reg>
!rows = tensor<16x32xf32, #tile.reg>

// An item with one piece needs no memory. Otherwise the state of piece 0 is in slot 2 cta + 1, and
// of a later piece in slot 2 (cta + part). The last CTA combines piece 0 with four pieces at a
// time, whose loads precede the first addition. Behind the last piece it loads that piece again,
// and keeps the state.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[X:.*]]: tensor<64x32xf32, #tile.reg>, %[[PART:.*]]: index, %[[PARTS:.*]]: index, %[[CTA:.*]]: index, %[[N:.*]]: index, %[[MEMORY:.*]]: memref<?x64x32xf32>, %[[COUNTERS:.*]]: memref<8xi32>, %[[OUT:.*]]: memref<?x32xf32>)
// CHECK: %[[WHOLE:.*]] = arith.cmpi eq, %[[PARTS]], %{{.*}} : index
// CHECK: scf.if %[[WHOLE]] {
// CHECK-NEXT: tile.store "all" %[[X]], %[[OUT]]
// CHECK-NEXT: } else {
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[PART]]
// CHECK: %[[EVEN:.*]] = arith.muli %[[CTA]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[EVEN]]
// CHECK: %[[ADDED:.*]] = arith.addi %[[CTA]], %[[PART]]
// CHECK: %[[LATER:.*]] = arith.muli %[[ADDED]]
// CHECK: %[[SLOT:.*]] = arith.select %[[IS_FIRST]], %[[FIRST]], %[[LATER]]
// CHECK: tile.store "sum" %[[X]], %[[MEMORY]][%[[SLOT]], %{{.*}}, %{{.*}}] limit(%[[N]]) dims [1, 2]
// CHECK: %[[LAST:.*]] = tile.arrive "sum" %[[COUNTERS]][%[[CTA]]] of %[[PARTS]]
// CHECK: scf.if %[[LAST]] {
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[N]] step
// CHECK: %[[START:.*]] = tile.load "sum" %[[MEMORY]][%{{.*}}, %[[ROW]], %{{.*}}] limit(%[[N]]) dims [1, 2]
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} to %[[PARTS]] {{.*}} iter_args(%[[A:.*]] = %[[START]])
// CHECK: %[[END:.*]] = arith.subi %[[PARTS]]
// CHECK: %[[L0:.*]] = tile.load "sum"
// CHECK: %[[E1:.*]] = arith.cmpi ule, %[[P1:.*]], %[[END]]
// CHECK: arith.minui %[[P1]], %[[END]]
// CHECK: %[[L1:.*]] = tile.load "sum"
// CHECK: %[[E2:.*]] = arith.cmpi ule, %{{.*}}, %[[END]]
// CHECK: %[[L2:.*]] = tile.load "sum"
// CHECK: %[[E3:.*]] = arith.cmpi ule, %{{.*}}, %[[END]]
// CHECK: %[[L3:.*]] = tile.load "sum"
// CHECK: %[[S0:.*]] = arith.addf %[[A]], %[[L0]]
// CHECK: %[[S1:.*]] = arith.addf %[[S0]], %[[L1]]
// CHECK: %[[K1:.*]] = arith.select %[[E1]], %[[S1]], %[[S0]]
// CHECK: %[[S2:.*]] = arith.addf %[[K1]], %[[L2]]
// CHECK: %[[K2:.*]] = arith.select %[[E2]], %[[S2]], %[[K1]]
// CHECK: %[[S3:.*]] = arith.addf %[[K2]], %[[L3]]
// CHECK: %[[K3:.*]] = arith.select %[[E3]], %[[S3]], %[[K2]]
// CHECK: scf.yield %[[K3]]
// CHECK: tile.store "some" %[[ALL]], %[[OUT]][%[[ROW]],

// ONE-LABEL: gpu.func @f
// ONE: %[[START:.*]] = tile.load "sum"
// ONE: scf.for {{.*}} iter_args(%{{.*}} = %[[START]])
// ONE: tile.load "sum"
// ONE-NOT: tile.load
// ONE: gpu.return
gpu.module @m {
  gpu.func @f(%x: !state, %part: index, %parts: index, %cta: index, %n: index, %memory: memref<?x64x32xf32>, %counters: memref<8xi32>, %out: memref<?x32xf32>) {
    %c0 = arith.constant 0 : index
    tile.join "sum" (%x) part(%part of %parts at %cta) rows(%n) memory(%memory) counters(%counters) step 16
      : !state through memref<?x64x32xf32>, memref<8xi32>
      combine(%a: !rows, %b: !rows) {
        %sum = arith.addf %a, %b : !rows
        tile.yield %sum : !rows
      }
      whole(%all: !state) {
        tile.store "all" %all, %out[%c0, %c0] dims [0, 1] : !state, memref<?x32xf32>
        tile.yield
      }
      each(%r: index, %some: !rows) {
        tile.store "some" %some, %out[%r, %c0] dims [0, 1] : !rows, memref<?x32xf32>
        tile.yield
      }
    gpu.return
  }
}

// With slots of the item's own, piece p uses slot s + p.
// CHECK-LABEL: gpu.func @slots
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x32xf32, #tile.reg>, %[[PART:[a-z0-9]+]]: index, %[[PARTS:[a-z0-9]+]]: index, %[[NUMBER:[a-z0-9]+]]: index, %[[S:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
// CHECK: } else {
// CHECK: %[[SLOT:.*]] = arith.addi %[[S]], %[[PART]]
// CHECK: tile.store "sum" %[[X]], %{{.*}}[%[[SLOT]], %{{.*}}, %{{.*}}] limit(%[[N]]) dims [1, 2] : tensor<64x32xf32, #tile.reg>, memref<?x16x32xf32>
// CHECK: tile.arrive "sum" %{{.*}}[%[[NUMBER]]] of %[[PARTS]]
// CHECK: tile.load "sum" %{{.*}}[%[[S]], %{{.*}}, %{{.*}}] limit(%[[N]])
// CHECK: scf.for %[[P:.*]] = %{{.*}} to %[[PARTS]]
// CHECK: %[[AT:.*]] = arith.addi %[[S]], %[[P]]
// CHECK: tile.load "sum" %{{.*}}[%[[AT]], %{{.*}}, %{{.*}}] limit(%[[N]])
gpu.module @n {
  gpu.func @slots(%x: !state, %part: index, %parts: index, %number: index, %slot: index, %n: index, %memory: memref<?x16x32xf32>, %counters: memref<8xi32>, %out: memref<?x32xf32>) {
    %c0 = arith.constant 0 : index
    tile.join "sum" (%x) part(%part of %parts at %number) slots(%slot) rows(%n) memory(%memory) counters(%counters) step 16
      : !state through memref<?x16x32xf32>, memref<8xi32>
      combine(%a: !rows, %b: !rows) {
        %sum = arith.addf %a, %b : !rows
        tile.yield %sum : !rows
      }
      whole(%all: !state) {
        tile.store "all" %all, %out[%c0, %c0] dims [0, 1] : !state, memref<?x32xf32>
        tile.yield
      }
      each(%r: index, %some: !rows) {
        tile.store "some" %some, %out[%r, %c0] dims [0, 1] : !rows, memref<?x32xf32>
        tile.yield
      }
    gpu.return
  }
}
