//===- Plan.cpp - What a schedule says of names -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule's fields are worded in queries, keys and values. This is the one
// place that knows which names these are; passes ask for a stream, a dot or a
// store by the name that it has, whatever the program computes.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::tile;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Words of letters, digits and underscores, with dots between them.
LogicalResult fovea::tile::detail::verifyName(Operation *op) {
  StringAttr name = cast<NamedOpInterface>(op).getNameAttr();
  if (!name)
    return success();
  SmallVector<StringRef> words;
  name.getValue().split(words, '.');
  auto isWord = [](StringRef word) {
    return !word.empty() && llvm::all_of(word, [](char c) {
      return llvm::isAlnum(c) || c == '_';
    });
  };
  if (llvm::all_of(words, isWord))
    return success();
  return op->emitOpError("name must be words of letters, digits and "
                         "underscores with dots between them, found ")
         << name;
}

/// A name's first word: what the parts of a family have in common.
static StringRef getFamily(StringAttr name) {
  return name ? name.getValue().split('.').first : StringRef();
}

//===----------------------------------------------------------------------===//
// Units and roles
//===----------------------------------------------------------------------===//

// Four questions that passes ask. Schedules of today answer them together: a
// budget for who copies comes with the copy engine and the warp groups' unit.

bool ScheduleAttr::hasRoles() const { return getProducerRegisters() != 0; }
bool ScheduleAttr::copiesByEngine() const { return hasRoles(); }
MatrixUnit ScheduleAttr::getMatrixUnit() const {
  if (getRowTiles() != 0)
    return MatrixUnit::TensorMemory;
  return hasRoles() ? MatrixUnit::WarpGroup : MatrixUnit::Warp;
}
bool ScheduleAttr::visitsAtLeastOnce() const { return hasRoles(); }

Value fovea::tile::makeStaged(OpBuilder &b, Location loc, ScheduleAttr schedule,
                              StringRef name, Value value) {
  StringAttr attr = b.getStringAttr(name);
  if (!schedule || !schedule.getStream(attr).isStaged)
    return value;
  return StreamOp::create(b, loc, value.getType(), value, attr);
}

bool AbiOp::isAsked(StringRef field) {
  std::optional<ArrayAttr> asked = getAsked();
  return asked &&
         llvm::is_contained(asked->getAsValueRange<StringAttr>(), field);
}

//===----------------------------------------------------------------------===//
// Streams, dots, stores
//===----------------------------------------------------------------------===//

StreamPlan ScheduleAttr::getStream(StringAttr name) const {
  StringRef family = getFamily(name);
  // What one role computes and another one needs: weights, what outputs are
  // multiplied with, and tiles of output.
  if (getMatrixUnit() == MatrixUnit::TensorMemory) {
    if (family == "p")
      return {1, true, "s"};
    if (family == "factor" || family == "scale")
      return {1, true};
    if (family == "y")
      return {1, getOutput() == OutputPath::Tma};
  }
  if (family == "q")
    return {getQueryStages(), false};
  if (family == "k" && getKeyStages() != 0)
    return {getKeyStages(), false};
  if (family == "score" && getScoreStages() != 0)
    return {getScoreStages(), true};
  return {getStages(), false};
}

DotPlan ScheduleAttr::getDot(StringAttr name) const {
  DotPlan plan;
  StringRef family = getFamily(name);
  if (family == "s") {
    plan.aInRegisters = getQueryInRegisters() != 0;
    plan.ahead = getOverlap();
    plan.addsToSummand = getAddByDot() != 0;
  } else if (family == "o") {
    plan.operandAbove = getSoftmaxPart();
    plan.operandByFma = getExp2ByFma();
  } else if (family == "c") {
    plan.inFlight = getInFlight() != 0;
  }
  return plan;
}

StorePlan ScheduleAttr::getStore(StringAttr name) const {
  if (getFamily(name) != "out" || getOutput() != OutputPath::Tma)
    return {};
  return {true, getOutputStages() != 0 ? "" : "q"};
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

bool RoleAttr::ownsName(StringAttr name) const {
  return name && llvm::is_contained(getOwns(), name);
}

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef name, int64_t warps, int64_t registers,
                               ArrayAttr owns) {
  if (name.empty())
    return emitError() << "a role needs a name";
  for (Attribute owned : owns)
    if (!isa<StringAttr>(owned))
      return emitError() << "role '" << name << "' owns names, found " << owned;
  if (warps < 1 || registers < 1)
    return emitError() << "role '" << name
                       << "' must have warps and registers, found " << warps
                       << " and " << registers;
  // Registers are given to four warps at a time; roles of fewer share them.
  constexpr int64_t kGroupWarps = 4;
  if (warps > kGroupWarps && warps % kGroupWarps != 0)
    return emitError() << "role '" << name << "' must have less than "
                       << kGroupWarps << " warps or a multiple of "
                       << kGroupWarps << ", found " << warps;
  return success();
}

LogicalResult
fovea::tile::detail::verifyRoles(ArrayAttr roles,
                                 function_ref<InFlightDiagnostic()> emitError) {
  llvm::StringMap<StringRef> owners;
  llvm::StringSet<> names;
  for (Attribute attr : roles) {
    auto role = dyn_cast<RoleAttr>(attr);
    if (!role)
      return emitError() << "expected #tile.role attributes, found " << attr;
    if (!names.insert(role.getName()).second)
      return emitError() << "two roles are named '" << role.getName() << "'";
    for (StringRef owned : role.getOwns().getAsValueRange<StringAttr>()) {
      auto [owner, isNew] = owners.try_emplace(owned, role.getName());
      if (!isNew)
        return emitError() << "roles '" << owner->second << "' and '"
                           << role.getName() << "' both own \"" << owned
                           << "\"";
    }
  }
  if (roles.empty())
    return emitError() << "expected at least one role";
  return success();
}
