//===- TileSemaphoreOps.td - CTAs that take turns ----------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILESEMAPHOREOPS_TD
#define FOVEA_DIALECT_TILE_IR_TILESEMAPHOREOPS_TD

include "fovea/Dialect/Tile/IR/TileBase.td"
include "fovea/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_SemaphoreOp<string mnemonic> : Tile_Op<mnemonic, [
    NamedOpInterface, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let hasVerifier = 1;
}

def Tile_SemaphoreWaitOp : Tile_SemaphoreOp<"semaphore_wait"> {
  let summary = "waits for a turn among CTAs";
  let description = [{
    A semaphore is an i32 element of a memref in memory that all CTAs see. It is
    0 before the kernel starts, and each `tile.semaphore_release` of a CTA adds
    one. The op waits until the semaphore is at least `turn`: until so many CTAs
    have had theirs. What those wrote ahead of their releases is seen behind the
    wait.

    A CTA may wait only for CTAs whose items of work come before its own. Those
    run already, or have run, so that the wait ends. Passes move the op no
    further ahead than `after`: tiles that it does not read, but that are known
    when it is executed. They keep the wait beside the stores that it guards.
    With a `condition`, nothing is waited for where it is false.

    The interpreter fails where the turn never comes.

    Source: the semaphores of split-K kernels in NVIDIA CUTLASS; for dQ's sums,
    Dao, FlashAttention-2 (2023), its deterministic backward pass.

    Example: additions to a block, tile after tile.

    ```mlir
    tile.semaphore_wait "dq_sum" %turns[%b, %h, %block] for %turn after(%part : tensor<64x64xf32, #tile.reg>)
      : memref<?x?x?xi32>
    tile.store add "dq_sum" %part, %sums[%b, %h, %row, %c0] dims [2, 3]
      : tensor<64x64xf32, #tile.reg>, memref<?x?x?x64xf32>
    tile.semaphore_release "dq_sum" %turns[%b, %h, %block] after(%part : tensor<64x64xf32, #tile.reg>)
      : memref<?x?x?xi32>
    ```
  }];
  let arguments = (ins
    Arg<MemRefOf<[I32]>, "the semaphores, in memory that all CTAs see">:$semaphores,
    Arg<Variadic<Index>, "which one: an index for each dimension">:$indices,
    Arg<I32, "releases that come before; not negative">:$turn,
    Arg<Optional<I1>, "whether there is a turn to begin">:$condition,
    Arg<Variadic<Tile_AnyTile>, "tiles that are known by then">:$after,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let assemblyFormat = [{
    ($name^)? $semaphores `[` $indices `]` `for` $turn (`if` `(` $condition^ `)`)? (`after` `(` $after^ `:` type($after) `)`)?
    attr-dict `:` type($semaphores)
  }];
}

def Tile_SemaphoreReleaseOp : Tile_SemaphoreOp<"semaphore_release"> {
  let summary = "ends a turn among CTAs";
  let description = [{
    Adds one to a semaphore, once for the CTA, when all that the CTA's program
    wrote ahead of it is written: see `tile.semaphore_wait`. The op stays behind
    `after` as that does. With a `condition`, nothing happens where it is false.

    Whoever releases waits until its writes are done. A loop that has something
    else to do first may release a round's turn in the next one.
  }];
  let arguments = (ins
    Arg<MemRefOf<[I32]>, "the semaphores, in memory that all CTAs see">:$semaphores,
    Arg<Variadic<Index>, "which one: an index for each dimension">:$indices,
    Arg<Optional<I1>, "whether there is a turn to end">:$condition,
    Arg<Variadic<Tile_AnyTile>, "tiles that are known by then">:$after,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let assemblyFormat = [{
    ($name^)? $semaphores `[` $indices `]` (`if` `(` $condition^ `)`)? (`after` `(` $after^ `:` type($after) `)`)?
    attr-dict `:` type($semaphores)
  }];
}

#endif // FOVEA_DIALECT_TILE_IR_TILESEMAPHOREOPS_TD
