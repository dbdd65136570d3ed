// What can't be given to roles by names.
// RUN: fovea-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))'

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    warp.consumer_wait %px[%z, %z] : !p
    // The second role would have to compute it, too.
    // expected-error @+1 {{roles @left, @right need this tile: it must cross through a stream that one role fills and the others read}}
    %t = warp.local_load %xb : !buffer to !t
    warp.consumer_release %px[%z, %z] : !p
    %n = arith.negf %t : !t
    tile.store "a" %n, %y[%c0, %c0] dims [0, 1] : !t, !memory
    tile.store "b" %n, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    warp.consumer_wait %px[%z, %z] : !p
    %t = warp.local_load %xb : !buffer to !t
    warp.consumer_release %px[%z, %z] : !p
    // expected-note @+1 {{used here}}
    tile.store "a" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    // Nobody says that the one stores before the other loads.
    %again = tile.load "b" %y[%c0, %c0] dims [0, 1] : !memory to !t
    // expected-error @+1 {{writes, as @right, memory that @left uses, and no stream orders the two}}
    tile.store "b" %again, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    // expected-error @+1 {{nobody but its filler reads what the pipeline brings}}
    warp.consumer_wait %px[%z, %z] : !p
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    warp.consumer_wait %px[%z, %z] : !p
    %t = warp.local_load %xb : !buffer to !t
    warp.consumer_release %px[%z, %z] : !p
    // expected-error @+1 {{no role runs this: no role owns its name, and none owns "*"}}
    tile.store "c" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : !s
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    warp.consumer_wait %px[%z, %z] : !p
    // expected-error @+1 {{one role needs a result that another one has}}
    %d = warp.dot "a" %xb, %xb, %none transpose_b : !buffer, !buffer, !s
    warp.consumer_release %px[%z, %z] : !p
    %n = warp.extract_columns %d from 0 : !s to tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %t = arith.truncf %n : tensor<128x64xf32, #warp.wgmma<groups = 2>> to !t
    tile.store "b" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %ph = warp.pipeline "x" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    %turns = warp.turns : !warp.turns<2>
    %zs = arith.constant dense<0.0> : tensor<128x128xf32, #warp.wgmma<groups = 2>>
    %c2 = arith.constant 2 : i32
    %one = arith.constant 1 : i32
    %all = scf.for %n = %z to %c2 step %one iter_args(%acc = %zs) -> (tensor<128x128xf32, #warp.wgmma<groups = 2>>) : i32 {
      warp.begin_turn %turns : !warp.turns<2>
      warp.producer_acquire %ph[%z, %z] : !p
      warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %hb : !memory to !buffer
      warp.producer_commit %ph[%z, %z] : !p
      warp.consumer_wait %ph[%z, %z] : !p
      %d0 = warp.dot async "a" %hb, %hb, %acc transpose_b : !buffer, !buffer, !s
      %r0 = warp.dot_wait %d0 : !warp.pending<!s>
      // expected-note @+1 {{released here}}
      warp.consumer_release %ph[%z, %z] : !p
      warp.producer_acquire %ph[%z, %one] : !p
      warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %hb : !memory to !buffer
      warp.producer_commit %ph[%z, %one] : !p
      // The second warp group releases the stage in its turn, which is next.
      // expected-error @+1 {{waits in a turn for a stage that warp groups must release first whose turn has not come}}
      warp.consumer_wait %ph[%z, %one] : !p
      %d1 = warp.dot async "a" %hb, %hb, %r0 transpose_b : !buffer, !buffer, !s
      warp.end_turn %turns : !warp.turns<2>
      %r1 = warp.dot_wait %d1 : !warp.pending<!s>
      warp.consumer_release %ph[%z, %one] : !p
      scf.yield %r1 : !s
    }
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %hs = warp.alloc : !ring
    %px = warp.pipeline "x" : !p
    %ph = warp.pipeline "h" : !p
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %hb = warp.stage %hs[%z] : !ring to !buffer
    warp.producer_acquire %px[%z, %z] : !p
    warp.copy async "x" %x[%c0, %c0] dims [0, 1] to %xb : !memory to !buffer
    warp.producer_commit %px[%z, %z] : !p
    warp.consumer_wait %px[%z, %z] : !p
    %t = warp.local_load %xb : !buffer to !t
    warp.producer_acquire %ph[%z, %z] : !p
    warp.local_store "h" %t to %hb : !t, !buffer
    warp.producer_commit %ph[%z, %z] : !p
    warp.consumer_release %px[%z, %z] : !p
    // expected-note @+1 {{the other one's}}
    tile.store "a" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    warp.consumer_wait %ph[%z, %z] : !p
    %u = warp.local_load %hb : !buffer to !t
    warp.consumer_release %ph[%z, %z] : !p
    // Nobody says that these are other elements.
    // expected-error @+1 {{writes, as @right, a tensor that @left writes, too: stores of several roles into one tensor must be parts of one family, as "out.0" and "out.1" are}}
    tile.store "b" %u, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

// Which pipeline this is depends on a condition.
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"compute", warps = 8, registers = 152, owns = ["d"]>]>)
    tensors([]) parameters([#launch.scalar<"c", i1>]) grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%c: i1) kernel {
    %z = arith.constant 0 : i32
    %left = warp.pipeline "x" : !p
    %right = warp.pipeline "x" : !p
    %either = arith.select %c, %left, %right : !p
    // expected-error @+1 {{needs a pipeline of the kernel's own}}
    warp.producer_acquire %either[%z, %z] : !p
    gpu.return
  }
}
