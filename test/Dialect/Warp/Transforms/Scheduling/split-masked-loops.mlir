// Loops over blocks are split where masked blocks begin and end.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' --split-input-file | FileCheck %s

gpu.module @m {
  // Masked up to the first index that is at least %a, unmasked up to the first that is at least %b,
  // masked after it.
  // CHECK-LABEL: gpu.func @both_bounds
  // CHECK-SAME: %[[LO:[a-z0-9]+]]: index, %[[HI:[a-z0-9]+]]: index, %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: f32
  // CHECK: %[[CLIP:.*]] = arith.minsi %[[A]], %[[HI]]
  // CHECK: %[[DISTANCE:.*]] = arith.subi %[[CLIP]], %[[LO]]
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[DISTANCE]], %c0
  // CHECK: %[[STEPS:.*]] = arith.ceildivui %[[POSITIVE]], %c32
  // CHECK: %[[SPAN:.*]] = arith.muli %[[STEPS]], %c32
  // CHECK: %[[MIDDLE:.*]] = arith.addi %[[LO]], %[[SPAN]]
  // CHECK: arith.minsi %[[B]], %[[HI]]
  // CHECK: %[[LAST:.*]] = arith.addi %[[MIDDLE]], %{{.*}}
  // CHECK: %[[END1:.*]] = arith.minsi %[[MIDDLE]], %[[HI]]
  // CHECK: %[[R1:.*]] = scf.for %{{.*}} = %[[LO]] to %[[END1]] step %c32 iter_args(%{{.*}} = %[[X]])
  // CHECK: %[[TRUE:.*]] = arith.constant true
  // CHECK: scf.if %[[TRUE]]
  // CHECK: %[[END2:.*]] = arith.minsi %[[LAST]], %[[HI]]
  // CHECK: %[[R2:.*]] = scf.for %{{.*}} = %[[MIDDLE]] to %[[END2]] step %c32 iter_args(%{{.*}} = %[[R1]])
  // CHECK: %[[FALSE:.*]] = arith.constant false
  // CHECK: scf.if %[[FALSE]]
  // CHECK: %[[R3:.*]] = scf.for %{{.*}} = %[[LAST]] to %[[HI]] step %c32 iter_args(%{{.*}} = %[[R2]])
  // CHECK: scf.if %true
  // CHECK-NOT: scf.for
  // CHECK: arith.mulf %[[R3]], %[[R3]]
  gpu.func @both_bounds(%lo: index, %hi: index, %a: index, %b: index, %x: f32) kernel {
    %c32 = arith.constant 32 : index
    %r = scf.for %j = %lo to %hi step %c32 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %j below %a from %b
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }

  // One bound gives two loops; the first ends at a constant that the loop reaches.
  // CHECK-LABEL: gpu.func @below
  // CHECK: %[[N:.*]] = arith.maxsi
  // CHECK: %[[R1:.*]] = scf.for %{{.*}} = %c0 to %[[ONE:.*]] step %c1 iter_args
  // CHECK: scf.if %true
  // CHECK: %[[R2:.*]] = scf.for %{{.*}} = %[[ONE]] to %[[N]] step %c1 iter_args(%{{.*}} = %[[R1]])
  // CHECK: scf.if %false
  // CHECK-NOT: scf.for
  // CHECK: arith.mulf %[[R2]], %[[R2]]
  gpu.func @below(%blocks: index, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.maxsi %blocks, %c1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %i below %c1
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }

  // The induction variable of a pipelined loop is one step ahead of the queried block: the loop is
  // split one step later.
  // CHECK-LABEL: gpu.func @ahead(
  // CHECK-SAME: %[[FIRST:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
  // CHECK: %[[UPPER:.*]] = arith.maxsi
  // CHECK: %[[A:.*]] = arith.addi %[[FIRST]], %c1
  // CHECK: %[[CLIPPED:.*]] = arith.minsi %[[A]], %[[UPPER]]
  // CHECK: arith.subi %[[CLIPPED]], %c1
  // CHECK: %[[MIDDLE:.*]] = arith.addi %c1
  // CHECK: %[[B:.*]] = arith.addi %[[END]], %c1
  // CHECK: arith.minsi %[[B]], %[[UPPER]]
  // CHECK: scf.for %[[I:.*]] = %c1
  // CHECK-NEXT: %true
  // CHECK: arith.subi %[[I]], %c1
  // CHECK: scf.if %true
  // CHECK: scf.for %{{.*}} = %[[MIDDLE]] to
  // CHECK: scf.if %false
  // CHECK: scf.for
  // CHECK: scf.if %true
  // CHECK-NOT: scf.for
  gpu.func @ahead(%first: index, %end: index, %blocks: index, %x: f32) kernel {
    %c1 = arith.constant 1 : index
    %n = arith.maxsi %blocks, %c1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %block = arith.subi %i, %c1 : index
      %partial = tile.is_partial %block below %first from %end
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }

  // The subtracted value varies in the loop: the distance is unknown.
  // CHECK-LABEL: gpu.func @unknown
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  gpu.func @unknown(%first: index, %blocks: index, %x: f32) kernel {
    %c1 = arith.constant 1 : index
    %n = arith.maxsi %blocks, %c1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %half = arith.divui %i, %n : index
      %block = arith.subi %i, %half : index
      %partial = tile.is_partial %block below %first
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }

  // Parts of the loop without iterations are not created. No iteration is below 1: one loop
  // remains.
  // CHECK-LABEL: gpu.func @none
  // CHECK-SAME: %[[N:.*]]: index, %[[X:.*]]: f32
  // CHECK: %[[R:.*]] = scf.for %{{.*}} = %c1 to %[[N]] step %c1 iter_args(%{{.*}} = %[[X]])
  // CHECK: scf.if %false
  // CHECK-NOT: scf.for
  // CHECK: arith.mulf %[[R]], %[[R]]
  gpu.func @none(%n: index, %x: f32) kernel {
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %i below %c1
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }

  // Without a first part.
  // CHECK-LABEL: gpu.func @above
  // CHECK-SAME: %[[LO:.*]]: index, %[[N:.*]]: index, %[[B:.*]]: index, %[[X:.*]]: f32
  // CHECK: %[[LAST:.*]] = arith.addi %[[LO]], %
  // CHECK: %[[END:.*]] = arith.minsi %[[LAST]], %[[N]]
  // CHECK: scf.for %{{.*}} = %[[LO]] to %[[END]] step
  // CHECK: scf.if %false
  // CHECK: scf.for %{{.*}} = %[[LAST]] to %[[N]] step
  // CHECK: scf.if %true
  // CHECK-NOT: scf.for
  gpu.func @above(%lo: index, %n: index, %b: index, %x: f32) kernel {
    %c32 = arith.constant 32 : index
    %r = scf.for %i = %lo to %n step %c32 iter_args(%acc = %x) -> (f32) {
      %partial = tile.is_partial %i from %b
      %s = scf.if %partial -> (f32) {
        %masked = arith.addf %acc, %x : f32
        scf.yield %masked : f32
      } else {
        scf.yield %acc : f32
      }
      scf.yield %s : f32
    }
    %use = arith.mulf %r, %r : f32
    gpu.return
  }

  // A constant that is both an initial value and used in the body does not change in the body.
  // CHECK-LABEL: gpu.func @shared_constant
  gpu.func @shared_constant(%n: index, %a: index, %out: memref<f32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[ZERO:.*]] = arith.constant 0.0
    %zero = arith.constant 0.0 : f32
    // CHECK: scf.for
    // CHECK: arith.addf %{{.*}}, %[[ZERO]]
    // CHECK: scf.for
    // CHECK: arith.addf %{{.*}}, %[[ZERO]]
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (f32) {
      %partial = tile.is_partial %i below %a
      %y = scf.if %partial -> (f32) {
        %m = arith.negf %x : f32
        scf.yield %m : f32
      } else {
        scf.yield %x : f32
      }
      %z = arith.addf %y, %zero : f32
      scf.yield %z : f32
    }
    memref.store %r, %out[] : memref<f32>
    gpu.return
  }
}
