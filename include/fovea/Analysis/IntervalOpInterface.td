//===- IntervalOpInterface.td - Ops on intervals -----------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_INTERVALOPINTERFACE_TD
#define FOVEA_ANALYSIS_INTERVALOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def FoveaIntervalOpInterface : OpInterface<"FoveaIntervalOpInterface"> {
  let cppNamespace = "::fovea";
  let description = [{
    What a scalar integer op means on intervals whose ends are SSA values. An
    interval `[lo, hi]` of an integer has ends of type `index`, whatever the
    width of the integer; one of an `i1` has `lo`, true if the value is
    certainly true, and `hi`, true if it may be.

    Arithmetic narrower than 64 bits wraps: an interval that might is that of all
    values of the type, decided where the program runs. Arithmetic of the program
    on `index` and `i64` is taken not to overflow; the ends of intervals must not
    either, and a model fails where static ranges do not exclude that.

    `InferIntRangeInterface` gives ranges of constants; this interface gives
    ranges that are computed where the program runs.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the interval of the op's only result for operands in `operands`.
        Fails if nothing is known; what was emitted until then is dead.
      }],
      "::llvm::FailureOr<::fovea::Interval>", "inferInterval",
      (ins "::fovea::IntervalBuilder &":$builder,
           "::llvm::ArrayRef<::fovea::Interval>":$operands)>,
    InterfaceMethod<[{
        The result as a sum of operands with constant factors, or failure if it
        is none or could wrap within its type.
      }],
      "::llvm::FailureOr<::fovea::AffineSum>", "getAffineSum",
      (ins "::fovea::StaticRanges &":$ranges), "",
      /*defaultImplementation=*/"return ::llvm::failure();">,
    InterfaceMethod<[{
        For an op that is monotone in one operand: the operand's bound that is
        equivalent to `result <= bound` (`upper`) or `result >= bound`. Operands
        without a known interval have null ends.
      }],
      "::llvm::FailureOr<::fovea::OperandBound>", "invertBound",
      (ins "::fovea::IntervalBuilder &":$builder,
           "::llvm::ArrayRef<::fovea::Interval>":$operands, "bool":$upper,
           "::mlir::Value":$bound), "",
      /*defaultImplementation=*/"return ::llvm::failure();">
  ];
}

#endif // FOVEA_ANALYSIS_INTERVALOPINTERFACE_TD
