// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// One instruction sums 32 elements, and has no immediates for the orders of the operands. The
// second panel of each operand starts after its rows.
// CHECK-LABEL: gpu.func @dots
// CHECK: wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {$0, {{.*}}$31}, a, b, z, 1, 1;
// CHECK-SAME: add.s64 a, $32, 2;\0A\09add.s64 b, $33, 2;
// CHECK-SAME: $31}, a, b, o, 1, 1;
// CHECK-SAME: add.s64 a, $32, 512;\0A\09add.s64 b, $33, 512;

// An operand in registers has four elements a word.
// CHECK: m64n64k32.f32.e5m2.e5m2 {$0, {{.*}}$31}, {$32, $33, $34, $35}, b, z, 1, 1;
#acc = #warp.wgmma<groups = 1>
!a = memref<64x256xf8E4M3FN, #warp.shared<row_bytes = 128>>
!b = memref<64x64xf8E5M2, #warp.shared<row_bytes = 64>>
!row = tensor<64x64xf32, #acc>
gpu.module @m {
  launch.abi @dots target("sm_90a") plan(<#warp.wgmma_unit>)
    tensors([#launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(32768)
  gpu.func @dots(%o: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %a = warp.alloc offset(0) : !a
    %b = warp.alloc offset(16384) : !b
    warp.specialize captures(%a, %b, %o : !a, !b, memref<?x64xf32, strided<[?, 1]>>)
      role @compute warps(4) regs(240) {
      ^bb0(%a0: !a, %b0: !b, %o0: memref<?x64xf32, strided<[?, 1]>>):
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : !row
        %p = arith.constant dense<1.0> : tensor<64x64xf8E5M2, #warp.operand<of = #acc, element_bits = 8>>
        %s = warp.dot %a0, %a0, %zero transpose_b : !a, !a, !row
        tile.store %s, %o0[%c0, %c0] dims [0, 1] : !row, memref<?x64xf32, strided<[?, 1]>>
        %t = warp.dot %p, %b0, %zero transpose_b : tensor<64x64xf8E5M2, #warp.operand<of = #acc, element_bits = 8>>, !b, !row
        tile.store %t, %o0[%c0, %c0] dims [0, 1] : !row, memref<?x64xf32, strided<[?, 1]>>
        warp.return
      }
    gpu.return
  }
}

// -----

// Values beyond the largest of f8E4M3FN become NaN; the instruction would saturate.
// CHECK-LABEL: gpu.func @convert(
// CHECK: %[[ABS:.*]] = llvm.call_intrinsic "llvm.fabs"
// CHECK: %[[FITS:.*]] = arith.cmpf ole, %[[ABS]], %{{.*}} : vector<32xf32>
// CHECK: arith.select %[[FITS]], %{{.*}}, %{{.*}} : vector<32xi1>, vector<32xf32>
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"({{.*}}) : (f32, f32) -> i16
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"({{.*}}) : (i16) -> vector<2xf16>
// CHECK: arith.extf %{{.*}} : vector<32xf16> to vector<32xf32>
!memory = memref<?x64xf32, strided<[?, 1]>>
!wide = tensor<64x64xf32, #warp.mma_sync<warps = 4>>
!narrow = tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @convert target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @convert(%o: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %o[%c0, %c0] dims [0, 1] : !memory to !wide
    %y = arith.truncf %x : !wide to !narrow
    %z = arith.extf %y : !narrow to !wide
    tile.store %z, %o[%c0, %c0] dims [0, 1] : !wide, !memory
    gpu.return
  }
}

// -----

// Each warp transposes 32 of 128 rows: two blocks of 16 rows and two of 32 columns. ldmatrix
// transposes units of two bytes, and the permutations separate the two rows of a unit. The stored
// panel has rows of 64 bytes.
// CHECK-LABEL: gpu.func @transpose
// CHECK-COUNT-4: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK-NOT: nvvm.ldmatrix
// CHECK-DAG: "prmt.b32 $0, $1, $2, 0x6420;", "=r,r,r"
// CHECK-DAG: "prmt.b32 $0, $1, $2, 0x7531;", "=r,r,r"
// CHECK-COUNT-4: "stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: stmatrix
!v = memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
!vt = memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
!tile = tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>
gpu.module @m {
  launch.abi @transpose target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @transpose() kernel {
    %v = warp.alloc offset(0) : !v
    %vt = warp.alloc offset(8192) : !vt
    warp.specialize captures(%v, %vt : !v, !vt)
      role @transpose warps(4) regs(240) {
      ^bb0(%v0: !v, %vt0: !vt):
        %t = warp.local_load transpose %v0 : !v to !tile
        warp.local_store "vt" %t to %vt0 : !tile, !vt
        warp.return
      }
    gpu.return
  }
}

// -----

// First operands are loaded and stored as they are, two blocks of 16 by 16 per instruction.
// CHECK-LABEL: gpu.func @operand
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK-COUNT-2: stmatrix
!p = memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
!tile = tensor<64x64xf8E4M3FN, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 8>>
gpu.module @m {
  launch.abi @operand target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @operand() kernel {
    %p = warp.alloc offset(0) : !p
    %q = warp.alloc offset(4096) : !p
    warp.specialize captures(%p, %q : !p, !p)
      role @compute warps(4) regs(240) {
      ^bb0(%p0: !p, %q0: !p):
        %t = warp.local_load %q0 : !p to !tile
        warp.local_store "p" %t to %p0 : !tile, !p
        warp.return
      }
    gpu.return
  }
}

// -----

// One element per lane is converted as a pair.
// CHECK-LABEL: gpu.func @odd
// CHECK: vector.broadcast %{{.*}} : i8 to vector<2xi8>
// CHECK: llvm.call_intrinsic "llvm.nvvm.e5m2x2.to.f16x2.rn"
// CHECK: arith.extf %{{.*}} : vector<1xf16> to vector<1xf32>
gpu.module @m {
  launch.abi @odd target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"i", read, tensor<?xf8E5M2>, ["S"], 1>, #launch.tensor<"o", write, tensor<?xf32>, ["S"], 4>])
    parameters([#launch.memref<"i", [0]>, #launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @odd(%i: memref<?xf8E5M2, strided<[1]>>, %o: memref<?xf32, strided<[1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %i[%c0] dims [-1, 0] : memref<?xf8E5M2, strided<[1]>> to tensor<1x32xf8E5M2, #warp.lanes>
    %y = arith.extf %x : tensor<1x32xf8E5M2, #warp.lanes> to tensor<1x32xf32, #warp.lanes>
    tile.store %y, %o[%c0] dims [-1, 0] : tensor<1x32xf32, #warp.lanes>, memref<?xf32, strided<[1]>>
    gpu.return
  }
}
