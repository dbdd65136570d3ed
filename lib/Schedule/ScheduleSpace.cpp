//===- ScheduleSpace.cpp - Candidate schedules of a search ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/ScheduleSpace.h"

#include "Planner.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace fovea;

/// Returns the planner of the preferred MMA unit of a target.
static std::unique_ptr<Planner> getPreferred(mlir::MLIRContext *context,
                                             const TargetInfo &target) {
  // A search starts before any pass loads the dialect of the MMA unit
  // attributes.
  context->getOrLoadDialect<warp::WarpDialect>();
  for (std::unique_ptr<Planner> &planner : makePlanners(context))
    if (planner->isOn(target))
      return std::move(planner);
  llvm_unreachable("the last planner's unit is on every target");
}

std::vector<std::vector<std::string>>
fovea::getScheduleShapes(mlir::MLIRContext *context, const TargetInfo &target) {
  auto shapes = getPreferred(context, target)->listShapes();
  shapes.insert(shapes.begin(), {"auto"});
  return shapes;
}

std::vector<std::string>
fovea::getScheduleVariations(mlir::MLIRContext *context,
                             const TargetInfo &target) {
  std::vector<std::string> variations = {"recurrence=deferred",
                                         "recurrence=conditional",
                                         "longest_first=0", "longest_first=1"};
  llvm::append_range(variations,
                     getPreferred(context, target)->listVariations());
  return variations;
}
