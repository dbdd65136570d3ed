// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// Adjacent elements are loaded in pairs under their predicate without a branch;
// zeros if out of bounds.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %[[S:.*]]: i32, %{{.*}}: i32
// CHECK: %[[SIZE:.*]] = arith.extui %[[S]] : i32 to i64
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %[[SIZE]]
// CHECK: %[[FLAG:.*]] = arith.extui %{{.*}} : i1 to i32
// CHECK: llvm.inline_asm "{{.*}}mov.b64 $0, 0;{{.*}}@p ld.global.b64 $0, [$1];{{.*}}", "=&l,l,r" %{{.*}}, %[[FLAG]]
// CHECK-COUNT-3: llvm.inline_asm "{{.*}}ld.global.b64
// CHECK-NOT: ld.global
// CHECK-COUNT-8: llvm.inline_asm has_side_effects "{{.*}}@p st.global.b32 [$0], $1;
// CHECK-NOT: st.global
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %x, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Gathers check each coordinate; i1 is stored as a byte.
// CHECK-LABEL: gpu.func @f
// CHECK-COUNT-2: llvm.inline_asm "{{.*}}@p ld.global.u8 $0, [$1]
// CHECK-NOT: ld.global
// CHECK-COUNT-2: st.global.u8 [$0], $1
!memory = memref<?x32xi1, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xi1>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %rows = tile.iota dim 0 : tensor<64x1xi32, #warp.mma_sync<warps = 4>>
    %x = tile.gather %k[%rows, %c0] : !memory[tensor<64x1xi32, #warp.mma_sync<warps = 4>>, index] to tensor<64x1xi1, #warp.mma_sync<warps = 4>>
    tile.store %x, %k[%c0, %c0] dims [0, -1] : tensor<64x1xi1, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// A vector has one warp-uniform check: in bounds, contiguous, pairs aligned. If
// it holds, each lane loads a pair and receives 8 from other lanes; otherwise
// each element is loaded by itself.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %[[S:.*]]: i32, %[[STRIDE:.*]]: i64, %{{.*}}: i32
// CHECK-DAG: %[[SIZE:.*]] = arith.extui %[[S]] : i32 to i64
// CHECK-DAG: arith.cmpi sge, %[[START:.*]], %c0_i64
// CHECK-DAG: %[[END:.*]] = arith.addi %[[START]], %c64_i64
// CHECK-DAG: arith.cmpi sle, %[[END]], %[[SIZE]]
// CHECK-DAG: arith.cmpi eq, %[[STRIDE]], %c1_i64
// CHECK-DAG: arith.andi %{{.*}}, %c7_i32
// CHECK: %[[PLAIN:.*]] = nvvm.vote.sync all
// CHECK: scf.if %[[PLAIN]] -> (vector<16xi32>) {
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i64
// CHECK-NOT: load
// CHECK-COUNT-16: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl
// CHECK: } else {
// CHECK-COUNT-16: llvm.inline_asm "{{.*}}@p ld.global.b32 $0, [$1];
// CHECK-NOT: ld.global
// CHECK: }
!memory = memref<?xi32, strided<[?]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"t", read, tensor<?xi32>, ["S"], 4>]) parameters([#launch.memref<"t", [0]>, #launch.size<"S">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%t: !memory, %n: i32) kernel {
    %i = arith.index_cast %n : i32 to index
    %x = tile.load %t[%i] dims [-1, 0] : !memory to tensor<1x64xi32, #warp.mma_sync<warps = 4>>
    %y = tile.broadcast %x : tensor<1x64xi32, #warp.mma_sync<warps = 4>> to tensor<64x64xi32, #warp.mma_sync<warps = 4>>
    %r = tile.reduce max dim 1 %y : tensor<64x64xi32, #warp.mma_sync<warps = 4>> to tensor<64x1xi32, #warp.mma_sync<warps = 4>>
    tile.store %r, %t[%i] dims [0, -1] : tensor<64x1xi32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// A scatter: each element of a thread is stored under its own predicate, in
// bounds and not masked.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[P:[^ ]*]]: !llvm.ptr<1>, %[[S:[^ ]*]]: i32
// CHECK: %[[SIZE:.*]] = arith.extui %[[S]] : i32 to i64
// CHECK-COUNT-2: llvm.inline_asm {{.*}}st.global.b32
// CHECK-NOT: st.global
!row = tensor<64x1xi32, #warp.mma_sync<warps = 4>>
!keep = tensor<64x1xi1, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, min_blocks = 2>)
    tensors([#launch.tensor<"k", write, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.memref<"k", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: memref<?xi32, strided<[?]>>) kernel {
    %rows = tile.iota dim 0 : !row
    %five = arith.constant dense<5> : !row
    %at = arith.xori %rows, %five : !row
    %keep = arith.cmpi ne, %rows, %five : !row
    tile.scatter %rows, %k[%at] mask(%keep : !keep) : !row, memref<?xi32, strided<[?]>>[!row]
    gpu.return
  }
}
