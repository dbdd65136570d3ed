//===- PlanInterfaces.td - Interfaces of the plan dialect --*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_PLAN_IR_PLANINTERFACES_TD
#define FOVEA_DIALECT_PLAN_IR_PLANINTERFACES_TD

include "mlir/IR/OpBase.td"

def MatrixUnitAttrInterface : AttrInterface<"MatrixUnitAttrInterface"> {
  let cppNamespace = "::fovea::plan";
  let description = [{
    An MMA unit, with the properties of its instructions that planners and
    passes need. A group is the smallest number of warps that issue an
    instruction together or share its result.
  }];
  let methods = [
    InterfaceMethod<"Warps per group.", "int64_t", "getGroupWarps">,
    InterfaceMethod<"Accumulator rows per group.",
      "int64_t", "getGroupRows">,
    InterfaceMethod<"The columns of an accumulator must be a multiple of this.",
      "int64_t", "getColumnStep">,
    InterfaceMethod<"Maximum number of columns of an accumulator.",
      "int64_t", "getMostColumns">,
    InterfaceMethod<"True if the unit multiplies elements of `elementBits` bits.",
      "bool", "multiplies", (ins "int64_t":$elementBits)>,
    InterfaceMethod<[{The contracted extent must be a multiple of this: the k
      extent of an instruction, 32 bytes for most units.}],
      "int64_t", "getSumStep", (ins "int64_t":$elementBits), "",
      /*defaultImplementation=*/[{
        return 256 / elementBits;
      }]>,
    InterfaceMethod<[{True if dots are asynchronous: the issuing warps continue
      and wait for the result later (`warp.dot_wait`).}],
      "bool", "isAsynchronous", (ins), "",
      /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{True if the first operand can be a register tile. The
      second operand is in shared memory.}],
      "bool", "readsRegisters", (ins), "",
      /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{True if accumulators are in tensor memory. Dots then have
      memory operands only, and roles load their results from there; otherwise
      results are register tiles.}],
      "bool", "accumulatesInMemory", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{True if columns of ones can extend a dot's second operand,
      so that the dot also computes row sums of the first operand.}],
      "bool", "takesOnes", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{The encoding of an accumulator tile that `warps` warps
      share, of which `columnWarps` share the same rows. Null after a
      diagnostic, or if accumulators are in tensor memory.}],
      "::mlir::Attribute", "getLayout",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "int64_t":$warps, "int64_t":$columnWarps)>,
    InterfaceMethod<[{The encoding of a first operand in registers, with the
      rows of an accumulator's layout. It is the accumulator's layout itself if
      values computed from an accumulator can be the next operand without
      conversion. Null if the unit does not read such operands from
      registers.}],
      "::mlir::Attribute", "getOperandLayout",
      (ins "::mlir::Attribute":$accumulator, "int64_t":$elementBits), "",
      /*defaultImplementation=*/"return {};">
  ];
}

#endif // FOVEA_DIALECT_PLAN_IR_PLANINTERFACES_TD
