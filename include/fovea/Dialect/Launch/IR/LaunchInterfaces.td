//===- LaunchInterfaces.td - Launch dialect interfaces -----*- tablegen -*-===//
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
    A parameter of a kernel. Lowering refines parameters: a memref becomes a
    pointer, sizes and strides; a pointer may become a tensor map.
  }];
  let methods = [
    InterfaceMethod<[{Checks that the parameter matches a kernel argument of
      `type`; `tensors` are the tensor operands of the launch.}],
      "::llvm::LogicalResult", "verifyParameter",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::Type":$type, "::mlir::ArrayAttr":$tensors)>,
    InterfaceMethod<"Writes the members of the parameter's JSON object.",
      "void", "writeJSON", (ins "::llvm::json::OStream &":$json)>,
    InterfaceMethod<[{True if a host can pass the parameter. The launch metadata
      is written only if all parameters are final.}],
      "bool", "isFinal", (ins), "",
      /*defaultImplementation=*/"return true;">
  ];
}

def ConstraintAttrInterface : AttrInterface<"ConstraintAttrInterface"> {
  let cppNamespace = "::fovea::launch";
  let description = [{
    A constraint on the sizes of a launch that a kernel relies on. The host
    checks it before each launch.
  }];
  let methods = [
    InterfaceMethod<[{The names of the constrained sizes.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getSizeNames", (ins)>,
    InterfaceMethod<"Writes the members of the constraint's JSON object.",
      "void", "writeJSON", (ins "::llvm::json::OStream &":$json)>
  ];
}

def DrawsNumbersOpInterface : OpInterface<"DrawsNumbersOpInterface"> {
  let cppNamespace = "::fovea::launch";
  let description = [{
    An op that draws random numbers in a kernel. `launch.abi` records the
    version of the generator, so that other programs can reproduce the numbers.
  }];
  let methods = [
    InterfaceMethod<"The version of the generator.", "uint64_t", "getGenerator">
  ];
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHINTERFACES_TD
