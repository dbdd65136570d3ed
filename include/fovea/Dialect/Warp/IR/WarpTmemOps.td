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
  let summary = "a matrix in tensor memory";
  let description = [{
    Lives as long as the CTA, which has 512 columns of 32 bits by 128 rows of
    this memory. `column` is the first one; matrices may share columns.

    Example:

    ```mlir
    %s = warp.tmem_alloc column(128) : memref<128x128xf32, #warp.tmem>
    ```
  }];
  let arguments = (ins Arg<I64Attr, "the first column, of 32 bits, from 0 to 511">:$column);
  let results = (outs Res<Warp_TmemBuffer, "the matrix", [MemAlloc]>:$buffer);
  let assemblyFormat = "`column` `(` $column `)` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Warp_TmemViewOp : Warp_Op<"tmem_view", [Pure]> {
  let summary = "some columns of a matrix in tensor memory, as another type";
  let description = [{
    The result starts at column `from` of the source, counted in 32 bits. Two
    elements of 16 bits lie in one such column: weights of bf16 fit over the
    upper half of the scores that they are computed from.

    Example:

    ```mlir
    %p = warp.tmem_view %s from 64 : memref<128x128xf32, #warp.tmem> to memref<128x128xbf16, #warp.tmem>
    ```
  }];
  let arguments = (ins
    Arg<Warp_TmemBuffer, "the whole matrix">:$source,
    Arg<I64Attr, "the first column that is seen, counted in 32 bits">:$from);
  let results = (outs Res<Warp_TmemBuffer, "the columns from there on">:$result);
  let assemblyFormat = [{
    $source `from` $from attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_TmemLoadOp : Warp_OpWithEffects<"tmem_load"> {
  let summary = "reads tensor memory into a register tile";
  let description = [{
    The tile is there when the op is done.

    Example:

    ```mlir
    %x = warp.tmem_load %s : memref<128x128xf32, #warp.tmem> to tensor<128x128xf32, #tile.reg>
    ```
  }];
  let arguments = (ins Arg<Warp_TmemBuffer, "the matrix that is read">:$source);
  let results = (outs Res<Tile_AnyTile, "its elements">:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Warp_TmemStoreOp : Warp_OpWithEffects<"tmem_store", [NamedOpInterface]> {
  let summary = "writes a register tile to tensor memory";
  let description = [{
    Belongs to the stage that the role acquired last and has not committed; a
    role that holds a stage as its only consumer may also change it in place.

    Example:

    ```mlir
    warp.tmem_store "p" %x to %p : tensor<128x128xbf16, #tile.reg>, memref<128x128xbf16, #warp.tmem>
    ```
  }];
  let arguments = (ins
    Arg<Tile_AnyTile, "the elements">:$value,
    Arg<Warp_TmemBuffer, "the matrix that is written">:$target,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let assemblyFormat = [{
    ($name^)? $value `to` $target attr-dict `:` type($value) `,` type($target)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Dots in memory form
//===----------------------------------------------------------------------===//

def Warp_DotIntoOp : Warp_OpWithEffects<"dot_into", [NamedOpInterface]> {
  let summary = "asynchronous matrix product into tensor memory";
  let description = [{
    Issues `acc = a * b`, or `acc += a * b` where `accumulate` holds, with `b`
    transposed on request; `a` lies in shared or in tensor memory, `b` in shared
    memory. One thread of the role issues it. The dots of a CTA are carried out
    in the order of their issue, so one may use what another one before it
    computes. The rest of the program learns that they are done through
    `warp.commit_after_dots` and `warp.release_after_dots`, which say so for all
    dots before them: several dots can share one signal, and one dot can hand
    over its result and give back its operands.

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
    Arg<Warp_TmemBuffer, "where the product goes, in tensor memory: MxN">:$acc,
    Arg<I1, "whether it is added to what is there">:$accumulate,
    Arg<UnitAttr, "`b` is transposed">:$transposeB,
    Arg<OptionalAttr<StrAttr>, "the name by which the plan and other ops mean this one">:$name);
  let assemblyFormat = [{
    ($name^)? $a `,` $b `,` $acc `accumulate` `(` $accumulate `)`
    (`transpose_b` $transposeB^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Warp_CommitAfterDotsOp
    : Warp_PipelineVerb<"commit_after_dots", "Commit",
                        "hands a stage to its consumers once dots are done"> {
  let description = [{
    As `warp.producer_commit`, when all dots in memory form that the role issued
    before are done. The op itself does not wait.

    Example:

    ```mlir
    warp.commit_after_dots %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

def Warp_ReleaseAfterDotsOp
    : Warp_PipelineVerb<"release_after_dots", "Release",
                        "gives a stage back once dots are done"> {
  let description = [{
    As `warp.consumer_release`, when all dots in memory form that the role
    issued before are done. The op itself does not wait.

    Example:

    ```mlir
    warp.release_after_dots %p[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPTMEMOPS_TD
