//===- AttnAttrs.td - Attributes of the attn dialect -------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_IR_ATTNATTRS_TD
#define FOVEA_DIALECT_ATTN_IR_ATTNATTRS_TD

include "fovea/Dialect/Attn/IR/AttnBase.td"
include "fovea/Dialect/Attn/IR/AttnInterfaces.td"

def Attn_Layout : I32EnumAttr<"Layout", "dimension order of a tensor", [
    I32EnumAttrCase<"BHSD", 0, "bhsd">,
    I32EnumAttrCase<"BSHD", 1, "bshd">
  ]> {
  let cppNamespace = "::fovea::attn";
  let genSpecializedAttr = 0;
}

def Attn_LayoutAttr : EnumAttr<Attn_Dialect, Attn_Layout, "layout"> {
  let assemblyFormat = "`<` $value `>`";
}

class Attn_SequenceForm<string attrName, string attrMnemonic>
    : Attn_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<SequenceFormAttrInterface>]>;

def Attn_DenseAttr : Attn_SequenceForm<"Dense", "dense"> {
  let summary = "all batch entries have full sequences";
  let description = [{
    All `Sq` queries and `Skv` keys of each batch entry are valid. The form has
    no operands. It is the default and is not printed.
  }];
}

def Attn_LengthsAttr : Attn_SequenceForm<"Lengths", "lengths"> {
  let summary = "each batch entry has its own number of keys";
  let description = [{
    `lengths(%n : tensor<Bxi32>)`: batch entry `b` has `n[b]` keys, at the
    beginning of the buffer. Elements after these do not affect any result.
    Values outside `[0, Skv]` are clamped. All `Sq` queries are valid.
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::fovea::attn::Contents> getContents() const;
    ::fovea::attn::SequencePlaces getPlaces() const;
  }];
}

def Attn_PackedAttr : Attn_SequenceForm<"Packed", "packed"> {
  let summary = "packed sequences of different lengths";
  let description = [{
    `packed(%cu_q, %cu_k : tensor<(N+1)xi32>, tensor<(N+1)xi32>)`: the batch
    dimension is 1. Sequence `n` has queries `cu_q[n]` to `cu_q[n+1]` and keys
    `cu_k[n]` to `cu_k[n+1]`. The op's regions receive `b = n` and positions
    relative to the sequence. Offsets must ascend. Output rows outside of all
    sequences are unspecified; kernels do not write them.
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::fovea::attn::Contents> getContents() const;
    ::fovea::attn::SequencePlaces getPlaces() const;
  }];
}

def Attn_PagedAttr : Attn_SequenceForm<"Paged", "paged"> {
  let summary = "paged keys and values";
  let description = [{
    `paged(%table, %n : tensor<BxPxi32>, tensor<Bxi32>, page = 64)`: K and V are
    page pools. Their batch dimension counts pages, and their sequence dimension
    counts the `page` rows of a page. Key `j` of batch entry `b` is row
    `j mod page` of page `table[b, j / page]`. Entry `b` has `n[b]` keys; the
    other rows of its last page, other pages, and entries of the table beyond
    that page do not affect any result. Batch entries may share pages.

    With `paged(%indices, %indptr, %n : tensor<NPxi32>, tensor<(B+1)xi32>,
    tensor<Bxi32>, page = 16)` the pages of all batch entries are one list: page
    `t` of entry `b` is `indices[indptr[b] + t]`, and its last one is before
    `indices[indptr[b+1]]`.

    The interpreter rejects lengths and entries out of range. Kernels clamp
    `n[b]` to the rows of the entry's pages, offsets to the list, and pages to
    those of the pool. They need the page size in the type of K and V. If it is a
    multiple of 8, they choose a `tile_n` that divides it or is a multiple of it;
    otherwise they have no roles, and threads copy row by row. The form has no
    gradients.

    Example:
    ```mlir
    %o = attn.forward %q, %k, %v
      paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 64)
      : tensor<?x8x?x128xbf16>, tensor<?x8x64x128xbf16>, tensor<?x8x64x128xbf16>
      -> tensor<?x8x?x128xbf16>
    ```
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "rows of a page">:$page,
    DefaultValuedParameter<"bool", "false", "true if the pages of all batch entries are one list, with offsets">:$listed);
  let assemblyFormat = "`<` `page` `=` $page (`listed` `=` $listed^)? `>`";
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::fovea::attn::Contents> getContents() const;
    ::fovea::attn::SequencePlaces getPlaces() const;
    void printParameters(::mlir::OpAsmPrinter &printer) const;
  }];
}

def Attn_PackedQueriesAttr
    : Attn_SequenceForm<"PackedQueries", "packed_queries"> {
  let summary = "packed queries over keys of another form";
  let description = [{
    `packed(%cu_q : tensor<(B+1)xi32>)`, alone or followed by the clause
    `lengths` or `paged`: the batch dimension of the queries is 1, and sequence
    `b` has queries `cu_q[b]` to `cu_q[b+1]`. Its keys are those of batch entry
    `b` of that clause; without a clause, all keys of batch entry `b`. So one op
    has prefill chunks, single tokens and drafts. The op's regions receive `b`,
    queries relative to `cu_q[b]`, and keys of the sequence. Offsets must ascend.
    Output rows outside of all sequences are unspecified; kernels do not write
    them. The form has no gradients.

    `packed(%cu_q : tensor<?xi32>, most = 16)` says that sequences have at most
    16 queries, up to 2^30. This is a hint for schedules: results do not depend
    on it.

    Example:
    ```mlir
    %o = attn.forward %q, %k, %v
      packed(%cu_q : tensor<?xi32>)
      paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 64)
      : tensor<1x32x?x128xbf16>, tensor<?x8x64x128xbf16>, tensor<?x8x64x128xbf16>
      -> tensor<1x32x?x128xbf16>
    ```
  }];
  let parameters = (ins
    AttrParameter<"SequenceFormAttrInterface", "the form of the keys">:$keys,
    DefaultValuedParameter<"int64_t", "0",
                           "most queries of a sequence; 0: unknown">:$most);
  let assemblyFormat = "`<` $keys (`,` `most` `=` $most^)? `>`";
  let extraClassDeclaration = [{
    ::mlir::Attribute getKeyForm() const { return getKeys(); }
    ::llvm::SmallVector<::fovea::attn::Contents> getContents() const;
    ::fovea::attn::SequencePlaces getPlaces() const;
    void printParameters(::mlir::OpAsmPrinter &printer) const;
  }];
  let genVerifyDecl = 1;
}

#endif // FOVEA_DIALECT_ATTN_IR_ATTNATTRS_TD
