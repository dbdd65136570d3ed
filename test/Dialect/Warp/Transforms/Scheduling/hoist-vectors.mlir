// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-hoist-vectors)))' | FileCheck %s

#reg = #warp.wgmma<groups = 1>
!rows = tensor<64x1xi32, #reg>
!columns = tensor<1x64xi32, #reg>
gpu.module @m {
  // A vector that is invariant in both loops is loaded once.
  // CHECK-LABEL: gpu.func @hoists
  // CHECK: tile.load %{{.*}}[%[[ROW:.*]]] dims [0, -1]
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NOT: tile.load
  // CHECK: gpu.return
  gpu.func @hoists(%ids: memref<?xi32>, %row: index, %n: index, %k: !warp.pipeline<2>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s0 = arith.constant 0 : i32
    scf.for %h = %c0 to %n step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        warp.consumer_wait %k[%s0, %s0] : !warp.pipeline<2>
        %r = tile.load %ids[%row] dims [0, -1] : memref<?xi32> to !rows
        %sum = arith.addi %r, %r : !rows
      }
    }
    gpu.return
  }

  // Loads that depend on the induction variable stay, and so do loads in a branch.
  // CHECK-LABEL: gpu.func @moves
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK: scf.if
  // CHECK: tile.load
  gpu.func @moves(%ids: memref<?xi32>, %row: index, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %j = %c0 to %n step %c1 {
      %r = tile.load %ids[%j] dims [0, -1] : memref<?xi32> to !rows
      scf.if %c {
        %s = tile.load %ids[%row] dims [0, -1] : memref<?xi32> to !rows
      }
    }
    gpu.return
  }

  // Each thread would hold 16 elements of this vector.
  // CHECK-LABEL: gpu.func @many
  // CHECK: scf.for
  // CHECK-NEXT: tile.load
  gpu.func @many(%ids: memref<?xi32>, %row: index, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %j = %c0 to %n step %c1 {
      %r = tile.load %ids[%row] dims [-1, 0] : memref<?xi32> to !columns
    }
    gpu.return
  }

  // The loop may write the memory that it loads next.
  // CHECK-LABEL: gpu.func @writes
  // CHECK: scf.for
  // CHECK-NEXT: tile.load
  gpu.func @writes(%ids: memref<?xi32>, %out: memref<?xi32>, %row: index, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s0 = arith.constant 0 : i32
    scf.for %j = %c0 to %n step %c1 {
      %r = tile.load %ids[%row] dims [0, -1] : memref<?xi32> to !rows
      memref.store %s0, %out[%j] : memref<?xi32>
    }
    gpu.return
  }
}
