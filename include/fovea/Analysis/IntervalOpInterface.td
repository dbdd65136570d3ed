//===- IntervalOpInterface.td - Interval models of ops -----*- tablegen -*-===//
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
    The semantics of a scalar integer op on intervals whose ends are SSA values.
    An interval `[lo, hi]` of an integer has ends of type `index`, for any width
    of the integer. For an `i1`, `lo` is true if the value is known to be true,
    and `hi` is true if the value may be true.

    Arithmetic narrower than 64 bits wraps: if a run-time check finds that an
    interval may wrap, the interval becomes the range of the type. Arithmetic of
    the program on `index` and `i64` is assumed not to overflow. The ends of
    intervals must not overflow either: a model fails if static ranges do not
    exclude an overflow.

    `InferIntRangeInterface` provides constant ranges; this interface provides
    ranges that are computed at run time.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the interval of the op's only result for the intervals `operands`.
        Fails if the interval is unknown; ops emitted before the failure are
        dead.
      }],
      "::llvm::FailureOr<::fovea::Interval>", "inferInterval",
      (ins "::fovea::IntervalBuilder &":$builder,
           "::llvm::ArrayRef<::fovea::Interval>":$operands)>,
    InterfaceMethod<[{
        Returns the result as a sum of operands with constant factors. Fails if
        it is not a sum, or if it may wrap within its type.
      }],
      "::llvm::FailureOr<::fovea::AffineSum>", "getAffineSum",
      (ins "::fovea::StaticRanges &":$ranges), "",
      /*defaultImplementation=*/"return ::llvm::failure();">,
    InterfaceMethod<[{
        For an op that is monotone in one operand, returns the bound on that
        operand that is equivalent to `result <= bound` (`upper`) or
        `result >= bound`. Operands without a known interval have null ends.
      }],
      "::llvm::FailureOr<::fovea::OperandBound>", "invertBound",
      (ins "::fovea::IntervalBuilder &":$builder,
           "::llvm::ArrayRef<::fovea::Interval>":$operands, "bool":$upper,
           "::mlir::Value":$bound), "",
      /*defaultImplementation=*/"return ::llvm::failure();">
  ];
}

#endif // FOVEA_ANALYSIS_INTERVALOPINTERFACE_TD
