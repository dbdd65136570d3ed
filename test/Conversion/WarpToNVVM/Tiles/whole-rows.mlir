// Tiles with one row per thread: comparisons with a limit of the row, maxima and sums.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file | FileCheck %s
// RUN: sed 's/sm_100a/sm_103a/' %s | fovea-opt --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file | FileCheck %s --check-prefix=REDUCES

!s = memref<128x64xf32, #warp.tmem>
!x = tensor<128x64xf32, #warp.thread_rows>
!i = tensor<128x64xi32, #warp.thread_rows>
!row = tensor<128x1xf32, #warp.thread_rows>
!irow = tensor<128x1xi32, #warp.thread_rows>
!icolumn = tensor<1x64xi32, #warp.thread_rows>

// Column c is kept in row r if c <= r and c >= r - 32: one shift for each bound and 32
// columns, a conjunction of words, and a test of one bit for each column.
// CHECK-LABEL: gpu.func @masked
// CHECK: tcgen05.ld.sync
// CHECK: %[[LAST:.*]] = llvm.inline_asm "shl.b32 $0, -1, $1;"
// CHECK: %[[FIRST:.*]] = llvm.inline_asm "shl.b32 $0, -1, $1;"
// CHECK: %[[UP:.*]] = arith.xori %[[FIRST]], %c-1_i32 : i32
// CHECK: %[[WORD:.*]] = arith.andi %[[LAST]], %[[UP]] : i32
// CHECK: %[[BIT:.*]] = arith.andi %[[WORD]], %c1_i32 : i32
// CHECK: %[[KEEPS:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32 : i32
// CHECK: arith.select %[[KEEPS]]
// The limit is on the right, so columns 1 to 32 are the bits 31 to 0 of the next word.
// CHECK-COUNT-2: "shl.b32 $0, -1, $1;"
// CHECK: %[[NEXT:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
// CHECK: arith.andi %[[NEXT]], %c-2147483648_i32 : i32
// CHECK: arith.andi %[[NEXT]], %c1073741824_i32 : i32
// CHECK-COUNT-2: "shl.b32 $0, -1, $1;"
// CHECK-NOT: shl.b32
// CHECK: nvvm.tcgen05.st

// Three values at a time; a load reduces its columns where the target can.
// CHECK-LABEL: gpu.func @maxima
// CHECK: tcgen05.ld.sync.aligned.32x32b.x32.b32
// CHECK: %[[TWO:.*]] = arith.maximumf %[[A:.*]]#0, %[[A]]#1 : f32
// CHECK-NEXT: arith.maximumf %[[TWO]], %[[A]]#2 : f32
// REDUCES-LABEL: gpu.func @maxima
// REDUCES: tcgen05.ld.red.sync.aligned.32x32b.x32.max.NaN.f32 {$0, {{.*}}, $31}, $64, [$66];\0A\09tcgen05.ld.red.sync.aligned.32x32b.x32.max.NaN.f32 {$32, {{.*}}, $63}, $65, [$67];
// REDUCES-COUNT-1: arith.maximumf
// REDUCES-NOT: arith.maximumf
// REDUCES: nvvm.tcgen05.st

// Adjacent sums together.
// CHECK-LABEL: gpu.func @sums
// CHECK-COUNT-28: arith.addf {{.*}} : vector<2xf32>
// CHECK-NOT: arith.addf {{.*}} : f32
gpu.module @m {
  launch.abi @masked target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @masked() kernel {
    %s = warp.tmem_alloc column(0) : !s
    warp.specialize captures(%s : !s)
      role @softmax warps(4) regs(96) {
      ^bb0(%s0: !s):
        %x = warp.tmem_load %s0 : !s to !x
        %r = tile.iota dim 0 : !irow
        %rows = tile.broadcast %r : !irow to !i
        %c = tile.iota dim 1 : !icolumn
        %columns = tile.broadcast %c : !icolumn to !i
        %window = arith.constant dense<32> : !i
        %later = arith.addi %columns, %window overflow<nsw> : !i
        %below = arith.cmpi sle, %columns, %rows : !i
        %near = arith.cmpi sge, %later, %rows : !i
        %keeps = arith.andi %below, %near : tensor<128x64xi1, #warp.thread_rows>
        %none = arith.constant dense<0xFF800000> : !x
        %y = arith.select %keeps, %x, %none : tensor<128x64xi1, #warp.thread_rows>, !x
        warp.tmem_store %y to %s0 : !x, !s
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
!x = tensor<128x64xf32, #warp.thread_rows>
!row = tensor<128x1xf32, #warp.thread_rows>
gpu.module @m {
  launch.abi @maxima target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @maxima() kernel {
    %s = warp.tmem_alloc column(0) : !s
    %m = warp.tmem_alloc column(64) : memref<128x1xf32, #warp.tmem>
    warp.specialize captures(%s, %m : !s, memref<128x1xf32, #warp.tmem>)
      role @softmax warps(4) regs(96) {
      ^bb0(%s0: !s, %m0: memref<128x1xf32, #warp.tmem>):
        %x = warp.tmem_load %s0 : !s to !x
        %max = tile.reduce max dim 1 %x : !x to !row
        warp.tmem_store %max to %m0 : !row, memref<128x1xf32, #warp.tmem>
        warp.return
      }
    gpu.return
  }
}

// -----

!s = memref<128x64xf32, #warp.tmem>
!x = tensor<128x64xf32, #warp.thread_rows>
!part = tensor<128x8xf32, #warp.thread_rows>
gpu.module @m {
  launch.abi @sums target("sm_100a") plan(<#warp.tcgen05_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16)
  gpu.func @sums() kernel {
    %s = warp.tmem_alloc column(0) : !s
    %m = warp.tmem_alloc column(64) : memref<128x8xf32, #warp.tmem>
    warp.specialize captures(%s, %m : !s, memref<128x8xf32, #warp.tmem>)
      role @softmax warps(4) regs(96) {
      ^bb0(%s0: !s, %m0: memref<128x8xf32, #warp.tmem>):
        %x = warp.tmem_load %s0 : !s to !x
        %sum = tile.reduce add dim 1 %x : !x to !part
        warp.tmem_store %sum to %m0 : !part, memref<128x8xf32, #warp.tmem>
        warp.return
      }
    gpu.return
  }
}
