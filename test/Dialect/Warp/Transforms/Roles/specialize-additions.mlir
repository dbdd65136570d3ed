// Several roles may add to one tensor, by thread stores, scatters or TMA, because no op reads the
// old value.
//
// REQUIRES: fovea-run
// DEFINE: %{entry} = stores
// DEFINE: %{plan} = stages = 1
// DEFINE: %{run} = sed 's/stages = 1/%{plan}/' %s | fovea-run - --entry=%{entry} --random=1 --dims M=128,K=64,N=64
// RUN: %{run} --level=tile --target=sm_80 --outputs %t.tile.npy
// RUN: %{run} --level=warp --target=sm_80 --outputs %t.warp.npy --seeds=3
// RUN: cmp %t.tile.npy %t.warp.npy
// REDEFINE: %{plan} = stages = 1, stores = [<"sum", copied>]
// RUN: %{run} --level=warp --target=sm_80 --outputs %t.warp.npy --seeds=3
// RUN: cmp %t.tile.npy %t.warp.npy
// REDEFINE: %{entry} = scatters
// REDEFINE: %{plan} = stages = 1
// RUN: %{run} --level=warp --target=sm_80 --outputs %t.warp.npy --seeds=3
// RUN: cmp %t.tile.npy %t.warp.npy
//
// RUN: sed 's/stages = 1/stages = 1, stores = [<"sum", copied>]/' %s | fovea-opt --fovea-to-warp=target=sm_80 | FileCheck %s
// CHECK-LABEL: gpu.func @stores
// CHECK: role @first
// CHECK: warp.copy_out async add "sum.0"
// CHECK: role @second
// CHECK: warp.copy_out async add "sum.1"
// CHECK-LABEL: gpu.func @scatters
// CHECK: role @first
// CHECK: tile.scatter add "sum.0"
// CHECK: role @second
// CHECK: tile.scatter add "sum.1"

!memory = memref<?x?xbf16, strided<[?, 1]>>
!sums = memref<?x?xf32, strided<[?, 1]>>
!t = tensor<64x64xbf16, #tile.reg>
!s = tensor<64x64xf32, #tile.reg>
!column = tensor<64x1xi32, #tile.reg>
!row = tensor<1x64xi32, #tile.reg>
!places = tensor<64x64xi32, #tile.reg>
gpu.module @m {
  launch.abi @stores target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 8, stages = 1,
          roles = [<"load", warps = 4, registers = 40, owns = copies>, <"first", warps = 4, registers = 200, owns = ["s.0", "sum.0"]>,
                   <"second", warps = 4, registers = 200, owns = ["s.1", "sum.1"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"b", read, tensor<?x?xbf16>, ["K", "N"], 16>,
             #launch.tensor<"c", accumulate, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 64)>) threads(256) shared_memory(0)
  gpu.func @stores(%A: !memory, %B: !memory, %C: !sums) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : !s
    %w = gpu.block_id x
    %i = arith.muli %w, %c64 : index
    %a = tile.load "a" %A[%i, %c0] dims [0, 1] : !memory to !t
    %b = tile.load "b" %B[%c0, %c0] dims [0, 1] : !memory to !t
    %s = tile.dot "s.0" %a, %b, %zero : !t, !t, !s
    %t = tile.dot "s.1" %a, %b, %zero transpose_b : !t, !t, !s
    tile.store add "sum.0" %s, %C[%i, %c0] dims [0, 1] : !s, !sums
    tile.store add "sum.1" %t, %C[%i, %c0] dims [0, 1] : !s, !sums
    gpu.return
  }

  launch.abi @scatters target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 8, stages = 1,
          roles = [<"load", warps = 4, registers = 40, owns = copies>, <"first", warps = 4, registers = 200, owns = ["s.0", "sum.0"]>,
                   <"second", warps = 4, registers = 200, owns = ["s.1", "sum.1"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>, #launch.tensor<"b", read, tensor<?x?xbf16>, ["K", "N"], 16>,
             #launch.tensor<"c", accumulate, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 64)>) threads(256) shared_memory(0)
  gpu.func @scatters(%A: !memory, %B: !memory, %C: !sums) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : !s
    %w = gpu.block_id x
    %i = arith.muli %w, %c64 : index
    %a = tile.load "a" %A[%i, %c0] dims [0, 1] : !memory to !t
    %b = tile.load "b" %B[%c0, %c0] dims [0, 1] : !memory to !t
    %s = tile.dot "s.0" %a, %b, %zero : !t, !t, !s
    %t = tile.dot "s.1" %a, %b, %zero transpose_b : !t, !t, !s
    %start = arith.index_cast %i : index to i32
    %starts = tile.broadcast %start : i32 to !column
    %r = tile.iota dim 0 : !column
    %rows = arith.addi %r, %starts : !column
    %c = tile.iota dim 1 : !row
    %rs = tile.broadcast %rows : !column to !places
    %cs = tile.broadcast %c : !row to !places
    tile.scatter add "sum.0" %s, %C[%rs, %cs] : !s, !sums[!places, !places]
    tile.scatter add "sum.1" %t, %C[%rs, %cs] : !s, !sums[!places, !places]
    gpu.return
  }
}
