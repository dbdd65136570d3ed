// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-add-by-dot)))' | FileCheck %s

!operand = tensor<16x16xbf16, #tile.reg>
!score = tensor<16x16xf32, #tile.reg>
!narrow = memref<?x16xbf16, strided<[?, 1]>>
!wide = memref<?x16xf32, strided<[?, 1]>>
gpu.module @kernels {
  launch.abi @sums target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, stages = 1, dots = [<"s", adds_to_summand>]>)
    tensors([#launch.tensor<"k", read, tensor<?x16xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x16xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>, #launch.scalar<"f", f32>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // CHECK-LABEL: gpu.func @sums
  gpu.func @sums(%K: !narrow, %O: !wide, %n: index, %f: f32) kernel {
    // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.0{{.*}}>
    // CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.0{{.*}}>
    %zero = arith.constant dense<0.0> : !score
    %one = arith.constant dense<1.0> : !score
    %four = arith.constant dense<4.0> : !score
    %c0 = arith.constant 0 : index
    // CHECK:      %[[K:.*]] = tile.load
    // CHECK-NEXT: %[[BIAS:.*]] = tile.load
    // CHECK-NEXT: %[[COND:.*]] = arith.cmpi
    %k = tile.load %K[%c0, %c0] dims [0, 1] : !narrow to !operand
    %bias = tile.load %O[%n, %c0] dims [0, 1] : !wide to !score
    %cond = arith.cmpi ult, %n, %c0 : index

    // The dot moves after its new accumulator.
    // CHECK:      %[[SQUARE:.*]] = arith.mulf %[[BIAS]], %[[BIAS]]
    // CHECK-NEXT: %[[A:.*]] = tile.dot "s" %[[K]], %[[K]], %[[SQUARE]]
    // CHECK-NEXT: tile.store {{("[^"]+" )?}}%[[A]]
    %s0 = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %square = arith.mulf %bias, %bias : !score
    %x0 = arith.addf %square, %s0 : !score
    tile.store %x0, %O[%c0, %c0] dims [0, 1] : !score, !wide

    // CHECK:      %[[PRODUCT:.*]] = arith.mulf %[[BIAS]], %[[ONE]]
    // CHECK-NEXT: %[[B:.*]] = tile.dot "s" %[[K]], %[[K]], %[[PRODUCT]]
    // CHECK-NEXT: tile.store {{("[^"]+" )?}}%[[B]]
    %s1 = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %x1 = math.fma %bias, %one, %s1 : !score
    tile.store %x1, %O[%c0, %c0] dims [0, 1] : !score, !wide

    // CHECK:      %[[ADDEND:.*]] = scf.if %[[COND]]
    // CHECK-NEXT:   %[[SCALED:.*]] = arith.mulf %[[BIAS]], %[[ONE]]
    // CHECK-NEXT:   scf.yield %[[SCALED]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   scf.yield %[[ONE]]
    // CHECK-NEXT: }
    // CHECK-NEXT: %[[C:.*]] = tile.dot "s" %[[K]], %[[K]], %[[ADDEND]]
    // CHECK-NEXT: tile.store {{("[^"]+" )?}}%[[C]]
    %s2 = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %x2 = scf.if %cond -> !score {
      %x = math.fma %bias, %one, %s2 : !score
      scf.yield %x : !score
    } else {
      %x = arith.addf %s2, %one : !score
      scf.yield %x : !score
    }
    tile.store %x2, %O[%c0, %c0] dims [0, 1] : !score, !wide

    // Relative-position values are divided by the scale, and the next addition is fused
    // with the multiplication.
    // CHECK:      %[[QUARTER:.*]] = arith.constant dense<2.500000e-01> : tensor<1x32xf32
    // CHECK-NEXT: %[[DIVIDED:.*]] = arith.mulf %[[TABLE:.*]], %[[QUARTER]] : tensor<1x32xf32
    // CHECK-NEXT: %[[START:.*]] = tile.diagonals %[[DIVIDED]]
    // CHECK-NEXT: %[[D:.*]] = tile.dot "s" %[[K]], %[[K]], %[[START]]
    // CHECK-NEXT: math.fma %[[D]], %{{.*}}, %[[BIAS]]
    // CHECK-NEXT: tile.store
    %table = tile.broadcast %f : f32 to tensor<1x32xf32, #tile.reg>
    %sa = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %diagonals = tile.diagonals %table : tensor<1x32xf32, #tile.reg> to !score
    %xa = math.fma %sa, %four, %diagonals : !score
    %ya = arith.addf %bias, %xa : !score
    tile.store %ya, %O[%c0, %c0] dims [0, 1] : !score, !wide

    // If no addition follows, the multiplication remains.
    // CHECK:      %[[E:.*]] = tile.dot "s" %[[K]], %[[K]], %{{.*}}
    // CHECK-NEXT: arith.mulf %[[E]], %{{.*}}
    // CHECK-NEXT: math.exp2
    %sb = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %diagonals7 = tile.diagonals %table : tensor<1x32xf32, #tile.reg> to !score
    %xb = math.fma %four, %sb, %diagonals7 : !score
    %yb = math.exp2 %xb : !score
    tile.store %yb, %O[%c0, %c0] dims [0, 1] : !score, !wide

    // Not folded: a scale without a safe inverse, and a tile of values per pair.
    // CHECK:      tile.dot "s" %[[K]], %[[K]], %[[ZERO]]
    // CHECK:      tile.dot "s" %[[K]], %[[K]], %[[ZERO]]
    %sc = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %diagonals8 = tile.diagonals %table : tensor<1x32xf32, #tile.reg> to !score
    %xc = math.fma %sc, %zero, %diagonals8 : !score
    tile.store %xc, %O[%c0, %c0] dims [0, 1] : !score, !wide
    %sd = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %xd = math.fma %sd, %four, %bias : !score
    tile.store %xd, %O[%c0, %c0] dims [0, 1] : !score, !wide

    // Not folded: dots with another accumulator, with two uses, used as a factor, or used
    // without an addition in one branch.
    // CHECK:      tile.dot {{("[^"]+" )?}}%[[K]], %[[K]], %[[ONE]]
    // CHECK-NEXT: arith.addf
    %s3 = tile.dot "s" %k, %k, %one : !operand, !operand, !score
    %x3 = arith.addf %s3, %bias : !score
    tile.store %x3, %O[%c0, %c0] dims [0, 1] : !score, !wide
    // CHECK:      tile.dot {{("[^"]+" )?}}%[[K]], %[[K]], %[[ZERO]]
    // CHECK-NEXT: arith.addf
    %s4 = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %x4 = arith.addf %s4, %s4 : !score
    tile.store %x4, %O[%c0, %c0] dims [0, 1] : !score, !wide
    // CHECK:      tile.dot {{("[^"]+" )?}}%[[K]], %[[K]], %[[ZERO]]
    // CHECK-NEXT: math.fma
    %s5 = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %x5 = math.fma %s5, %one, %bias : !score
    tile.store %x5, %O[%c0, %c0] dims [0, 1] : !score, !wide
    // CHECK:      tile.dot {{("[^"]+" )?}}%[[K]], %[[K]], %[[ZERO]]
    // CHECK-NEXT: scf.if
    %s6 = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %x6 = scf.if %cond -> !score {
      %x = arith.addf %s6, %bias : !score
      scf.yield %x : !score
    } else {
      scf.yield %s6 : !score
    }
    tile.store %x6, %O[%c0, %c0] dims [0, 1] : !score, !wide
    gpu.return
  }
}

// -----

!operand = tensor<16x16xbf16, #tile.reg>
!score = tensor<16x16xf32, #tile.reg>
!narrow = memref<?x16xbf16, strided<[?, 1]>>
!wide = memref<?x16xf32, strided<[?, 1]>>
gpu.module @kernels {
  launch.abi @off target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x16xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x16xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // CHECK-LABEL: gpu.func @off
  gpu.func @off(%K: !narrow, %O: !wide, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %c0 = arith.constant 0 : index
    %k = tile.load %K[%c0, %c0] dims [0, 1] : !narrow to !operand
    %bias = tile.load %O[%n, %c0] dims [0, 1] : !wide to !score
    // CHECK: tile.dot
    // CHECK-NEXT: arith.addf
    %s = tile.dot "s" %k, %k, %zero : !operand, !operand, !score
    %x = arith.addf %s, %bias : !score
    tile.store %x, %O[%c0, %c0] dims [0, 1] : !score, !wide
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @alone() {
    gpu.return
  }
}
