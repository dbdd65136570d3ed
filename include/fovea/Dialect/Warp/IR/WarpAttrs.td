//===- WarpAttrs.td - Warp attributes and types ------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPATTRS_TD
#define FOVEA_DIALECT_WARP_IR_WARPATTRS_TD

include "fovea/Dialect/Warp/IR/WarpBase.td"
include "fovea/Dialect/Warp/IR/WarpInterfaces.td"
include "fovea/Dialect/Plan/IR/PlanInterfaces.td"
include "fovea/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Warp_SharedAttr : Warp_Attr<"Shared", "shared"> {
  let summary = "shared memory, laid out as swizzled panels";
  let description = [{
    The memory space of a buffer in shared memory. The last two dimensions of
    the buffer are rows and columns. Columns are grouped into panels whose rows
    are `row_bytes` bytes wide (32, 64 or 128); the buffer is stored panel by
    panel, and each panel row by row. Within a panel, the 16-byte chunk `c` of
    row `r` is stored at chunk `c xor ((r * row_bytes / 128) mod chunks)`, so
    that the same chunk of eight consecutive rows touches all banks. For rows of
    32, 64 and 128 bytes this is the 32B, 64B and 128B swizzle of TMA. If panels
    do not divide the columns, the last panel is still stored in full.

    In a cluster, each CTA keeps the whole buffer, and a copy into it is
    multicast to all CTAs. With `ctas`, the rows are divided among the CTAs in
    equal consecutive parts.

    Example: `memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "bytes of a panel row: 32, 64 or 128">:$rowBytes,
    DefaultValuedParameter<"int64_t", "1", "number of CTAs of the cluster that divide the rows; 1: each CTA keeps all rows">:$ctas);
  let assemblyFormat = "`<` `row_bytes` `=` $rowBytes (`,` `ctas` `=` $ctas^)? `>`";
  let builders = [AttrBuilder<(ins "int64_t":$rowBytes), [{
    return $_get($_ctxt, rowBytes, /*ctas=*/1);
  }]>];
  let genVerifyDecl = 1;
}

def Warp_TmemAttr : Warp_Attr<"Tmem", "tmem"> {
  let summary = "tensor memory";
  let description = [{
    The memory space of accumulators and operands in Blackwell's tensor memory:
    128 rows by 512 columns of 32 bits per CTA. `warp.tmem_load` and
    `warp.tmem_store` access it with one row per thread, and `warp.dot_into`
    reads and accumulates in it.

    Example: `memref<128x128xf32, #warp.tmem>`
  }];
}

def Warp_MmaSyncAttr : Warp_Attr<"MmaSync", "mma_sync", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "fragments of mma.sync.m16n8k16";
  let description = [{
    Each of `warps` warps holds an equal number of consecutive rows, in blocks
    of 16; columns come in blocks of 8. In a 16x8 block, lane `l` holds columns
    `2 * (l mod 4)` and the next one, of rows `l / 4` and `l / 4 + 8`. This is
    the accumulator of mma.sync. For 16-bit elements, two adjacent blocks are
    also its first operand (PTX ISA, matrix fragments for m16n8k16). Registers
    are ordered by row block, column block, row, column.

    With `column_warps`, that number of warps shares each part of the rows.
    Their columns are interleaved in groups of 16, so that their reads of one
    shared-memory row are contiguous. Warp `w` has part `w mod warps` of the
    rows and is number `w / warps` among the warps that share it. No warp holds
    complete rows in this layout, so such a tile cannot be reduced along its
    rows or be the first operand of a dot; it has to go through shared memory.

    Example: `tensor<64x256xf32, #warp.mma_sync<warps = 2, column_warps = 4>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "number of warps that divide the rows">:$warps,
    DefaultValuedParameter<"int64_t", "1", "number of warps that share the columns of each part of the rows">:$columnWarps);
  let assemblyFormat = [{
    `<` `warps` `=` $warps (`,` `column_warps` `=` $columnWarps^)? `>`
  }];
  let builders = [AttrBuilder<(ins "int64_t":$warps), [{
    return $_get($_ctxt, warps, /*columnWarps=*/1);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns that one of the warps sharing rows takes at a time.
    static constexpr int64_t kInterleaveColumns = 16;
    int64_t getFragmentWarps() const {
      return getColumnWarps() == 1 ? getWarps() : 0;
    }
    int64_t getRowWarps() const { return getFragmentWarps(); }
  }];
}

def Warp_WgmmaAttr : Warp_Attr<"Wgmma", "wgmma", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "fragments of wgmma.mma_async";
  let description = [{
    Each of `groups` warp groups (four warps) holds 64 consecutive rows. Warp
    `w` of a role holds rows `16 w` to `16 w + 15`; within a warp, lanes hold
    elements as in `#warp.mma_sync`. This is the accumulator of
    wgmma.mma_async.m64nNk16 and, for 16-bit elements, its first operand in
    registers (PTX ISA, register fragments of wgmma). A tile has `64 * groups`
    rows, or 1. Warps are counted from the first warp of their role.
  }];
  let parameters = (ins AttrParameter<"int64_t", "number of warp groups that divide the rows, 64 rows each">:$groups);
  let assemblyFormat = "`<` `groups` `=` $groups `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasStoreFragments() const { return true; }
    int64_t getFragmentWarps() const { return kGroupWarps * getGroups(); }
    int64_t getRowWarps() const { return getFragmentWarps(); }
  }];
}

def Warp_ThreadRowsAttr : Warp_Attr<"ThreadRows", "thread_rows", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "one row per thread of a warp group";
  let description = [{
    Thread `t` of a warp group (four warps) holds row `t` of a tile of 128 rows,
    with its columns in order of the registers. This is how `tcgen05.ld` and
    `tcgen05.st` access tensor memory (PTX ISA, shape .32x32b): a row is a lane
    of tensor memory, and warp `w` accesses lanes `32 w` to `32 w + 31`. Threads
    exchange nothing to reduce a row. A tile with one row is replicated: each
    thread holds all its columns. A warp group starts at a multiple of four
    warps of the CTA.

    Example: `tensor<128x64xf32, #warp.thread_rows>`
  }];
  let extraClassDeclaration = [{
    int64_t getRowWarps() const { return kGroupWarps; }
    bool holdsWholeRows() const { return true; }
  }];
}

def Warp_OperandAttr : Warp_Attr<"Operand", "operand", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface, ["getRowWarps"]>]> {
  let summary = "first operand of an MMA instruction with 8-bit or 32-bit elements";
  let description = [{
    The first operand, in registers, of an MMA with elements of 8 or 32 bits.
    Each lane holds the same rows as in the accumulator layout `of`, but other
    columns: adjacent ones that fill one 32-bit register. Columns come in blocks
    of `128 / element_bits`, and lane `l` holds the `n = 32 / element_bits`
    columns of each block that start at `n * (l mod 4)`. Two adjacent blocks are
    the first operand of mma.sync and wgmma (PTX ISA, matrix fragments for .e4m3
    and .tf32). For 16-bit elements the operand layout is `of` itself.

    Example: `tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>`
  }];
  let parameters = (ins
    AttrParameter<"::mlir::Attribute", "the accumulator's layout, which determines the rows of each lane">:$of,
    AttrParameter<"int64_t", "element width: 8 or 32 bits">:$elementBits);
  let assemblyFormat = "`<` `of` `=` $of `,` `element_bits` `=` $elementBits `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static bool isFor(int64_t elementBits) {
      return elementBits == 8 || elementBits == 32;
    }
    ThreadLayoutAttrInterface getRowsLayout() const;
  }];
}

def Warp_RowPairsAttr : Warp_Attr<"RowPairs", "row_pairs", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface, ["getRowWarps"]>]> {
  let summary = "fragments of transposed 8-bit elements";
  let description = [{
    Each of `warps` warps holds an equal number of consecutive rows, in blocks
    of 16 rows by 16 columns. In a block, lane `l` holds rows `2 * (l / 4)` and
    the next one, and columns `4 * (l mod 4)` to `4 * (l mod 4) + 3`. Registers
    are ordered by row block, column block, row, column, so that four columns
    fill one 32-bit register.

    `ldmatrix.trans` moves 16-bit units, so a lane receives two adjacent rows of
    a transposed matrix of 8-bit elements. A permutation of the bytes of two
    such registers yields this layout, and `stmatrix` stores it with a row
    address per lane (PTX ISA, ldmatrix and stmatrix).

    With `neighbours = 2`, column blocks have 8 columns, of which lane `l` holds
    `2 * (l mod 4)` and the next one, as in an accumulator. Two such blocks are
    one of 16 columns whose columns are permuted (`warp.convert_layout
    permuted`), and `ldmatrix.trans` loads either.

    Example: `tensor<128x64xf8E4M3FN, #warp.row_pairs<warps = 4>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "number of warps that divide the rows">:$warps,
    DefaultValuedParameter<"int64_t", "4", "adjacent columns that a lane holds: 4 or 2">:$neighbours);
  let assemblyFormat = "`<` `warps` `=` $warps (`,` `neighbours` `=` $neighbours^)? `>`";
  let builders = [AttrBuilder<(ins "int64_t":$warps), [{
    return $_get($_ctxt, warps, /*neighbours=*/4);
  }]>];
  let genVerifyDecl = 1;
}

def Warp_LanesAttr : Warp_Attr<"Lanes", "lanes", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "one column per lane, replicated in each warp";
  let description = [{
    Lane `l` of each warp holds column `32 r + l` of a one-row tile in register
    `r`. This layout is for ballots, which every warp evaluates by itself, and
    for values that a single warp computes.

    Example: `tensor<1x32xi1, #warp.lanes>`
  }];
  let extraClassDeclaration = "bool isOneWarps() const { return true; }";
}

def Warp_DiagonalsAttr : Warp_Attr<"Diagonals", "diagonals", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "relative-position values of each warp's rows";
  let description = [{
    The layout of a `1xN` tile with one value per relative position (column
    minus row) of a tile of `rows` rows; `tile.diagonals` expands it. Each of
    `warps` warps owns `rows / warps` consecutive rows and holds the values of
    all relative positions that occur in them. Lane `l` holds column `16 r + l`
    of these values in register `r`. Adjacent registers overlap by 16 columns.
    Any 16 consecutive values, as a fragment needs them, are therefore in the
    same register of 16 lanes.

    Example: `tensor<1x256xf32, #warp.diagonals<rows = 128, warps = 8>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "number of rows of the expanded tile">:$rows,
    AttrParameter<"int64_t", "number of warps that divide these rows">:$warps);
  let assemblyFormat = "`<` `rows` `=` $rows `,` `warps` `=` $warps `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns between a thread's registers.
    static constexpr int64_t kStep = 16;
    int64_t getRowsOfWarp() const { return getRows() / getWarps(); }
  }];
}

def Warp_FragmentDiagonalsAttr
    : Warp_Attr<"FragmentDiagonals", "fragment_diagonals", [
        RegisterEncodingAttrInterface,
        DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
        DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "relative-position values of each lane's own elements";
  let description = [{
    The layout of a `1xN` tile as in `#warp.diagonals`, but each lane holds the
    values for its own elements of an accumulator (`#warp.wgmma`,
    `#warp.mma_sync`). Within one 8x8 fragment these are two adjacent columns;
    the other fragments use the same columns plus multiples of 8. After loading
    such a tile, lanes exchange nothing.

    Example: `tensor<1x192xf32, #warp.fragment_diagonals<rows = 128, warps = 8>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "number of rows of the expanded tile">:$rows,
    AttrParameter<"int64_t", "number of warps that divide these rows">:$warps);
  let assemblyFormat = "`<` `rows` `=` $rows `,` `warps` `=` $warps `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRowsOfWarp() const { return getRows() / getWarps(); }
  }];
}

class Warp_Unit<string attrName, string attrMnemonic, list<string> methods = []>
    : Warp_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<MatrixUnitAttrInterface, methods>]>;

def Warp_MmaSyncUnitAttr
    : Warp_Unit<"MmaSyncUnit", "mma_sync_unit",
                ["isAsynchronous", "getOperandLayout", "getSumStep"]> {
  let summary = "the MMA unit of mma.sync";
  let description = [{
    Synchronous MMA of one warp (mma.sync.m16n8k16, for f32 mma.sync.m16n8k8
    with tf32 operands): operands are in registers, and the result is available
    when the instruction returns. Accumulators have the layout
    `#warp.mma_sync`.
  }];
}

def Warp_WgmmaUnitAttr : Warp_Unit<"WgmmaUnit", "wgmma_unit",
                                   ["takesOnes", "getOperandLayout"]> {
  let summary = "the MMA unit of wgmma";
  let description = [{
    Asynchronous MMA of one warp group (wgmma.mma_async.m64nNk16). Operands are
    in shared memory, but the first one may be in registers instead.
    Accumulators have the layout `#warp.wgmma`.
  }];
  let extraClassDeclaration = [{
    static constexpr int64_t kGroupRows = 64;
  }];
}

def Warp_Tcgen05UnitAttr
    : Warp_Unit<"Tcgen05Unit", "tcgen05_unit",
                ["accumulatesInMemory", "readsRegisters"]> {
  let summary = "the MMA unit of tcgen05";
  let description = [{
    Asynchronous MMA that a single thread issues (tcgen05.mma). Operands are in
    shared memory; the first one may be in tensor memory. Accumulators are in
    tensor memory. A warp group reads an accumulator with one of its 128 rows
    per thread.
  }];
}

def Warp_PipelineType : Warp_Type<"Pipeline", "pipeline"> {
  let summary = "a ring of stages shared by a producer and its consumers";
  let parameters = (ins TypeParameter<"int64_t", "number of stages in the ring, at most 32">:$stages);
  let assemblyFormat = "`<` $stages `>`";
  let genVerifyDecl = 1;
}

def Warp_PendingType : Warp_Type<"Pending", "pending"> {
  let summary = "an outstanding result of an asynchronous dot";
  let description = [{
    `warp.dot_wait` waits for the dot and returns its tile. Loops can carry a
    value of this type, another asynchronous dot can accumulate into it, and
    `warp.await_reads` waits for the dot's reads. Only `warp.dot_wait` returns
    the elements, so they cannot be used before the wait.
  }];
  let parameters = (ins TypeParameter<"::mlir::RankedTensorType", "the type of the tile after the wait">:$tile);
  let assemblyFormat = "`<` $tile `>`";
}

def Warp_TurnsType : Warp_Type<"Turns", "turns"> {
  let summary = "a ping-pong order of warp groups";
  let parameters = (ins TypeParameter<"int64_t", "number of ordered warp groups, at most 15: each has a named barrier">:$groups);
  let assemblyFormat = "`<` $groups `>`";
  let genVerifyDecl = 1;
}

def Warp_MailboxType : Warp_Type<"Mailbox", "mailbox"> {
  let summary = "a mailbox of integer slots in shared memory";
  let parameters = (ins TypeParameter<"int64_t", "number of slots, one integer each, at most 32">:$slots);
  let assemblyFormat = "`<` $slots `>`";
  let genVerifyDecl = 1;
}

#endif // FOVEA_DIALECT_WARP_IR_WARPATTRS_TD
