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

def AddsToMemoryOpInterface : OpInterface<"AddsToMemoryOpInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An op that may add a tile's elements to what memory holds, instead of
    overwriting that. Several may add to one place at the same time, in any
    order, and nobody learns what was there before: the effect of reading its
    target, which such an op has, is none that others could notice.
  }];
  let methods = [
    InterfaceMethod<"Whether this one adds.", "bool", "isAddition", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return $_op.getAdd();">,
    InterfaceMethod<"The memory that is added to, or written.",
      "::mlir::Value", "getTarget">
  ];
}

def RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An op that knows the rows of a tile by their numbers: it places, counts or
    names them. What does to each row the same, whichever it is, is none.

    Where a tile is parted by rows, an op is copied for each part, and its types
    become those of the part. An op with this interface begins elsewhere, too.
  }];
  let methods = [
    InterfaceMethod<[{
        The tile whose rows these are; null if they are those that threads hold.
      }], "::mlir::Value", "getRowTile", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return $_op->getResult(0);">,
    InterfaceMethod<"A part's rows must be a multiple of this.",
      "int64_t", "getRowUnit", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return 1;">,
    InterfaceMethod<[{
        Makes the op, whose types are a part's already, that of the `count` rows
        from `first` on. Gives what stands for its results: these, or what is
        computed from them or in their place, where `builder` is, at the op.
      }], "::llvm::SmallVector<::mlir::Value>", "takeRows",
      (ins "::mlir::OpBuilder &":$builder, "int64_t":$first, "int64_t":$count)>
  ];
}

#endif // FOVEA_DIALECT_TILE_IR_TILEINTERFACES_TD
