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
    An encoding that makes a tensor a register tile. The upstream
    `VerifiableTensorEncoding` interface checks which shapes can have it.
  }];
}

def NamedOpInterface : OpInterface<"NamedOpInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An op that the kernel's plan and roles refer to by name. The name is a
    string and denotes a stream, a dot or a store; all ops that produce the
    stages of one stream share its name. The creator of a tile program assigns
    the names, and a pass that replaces an op transfers its name. Names do not
    affect the computed values.
  }];
  let methods = [
    InterfaceMethod<"The name, or null.", "::mlir::StringAttr", "getNameAttr">,
    InterfaceMethod<"Sets the op's name.", "void", "setNameAttr",
                    (ins "::mlir::StringAttr":$name)>
  ];
  let verify = [{ return ::fovea::tile::detail::verifyName($_op); }];
}

def AddsToMemoryOpInterface : OpInterface<"AddsToMemoryOpInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An op that stores a tile, or with `add` adds its elements to memory. Several
    threads may add to one address concurrently and in any order. The op does
    not return the previous value, so its read effect on the target is not
    observable by other ops.
  }];
  let methods = [
    InterfaceMethod<"True if the op adds instead of storing.", "bool", "isAddition", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return $_op.getAdd();">,
    InterfaceMethod<"The memory that the op adds or stores to.",
      "::mlir::Value", "getTarget">
  ];
}

def RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    An op whose semantics depend on row indices: it addresses, counts or numbers
    the rows of a tile. Ops that treat all rows equally do not implement the
    interface.

    When a pass partitions a tile by rows, it clones each op once per part and
    changes the tile types. For an op with this interface the pass also adjusts
    the clone's first row.
  }];
  let methods = [
    InterfaceMethod<[{
        The tile whose rows are addressed; null for the rows owned by the
        executing threads.
      }], "::mlir::Value", "getRowTile", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return $_op->getResult(0);">,
    InterfaceMethod<"The row count of a part must be a multiple of this.",
      "int64_t", "getRowUnit", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return 1;">,
    InterfaceMethod<[{
        Turns the op, whose types are already those of a part, into the op for
        rows `first` to `first + count`. Returns the replacements of its
        results: the results themselves or values that `builder` creates at the
        op.
      }], "::llvm::SmallVector<::mlir::Value>", "restrictToRows",
      (ins "::mlir::OpBuilder &":$builder, "int64_t":$first, "int64_t":$count)>
  ];
}

#endif // FOVEA_DIALECT_TILE_IR_TILEINTERFACES_TD
