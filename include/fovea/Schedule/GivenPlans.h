//===- GivenPlans.h - Plans that the user gives -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole plans in place of the planner's: the option 'schedule' accepts the text
// that launch metadata contain under "plans", or a changed one.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_GIVENPLANS_H
#define FOVEA_SCHEDULE_GIVENPLANS_H

#include "fovea/Schedule/BackwardPlans.h"
#include "fovea/Schedule/ScheduleProblem.h"

#include "llvm/ADT/StringSet.h"

namespace fovea {

/// Plans by the names of kernels.
class GivenPlans {
public:
  /// Returns true if the text of the option 'schedule' contains plans, not
  /// "auto" or a list of fields.
  static bool isPlan(llvm::StringRef text);
  /// Parses `{attention = #plan.kernel<...>, attention_delta = ...}`, with
  /// names in single or double quotes. Fails with a diagnostic.
  static mlir::FailureOr<GivenPlans>
  parse(mlir::MLIRContext *context, llvm::StringRef text,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// Returns the plan of a kernel; null: none is given.
  plan::KernelAttr get(llvm::StringRef kernel) const {
    return plans.getAs<plan::KernelAttr>(kernel);
  }
  /// Returns the plan of a forward kernel. Fails with a diagnostic if it does
  /// not fit the problem or the target.
  mlir::FailureOr<plan::KernelAttr>
  getForward(llvm::StringRef kernel, const ScheduleProblem &problem,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;
  /// Returns the plans of the kernels of a backward pass with this main kernel,
  /// likewise. Plans of kernels over query tiles may be null.
  mlir::FailureOr<BackwardPlans>
  getBackward(llvm::StringRef kernel, const BackwardProblem &problem,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// Checks that there are kernels of these names in the module and that their
  /// plans were used: those of some helper kernels are fixed.
  mlir::LogicalResult
  checkUsed(mlir::Operation *module,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

private:
  explicit GivenPlans(mlir::DictionaryAttr plans) : plans(plans) {}

  mlir::DictionaryAttr plans;
};

/// Returns the plans of all kernels of the launch of `main`, by kernel name.
mlir::DictionaryAttr getPlans(launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_SCHEDULE_GIVENPLANS_H
