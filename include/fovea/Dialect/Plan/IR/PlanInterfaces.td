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
    What multiplies tiles: what its instructions take and give, as far as
    planners and passes have to know. A group is the least number of warps that
    issue an instruction together, or that share what it gives.
  }];
  let methods = [
    InterfaceMethod<"Warps of a group.", "int64_t", "getGroupWarps">,
    InterfaceMethod<"Rows of an accumulator that a group holds.",
      "int64_t", "getGroupRows">,
    InterfaceMethod<"What the columns of an accumulator are a multiple of.",
      "int64_t", "getColumnStep">,
    InterfaceMethod<"Columns of an accumulator, at most.",
      "int64_t", "getMostColumns">,
    InterfaceMethod<"Whether it multiplies elements of so many bits.",
      "bool", "multiplies", (ins "int64_t":$elementBits)>,
    InterfaceMethod<[{What the extent that a product sums over is a multiple of:
      the step of an instruction, 32 bytes of most units.}],
      "int64_t", "getSumStep", (ins "int64_t":$elementBits), "",
      /*defaultImplementation=*/[{
        return 256 / elementBits;
      }]>,
    InterfaceMethod<[{Whether products are made while who asked for them goes on,
      who then waits for them (`warp.dot_wait`).}],
      "bool", "isAsynchronous", (ins), "",
      /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{Whether the first operand can be a register tile: one that
      was computed, or is kept there. The second one is in shared memory.}],
      "bool", "readsRegisters", (ins), "",
      /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{Whether accumulators are in memory of their own. A dot is
      then in memory form, and who computes with its result reads it there;
      else its result is a register tile.}],
      "bool", "accumulatesInMemory", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{Whether columns of ones can go on with a dot's second
      operand, so that rows are added up beside the product.}],
      "bool", "takesOnes", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{The layout of an accumulator that so many warps share, of
      which `columnWarps` each share a part of the rows: a tile's encoding; null
      after a diagnostic, or where accumulators are in memory.}],
      "::mlir::Attribute", "getLayout",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "int64_t":$warps, "int64_t":$columnWarps)>,
    InterfaceMethod<[{The layout of a first operand of such elements that is in
      registers, with the rows of an accumulator's layout; that layout itself
      where what is computed of one product is the next one's operand as it is.
      Null where no such operand is read from registers.}],
      "::mlir::Attribute", "getOperandLayout",
      (ins "::mlir::Attribute":$accumulator, "int64_t":$elementBits), "",
      /*defaultImplementation=*/"return {};">
  ];
}

#endif // FOVEA_DIALECT_PLAN_IR_PLANINTERFACES_TD
