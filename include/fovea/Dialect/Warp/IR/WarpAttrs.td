//===- WarpAttrs.td - Attributes and types of the warp dialect -*- tablegen -*-===//
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
  let summary = "shared memory, as swizzled panels";
  let description = [{
    The memory space of a buffer in shared memory. Its last two dimensions are
    rows and columns, kept as panels of as many columns as `row_bytes` bytes
    hold, 32, 64 or 128: panel by panel, row by row. Within a panel the 16-byte
    chunk `c` of row `r` lies at chunk `c xor ((r * row_bytes / 128) mod chunks)`, so
    that eight consecutive rows of one chunk touch all banks. For rows of 32,
    64, 128 bytes these are the 32, 64 and 128-byte swizzles of Hopper's copy
    engine. If panels do not divide the columns, the last one is kept whole.

    In a cluster each CTA keeps the whole buffer, and what is copied into it is
    copied to all. With `ctas`, the CTAs keep equal consecutive parts of the
    rows.

    Example: `memref<2x64x128xbf16, #warp.shared<row_bytes = 128>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "bytes of a row of a panel: 32, 64 or 128">:$rowBytes,
    DefaultValuedParameter<"int64_t", "1", "the cluster's CTAs that keep a part of the rows each; 1: each keeps all">:$ctas);
  let assemblyFormat = "`<` `row_bytes` `=` $rowBytes (`,` `ctas` `=` $ctas^)? `>`";
  let builders = [AttrBuilder<(ins "int64_t":$rowBytes), [{
    return $_get($_ctxt, rowBytes, /*ctas=*/1);
  }]>];
  let genVerifyDecl = 1;
}

def Warp_TmemAttr : Warp_Attr<"Tmem", "tmem"> {
  let summary = "tensor memory";
  let description = [{
    The memory space of matrices that the matrix units of Blackwell accumulate
    in: 128 rows by 512 columns of 32 bits for each CTA. It is read and written
    a row a thread, and by dots in memory form.

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
    `2 * (l mod 4)` and the next, of rows `l / 4` and `l / 4 + 8`: the
    accumulator of mma.sync, and, of 16-bit elements of two neighbouring
    blocks, its first operand (PTX ISA, matrix fragments for m16n8k16).
    Registers are ordered by row block, column block, row, column.

    With `column_warps`, so many warps share each part of the rows: they take
    columns in turn, 16 at a time, so that what all of them read of a row of
    shared memory is one piece. Warp `w` has part `w mod warps` of the rows and
    is number `w / warps` of those who share it. Nobody has whole rows then:
    such tiles are neither reduced along rows nor first operands, but go
    through shared memory.

    Example: `tensor<64x256xf32, #warp.mma_sync<warps = 2, column_warps = 4>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "warps that part the rows">:$warps,
    DefaultValuedParameter<"int64_t", "1", "warps that share the columns of each part of the rows">:$columnWarps);
  let assemblyFormat = [{
    `<` `warps` `=` $warps (`,` `column_warps` `=` $columnWarps^)? `>`
  }];
  let builders = [AttrBuilder<(ins "int64_t":$warps), [{
    return $_get($_ctxt, warps, /*columnWarps=*/1);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns that one of the warps which share rows takes at a time.
    static constexpr int64_t kTurnColumns = 16;
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
    Each of `groups` warp groups (four warps) holds 64 consecutive rows: warp `w`
    of a role holds rows `16 w` to `16 w + 15`, its lanes as in
    `#warp.mma_sync`: the accumulator of wgmma.mma_async.m64nNk16 and, of 16-bit
    elements, its first operand in registers (PTX ISA, register fragments of
    wgmma). A tile has `64 * groups` rows, or 1. Warps count from the first of
    their role.
  }];
  let parameters = (ins AttrParameter<"int64_t", "warp groups that part the rows, 64 each">:$groups);
  let assemblyFormat = "`<` `groups` `=` $groups `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasStoreFragments() const { return true; }
    int64_t getFragmentWarps() const { return kGroupWarps * getGroups(); }
    int64_t getRowWarps() const { return getFragmentWarps(); }
  }];
}

def Warp_OperandAttr : Warp_Attr<"Operand", "operand", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface, ["getRowWarps"]>]> {
  let summary = "a matrix instruction's first operand of 8 or 32 bits";
  let description = [{
    The same rows in the same lanes as `of`, the layout of an accumulator, but
    other columns: each lane holds as many neighbours as make a word of 32 bits.
    Columns come in blocks of `128 / element_bits`; lane `l` holds columns
    `n * (l mod 4)` and on, `n = 32 / element_bits` of them. Of two neighbouring
    blocks that is the first operand of mma.sync and wgmma (PTX ISA, matrix
    fragments of .e4m3 and .tf32). Of 16 bits it is `of` itself.

    Example: `tensor<64x32xf8E4M3FN, #warp.operand<of = #warp.wgmma<groups = 1>, element_bits = 8>>`
  }];
  let parameters = (ins
    AttrParameter<"::mlir::Attribute", "the accumulator's layout, which says where rows lie">:$of,
    AttrParameter<"int64_t", "the width of an element: 8 or 32 bits">:$elementBits);
  let assemblyFormat = "`<` `of` `=` $of `,` `element_bits` `=` $elementBits `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static bool isFor(int64_t elementBits) {
      return elementBits == 8 || elementBits == 32;
    }
    ThreadLayoutAttrInterface getRowsLayout() const;
  }];
}

def Warp_LanesAttr : Warp_Attr<"Lanes", "lanes", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "columns by lanes, the same in each warp";
  let description = [{
    Lane `l` of each warp holds column `32 r + l` of a tile of one row in register
    `r`: for what warps decide by votes, each for itself, and for what one warp
    alone finds.

    Example: `tensor<1x32xi1, #warp.lanes>`
  }];
  let extraClassDeclaration = "bool isOneWarps() const { return true; }";
}

def Warp_DiagonalsAttr : Warp_Attr<"Diagonals", "diagonals", [
    RegisterEncodingAttrInterface,
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<ThreadLayoutAttrInterface>]> {
  let summary = "the diagonals of each warp's rows";
  let description = [{
    Of a column tile that holds the diagonals of a tile of `rows` rows
    (`tile.diagonals`), each of `warps` warps holds those that its own rows take
    part in, `rows / warps` consecutive ones. Lane `l` holds column `16 r + l` of
    them in register `r`: 32 neighbours of a register overlap with half of the
    next one's, so that whatever 16 neighbours a fragment needs lie in one
    register of the warp's lanes.

    Example: `tensor<1x256xf32, #warp.diagonals<rows = 128, warps = 8>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "rows of the tile that the diagonals make">:$rows,
    AttrParameter<"int64_t", "warps that part these rows">:$warps);
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
  let summary = "the diagonals of each lane's elements";
  let description = [{
    Of such a column tile each lane holds the diagonals that its own elements of
    an accumulator (`#warp.wgmma`, `#warp.mma_sync`) lie on: those of its warp's
    first 8 rows and columns, and all that are multiples of 8 further on. So
    lanes that load diagonals have nothing to exchange.

    Example: `tensor<1x192xf32, #warp.fragment_diagonals<rows = 128, warps = 8>>`
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "rows of the tile that the diagonals make">:$rows,
    AttrParameter<"int64_t", "warps that part these rows">:$warps);
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
                ["isAsynchronous", "getOperandLayout"]> {
  let summary = "the matrix unit of mma.sync";
  let description = [{
    A warp multiplies what its lanes hold, and is done when the instruction
    returns (mma.sync.m16n8k16). Accumulators are in `#warp.mma_sync`.
  }];
}

def Warp_WgmmaUnitAttr : Warp_Unit<"WgmmaUnit", "wgmma_unit",
                                   ["takesOnes", "getOperandLayout"]> {
  let summary = "the matrix unit of wgmma";
  let description = [{
    A warp group has a product made while it goes on, of operands in shared
    memory, the first one in registers if it likes (wgmma.mma_async.m64nNk16).
    Accumulators are in `#warp.wgmma`.
  }];
  let extraClassDeclaration = [{
    static constexpr int64_t kGroupRows = 64;
  }];
}

def Warp_Tcgen05UnitAttr
    : Warp_Unit<"Tcgen05Unit", "tcgen05_unit",
                ["accumulatesInMemory", "readsRegisters"]> {
  let summary = "the matrix unit of tcgen05";
  let description = [{
    One thread has products made, of operands in shared memory, the first one in
    tensor memory if it likes, into accumulators there. A warp group holds an
    accumulator's 128 rows when it reads them.
  }];
}

def Warp_PipelineType : Warp_Type<"Pipeline", "pipeline"> {
  let summary = "a ring of stages between producer and consumer";
  let parameters = (ins TypeParameter<"int64_t", "stages of the ring, at most 32">:$stages);
  let assemblyFormat = "`<` $stages `>`";
  let genVerifyDecl = 1;
}

def Warp_PendingType : Warp_Type<"Pending", "pending"> {
  let summary = "a tile that the matrix units have not delivered yet";
  let description = [{
    What an asynchronous dot gives; `warp.dot_wait` turns it into the tile. It can
    be carried through loops and added to by another asynchronous dot, and no op
    reads it, so a result can't be used before its wait.
  }];
  let parameters = (ins TypeParameter<"::mlir::RankedTensorType", "the type of what is delivered">:$tile);
  let assemblyFormat = "`<` $tile `>`";
}

def Warp_TurnsType : Warp_Type<"Turns", "turns"> {
  let summary = "an order of turns among warp groups";
  let parameters = (ins TypeParameter<"int64_t", "warp groups that take turns, at most 15: each has a named barrier">:$groups);
  let assemblyFormat = "`<` $groups `>`";
  let genVerifyDecl = 1;
}

def Warp_MailboxType : Warp_Type<"Mailbox", "mailbox"> {
  let summary = "slots for one integer each, in shared memory";
  let parameters = (ins TypeParameter<"int64_t", "how many integers there is room for, at most 32">:$slots);
  let assemblyFormat = "`<` $slots `>`";
  let genVerifyDecl = 1;
}

#endif // FOVEA_DIALECT_WARP_IR_WARPATTRS_TD
