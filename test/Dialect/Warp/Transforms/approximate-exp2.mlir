// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=25})))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=100})))' | FileCheck %s --check-prefix=ALL
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2)))' | FileCheck %s --check-prefix=NONE
// RUN: not fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=101})))' 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: share must be at most 100, found 101

// The last columns are polynomials, in whole blocks of 8; factors, which are no
// weights, stay.
!t = tensor<128x80xf32, #tile.reg>
!h = tensor<128x80xbf16, #tile.reg>
!row = tensor<128x1xf32, #tile.reg>
gpu.module @m {
  // CHECK-LABEL: gpu.func @weights
  // CHECK: %[[A:.*]] = warp.extract_columns %{{.*}} from 0 : {{.*}} to tensor<128x64xf32
  // CHECK: %[[EXACT:.*]] = math.exp2 %[[A]]
  // CHECK: %[[B:.*]] = warp.extract_columns %{{.*}} from 64 : {{.*}} to tensor<128x16xf32
  // CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-1.270000e+02>
  // CHECK: %[[X:.*]] = arith.maximumf %[[B]], %[[LEAST]]
  // CHECK: %[[SHIFTED:.*]] = arith.addf %[[X]], %[[SHIFTER:.*]] : tensor<128x16xf32
  // CHECK: %[[WHOLE:.*]] = arith.subf %[[SHIFTED]], %[[SHIFTER]]
  // CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[WHOLE]]
  // CHECK-COUNT-2: math.fma
  // CHECK: %[[POWER:.*]] = math.fma %{{.*}}, %[[REST]]
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : {{.*}} to tensor<128x16xi32
  // CHECK: %[[EXPONENT:.*]] = arith.shli %[[BITS]]
  // CHECK: %[[SCALE:.*]] = arith.bitcast %[[EXPONENT]]
  // CHECK: %[[RESULT:.*]] = arith.mulf %[[POWER]], %[[SCALE]]
  // CHECK: %[[W:.*]] = warp.concat_columns %[[EXACT]], %[[RESULT]]
  // CHECK: arith.truncf %[[W]]
  // CHECK: math.exp2 %{{.*}} : tensor<128x1xf32
  // CHECK: math.exp2 %{{.*}} : tensor<128x80xf32
  // ALL-LABEL: gpu.func @weights
  // ALL-NOT: warp.extract_columns
  // ALL: arith.maximumf {{.*}} tensor<128x80xf32
  // ALL: math.exp2 %{{.*}} : tensor<128x1xf32
  // NONE-LABEL: gpu.func @weights
  // NONE-NOT: arith.maximumf
  gpu.func @weights(%x: memref<128x80xf32>, %y: memref<128x80xbf16>, %z: memref<128x80xf32>, %f: memref<128x1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.load %x[%c0, %c0] dims [0, 1] : memref<128x80xf32> to !t
    %e = math.exp2 %s : !t
    %w = arith.truncf %e : !t to !h
    tile.store %w, %y[%c0, %c0] dims [0, 1] : !h, memref<128x80xbf16>
    %m = tile.reduce max dim 1 %s : !t to !row
    %factor = math.exp2 %m : !row
    tile.store %factor, %f[%c0, %c0] dims [0, 1] : !row, memref<128x1xf32>
    %full = math.exp2 %s : !t
    tile.store %full, %z[%c0, %c0] dims [0, 1] : !t, memref<128x80xf32>
    gpu.return
  }
}
