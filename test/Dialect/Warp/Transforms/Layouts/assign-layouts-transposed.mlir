// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' --split-input-file | FileCheck %s

// A transposed tile has the layout of ldmatrix, divided among the warps of the role that owns its
// stream. A computed first operand of 8 bits is converted. If it is the first operand of all dots that
// read the transposed tile, the columns of both are permuted, so that no element moves between lanes.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[T:.*]] = warp.local_load transpose {{.*}} to tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4, neighbours = 2>>
// CHECK-NEXT: %[[PERMUTED:.*]] = warp.convert_layout permuted %[[T]] : {{.*}} to tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
// CHECK-NEXT: warp.local_store "vt" %[[PERMUTED]]
// CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<128x64xf8E4M3FN, #warp.wgmma<groups = 2>>
// CHECK-NEXT: %[[A:.*]] = warp.convert_layout permuted %[[P]] : {{.*}} to tensor<128x64xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 2>, element_bits = 8>>
// CHECK-NEXT: warp.dot "o" %[[A]], {{.*}} transpose_b : {{.*}} tensor<128x128xf32, #warp.wgmma<groups = 2>>
!v = memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
!vt = memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"transpose", warps = 4, registers = 72, owns = ["vt"]>,
                <"compute", warps = 8, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f() kernel {
    %v = warp.alloc : !v
    %vt = warp.alloc : !vt
    %s = arith.constant dense<0.5> : tensor<128x64xf32, #tile.reg>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32, #tile.reg>
    %t = warp.local_load transpose %v : !v to tensor<128x64xf8E4M3FN, #tile.reg>
    warp.local_store "vt" %t to %vt : tensor<128x64xf8E4M3FN, #tile.reg>, !vt
    %p = arith.truncf %s : tensor<128x64xf32, #tile.reg> to tensor<128x64xf8E4M3FN, #tile.reg>
    %o = warp.dot "o" %p, %vt, %zero transpose_b : tensor<128x64xf8E4M3FN, #tile.reg>, !vt, tensor<128x128xf32, #tile.reg>
    gpu.return
  }
}

// -----

// A dot whose first operand is in shared memory needs the order of columns that this has: none is permuted.
// CHECK-LABEL: gpu.func @both
// CHECK: %[[T:.*]] = warp.local_load transpose {{.*}} to tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
// CHECK-NEXT: warp.local_store "vt" %[[T]]
// CHECK: %[[A:.*]] = warp.convert_layout %{{.*}} to tensor<128x64xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 2>, element_bits = 8>>
// CHECK-NEXT: warp.dot "o" %[[A]],
!v = memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
!vt = memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @both target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"transpose", warps = 4, registers = 72, owns = ["vt"]>,
                <"compute", warps = 8, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @both() kernel {
    %v = warp.alloc : !v
    %vt = warp.alloc : !vt
    %a = warp.alloc : !vt
    %s = arith.constant dense<0.5> : tensor<128x64xf32, #tile.reg>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32, #tile.reg>
    %t = warp.local_load transpose %v : !v to tensor<128x64xf8E4M3FN, #tile.reg>
    warp.local_store "vt" %t to %vt : tensor<128x64xf8E4M3FN, #tile.reg>, !vt
    %p = arith.truncf %s : tensor<128x64xf32, #tile.reg> to tensor<128x64xf8E4M3FN, #tile.reg>
    %o = warp.dot "o" %p, %vt, %zero transpose_b : tensor<128x64xf8E4M3FN, #tile.reg>, !vt, tensor<128x128xf32, #tile.reg>
    %r = warp.dot "r" %a, %vt, %zero transpose_b : !vt, !vt, tensor<128x128xf32, #tile.reg>
    gpu.return
  }
}

// -----

// Streams of 8-bit elements are stored and loaded in the layout of operands.
// CHECK-LABEL: gpu.func @stream
// CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x64xf8E4M3FN, #warp.wgmma<groups = 1>>
// CHECK-NEXT: %[[STORED:.*]] = warp.convert_layout %[[P]] : {{.*}} to tensor<64x64xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
// CHECK-NEXT: warp.local_store "p" %[[STORED]]
// CHECK-NEXT: %[[LOADED:.*]] = warp.local_load {{.*}} to tensor<64x64xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>
// CHECK-NEXT: warp.dot "o" %[[LOADED]],
// CHECK-NEXT: warp.dot "r" %[[LOADED]],
!p = memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
!tile = tensor<64x64xf8E4M3FN, #tile.reg>
!acc = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @stream target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 4,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @stream() kernel {
    %v = warp.alloc : !p
    %b = warp.alloc : !p
    %s = arith.constant dense<0.5> : !acc
    %p = arith.truncf %s : !acc to !tile
    warp.local_store "p" %p to %b : !tile, !p
    %a = warp.local_load %b : !p to !tile
    %o = warp.dot "o" %a, %v, %s transpose_b : !tile, !p, !acc
    %r = warp.dot "r" %a, %v, %s transpose_b : !tile, !p, !acc
    gpu.return
  }
}
