//===- WarpTmemOps.td - Tensor memory and dots into it -----*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPTMEMOPS_TD
#define FOVEA_DIALECT_WARP_IR_WARPTMEMOPS_TD

include "fovea/Dialect/Warp/IR/WarpRoleOps.td"

def Warp_TmemBuffer
    : Type<CPred<"::fovea::warp::isTmemBuffer($_self)">,
           "matrix of 128 rows in tensor memory", "::mlir::MemRefType">;

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

def Warp_TmemAllocOp : Warp_Op<"tmem_alloc"> {
  let summary = "allocates a matrix in tensor memory";
  let description = [{
    Allocates a matrix in tensor memory that lives as long as the CTA. A CTA has
    128 rows by 512 columns of 32 bits. `column` is the first column of the
    matrix; matrices may overlap.

    Example:

    ```mlir
    %s = warp.tmem_alloc column(128) : memref<128x128xf32, #warp.tmem>
    ```
  }];
  let arguments = (ins Arg<I64Attr, "the first column, counted in 32-bit columns, from 0 to 511">:$column);
  let results = (outs Res<Warp_TmemBuffer, "the matrix", [MemAlloc]>:$buffer);
  let assemblyFormat = "`column` `(` $column `)` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_TmemViewOp : Warp_Op<"tmem_view", [Pure]> {
  let summary = "views columns of a matrix in tensor memory as another type";
  let description = [{
    Returns a view of `source` that starts at column `from`, counted in 32-bit
    columns. Each such column holds two 16-bit elements, so the probabilities in
    bf16 fit over the upper half of the f32 scores that they are computed from.

    Example:

    ```mlir
    %p = warp.tmem_view %s from 64 : memref<128x128xf32, #warp.tmem> to memref<128x128xbf16, #warp.tmem>
    ```
  }];
  let arguments = (ins
    Arg<Warp_TmemBuffer, "the whole matrix">:$source,
    Arg<I64Attr, "the first column of the view, counted in 32-bit columns">:$from);
  let results = (outs Res<Warp_TmemBuffer, "the view">:$result);
  let assemblyFormat = [{
    $source `from` $from attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_TmemLoadOp : Warp_OpWithEffects<"tmem_load", [
    DeclareOpInterfaceMethods<LaneAccessOpInterface, ["getAccessedBuffer", "getLaneFences"]>]> {
  let summary = "loads a register tile from tensor memory";
  let description = [{
    Loads a matrix in tensor memory into a register tile. The load is complete
    when the op completes.

    Example:

    ```mlir
    %x = warp.tmem_load %s : memref<128x128xf32, #warp.tmem> to tensor<128x128xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Warp_TmemBuffer, "the matrix to read">:$source);
  let results = (outs Res<Tile_AnyTile, "its elements">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Warp_TmemStoreOp : Warp_OpWithEffects<"tmem_store", [
    NamedOpInterface,
    DeclareOpInterfaceMethods<LaneAccessOpInterface, ["getAccessedBuffer", "getLaneFences"]>]> {
  let summary = "stores a register tile to tensor memory";
  let description = [{
    Stores a register tile to a matrix in tensor memory. The matrix belongs to
    the stage that the role acquired last and has not committed. A role that is
    the only consumer of a stage may also update the matrix in place, between
    the wait and the release.

    Example:

    ```mlir
    warp.tmem_store "p" %x to %p : tensor<128x128xbf16, #tile.reg>, memref<128x128xbf16, #warp.tmem>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the elements to store">:$value,
    Arg<Warp_TmemBuffer, "the matrix to write">:$target,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
  let assemblyFormat = [{
    ($name^)? $value `to` $target attr-dict `:` type($value) `,` type($target)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Dots that accumulate in tensor memory
//===----------------------------------------------------------------------===//

def Warp_DotIntoOp : Warp_OpWithEffects<"dot_into", [NamedOpInterface]> {
  let summary = "asynchronous matrix multiply-accumulate into tensor memory";
  let description = [{
    Issues `acc = a * b`, or `acc += a * b` if `accumulate` is true. `a` is in
    shared or tensor memory, `b` is in shared memory and is transposed with
    `transpose_b`. One thread of the role issues the dot.

    The dots of a CTA complete in the order of their issue, so a dot may use the
    result of an earlier one without a wait. `warp.commit_after_dots` and
    `warp.release_after_dots` signal completion to other roles. Each covers all
    dots before it: several dots can share one signal, and one dot can both
    commit its result and release its operands.

    Example:

    ```mlir
    warp.dot_into "s" %q, %k, %s accumulate(%false) transpose_b
      : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>,
        memref<128x128xf32, #warp.tmem>
    warp.commit_after_dots %scores[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
  let arguments = (ins
    Arg<AnyTypeOf<[Warp_TmemBuffer, Warp_SharedBuffer]>, "first factor, in tensor or shared memory: MxK">:$a,
    Arg<Warp_SharedBuffer, "second factor, in shared memory: KxN, NxK if transposed">:$b,
    Arg<Warp_TmemBuffer, "the accumulator, in tensor memory: MxN">:$acc,
    Arg<I1, "whether to accumulate into `acc` instead of overwriting it">:$accumulate,
    Arg<UnitAttr, "`b` is transposed">:$transposeB,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops refer to this op">:$name);
  let assemblyFormat = [{
    ($name^)? $a `,` $b `,` $acc `accumulate` `(` $accumulate `)`
    (`transpose_b` $transposeB^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Warp_CommitAfterDotsOp
    : Warp_PipelineSyncOp<"commit_after_dots", "Commit",
                        "signals that a stage is full once earlier dots have finished",
                        /*afterDots=*/true> {
  let description = [{
    Commits the stage as `warp.producer_commit` does, once all `warp.dot_into`
    ops that the role issued before have finished. The op itself does not wait.

    Example:

    ```mlir
    warp.commit_after_dots %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ReleaseAfterDotsOp
    : Warp_PipelineSyncOp<"release_after_dots", "Release",
                        "releases a stage once earlier dots have finished",
                        /*afterDots=*/true> {
  let description = [{
    Releases the stage as `warp.consumer_release` does, once all `warp.dot_into`
    ops that the role issued before have finished. The op itself does not wait.

    Example:

    ```mlir
    warp.release_after_dots %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPTMEMOPS_TD
