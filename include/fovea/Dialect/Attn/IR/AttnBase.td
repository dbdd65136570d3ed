//===- AttnBase.td - The attn dialect ----------------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_IR_ATTNBASE_TD
#define FOVEA_DIALECT_ATTN_IR_ATTNBASE_TD

include "fovea/Support/Described.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::fovea::attn";
  let summary = "Attention variants as mathematics on tensors";
  let description = [{
    The `attn` dialect describes attention as mathematics on tensors: queries,
    keys, values, a `score_mod` and a `mask_mod` region, and the memory layout
    of sequences. It has no tile sizes, loops, memory spaces or targets.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

class Attn_Attr<string attrName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Attn_Dialect, attrName, traits> {
  let mnemonic = attrMnemonic;
}

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

#endif // FOVEA_DIALECT_ATTN_IR_ATTNBASE_TD
