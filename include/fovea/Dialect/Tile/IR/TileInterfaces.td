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
      "void", "writeJSON", (ins "::llvm::json::OStream &":$json)>
  ];
}

#endif // FOVEA_DIALECT_TILE_IR_TILEINTERFACES_TD
