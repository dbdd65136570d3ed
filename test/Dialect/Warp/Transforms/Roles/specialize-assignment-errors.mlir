// A tile is computed by one role, memory is written by one role, and every op with effects has an
// owner.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

!memory = memref<?x64xbf16, strided<[?, 1]>>
!ring = memref<1x128x64xbf16, #warp.shared<row_bytes = 128>>
!buffer = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!t = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!s = tensor<128x128xf32, #warp.wgmma<groups = 2>>
!p = !warp.pipeline<1>
gpu.module @m {
  launch.abi @shared_tile target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @shared_tile(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %xb = warp.stage %xs[%z] : !ring to !buffer
    // The second role would have to compute it as well.
    // expected-error @+1 {{roles @left, @right need this tile: it must pass through a stream that one role fills and the others read}}
    %t = warp.local_load %xb : !buffer to !t
    %n = arith.negf %t : !t
    tile.store "a" %n, %y[%c0, %c0] dims [0, 1] : !t, !memory
    tile.store "b" %n, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }

  launch.abi @unordered_memory target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @unordered_memory(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %t = warp.local_load %xb : !buffer to !t
    // expected-note @+1 {{used here}}
    tile.store "a" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    // No pipeline orders the store before the load.
    %again = tile.load "b" %y[%c0, %c0] dims [0, 1] : !memory to !t
    // expected-error @+1 {{this op of @right writes memory that @left uses, but no stream orders the two accesses}}
    tile.store "b" %again, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }

  launch.abi @no_owner target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @no_owner(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %xs = warp.alloc : !ring
    %xb = warp.stage %xs[%z] : !ring to !buffer
    %t = warp.local_load %xb : !buffer to !t
    // expected-error @+1 {{no role runs this: no role owns its name, and none owns "*"}}
    tile.store "c" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }

  launch.abi @unowned_result target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @unowned_result(%x: !memory, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : !s
    %xs = warp.alloc : !ring
    %xb = warp.stage %xs[%z] : !ring to !buffer
    // expected-error @+1 {{a role needs the result of an op that it does not own}}
    %d = warp.dot "a" %xb, %xb, %none transpose_b : !buffer, !buffer, !s
    %n = warp.extract_columns %d from 0 : !s to tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %t = arith.truncf %n : tensor<128x64xf32, #warp.wgmma<groups = 2>> to !t
    tile.store "b" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }

  // Several roles may store to one tensor only as parts of one family.
  launch.abi @two_writers target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = ["x"]>,
           <"left", warps = 8, registers = 152, owns = ["a", "h"]>,
           <"right", warps = 8, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"y", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @two_writers(%x: !memory, %y: !memory) kernel {
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
    // expected-note @+1 {{the other store}}
    tile.store "a" %t, %y[%c0, %c0] dims [0, 1] : !t, !memory
    warp.consumer_wait %ph[%z, %z] : !p
    %u = warp.local_load %hb : !buffer to !t
    warp.consumer_release %ph[%z, %z] : !p
    // These elements may overlap.
    // expected-error @+1 {{this op of @right writes a tensor that @left also writes: stores of several roles into one tensor must be parts of one family, as "out.0" and "out.1" are}}
    tile.store "b" %u, %y[%c128, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}
