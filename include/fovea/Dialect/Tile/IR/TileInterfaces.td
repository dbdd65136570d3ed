//===- TileInterfaces.td - Interfaces of the tile dialect --*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEINTERFACES_TD
#define FOVEA_DIALECT_TILE_IR_TILEINTERFACES_TD

include "mlir/IR/OpBase.td"

def RegisterEncodingAttrInterface
    : AttrInterface<"RegisterEncodingAttrInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An encoding that makes a tensor a register tile. Which shapes can have it
    is said by the upstream `VerifiableTensorEncoding`.
  }];
}

def NamedOpInterface : OpInterface<"NamedOpInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An op that a kernel's schedule and roles can speak of. Its name is a plain
    string: of a stream (all ops that fill one flow of boxes have one name), of a
    dot, or of a store. Who writes a tile program names what it writes; passes
    that replace an op hand its name on. A name says nothing about values:
    without names a program computes the same.
  }];
  let methods = [
    InterfaceMethod<"The name, or null.", "::mlir::StringAttr", "getNameAttr">,
    InterfaceMethod<"Gives the op a name.", "void", "setNameAttr",
                    (ins "::mlir::StringAttr":$name)>
  ];
  let verify = [{ return ::fovea::tile::detail::verifyName($_op); }];
}

#endif // FOVEA_DIALECT_TILE_IR_TILEINTERFACES_TD
