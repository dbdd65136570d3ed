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
  let summary = "Memory placement, asynchronous copies and warp specialisation";
  let description = [{
    The `warp` dialect states where a tile program keeps its data on the GPU, when
    data moves, and which warps do the work. It has shared-memory buffers,
    asynchronous copies, multi-stage pipelines, dots with operands in shared
    memory, roles of warps, and layouts that map each element of a register tile
    to a thread. It leaves addresses and instruction encodings to
    `warp-to-nvvm`.

    A *pipeline* is a ring of stages shared by one producer and its consumers.
    The producer acquires a stage (waits until all consumers have released it),
    starts copies into it and commits it. A consumer waits for the commit, reads
    the stage and releases it. Stage and phase are explicit operands: the stage
    is the index in the ring, and the phase is a bit that flips each time the
    ring wraps.
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
