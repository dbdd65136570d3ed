//===- ValueNames.cpp - Names of values in printed IR -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/ValueNames.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

Location fovea::getNamedLoc(Location loc, const Twine &name) {
  if (auto old = dyn_cast<NameLoc>(loc))
    loc = old.getChildLoc();
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

Location fovea::addToName(Location loc, StringRef suffix) {
  auto old = dyn_cast<NameLoc>(loc);
  if (!old || old.getName().getValue().ends_with(suffix))
    return loc;
  return getNamedLoc(loc, old.getName().getValue() + suffix);
}

Value fovea::named(const Twine &name, Value value) {
  value.setLoc(getNamedLoc(value.getLoc(), name));
  return value;
}

StringRef fovea::getName(Value value) {
  auto loc = value.getLoc()->findInstanceOf<NameLoc>();
  Operation *op = value.getDefiningOp();
  return loc && (!op || op->getNumResults() == 1) ? loc.getName().getValue()
                                                  : StringRef();
}
