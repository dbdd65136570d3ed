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

def ParameterAttrInterface : AttrInterface<"ParameterAttrInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    One parameter of a kernel, as its host passes it. Lowering refines them: a
    memref becomes a pointer, sizes and strides; a pointer may become a tensor
    map.
  }];
  let methods = [
    InterfaceMethod<[{Checks that a kernel argument of `type` can be it, `tensors`
      being what the host passes.}],
      "::llvm::LogicalResult", "verifyParameter",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::Type":$type, "::mlir::ArrayAttr":$tensors)>,
    InterfaceMethod<"Writes the parameter as a JSON object's members.",
      "void", "writeJSON", (ins "::llvm::json::OStream &":$json)>,
    InterfaceMethod<[{True if a host can pass it as it is; the launch metadata
      is written only when all parameters are.}],
      "bool", "isFinal", (ins), "",
      /*defaultImplementation=*/"return true;">
  ];
}

def ConstraintAttrInterface : AttrInterface<"ConstraintAttrInterface"> {
  let cppNamespace = "::fovea::tile";
  let description = [{
    Something that a kernel takes for granted about the sizes it is called
    with, and that its host therefore checks before a launch.
  }];
  let methods = [
    InterfaceMethod<[{The names of the sizes that it speaks of.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getSizeNames", (ins)>,
    InterfaceMethod<"Writes the constraint as a JSON object's members.",
      "void", "writeJSON", (ins "::llvm::json::OStream &":$json)>
  ];
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
