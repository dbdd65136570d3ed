//===- WarpBase.td - The warp dialect ----------------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPBASE_TD
#define FOVEA_DIALECT_WARP_IR_WARPBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::fovea::warp";
  let summary = "Who does it and when";
  let description = [{
    The `warp` dialect says where a tile program's data is on chip and when it
    moves: shared buffers, asynchronous copies, multi-stage pipelines, dots on
    what lies in shared memory, and layouts that say which thread holds which
    element of a register tile. It does not know addresses or instruction
    encodings.

    A *pipeline* is a ring of stages. The producer acquires a stage (waits until
    all consumers released it), starts copies into it and commits; the consumer
    waits for the commit, reads and releases. Stage and phase are explicit: the
    stage is the position in the ring, the phase flips each time the ring wraps.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::fovea::tile::TileDialect"];
}

class Warp_Attr<string attrName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Warp_Dialect, attrName, traits> {
  let mnemonic = attrMnemonic;
}

class Warp_Type<string typeName, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Warp_Dialect, typeName, traits> {
  let mnemonic = typeMnemonic;
}

class Warp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Warp_Dialect, mnemonic, traits>;

#endif // FOVEA_DIALECT_WARP_IR_WARPBASE_TD
