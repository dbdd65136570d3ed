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

def Attn_Layout : I32EnumAttr<"Layout", "order of a tensor's dimensions", [
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
  let summary = "every batch entry holds full sequences";
  let description = [{
    All `Sq` queries and `Skv` keys of each batch entry exist. Takes no
    operands; the default, not printed.
  }];
}

def Attn_LengthsAttr : Attn_SequenceForm<"Lengths", "lengths"> {
  let summary = "each batch entry has its own number of keys";
  let description = [{
    `lengths(%n : tensor<Bxi32>)`: batch entry `b` has `n[b]` keys, the first
    ones of the buffer; the rest is not read into any result. Values outside
    `[0, Skv]` are clamped. All `Sq` queries exist.
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::fovea::attn::Contents> getContents() const;
    ::fovea::attn::KeyPlaces getKeyPlaces() const;
  }];
}

def Attn_PackedAttr : Attn_SequenceForm<"Packed", "packed"> {
  let summary = "sequences of different lengths, end to end";
  let description = [{
    `packed(%cu_q, %cu_k : tensor<(N+1)xi32>, tensor<(N+1)xi32>)`: the batch
    dimension is 1; sequence `n` holds queries `cu_q[n]` to `cu_q[n+1]` and keys
    `cu_k[n]` to `cu_k[n+1]`. Regions see `b = n` and positions from 0. Offsets
    ascend. Output rows of no sequence are not specified; kernels leave them as
    they are. Sequences are worked on in their order.
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::fovea::attn::Contents> getContents() const;
    ::fovea::attn::KeyPlaces getKeyPlaces() const;
  }];
}

def Attn_PagedAttr : Attn_SequenceForm<"Paged", "paged"> {
  let summary = "keys and values in pages";
  let description = [{
    `paged(%table, %n : tensor<BxPxi32>, tensor<Bxi32>, page = 64)`: K and V
    are pools of pages (pages in the batch dimension, `page` rows in the
    sequence dimension); key `j` of batch entry `b` is row `j mod page` of page
    `table[b, j / page]`; entry `b` has `n[b]` keys.

    No pass lowers this form to kernels: the interpreter runs it at the `attn`
    level, `attn-to-tile` refuses it, and it has no gradients.
  }];
  let parameters = (ins AttrParameter<"int64_t", "rows of a page">:$page);
  let assemblyFormat = "`<` `page` `=` $page `>`";
  let extraClassDeclaration = [{
    ::fovea::attn::KeyPlaces getKeyPlaces() const;
    void printParameters(::mlir::OpAsmPrinter &printer) const;
  }];
}

#endif // FOVEA_DIALECT_ATTN_IR_ATTNATTRS_TD
