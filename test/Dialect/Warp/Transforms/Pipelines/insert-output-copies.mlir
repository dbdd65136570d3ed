// Outputs are stored to shared memory, from where TMA copies them.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' --split-input-file | FileCheck %s

!x = tensor<128x80xbf16, #warp.wgmma<groups = 2>>
!y = tensor<128x80xf32, #warp.wgmma<groups = 2>>
!o = memref<?x?x72xbf16, strided<[?, ?, 1]>>
!e = memref<?x72xf32>
!u = memref<?x72xbf16>
gpu.module @m {
  // A buffer of its own, written after the previous tile has been read. Left alone: rows with a
  // limit, PackGQA folds that don't divide 16, 32-bit elements, and tensors without the required
  // alignment.
  // CHECK-LABEL: gpu.func @own(
  // CHECK-SAME: %[[O:.*]]: memref<?x?x72xbf16, strided<[?, ?, 1]>>, %[[E:.*]]: memref<?x72xf32>, %[[U:.*]]: memref<?x72xbf16>, %[[I:.*]]: index)
  // CHECK-NEXT: %[[B:.*]] = warp.alloc : memref<128x80xbf16, #warp.shared<row_bytes = 128>>
  // CHECK: scf.for
  // CHECK-NEXT: warp.copy_out_wait %[[B]] :
  // CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%[[X:.*]] to %[[B]]
  // CHECK-NEXT: warp.fence_stores %[[B]]
  // CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[B]] to %[[O]][%[[I]], %[[I]], %{{.*}}] dims [1, 2] :
  // CHECK-NEXT: warp.copy_out_wait %[[B]] :
  // CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%[[X]] to %[[B]]
  // CHECK-NEXT: warp.fence_stores %[[B]]
  // CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[B]] to %[[O]]{{.*}} fold [0, 8] :
  // CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}} limit
  // CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}} fold [0, 32]
  // CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}} tensor<128x80xf32
  // CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}}, %[[U]]
  // CHECK-NEXT: }
  // CHECK-NEXT: warp.copy_out_wait written %[[B]] :
  // CHECK-NEXT: gpu.return
  launch.abi @own target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       stores = [<"out", copied>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x?x72xbf16>, ["H", "S", "D"], 16>, #launch.tensor<"e", write, tensor<?x72xf32>, ["S", "D"], 16>, #launch.tensor<"u", write, tensor<?x72xbf16>, ["S", "D"], 2>])
    parameters([#launch.memref<"o", [0, 1, 2]>, #launch.memref<"e", [0, 1]>, #launch.memref<"u", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @own(%o: !o, %e: !e, %u: !u, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant dense<1.0> : !x
    %y = arith.constant dense<1.0> : !y
    scf.for %j = %c0 to %i step %c1 {
      tile.store "out" %x, %o[%i, %i, %c0] dims [1, 2] : !x, !o
      tile.store "out" %x, %o[%i, %i, %c0] dims [1, 2] fold [0, 8] : !x, !o
      tile.store "out" %x, %o[%i, %i, %c0] limit(%i) dims [1, 2] : !x, !o
      tile.store "out" %x, %o[%i, %i, %c0] dims [1, 2] fold [0, 32] : !x, !o
      tile.store "out" %y, %e[%i, %c0] dims [0, 1] : !y, !e
      tile.store "out" %x, %u[%i, %c0] dims [0, 1] : !x, !u
    }
    gpu.return
  }
}

// -----

!x = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!s = memref<?x64xf32>
!t = memref<?x64xf32, strided<[64, 1]>>
gpu.module @m {
  // TMA adds to contiguous accumulators in fragment order. Strided accumulators and plain stores
  // are left alone.
  // CHECK-LABEL: gpu.func @fragments(
  // CHECK-SAME: %[[S:.*]]: memref<?x64xf32>, %[[T:.*]]: memref<?x64xf32, strided<[64, 1]>>, %[[I:.*]]: index)
  // CHECK: warp.copy_out_wait %[[B:.*]] : memref<64x64xf32
  // CHECK-NEXT: warp.local_store "sum" %{{.*}} fragments to %[[B]]
  // CHECK-NEXT: warp.fence_stores %[[B]]
  // CHECK-NEXT: warp.copy_out async add "sum" %[[B]] to %[[S]][%[[I]], %{{.*}}] dims [0, 1] fragments
  // CHECK-NEXT: tile.store add "sum" %{{.*}}, %[[T]]
  // CHECK-NEXT: tile.store "sum" %{{.*}}, %[[S]]
  // CHECK-NEXT: warp.copy_out_wait written %[[B]]
  launch.abi @fragments target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4, stages = 1,
       stores = [<"sum", copied>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"s", accumulate, tensor<?x64xf32>, ["S", "D"], 16>, #launch.tensor<"t", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"s", [0, 1]>, #launch.memref<"t", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @fragments(%s: !s, %t: !t, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : !x
    tile.store add "sum" %x, %s[%i, %c0] dims [0, 1] fragments : !x, !s
    tile.store add "sum" %x, %t[%i, %c0] dims [0, 1] fragments : !x, !t
    tile.store "sum" %x, %s[%i, %c0] dims [0, 1] fragments : !x, !s
    gpu.return
  }
}

// -----

#reg = #warp.wgmma<groups = 2>
!x = tensor<128x64xbf16, #reg>
!s = tensor<128x64xf32, #reg>
!o = memref<?x64xbf16>
!q = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  // The output uses the stage of Q, which is released after the copy has read it and not after S,
  // in either branch.
  // CHECK-LABEL: gpu.func @query(
  // CHECK: %[[Q:.*]] = warp.alloc
  // CHECK: scf.for
  // CHECK: %[[S:.*]] = warp.dot {{("[^"]+" )?}}%
  // CHECK-NEXT: scf.if
  // CHECK: %[[V1:.*]] = warp.stage %[[Q]][%[[STAGE:.*]]] :
  // CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%{{.*}} to %[[V1]]
  // CHECK-NEXT: warp.fence_stores %[[V1]]
  // CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[V1]]
  // CHECK-NEXT: } else {
  // CHECK: %[[V2:.*]] = warp.stage %[[Q]][%[[STAGE]]] :
  // CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%{{.*}} to %[[V2]]
  // CHECK-NEXT: warp.fence_stores %[[V2]]
  // CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[V2]]
  // CHECK-NEXT: }
  // CHECK-NEXT: warp.copy_out_wait %[[Q]] :
  // CHECK-NEXT: warp.consumer_release %{{.*}}[%[[STAGE]], %{{.*}}]
  // CHECK-NEXT: }
  // CHECK-NEXT: warp.copy_out_wait written %[[Q]] :
  launch.abi @query target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"q", stages = 2>],
       stores = [<"out", copied, over = "q">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"i", index>, #launch.scalar<"c", i1>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @query(%o: !o, %i: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !s
    %qs = warp.alloc : memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
    %p = warp.pipeline "q" : !warp.pipeline<2>
    %k = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    scf.for %j = %c0 to %i step %c1 {
      %r = arith.index_cast %j : index to i32
      warp.producer_acquire %p[%r, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%r] : memref<2x128x64xbf16, #warp.shared<row_bytes = 128>> to !q
      warp.copy async "q" %o[%i, %c0] dims [0, 1] to %q : !o to !q
      warp.producer_commit %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%r, %z] : !warp.pipeline<2>
      %s = warp.dot "s" %q, %k, %zero : !q, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !s
      warp.consumer_release %p[%r, %z] : !warp.pipeline<2>
      scf.if %c {
        %x = arith.truncf %s : !s to !x
        tile.store "out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      } else {
        %x = arith.constant dense<0.0> : !x
        tile.store "out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      }
    }
    gpu.return
  }
}

// -----

!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!o = memref<?x64xbf16>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  // Two tiles use one stage: the copy has read the first one before the second one is written, and
  // the stage is released after both.
  // CHECK-LABEL: gpu.func @two(
  // CHECK: %[[V:.*]] = warp.alloc
  // CHECK: warp.copy_out async "dv_out"
  // CHECK: warp.copy_out_wait %[[V]] :
  // CHECK: warp.local_store "dk_out"
  // CHECK: warp.copy_out async "dk_out"
  // CHECK: warp.copy_out_wait %[[V]] :
  // CHECK: warp.consumer_release
  launch.abi @two target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"v", stages = 2>],
       stores = [<"dv_out", copied, over = "v">, <"dk_out", copied, over = "v">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @two(%o: !o, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    scf.for %j = %c0 to %i step %c1 {
      %r = arith.index_cast %j : index to i32
      warp.producer_acquire %p[%r, %z] : !warp.pipeline<2>
      %v = warp.stage %vs[%r] : !ring to !v
      warp.copy async "v" %o[%i, %c0] dims [0, 1] to %v : !o to !v
      warp.producer_commit %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_release %p[%r, %z] : !warp.pipeline<2>
      tile.store "dv_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      tile.store "dk_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
    }
    gpu.return
  }

  // Each warp group zeroes rows of the stage, possibly late: no other group may write there.
  // CHECK-LABEL: gpu.func @zeros(
  // CHECK-NOT: warp.copy_out
  // CHECK: tile.store "dv_out"
  launch.abi @zeros target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"v", stages = 2>],
       stores = [<"dv_out", copied, over = "v">, <"dk_out", copied, over = "v">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @zeros(%o: !o, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    scf.for %j = %c0 to %i step %c1 {
      %r = arith.index_cast %j : index to i32
      warp.producer_acquire %p[%r, %z] : !warp.pipeline<2>
      %v = warp.stage %vs[%r] : !ring to !v
      warp.copy async "v" %o[%i, %c0] dims [0, 1] to %v : !o to !v
      warp.producer_commit %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%r, %z] : !warp.pipeline<2>
      warp.zero_rows %v from %i : !v
      warp.consumer_release %p[%r, %z] : !warp.pipeline<2>
      tile.store "dv_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      tile.store "dk_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
    }
    gpu.return
  }

  // Other schedules do not change.
  // CHECK-LABEL: gpu.func @direct(
  // CHECK-NOT: warp.local_store
  // CHECK: tile.store
  launch.abi @direct target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @direct(%o: memref<?x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : !x
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, memref<?x64xbf16>
    gpu.return
  }
}
