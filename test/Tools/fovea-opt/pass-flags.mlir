// A pass on kernels that is given as a flag runs on the kernels of the module.
// RUN: fovea-opt %s --tile-lower-work | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(tile-lower-work))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-work)))' | FileCheck %s
// RUN: %if plugin %{ mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline='builtin.module(tile-lower-work)' | FileCheck %s %}
// RUN: not fovea-opt %examples/causal.mlir --pass-pipeline='builtin.module(func.func(tile-lower-work))' 2>&1 | FileCheck %s --check-prefix=ANCHOR
// ANCHOR: error: unable to schedule pass

// Options of the pass come along.
// RUN: fovea-opt %s --tile-fuse-online-softmax=recurrence=three-pass --mlir-print-ir-before=tile-fuse-online-softmax --mlir-print-ir-module-scope --mlir-disable-threading -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRINT
// PRINT: IR Dump Before {{.*}}(tile-fuse-online-softmax) ('gpu.func' operation: @k)

// RUN: fovea-opt %examples/causal.mlir --tile-lower-work -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: warning: 'tile-lower-work' found no kernel: expected a 'gpu.func' within a 'gpu.module'

// CHECK-LABEL: gpu.func @k
// CHECK-NOT: tile.foreach_work
// CHECK: gpu.return
!row = tensor<1x64xf32, #tile.reg>
gpu.module @kernels {
  gpu.func @k(%S: memref<?x64xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    tile.foreach_work %w to %n schedule(single) {
      %x = tile.load %S[%w, %c0] dims [-1, 1] : memref<?x64xf32> to !row
      tile.store %x, %S[%w, %c0] dims [-1, 1] : !row, memref<?x64xf32>
    }
    gpu.return
  }
}
