// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=25})))' --split-input-file | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=100})))' --split-input-file | FileCheck %s --check-prefix=ALL
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2)))' --split-input-file | FileCheck %s --check-prefixes=NONE,NAMED
// RUN: not fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=101})))' --split-input-file 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: share must be at most 100, found 101

// The last columns of a rounded tile are polynomials, in whole blocks of 8 columns. With the
// schedule, only operands of its dot are.
!t = tensor<128x80xf32, #tile.reg>
!h = tensor<128x80xbf16, #tile.reg>
!o = tensor<128x16xf32, #tile.reg>
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
  // CHECK: math.exp2 %{{.*}} : tensor<128x64xf32
  // CHECK: %[[STORED:.*]] = warp.concat_columns
  // CHECK-NEXT: arith.truncf %[[STORED]]
  // ALL-LABEL: gpu.func @weights
  // ALL-NOT: warp.extract_columns
  // ALL: arith.maximumf {{.*}} tensor<128x80xf32
  // ALL: math.exp2 %{{.*}} : tensor<128x1xf32
  // NONE-LABEL: gpu.func @weights
  // NONE-NOT: arith.maximumf
  // NONE: gpu.return
  gpu.func @weights(%x: memref<128x80xf32>, %y: memref<128x80xbf16>, %z: memref<128x80xf32>, %f: memref<128x1xf32>, %out: memref<128x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.load %x[%c0, %c0] dims [0, 1] : memref<128x80xf32> to !t
    %e = math.exp2 %s : !t
    %w = arith.truncf %e : !t to !h
    %v = warp.alloc : memref<80x16xbf16, #warp.shared<row_bytes = 32>>
    %zero = arith.constant dense<0.0> : !o
    %o = warp.dot "o" %w, %v, %zero : !h, memref<80x16xbf16, #warp.shared<row_bytes = 32>>, !o
    tile.store %o, %out[%c0, %c0] dims [0, 1] : !o, memref<128x16xf32>
    %m = tile.reduce max dim 1 %s : !t to !row
    %factor = math.exp2 %m : !row
    tile.store %factor, %f[%c0, %c0] dims [0, 1] : !row, memref<128x1xf32>
    %full = math.exp2 %s : !t
    tile.store %full, %z[%c0, %c0] dims [0, 1] : !t, memref<128x80xf32>
    %other = math.exp2 %s : !t
    %rounded = arith.truncf %other : !t to !h
    tile.store %rounded, %y[%c0, %c0] dims [0, 1] : !h, memref<128x80xbf16>
    gpu.return
  }
}

// -----

// By name: the schedule's share is that of the dot "o". The loop carries P to the dot of the next
// block.
!t = tensor<64x32xf32, #tile.reg>
!h = tensor<64x32xbf16, #tile.reg>
!o = tensor<64x16xf32, #tile.reg>
!buffer = memref<32x16xbf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  launch.abi @named target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, dots = [<"o", operand_by_fma = 50>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // NAMED-LABEL: gpu.func @named
  // NAMED: scf.for
  // NAMED: warp.dot "o"
  // NAMED: warp.dot "other"
  // NAMED: math.exp2 {{.*}} tensor<64x16xf32
  // NAMED-NOT: math.exp2
  // NAMED: arith.maximumf
  // NAMED: math.exp2 {{.*}} tensor<64x32xf32
  // NAMED-NOT: arith.maximumf
  gpu.func @named(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = arith.constant dense<0.5> : !t
    %p0 = arith.constant dense<0.0> : !h
    %zero = arith.constant dense<0.0> : !o
    %v = warp.alloc : !buffer
    %r:4 = scf.for %j = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0, %a = %zero, %c = %zero) -> (!h, !h, !o, !o) {
      %o = warp.dot "o" %p, %v, %a : !h, !buffer, !o
      %x = warp.dot "other" %q, %v, %c : !h, !buffer, !o
      %e = math.exp2 %s : !t
      %w = arith.truncf %e : !t to !h
      %f = math.exp2 %s : !t
      %u = arith.truncf %f : !t to !h
      scf.yield %w, %u, %o, %x : !h, !h, !o, !o
    }
    gpu.return
  }
}
