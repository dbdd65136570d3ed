// Other roles than the storing one wait for semaphore slots and release them. The storing role
// waits for a stage of one pipeline and commits a stage of another. The latter has one stage,
// acquired before the second store: at most one store of the next section runs before this
// section's release.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-semaphore-roles)))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-semaphore-roles,warp-specialize)))' | FileCheck %s --check-prefix=ROLES

// The section after the loop uses the next stage after the loop's last one.
// CHECK-LABEL: gpu.func @apart(
// CHECK-DAG: %[[ACQUIRED:.*]] = warp.pipeline "turn_acquire" : !warp.pipeline<2>
// CHECK-DAG: %[[DONE:.*]] = warp.pipeline "sum.1" : !warp.pipeline<1>
// CHECK: %[[END:.*]]:4 = scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[STAGE_D:.*]] = %{{.*}}, %[[PHASE_D:.*]] = %{{.*}})
// CHECK: warp.producer_acquire %[[ACQUIRED]][%[[STAGE]], %[[PHASE]]]
// CHECK-NEXT: tile.semaphore_wait "turn_acquire" %{{.*}} for %{{.*}} : memref<?xi32>
// CHECK: warp.producer_commit %[[ACQUIRED]][%[[STAGE]], %[[PHASE]]]
// CHECK-NEXT: warp.consumer_wait %[[ACQUIRED]][%[[STAGE]], %[[PHASE]]]
// CHECK: tile.store add "sum.0"
// CHECK-NEXT: warp.producer_acquire %[[DONE]][%[[STAGE_D]], %[[PHASE_D]]]
// CHECK-NEXT: tile.store add "sum.1"
// CHECK-NEXT: warp.consumer_release %[[ACQUIRED]][%[[STAGE]], %[[PHASE]]]
// CHECK-NEXT: warp.producer_commit %[[DONE]][%[[STAGE_D]], %[[PHASE_D]]]
// CHECK-NEXT: warp.consumer_wait %[[DONE]][%[[STAGE_D]], %[[PHASE_D]]]
// CHECK-NEXT: tile.semaphore_release "turn_release" %{{.*}} : memref<?xi32>
// CHECK: warp.consumer_release %[[DONE]][%[[STAGE_D]], %[[PHASE_D]]]
// CHECK: warp.producer_acquire %[[ACQUIRED]][%[[END]]#0, %[[END]]#1]
// CHECK: warp.consumer_wait %[[DONE]][%[[END]]#2, %[[END]]#3]

// ROLES-LABEL: gpu.func @apart(
// ROLES: role @acquire warps(1)
// ROLES: scf.for
// ROLES: tile.semaphore_wait
// ROLES-NOT: tile.store
// ROLES: role @release warps(1)
// ROLES: warp.consumer_wait
// ROLES-NEXT: tile.semaphore_release
// ROLES-NOT: tile.store
// ROLES: role @reduce
// ROLES: warp.consumer_wait
// ROLES: tile.store add "sum.0"
// ROLES-NOT: tile.semaphore
// ROLES-LABEL: gpu.func @together(

// If one role owns all of it, no pipeline is needed.
// CHECK-LABEL: gpu.func @together(
// CHECK-NOT: {{warp.pipeline|warp.producer|warp.consumer}}
// CHECK: tile.semaphore_wait "turn_acquire" %{{.*}} for %{{.*}} after(
// CHECK-NEXT: tile.store add "sum"
// CHECK-NEXT: tile.semaphore_release "turn_release" %{{.*}} after(

!t = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!sums = memref<?x128xf32, strided<[128, 1]>>
gpu.module @m {
  launch.abi @apart target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 4, stages = 2,
       roles = [<"load", warps = 2, registers = 24, owns = ["q"]>, <"acquire", warps = 1, registers = 24, owns = ["turn_acquire"]>,
           <"release", warps = 1, registers = 24, owns = ["turn_release"]>, <"reduce", warps = 4, registers = 72, owns = ["sum"]>]>)
    tensors([#launch.tensor<"turns", accumulate, tensor<?xi32>, ["A"], 4>, #launch.tensor<"sums", accumulate, tensor<?x128xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"turns", [0]>, #launch.memref<"sums", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @apart(%turns: memref<?xi32>, %sums: !sums, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %one = arith.constant 1 : i32
    %part = arith.constant dense<1.0> : !t
    scf.for %i = %c1 to %n step %c1 {
      tile.semaphore_wait "turn_acquire" %turns[%i] for %one after(%part : !t) : memref<?xi32>
      tile.store add "sum.0" %part, %sums[%i, %c0] dims [0, 1] : !t, !sums
      tile.store add "sum.1" %part, %sums[%i, %c64] dims [0, 1] : !t, !sums
      tile.semaphore_release "turn_release" %turns[%i] after(%part : !t) : memref<?xi32>
    }
    tile.semaphore_wait "turn_acquire" %turns[%c0] for %one after(%part : !t) : memref<?xi32>
    tile.store add "sum.0" %part, %sums[%c0, %c0] dims [0, 1] : !t, !sums
    tile.semaphore_release "turn_release" %turns[%c0] after(%part : !t) : memref<?xi32>
    gpu.return
  }
  launch.abi @together target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 4, stages = 2,
       roles = [<"load", warps = 4, registers = 24, owns = ["q"]>, <"reduce", warps = 4, registers = 72, owns = ["*"]>]>)
    tensors([#launch.tensor<"turns", accumulate, tensor<?xi32>, ["A"], 4>, #launch.tensor<"sums", accumulate, tensor<?x128xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"turns", [0]>, #launch.memref<"sums", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @together(%turns: memref<?xi32>, %sums: !sums) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %part = arith.constant dense<1.0> : !t
    tile.semaphore_wait "turn_acquire" %turns[%c0] for %one after(%part : !t) : memref<?xi32>
    tile.store add "sum" %part, %sums[%c0, %c0] dims [0, 1] : !t, !sums
    tile.semaphore_release "turn_release" %turns[%c0] after(%part : !t) : memref<?xi32>
    gpu.return
  }
}
