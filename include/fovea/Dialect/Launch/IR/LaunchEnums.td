//===- LaunchEnums.td - Enums of the launch dialect --------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHENUMS_TD
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHENUMS_TD

include "mlir/IR/EnumAttr.td"

def Launch_Access : I32EnumAttr<"Access", "access of a kernel to a tensor", [
    I32EnumAttrCase<"Read", 0, "read">,
    I32EnumAttrCase<"Write", 1, "write">,
    I32EnumAttrCase<"Accumulate", 2, "accumulate">,
    I32EnumAttrCase<"Update", 3, "update">
  ]> {
  let cppNamespace = "::fovea::launch";
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHENUMS_TD
