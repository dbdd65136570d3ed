//===- PlanEnums.td - Enums of the plan dialect ------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_PLAN_IR_PLANENUMS_TD
#define FOVEA_DIALECT_PLAN_IR_PLANENUMS_TD

include "mlir/IR/EnumAttr.td"

def Plan_WorkSchedule : I32EnumAttr<"WorkSchedule", "assignment of work items to CTAs", [
    I32EnumAttrCase<"Single", 0, "single">,
    I32EnumAttrCase<"Static", 1, "static">,
    I32EnumAttrCase<"Dynamic", 2, "dynamic">,
    I32EnumAttrCase<"Shares", 3, "shares">
  ]> {
  let cppNamespace = "::fovea::plan";
}

def Plan_Recurrence : I32EnumAttr<"RecurrenceKind", "recurrence of a softmax loop", [
    I32EnumAttrCase<"ThreePass", 0, "three_pass">,
    I32EnumAttrCase<"Normalized", 1, "normalized">,
    I32EnumAttrCase<"Deferred", 2, "deferred">,
    I32EnumAttrCase<"Conditional", 3, "conditional">,
    I32EnumAttrCase<"Lazy", 4, "lazy">
  ]> {
  let cppNamespace = "::fovea::plan";
}

def Plan_OutputPath : I32EnumAttr<"OutputPath", "how output tiles are stored", [
    I32EnumAttrCase<"Direct", 0, "direct">,
    I32EnumAttrCase<"Tma", 1, "tma">
  ]> {
  let cppNamespace = "::fovea::plan";
}

#endif // FOVEA_DIALECT_PLAN_IR_PLANENUMS_TD
