//===- ScheduleFields.cpp - The fields of --schedule ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses, prints and verifies the user-visible fields of schedules, reads them
// from a plan, and reports how passes applied them.
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/ScheduleFields.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fovea;

int64_t fovea::getScoreLoops(plan::RecurrenceKind recurrence) {
  return recurrence == plan::RecurrenceKind::ThreePass ? 3 : 1;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

SmallVector<std::pair<StringRef, StringRef>>
fovea::parseFields(StringRef list) {
  SmallVector<StringRef> parts;
  if (list != "auto")
    list.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return llvm::map_to_vector(parts, [](StringRef part) {
    auto [name, text] = part.split('=');
    return std::pair(name.trim(), text.trim());
  });
}

SmallVector<StringRef> fovea::getFieldNames(StringRef list) {
  return llvm::map_to_vector(parseFields(list),
                             [](auto field) { return field.first; });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static LogicalResult parseValue(StringRef word, StringRef text, int64_t &value,
                                function_ref<InFlightDiagnostic()> emitError) {
  if (text.getAsInteger(10, value))
    return emitError() << "schedule's '" << word
                       << "' must be an integer, found '" << text << "'";
  // Bounds the values so that expressions on unverified fields do not overflow.
  constexpr int64_t kMost = 1 << 15;
  if (value > kMost || value < -kMost)
    return emitError() << "schedule's '" << word << "' must be at most "
                       << kMost << " in magnitude, found " << text;
  return success();
}

/// "single, static or dynamic".
template <typename Enum>
static std::string listCases() {
  std::string list;
  for (uint32_t number = 0;; ++number) {
    StringRef name = stringifyEnum(static_cast<Enum>(number));
    if (name.empty())
      return list;
    bool isLast = stringifyEnum(static_cast<Enum>(number + 1)).empty();
    list += (number == 0 ? "" : isLast ? " or " : ", ") + name.str();
  }
}

template <typename Enum>
static LogicalResult parseValue(StringRef word, StringRef text, Enum &value,
                                function_ref<InFlightDiagnostic()> emitError) {
  std::optional<Enum> found = plan::symbolizeEnum<Enum>(text);
  if (!found)
    return emitError() << "schedule's '" << word << "' must be "
                       << listCases<Enum>() << ", found '" << text << "'";
  value = *found;
  return success();
}

namespace {
/// Scope of a field; ScheduleFields.def explains it.
enum class Scope { First, Any, Roles, Inner };
} // namespace

static LogicalResult verifyRange(StringRef word, int64_t value, int64_t least,
                                 int64_t most,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (value >= least && value <= most)
    return success();
  return emitError() << "schedule's '" << word << "' must be in [" << least
                     << ", " << most << "], found " << value;
}
/// An enum has no range to check.
template <typename Enum>
static LogicalResult verifyRange(StringRef, Enum, int64_t, int64_t,
                                 function_ref<InFlightDiagnostic()>) {
  return success();
}

LogicalResult
ScheduleFields::set(StringRef name, StringRef text,
                    function_ref<InFlightDiagnostic()> emitError) {
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  if (name == word && Scope::scope != Scope::Inner)                            \
    return failure(failed(parseValue(name, text, member, emitError)) ||        \
                   failed(verifyRange(word, member, least, most, emitError)));
#include "fovea/Schedule/ScheduleFields.def"

  SmallVector<StringRef> words;
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  if (Scope::scope != Scope::Inner)                                            \
    words.push_back(word);
#include "fovea/Schedule/ScheduleFields.def"
  return emitError() << "unknown schedule field '" << name << "', expected "
                     << llvm::join(ArrayRef(words).drop_back(), ", ") << " or "
                     << words.back();
}

LogicalResult
ScheduleFields::set(StringRef list,
                    function_ref<InFlightDiagnostic()> emitError) {
  for (auto [name, text] : parseFields(list))
    if (failed(set(name, text, emitError)))
      return failure();
  return success();
}

LogicalResult
ScheduleFields::dropRoleFields(const llvm::StringSet<> &asked,
                               function_ref<InFlightDiagnostic()> emitError) {
  const ScheduleFields none;
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  if (Scope::scope == Scope::Roles) {                                          \
    if (asked.contains(word) && member != none.member)                         \
      return emitError() << "schedule's '" << word                             \
                         << "' needs roles: set 'producer_registers'";         \
    member = none.member;                                                      \
  }
#include "fovea/Schedule/ScheduleFields.def"
  return success();
}

LogicalResult
ScheduleFields::verify(function_ref<InFlightDiagnostic()> emitError) const {
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  if (failed(verifyRange(word, member, least, most, emitError)))               \
    return failure();
#include "fovea/Schedule/ScheduleFields.def"

  if ((producerRegisters == 0) != (consumerRegisters == 0))
    return emitError() << "schedule's 'producer_registers' and "
                          "'consumer_registers' must both be set or both be 0";
  if (rowTiles != 0 && producerRegisters == 0)
    return emitError() << "schedule's 'row_tiles' needs roles: "
                          "set 'producer_registers'";
  if (output == plan::OutputPath::Direct && outputStages != 0)
    return emitError() << "schedule's 'output_stages' needs 'output' tma";
  return success();
}

//===----------------------------------------------------------------------===//
// Fields of a plan
//===----------------------------------------------------------------------===//

/// Returns the stages of the stream if the plan lists it.
static int64_t getListedStages(plan::KernelAttr plan, StringRef name,
                               int64_t others) {
  for (plan::StreamAttr stream : plan.getStreams())
    if (stream.getName() == name)
      return stream.getFields().stages;
  return others;
}

/// Returns true if the role loads Q, an operand of the scores.
static bool copiesIn(plan::RoleAttr role) {
  return role.getCopies() ||
         llvm::any_of(role.getOwns().getAsValueRange<StringAttr>(),
                      [](StringRef name) {
                        return name == "q" || name.starts_with("q.");
                      });
}

/// Returns true if the role only transposes V.
static bool transposes(plan::RoleAttr role) {
  auto owned = role.getOwns().getAsValueRange<StringAttr>();
  return llvm::equal(owned, ArrayRef<StringRef>(kTransposedValues));
}

/// Returns the registers of the role that copies, or of the first one that
/// computes.
static int64_t getRegisters(plan::KernelAttr plan, bool copies) {
  for (plan::RoleAttr role : plan.getRoles())
    if (copiesIn(role) == copies && !transposes(role))
      return role.getRegisters();
  return 0;
}

bool fovea::transposesValues(plan::KernelAttr plan) {
  return llvm::any_of(plan.getRoles(), transposes);
}

static int64_t getTransposeWarps(plan::KernelAttr plan) {
  const auto *role = llvm::find_if(plan.getRoles(), transposes);
  return role == plan.getRoles().end() ? 0 : role->getWarps();
}

/// Returns true if a dot stays outstanding across loop iterations, as in plans
/// that are written by hand.
static bool hasDotInFlight(plan::KernelAttr plan) {
  return llvm::any_of(plan.getOrder(), [](plan::StepAttr step) {
    return step.getPart() == plan::StepPart::Read;
  });
}

static plan::OutputPath getOutput(plan::KernelAttr plan) {
  bool isCopied = llvm::any_of(plan.getStores(), [](plan::StoreAttr store) {
    return store.getFields().isCopied &&
           plan::isOutputStore(store.getName().getValue());
  });
  return isCopied ? plan::OutputPath::Tma : plan::OutputPath::Direct;
}
static bool hasOwnBuffer(plan::KernelAttr plan) {
  plan::StorePlan store = plan.getStore("out");
  return store.isCopied && !store.over;
}

ScheduleFields ScheduleFields::from(plan::KernelAttr plan) {
  ScheduleFields fields;
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  fields.member = static_cast<type>(found);
#include "fovea/Schedule/ScheduleFields.def"
  return fields;
}

static int64_t getPrinted(int64_t value) { return value; }
template <typename Enum>
static StringRef getPrinted(Enum value) {
  return stringifyEnum(value);
}

std::string ScheduleFields::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const ScheduleFields none;
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  if (Scope::scope == Scope::First || member != none.member)                   \
    stream << (text.empty() ? "" : ",") << word << "=" << getPrinted(member);
#include "fovea/Schedule/ScheduleFields.def"
  return text;
}

void ScheduleFields::writeJSON(llvm::json::OStream &json) const {
  const ScheduleFields none;
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  if (Scope::scope == Scope::First || member != none.member)                   \
    json.attribute(word, getPrinted(member));
#include "fovea/Schedule/ScheduleFields.def"
}
