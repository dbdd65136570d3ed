//===- WarpOutputOps.td - Stores through shared memory -----*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPOUTPUTOPS_TD
#define FOVEA_DIALECT_WARP_IR_WARPOUTPUTOPS_TD

include "fovea/Dialect/Warp/IR/WarpTmemOps.td"

def Warp_LocalStoreOp : Warp_OpWithEffects<"local_store", [
    NamedOpInterface,
    DeclareOpInterfaceMethods<LaneAccessOpInterface, ["getAccessedBuffer", "getLaneFences"]>]> {
  let summary = "stores a register tile to a shared buffer";
  let description = [{
    Stores a register tile to a buffer. In a role of several warp groups, each
    group stores the rows that it owns. These rows belong to one of the
    following:

    - the stage that the role acquired last and has not committed;
    - a stage that the warp group has waited for and has not released;
    - a buffer that no pipeline fills.

    In the second case a warp group may store as soon as its own dots have read
    its rows: no other warp group's dot reads these rows as its first operand.

    MMA units and TMA see the rows after `warp.fence_stores` or
    `warp.sync_lanes async_proxy`.

    With `fragments`, the buffer receives the elements in MMA fragment order
    (see `tile.store`), for a `warp.copy_out` that also has `fragments`. With
    `column`, the tile has fewer columns than the buffer and replaces its columns
    from that one on; other ops store the rest.

    Example:

    ```mlir
    warp.local_store "out" %o to %buffer : tensor<128x64xbf16, #tile.reg>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the elements to store">:$value,
    Arg<Warp_SharedBuffer, "the buffer to write">:$target,
    Arg<UnitAttr, "the buffer is in the order of MMA fragments">:$fragments,
    Arg<OptionalAttr<I64Attr>, "the first column to replace; absent: the tile has the shape of the buffer">:$column,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
  let builders = [OpBuilder<(ins "::mlir::Value":$value,
                                "::mlir::Value":$target,
                                "::mlir::StringAttr":$name), [{
    build($_builder, $_state, value, target, /*fragments=*/::mlir::UnitAttr(),
          /*column=*/::mlir::IntegerAttr(), name);
  }]>];
  let assemblyFormat = [{
    ($name^)? $value (`fragments` $fragments^)? `to` $target
    (`column` `(` $column^ `)`)? attr-dict `:` type($value) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Warp_FenceStoresOp : Warp_OpWithEffects<"fence_stores", [
    DeclareOpInterfaceMethods<LaneSyncOpInterface, ["getFences", "getFencedBuffer"]>]> {
  let summary = "makes stores to shared memory visible to MMA units and TMA";
  let description = [{
    Orders stores of the executing warp group to the buffer before the dots and
    copies that it issues after the op (a fence from the generic to the async
    proxy). The lanes of each warp synchronise. Other warp groups additionally
    need a pipeline.

    Example:

    ```mlir
    warp.fence_stores %buffer : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins Arg<Warp_SharedBuffer, "the buffer whose stores become visible">:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Warp_CopyOutOp : Warp_OpWithEffects<"copy_out", [
    NamedOpInterface, AddsToMemoryOpInterface, LaneSyncOpInterface]> {
  let summary = "copies a shared buffer to a tile of global memory";
  let description = [{
    The reverse of `warp.copy`: elements outside the memref are not written. In
    a role of several warp groups, each group copies the rows that it owns, an
    equal part of the buffer.

    Without `async`, the buffer has been read when the op completes. With
    `async`, it may be read at any time until a `warp.copy_out_wait` on it
    completes. In both cases global memory may be written later, in any order.

    With `add`, each element is added to memory atomically, so copies that add
    to the same address may run at the same time. With `fragments`, memory is in
    fragment order (see `tile.store`); f32 sums are then added with one
    contiguous copy per 16 rows of a warp.

    Example:

    ```mlir
    warp.copy_out async "out" %buffer to %O[%b, %h, %i, %c0] dims [2, 3]
      : memref<128x64xbf16, #warp.shared<row_bytes = 128>> to memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "the buffer to read">:$source,
    Arg<AnyMemRef, "the global memory to write">:$target,
    Arg<Variadic<Index>, "start of the tile: one index per dimension of the memref">:$indices,
    Arg<DenseI64ArrayAttr, "memref dimensions of the rows and of the columns; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: n adjacent rows run along dimension d">:$fold,
    Arg<UnitAttr, "memory is in the order of MMA fragments">:$fragments,
    Arg<UnitAttr, "the buffer may be read until a wait for the copy">:$async,
    Arg<UnitAttr, "elements are added to memory atomically">:$add,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
  let builders = [OpBuilder<(ins "::mlir::Value":$source,
                                "::mlir::Value":$target,
                                "::mlir::ValueRange":$indices,
                                "::mlir::DenseI64ArrayAttr":$dims,
                                "::mlir::DenseI64ArrayAttr":$fold,
                                "::mlir::UnitAttr":$async,
                                "::mlir::UnitAttr":$add,
                                "::mlir::StringAttr":$name), [{
    build($_builder, $_state, source, target, indices, dims, fold,
          /*fragments=*/::mlir::UnitAttr(), async, add, name);
  }]>];
  let extraClassDeclaration = [{
    tile::BoxDims getBoxDims() {
      return {getDims(), getFold(), getFragments()};
    }
    /// The lanes wait together until the buffer has been read.
    bool synchronizesLanes() { return !getAsync(); }
  }];
  let assemblyFormat = [{
    (`async` $async^)? (`add` $add^)? ($name^)? $source `to` $target `[` $indices `]`
    `dims` $dims (`fold` $fold^)? (`fragments` $fragments^)? attr-dict
    `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def Warp_CopyOutWaitOp : Warp_OpWithEffects<"copy_out_wait", [LaneSyncOpInterface]> {
  let summary = "waits until outstanding copies have read their buffer";
  let description = [{
    Waits until all copies that the executing warp group has issued from any
    stage of the buffer have read it. Its rows may then be overwritten and its
    stage released. With `written`, the op also waits until these copies have
    written global memory. The lanes of each warp synchronise.

    Example:

    ```mlir
    warp.copy_out_wait %buffer : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "the buffer, or a stage of it">:$buffer,
    Arg<UnitAttr, "also wait until global memory is written">:$written);
  let assemblyFormat = [{
    (`written` $written^)? $buffer attr-dict `:` type($buffer)
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPOUTPUTOPS_TD
