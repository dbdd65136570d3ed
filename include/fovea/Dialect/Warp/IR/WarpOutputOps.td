//===- WarpOutputOps.td - The way out of shared memory -----*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPOUTPUTOPS_TD
#define FOVEA_DIALECT_WARP_IR_WARPOUTPUTOPS_TD

include "fovea/Dialect/Warp/IR/WarpTmemOps.td"

def Warp_LocalStoreOp : Warp_OpWithEffects<"local_store", [NamedOpInterface]> {
  let summary = "writes a register tile to a shared buffer";
  let description = [{
    In a role of several warp groups each writes the rows that it holds. These
    belong to the stage that the role acquired last and has not committed, or to
    one that the warp group waited for and has not released, or to a buffer that
    no pipeline fills. In a stage that it waited for, a warp group may write
    once its own dots have read it: as a first operand, a dot reads only the
    rows that the warp group holds.

    The matrix units and the copy engine see the rows after
    `warp.fence_stores`, or once the stage is committed.

    With `fragments` the buffer holds the tile as memory in fragments does (`tile.store`): for
    `warp.copy_out` with the same word.

    Example:

    ```mlir
    warp.local_store "out" %o to %buffer : tensor<128x64xbf16, #tile.reg>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the elements">:$value,
    Arg<Warp_SharedBuffer, "the buffer that is written">:$target,
    Arg<UnitAttr, "the buffer gets the order of the matrix unit's fragments">:$fragments,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let builders = [OpBuilder<(ins "::mlir::Value":$value,
                                "::mlir::Value":$target,
                                "::mlir::StringAttr":$name), [{
    build($_builder, $_state, value, target, /*fragments=*/::mlir::UnitAttr(),
          name);
  }]>];
  let assemblyFormat = [{
    ($name^)? $value (`fragments` $fragments^)? `to` $target attr-dict `:` type($value) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Warp_FenceStoresOp : Warp_OpWithEffects<"fence_stores"> {
  let summary = "shows stores to the units that run on their own";
  let description = [{
    What the executing warp group stored to the buffer before, its dots and
    copies see that it issues after. Other warp groups need a pipeline besides.

    Example:

    ```mlir
    warp.fence_stores %buffer : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins Arg<Warp_SharedBuffer, "the buffer whose stores become visible">:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Warp_CopyOutOp : Warp_OpWithEffects<"copy_out", [
    NamedOpInterface, AddsToMemoryOpInterface]> {
  let summary = "copies a shared buffer to a box of global memory";
  let description = [{
    The reverse of `warp.copy`: what lies outside the memref is not written. In
    a role of several warp groups each copies the rows that it holds, of equal
    parts of the buffer its own.

    Without `async` the buffer is read when the op is done. With `async` it may
    be read at any time until a `warp.copy_out_wait` of it is done. Elements are
    written at any time, in any order.

    With `add` each element is added to what memory holds, as one step: copies
    that add to the same place may run at the same time. With `fragments` memory is laid out as
    `tile.store` has it; sums of f32 are added to that, each warp's 16 rows in one piece.

    Example:

    ```mlir
    warp.copy_out async "out" %buffer to %O[%b, %h, %i, %c0] dims [2, 3]
      : memref<128x64xbf16, #warp.shared<row_bytes = 128>> to memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "the buffer that is read">:$source,
    Arg<AnyMemRef, "the global memory that is written, a box the size of the buffer">:$target,
    Arg<Variadic<Index>, "where the box starts: an index for each dimension of the memref">:$indices,
    Arg<DenseI64ArrayAttr, "the dimensions of the memref that rows and columns run along; -1: none">:$dims,
    Arg<OptionalAttr<DenseI64ArrayAttr>, "[d, n]: n neighbouring rows run along dimension d">:$fold,
    Arg<UnitAttr, "memory has the order of the matrix unit's fragments">:$fragments,
    Arg<UnitAttr, "the buffer may be read later, until it is waited for">:$async,
    Arg<UnitAttr, "elements are added to what is there">:$add,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
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
  }];
  let assemblyFormat = [{
    (`async` $async^)? (`add` $add^)? ($name^)? $source `to` $target `[` $indices `]`
    `dims` $dims (`fold` $fold^)? (`fragments` $fragments^)? attr-dict
    `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def Warp_CopyOutWaitOp : Warp_OpWithEffects<"copy_out_wait"> {
  let summary = "waits until copies out have read their buffer";
  let description = [{
    All that the executing warp group issued before, of any stage of the buffer:
    its rows may be overwritten, its stage released. With `written` also until
    what they copied is in memory.

    Example:

    ```mlir
    warp.copy_out_wait %buffer : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    ```
  }];
  let arguments = (ins
    Arg<Warp_SharedBuffer, "the buffer, whole or a stage">:$buffer,
    Arg<UnitAttr, "waits until memory is written, too">:$written);
  let assemblyFormat = [{
    (`written` $written^)? $buffer attr-dict `:` type($buffer)
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPOUTPUTOPS_TD
