//===- LaunchInterfaces.td - Interfaces of the launch dialect -*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHINTERFACES_TD
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHINTERFACES_TD

include "mlir/IR/OpBase.td"

def ParameterAttrInterface : AttrInterface<"ParameterAttrInterface"> {
  let cppNamespace = "::fovea::launch";
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
  let cppNamespace = "::fovea::launch";
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

def DrawsNumbersOpInterface : OpInterface<"DrawsNumbersOpInterface"> {
  let cppNamespace = "::fovea::launch";
  let description = [{
    An op that draws random numbers in a kernel. `launch.abi` says which ones, for
    whoever has to draw them again.
  }];
  let methods = [
    InterfaceMethod<"The version of the numbers.", "uint64_t", "getGenerator">
  ];
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHINTERFACES_TD
