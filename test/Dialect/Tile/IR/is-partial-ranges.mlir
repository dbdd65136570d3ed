// The ranges of the block index and of the bounds may determine whether the block is
// partial.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(func.func(int-range-optimizations))' | FileCheck %s

// CHECK-LABEL: func @inside
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: scf.if %[[FALSE]]
func.func @inside(%to: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %partial = tile.is_partial %i below %c0 from %c8
    scf.if %partial {
      memref.store %x, %to[%i] : memref<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @outside
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: scf.if %[[TRUE]]
func.func @outside(%to: memref<8xf32>, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %last = arith.minsi %n, %c1 : index
  scf.for %i = %c1 to %c8 step %c1 {
    %partial = tile.is_partial %i below %c0 from %last
    scf.if %partial {
      memref.store %x, %to[%i] : memref<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unknown
// CHECK: tile.is_partial
func.func @unknown(%to: memref<8xf32>, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %partial = tile.is_partial %i below %c1 from %n
    scf.if %partial {
      memref.store %x, %to[%i] : memref<8xf32>
    }
  }
  return
}
