// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-columns{columns=32})))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-columns{columns=64})))' | FileCheck %s --check-prefix=WIDE
// RUN: not fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-columns{columns=0})))' 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'columns' must be positive, found 0

// WIDE-NOT: memref<128x32xf32, #warp.tmem>

!acc = memref<128x64xf32, #warp.tmem>
!tile = tensor<128x64xf32, #warp.thread_rows>
!row = tensor<128x1xf32, #warp.thread_rows>
!narrow = memref<128x48xf32, #warp.tmem>
!sum = tensor<128x48xf32, #warp.thread_rows>
!rounded = tensor<128x48xbf16, #warp.thread_rows>
!out = memref<128x48xbf16, #warp.shared<row_bytes = 32>>
!one = !warp.pipeline<1>
gpu.module @m {
  // The second part is loaded after the first one is stored.
  // CHECK-LABEL: gpu.func @rescale
  // CHECK-SAME: %[[ACC:[a-z0-9]+]]: memref<{{.*}}>, %[[BY:[a-z0-9]+]]: tensor<128x1xf32
  // CHECK: %[[LEFT:.*]] = warp.tmem_view %[[ACC]] from 0 : memref<128x64xf32, #warp.tmem> to memref<128x32xf32, #warp.tmem>
  // CHECK-NEXT: %[[X:.*]] = warp.tmem_load %[[LEFT]] : memref<128x32xf32, #warp.tmem> to tensor<128x32xf32, #warp.thread_rows>
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[BY]] : tensor<128x1xf32, #warp.thread_rows> to tensor<128x32xf32, #warp.thread_rows>
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[B]] : tensor<128x32xf32, #warp.thread_rows>
  // CHECK-NEXT: warp.tmem_store "o.update" %[[Y]] to %[[LEFT]] : tensor<128x32xf32, #warp.thread_rows>, memref<128x32xf32, #warp.tmem>
  // CHECK-NEXT: %[[RIGHT:.*]] = warp.tmem_view %[[ACC]] from 32
  // CHECK-NEXT: %[[X:.*]] = warp.tmem_load %[[RIGHT]]
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[BY]]
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[B]]
  // CHECK-NEXT: warp.tmem_store "o.update" %[[Y]] to %[[RIGHT]]
  // CHECK-NEXT: gpu.return
  gpu.func @rescale(%acc: !acc, %by: !row) kernel {
    %x = warp.tmem_load %acc : !acc to !tile
    %b = tile.broadcast %by : !row to !tile
    %y = arith.mulf %x, %b : !tile
    warp.tmem_store "o.update" %y to %acc : !tile, !acc
    gpu.return
  }

  // The stage is released after the last part, which has the remaining columns. The branch stays in each part.
  // CHECK-LABEL: gpu.func @output
  // CHECK-SAME: %[[ACC:[a-z0-9]+]]: memref<{{.*}}>, %[[BY:[a-z0-9]+]]: tensor<{{.*}}>, %[[C:[a-z0-9]+]]: i1, %[[OUT:[a-z0-9]+]]: memref<{{.*}}>, %[[P:[a-z0-9]+]]: !warp.pipeline<1>
  // CHECK: warp.consumer_wait %[[P]]
  // CHECK-NOT: warp.consumer_release
  // CHECK: %[[LEFT:.*]] = warp.tmem_view %[[ACC]] from 0 : memref<128x48xf32, #warp.tmem> to memref<128x32xf32, #warp.tmem>
  // CHECK-NEXT: %[[X:.*]] = warp.tmem_load %[[LEFT]]
  // CHECK-NEXT: %[[IF:.*]] = scf.if %[[C]] -> (tensor<128x32xf32, #warp.thread_rows>) {
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[BY]] : {{.*}} to tensor<128x32xf32
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[B]]
  // CHECK-NEXT: scf.yield %[[Y]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<128x32xf32, #warp.thread_rows>
  // CHECK-NEXT: scf.yield %[[ZERO]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[H:.*]] = arith.truncf %[[IF]] : tensor<128x32xf32, #warp.thread_rows> to tensor<128x32xbf16, #warp.thread_rows>
  // CHECK-NEXT: warp.local_store "y" %[[H]] to %[[OUT]] column(0) : tensor<128x32xbf16, #warp.thread_rows>, memref<128x48xbf16
  // CHECK-NEXT: %[[RIGHT:.*]] = warp.tmem_view %[[ACC]] from 32 : memref<128x48xf32, #warp.tmem> to memref<128x16xf32, #warp.tmem>
  // CHECK-NEXT: warp.tmem_load %[[RIGHT]]
  // CHECK: scf.if %[[C]] -> (tensor<128x16xf32, #warp.thread_rows>) {
  // CHECK: warp.local_store "y" %{{.*}} to %[[OUT]] column(32) : tensor<128x16xbf16, #warp.thread_rows>, memref<128x48xbf16
  // CHECK-NEXT: warp.consumer_release %[[P]]
  // CHECK-NEXT: gpu.return
  gpu.func @output(%acc: !narrow, %by: !row, %c: i1, %out: !out, %p: !one) kernel {
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !sum
    warp.consumer_wait %p[%z, %z] : !one
    %x = warp.tmem_load %acc : !narrow to !sum
    warp.consumer_release %p[%z, %z] : !one
    %y = scf.if %c -> (!sum) {
      %b = tile.broadcast %by : !row to !sum
      %scaled = arith.mulf %x, %b : !sum
      scf.yield %scaled : !sum
    } else {
      scf.yield %zero : !sum
    }
    %h = arith.truncf %y : !sum to !rounded
    warp.local_store "y" %h to %out : !rounded, !out
    gpu.return
  }

  // A reduction combines columns.
  // CHECK-LABEL: gpu.func @reduces
  // CHECK-NOT: warp.tmem_view
  gpu.func @reduces(%acc: !acc) kernel {
    %x = warp.tmem_load %acc : !acc to !tile
    %max = tile.reduce max dim 1 %x : !tile to !row
    %b = tile.broadcast %max : !row to !tile
    %y = arith.subf %x, %b : !tile
    warp.tmem_store %y to %acc : !tile, !acc
    gpu.return
  }

  // Both stores get parts; the index of columns moves.
  // CHECK-LABEL: gpu.func @two_stores
  // CHECK: warp.tmem_view %{{.*}} from 0
  // CHECK: tile.store %{{.*}} : tensor<128x32xf32
  // CHECK: warp.tmem_store %{{.*}} : tensor<128x32xf32
  // CHECK: warp.tmem_view %{{.*}} from 32
  // CHECK: %[[C32:.*]] = arith.constant 32 : index
  // CHECK: %[[J:.*]] = arith.addi %[[I:.*]], %[[C32]] : index
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
  gpu.func @two_stores(%acc: !acc, %by: !row, %g: memref<?x64xf32>, %i: index) kernel {
    %x = warp.tmem_load %acc : !acc to !tile
    %b = tile.broadcast %by : !row to !tile
    %y = arith.mulf %x, %b : !tile
    tile.store %y, %g[%i, %i] dims [0, 1] : !tile, memref<?x64xf32>
    warp.tmem_store %y to %acc : !tile, !acc
    gpu.return
  }

  // Another op reads the scaled tile.
  // CHECK-LABEL: gpu.func @other_reader
  // CHECK-NOT: warp.tmem_view
  gpu.func @other_reader(%acc: !acc, %by: !row, %g: memref<?xf32>, %i: index) kernel {
    %x = warp.tmem_load %acc : !acc to !tile
    %b = tile.broadcast %by : !row to !tile
    %y = arith.mulf %x, %b : !tile
    %max = tile.reduce max dim 1 %y : !tile to !row
    tile.store %max, %g[%i] dims [0, -1] : !row, memref<?xf32>
    warp.tmem_store %y to %acc : !tile, !acc
    gpu.return
  }

  // The store's view could overlap columns that the next part loads.
  // CHECK-LABEL: gpu.func @other_view
  // CHECK-NOT: from 32
  gpu.func @other_view(%acc: !acc, %by: !row) kernel {
    %view = warp.tmem_view %acc from 0 : !acc to !acc
    %x = warp.tmem_load %acc : !acc to !tile
    %b = tile.broadcast %by : !row to !tile
    %y = arith.mulf %x, %b : !tile
    warp.tmem_store %y to %view : !tile, !acc
    gpu.return
  }

  // The columns of the other operand differ.
  // CHECK-LABEL: gpu.func @other_tile
  // CHECK-NOT: warp.tmem_view
  gpu.func @other_tile(%acc: !acc, %other: !tile) kernel {
    %x = warp.tmem_load %acc : !acc to !tile
    %y = arith.mulf %x, %other : !tile
    warp.tmem_store %y to %acc : !tile, !acc
    gpu.return
  }

  // Tensor memory is written between the load and the store.
  // CHECK-LABEL: gpu.func @written
  // CHECK-NOT: warp.tmem_view
  gpu.func @written(%acc: !acc, %by: !row, %other: !acc, %t: !tile) kernel {
    %x = warp.tmem_load %acc : !acc to !tile
    warp.tmem_store %t to %other : !tile, !acc
    %b = tile.broadcast %by : !row to !tile
    %y = arith.mulf %x, %b : !tile
    warp.tmem_store %y to %acc : !tile, !acc
    gpu.return
  }
}
