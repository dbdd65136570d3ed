// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))' --split-input-file | FileCheck %s

// Masked up to the first index that is at least %a, unmasked up to the first that is at least %b,
// masked after it.
// CHECK-LABEL: gpu.func @f
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
gpu.module @m {
  gpu.func @f(%lo: index, %hi: index, %a: index, %b: index, %x: f32) kernel {
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
}
