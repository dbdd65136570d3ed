//===- Plan.cpp - The plan dialect ------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Plan/IR/Plan.h"
#include "fovea/Support/Warps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::plan;

#include "fovea/Dialect/Plan/IR/PlanDialect.cpp.inc"
#include "fovea/Dialect/Plan/IR/PlanEnums.cpp.inc"

#include "fovea/Dialect/Plan/IR/PlanAttrInterfaces.cpp.inc"

/// Parses `["q", "k"]` or `copies`.
static ParseResult parseOwned(AsmParser &parser, ArrayAttr &owns,
                              bool &copies) {
  copies = succeeded(parser.parseOptionalKeyword("copies"));
  owns = ArrayAttr::get(parser.getContext(), {});
  return copies ? ParseResult(success()) : parser.parseAttribute(owns);
}

static void printOwned(AsmPrinter &printer, ArrayAttr owns, bool copies) {
  if (copies)
    printer << "copies";
  else
    printer << owns;
}

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Plan/IR/PlanAttrs.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Plan/IR/PlanAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyRange(StringRef name, int64_t value, int64_t least,
                                 int64_t most, EmitError emitError) {
  if (value >= least && value <= most)
    return success();
  return emitError() << "plan's '" << name << "' must be in [" << least << ", "
                     << most << "], found " << value;
}
/// Fields that are not numbers have no range.
template <typename T>
static LogicalResult verifyRange(StringRef, const T &, int64_t, int64_t,
                                 EmitError) {
  return success();
}

template <typename Plan>
static LogicalResult verifyFields(const Plan &plan, EmitError emitError) {
  bool isRight = true;
  forEachField<Plan>([&](auto field) {
    isRight =
        isRight && succeeded(verifyRange(field.name, plan.*field.member,
                                         field.least, field.most, emitError));
  });
  return success(isRight);
}

LogicalResult StreamAttr::verify(EmitError emitError, StringAttr,
                                 StreamPlan fields) {
  return verifyFields(fields, emitError);
}
LogicalResult DotAttr::verify(EmitError emitError, StringAttr, DotPlan fields) {
  return verifyFields(fields, emitError);
}
LogicalResult StoreAttr::verify(EmitError emitError, StringAttr name,
                                StorePlan fields) {
  if (fields.over && !fields.isCopied)
    return emitError() << "plan's store " << name
                       << " has 'over' but is not 'copied'";
  if (fields.isOrdered && !fields.accumulates)
    return emitError() << "plan's store " << name
                       << " is 'ordered' but does not 'accumulate'";
  if (fields.isLate && fields.isCopied)
    return emitError() << "plan's store " << name
                       << " is both 'late' and 'copied'";
  return verifyFields(fields, emitError);
}

LogicalResult StepAttr::verify(EmitError emitError, StringAttr name,
                               int64_t stage) {
  if (name.empty())
    return emitError() << "a step of the plan's 'order' needs a name";
  if (stage < 0 || stage > 1)
    return emitError() << "the stage of step " << name
                       << " must be 0 or 1, found " << stage;
  return success();
}

LogicalResult RoleAttr::verify(EmitError emitError, StringRef name,
                               int64_t warps, int64_t registers, ArrayAttr owns,
                               bool) {
  if (name.empty())
    return emitError() << "a role needs a name";
  for (Attribute owned : owns)
    if (!isa<StringAttr>(owned))
      return emitError() << "role '" << name
                         << "': 'owns' must contain strings, found " << owned;
  if (warps < 1 || registers < 1)
    return emitError() << "role '" << name
                       << "' must have warps and registers, found " << warps
                       << " and " << registers;
  // Registers are allocated per warp group; smaller roles share an allocation.
  if (warps > kGroupWarps && warps % kGroupWarps != 0)
    return emitError() << "role '" << name << "' must have fewer than "
                       << kGroupWarps << " warps or a multiple of "
                       << kGroupWarps << ", found " << warps;
  return success();
}

static LogicalResult verifyRoles(ArrayRef<RoleAttr> roles,
                                 EmitError emitError) {
  llvm::StringMap<StringRef> owners;
  llvm::StringSet<> names;
  StringRef copier;
  for (RoleAttr role : roles) {
    if (!names.insert(role.getName()).second)
      return emitError() << "two roles are named '" << role.getName() << "'";
    if (role.getCopies() && !copier.empty())
      return emitError() << "roles '" << copier << "' and '" << role.getName()
                         << "' both own the copies";
    if (role.getCopies())
      copier = role.getName();
    for (StringRef owned : role.getOwns().getAsValueRange<StringAttr>()) {
      auto [owner, isNew] = owners.try_emplace(owned, role.getName());
      if (!isNew)
        return emitError() << "roles '" << owner->second << "' and '"
                           << role.getName() << "' both own \"" << owned
                           << "\"";
    }
  }
  return success();
}

template <typename Entry>
static LogicalResult verifyNames(StringRef what, ArrayRef<Entry> entries,
                                 EmitError emitError) {
  llvm::DenseSet<StringAttr> names;
  for (Entry entry : entries)
    if (!names.insert(entry.getName()).second)
      return emitError() << "plan has two entries for " << what << " "
                         << entry.getName();
  return success();
}

LogicalResult
KernelAttr::verify(EmitError emitError, MatrixUnitAttrInterface unit,
                   KernelPlan fields, ArrayRef<StreamAttr> streams,
                   ArrayRef<DotAttr> dots, ArrayRef<StoreAttr> stores,
                   ArrayRef<RoleAttr> roles, ArrayRef<StepAttr> order,
                   ArrayRef<StringAttr>) {
  assert(unit && "the parser expects one");
  if (failed(verifyFields(fields, emitError)) ||
      failed(verifyNames("stream", streams, emitError)) ||
      failed(verifyNames("dot", dots, emitError)) ||
      failed(verifyNames("store", stores, emitError)))
    return failure();
  if (fields.warps % fields.columnWarps != 0)
    return emitError() << "'column_warps' must divide " << fields.warps
                       << " warps, found " << fields.columnWarps;
  if (fields.columnWarps != 1 && !roles.empty())
    return emitError() << "'column_warps' must be 1 with roles, found "
                       << fields.columnWarps;
  llvm::DenseSet<std::pair<StringAttr, int64_t>> ordered;
  for (StepAttr step : order) {
    int64_t stage = step.getPart() == StepPart::Rest ? step.getStage() : 0;
    if (!ordered.insert({step.getName(), stage}).second)
      return emitError() << "plan's 'order' lists " << step.getName()
                         << " twice";
  }
  return verifyRoles(roles, emitError);
}

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

/// The entry of a name, or else of its family, the first component of the name.
template <typename Entry>
static Entry lookup(ArrayRef<Entry> entries, StringRef name) {
  for (StringRef wanted : {name, name.split('.').first})
    for (Entry entry : entries)
      if (entry.getName().getValue() == wanted)
        return entry;
  return {};
}

static StringRef getText(StringAttr name) {
  return name ? name.getValue() : StringRef();
}

const KernelPlan *KernelAttr::operator->() const { return &getImpl()->fields; }

StreamPlan KernelAttr::getStream(StringRef name) const {
  if (StreamAttr stream = lookup(getStreams(), name))
    return stream.getFields();
  StreamPlan others;
  others.stages = getFields().stages;
  return others;
}
DotPlan KernelAttr::getDot(StringRef name) const {
  DotAttr dot = lookup(getDots(), name);
  return dot ? dot.getFields() : DotPlan();
}
StorePlan KernelAttr::getStore(StringRef name) const {
  StoreAttr store = lookup(getStores(), name);
  return store ? store.getFields() : StorePlan();
}
StreamPlan KernelAttr::getStream(StringAttr name) const {
  return getStream(getText(name));
}
DotPlan KernelAttr::getDot(StringAttr name) const {
  return getDot(getText(name));
}
StorePlan KernelAttr::getStore(StringAttr name) const {
  return getStore(getText(name));
}

bool KernelAttr::hasDot(function_ref<bool(const DotPlan &)> is) const {
  return llvm::any_of(getDots(),
                      [&](DotAttr dot) { return is(dot.getFields()); });
}

bool KernelAttr::isUserSpecified(StringRef field) const {
  return llvm::any_of(getAsked(),
                      [&](StringAttr asked) { return asked == field; });
}

/// The position of a step, or else of the family of an op, in a list; the size
/// of the list if there is none.
static size_t getPosition(ArrayRef<StepAttr> order, StringRef name) {
  for (StringRef wanted : {name, name.split('.').first}) {
    auto *found = llvm::find_if(
        order, [&](StepAttr step) { return step.getName() == wanted; });
    if (found != order.end())
      return found - order.begin();
  }
  return order.size();
}

bool KernelAttr::isBefore(StringRef first, StringRef second) const {
  size_t position = getPosition(getOrder(), second);
  return position != getOrder().size() &&
         getPosition(getOrder(), first) < position;
}

void KernelAttr::sortByOrder(MutableArrayRef<std::string> names) const {
  // Names of one family that only the family's entry lists keep their order.
  SmallVector<size_t> places;
  SmallVector<std::tuple<size_t, size_t, std::string>> listed;
  for (auto [place, name] : llvm::enumerate(names)) {
    size_t position = getPosition(getOrder(), name);
    if (position == getOrder().size())
      continue;
    places.push_back(place);
    listed.emplace_back(position, place, name);
  }
  llvm::sort(listed);
  for (auto [place, moved] : llvm::zip_equal(places, listed))
    names[place] = std::get<std::string>(moved);
}

RoleAttr KernelAttr::getOwner(StringRef name) const {
  for (StringRef wanted : {name, name.split('.').first, StringRef("*")})
    for (RoleAttr role : getRoles())
      if (role.ownsName(StringAttr::get(getContext(), wanted)))
        return role;
  return {};
}

bool KernelAttr::haveSameOwner(StringRef one, StringRef other) const {
  RoleAttr owner = getOwner(one);
  return owner && owner == getOwner(other);
}

int64_t KernelAttr::getClusterRows() const {
  return getFields().tileM * getFields().cluster;
}

bool RoleAttr::ownsName(StringAttr name) const {
  return name && llvm::is_contained(getOwns(), name);
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

KernelAttr KernelAttr::change(function_ref<void(KernelPlan &)> change) const {
  KernelPlan fields = getFields();
  change(fields);
  return get(getContext(), getUnit(), fields, getStreams(), getDots(),
             getStores(), getRoles(), getOrder(), getAsked());
}

/// Applies `change` to each entry and drops entries with default fields only.
template <typename Entry, typename Plan>
static SmallVector<Entry> changeEntries(ArrayRef<Entry> entries,
                                        function_ref<void(Plan &)> change) {
  SmallVector<Entry> changed;
  for (Entry entry : entries) {
    Plan fields = entry.getFields();
    change(fields);
    if (!(fields == Plan()))
      changed.push_back(
          Entry::get(entry.getContext(), entry.getName(), fields));
  }
  return changed;
}

KernelAttr KernelAttr::changeDots(function_ref<void(DotPlan &)> change) const {
  return get(getContext(), getUnit(), getFields(), getStreams(),
             changeEntries(getDots(), change), getStores(), getRoles(),
             getOrder(), getAsked());
}

KernelAttr KernelAttr::changeStreams(
    function_ref<void(StringRef, StreamPlan &)> change) const {
  auto streams = llvm::map_to_vector(getStreams(), [&](StreamAttr stream) {
    StreamPlan fields = stream.getFields();
    change(stream.getName(), fields);
    return StreamAttr::get(getContext(), stream.getName(), fields);
  });
  return get(getContext(), getUnit(), getFields(), streams, getDots(),
             getStores(), getRoles(), getOrder(), getAsked());
}

/// Changes the entry of exactly this name, or adds one.
template <typename Plan, typename Entry>
static SmallVector<Entry> changeEntry(ArrayRef<Entry> entries, StringAttr name,
                                      function_ref<void(Plan &)> change) {
  SmallVector<Entry> changed(entries);
  auto *found = llvm::find_if(
      changed, [&](Entry entry) { return entry.getName() == name; });
  Plan fields = found == changed.end() ? Plan() : found->getFields();
  change(fields);
  Entry entry = Entry::get(name.getContext(), name, fields);
  if (found == changed.end())
    changed.push_back(entry);
  else
    *found = entry;
  return changed;
}

KernelAttr
KernelAttr::changeStream(StringRef name,
                         function_ref<void(StreamPlan &)> change) const {
  return get(
      getContext(), getUnit(), getFields(),
      changeEntry(getStreams(), StringAttr::get(getContext(), name), change),
      getDots(), getStores(), getRoles(), getOrder(), getAsked());
}

KernelAttr KernelAttr::changeDot(StringRef name,
                                 function_ref<void(DotPlan &)> change) const {
  return get(
      getContext(), getUnit(), getFields(), getStreams(),
      changeEntry(getDots(), StringAttr::get(getContext(), name), change),
      getStores(), getRoles(), getOrder(), getAsked());
}

KernelAttr
KernelAttr::changeStore(StringRef name,
                        function_ref<void(StorePlan &)> change) const {
  return get(
      getContext(), getUnit(), getFields(), getStreams(), getDots(),
      changeEntry(getStores(), StringAttr::get(getContext(), name), change),
      getRoles(), getOrder(), getAsked());
}

KernelAttr KernelAttr::withOrder(ArrayRef<StepAttr> order) const {
  return get(getContext(), getUnit(), getFields(), getStreams(), getDots(),
             getStores(), getRoles(), order, getAsked());
}

bool KernelAttr::isAsynchronous() const {
  return isStaged() || llvm::any_of(getOrder(), [](StepAttr step) {
           return step.getPart() == StepPart::Done ||
                  step.getPart() == StepPart::Read;
         });
}

bool KernelAttr::isStaged() const {
  return !llvm::all_equal(llvm::map_range(
      getOrder(), [](StepAttr step) { return step.getStage(); }));
}

int64_t KernelAttr::getStage(StringRef name) const {
  size_t position = getPosition(getOrder(), name);
  return position == getOrder().size() ? 0 : getOrder()[position].getStage();
}

KernelAttr KernelAttr::withoutStages() const {
  SmallVector<StepAttr> order;
  for (StepAttr step : getOrder())
    if (step.getPart() == StepPart::Op)
      order.push_back(StepAttr::get(getContext(), step.getName(), /*stage=*/0));
  return withOrder(order);
}

KernelAttr KernelAttr::withoutStore(StringRef name) const {
  SmallVector<StoreAttr> stores(getStores());
  llvm::erase(stores, lookup(getStores(), name));
  return get(getContext(), getUnit(), getFields(), getStreams(), getDots(),
             stores, getRoles(), getOrder(), getAsked());
}

KernelAttr KernelAttr::withoutStream(StringRef name) const {
  SmallVector<StreamAttr> streams(getStreams());
  llvm::erase_if(streams,
                 [&](StreamAttr stream) { return stream.getName() == name; });
  return get(getContext(), getUnit(), getFields(), streams, getDots(),
             getStores(), getRoles(), getOrder(), getAsked());
}

KernelAttr KernelAttr::withAsked(ArrayRef<StringRef> asked) const {
  auto names = llvm::map_to_vector(asked, [&](StringRef name) {
    return StringAttr::get(getContext(), name);
  });
  return get(getContext(), getUnit(), getFields(), getStreams(), getDots(),
             getStores(), getRoles(), getOrder(), names);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::pair<StringRef, StepPart> splitStep(StringRef name) {
  if (name == kRestOfStage)
    return {name, StepPart::Rest};
  auto [base, part] = name.rsplit('.');
  std::optional<StepPart> known =
      llvm::StringSwitch<std::optional<StepPart>>(part)
          .Case("a", StepPart::Operand)
          .Case("wide", StepPart::Wide)
          .Case("acc", StepPart::Accumulator)
          .Case("done", StepPart::Done)
          .Case("read", StepPart::Read)
          .Case("store", StepPart::Store)
          .Default(std::nullopt);
  if (known)
    return {base, *known};
  return {name, StepPart::Op};
}

StepPart StepAttr::getPart() const {
  return splitStep(getName().getValue()).second;
}
StringRef StepAttr::getOpName() const {
  return splitStep(getName().getValue()).first;
}

bool fovea::plan::isOutputStore(StringRef name) {
  StringRef word = name.split('.').first;
  return word == "out" || word == "dq_sum";
}
