//===- TileAttrs.td - Attributes of the tile dialect -------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEATTRS_TD
#define FOVEA_DIALECT_TILE_IR_TILEATTRS_TD

include "fovea/Dialect/Tile/IR/TileBase.td"
include "fovea/Dialect/Tile/IR/TileEnums.td"
include "fovea/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Tile_RegAttr
    : Tile_Attr<"Reg", "reg",
                [RegisterEncodingAttrInterface,
                 DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "a register tile without a thread layout";
  let description = [{
    Encoding of register tiles before `warp-assign-layouts` assigns each element
    to a thread.
  }];
}

#endif // FOVEA_DIALECT_TILE_IR_TILEATTRS_TD
