//===- StepList.h - Builder of orders ---------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_STEPLIST_H
#define FOVEA_LIB_SCHEDULE_STEPLIST_H

#include "fovea/Dialect/Plan/IR/Plan.h"

namespace fovea {

/// The steps of an iteration, for a plan's `order`.
class StepList {
public:
  explicit StepList(mlir::MLIRContext *context) : context(context) {}

  void add(const llvm::Twine &name, int64_t stage = 0) {
    steps.push_back(plan::StepAttr::get(
        context, mlir::StringAttr::get(context, name), stage));
  }
  llvm::ArrayRef<plan::StepAttr> get() const { return steps; }

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<plan::StepAttr> steps;
};

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_STEPLIST_H
