//===- TileSemaphoreOps.td - Ordered accumulation by CTAs --*- tablegen -*-===//
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
  let summary = "waits until a semaphore reaches a count";
  let description = [{
    Blocks the CTA until the semaphore is at least `turn`. Together with
    `tile.semaphore_release` the op orders the accumulation of several CTAs into
    one tile.

    A semaphore is an i32 element of a memref in memory that all CTAs share. It
    is 0 when the kernel starts, and each `tile.semaphore_release` increments it
    once per CTA. `turn` is the number of CTAs that accumulate before this one.
    The writes of these CTAs before their releases are visible after the wait.

    To avoid a deadlock, a CTA may wait only for CTAs with earlier work items:
    these are running or have finished. The interpreter reports an error if the
    count is never reached.

    Passes do not move the op before the definitions of the `after` tiles,
    although it does not read them. This keeps the wait close to the stores that
    it guards. If `condition` is false, the op does nothing.

    Source: the semaphores of split-K kernels in NVIDIA CUTLASS; for `dq_accum`,
    Dao, FlashAttention-2 (2023), deterministic backward pass.

    Example: ordered accumulation of a dQ tile.

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
    Arg<MemRefOf<[I32]>, "the semaphores, in memory that all CTAs share">:$semaphores,
    Arg<Variadic<Index>, "indices of the semaphore, one per dimension">:$indices,
    Arg<I32, "number of releases to wait for; not negative">:$turn,
    Arg<Optional<I1>, "false: no wait">:$condition,
    Arg<Variadic<Tile_AnyTile>, "tiles that are computed before the wait">:$after,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
  let assemblyFormat = [{
    ($name^)? $semaphores `[` $indices `]` `for` $turn (`if` `(` $condition^ `)`)? (`after` `(` $after^ `:` type($after) `)`)?
    attr-dict `:` type($semaphores)
  }];
}

def Tile_SemaphoreReleaseOp : Tile_SemaphoreOp<"semaphore_release"> {
  let summary = "increments a semaphore";
  let description = [{
    Increments a semaphore once per CTA, after all preceding writes of the CTA
    are complete; see `tile.semaphore_wait`. To hide the latency of the writes,
    a loop can delay the release of an iteration into the next iteration. Passes
    keep the op after the definitions of the `after` tiles. If `condition` is
    false, the op does nothing.
  }];
  let arguments = (ins
    Arg<MemRefOf<[I32]>, "the semaphores, in memory that all CTAs share">:$semaphores,
    Arg<Variadic<Index>, "indices of the semaphore, one per dimension">:$indices,
    Arg<Optional<I1>, "false: no increment">:$condition,
    Arg<Variadic<Tile_AnyTile>, "tiles that are computed before the release">:$after,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
  let assemblyFormat = [{
    ($name^)? $semaphores `[` $indices `]` (`if` `(` $condition^ `)`)? (`after` `(` $after^ `:` type($after) `)`)?
    attr-dict `:` type($semaphores)
  }];
}

#endif // FOVEA_DIALECT_TILE_IR_TILESEMAPHOREOPS_TD
