//===- ScheduleTable.cpp - Tables of measured schedules ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/ScheduleTable.h"

#include "fovea/Schedule/ScheduleFields.h"
#include "fovea/Support/Untrusted.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

// Facts that every entry must have.
static constexpr StringLiteral kRequired[] = {"target", "elements", "head_dim",
                                              "value_head_dim"};

static StringRef getElements(const ScheduleProblem &problem) {
  if (problem.bits.query == 32)
    return "f32";
  return problem.wideExponent ? "bf16" : "f16";
}

llvm::json::Object fovea::describeProblem(const ScheduleProblem &problem) {
  return llvm::json::Object{{"target", problem.target->name},
                            {"elements", getElements(problem)},
                            {"head_dim", problem.headDim},
                            {"value_head_dim", problem.valueHeadDim},
                            {"uneven", problem.uneven},
                            {"lse", problem.lse},
                            {"rows", problem.rows},
                            {"score_mod", problem.scoreMod},
                            {"dropout", problem.dropout},
                            {"loads_per_score", problem.loadsPerScore},
                            {"query_block", problem.queryBlock},
                            {"key_block", problem.keyBlock},
                            {"classifies", problem.classifies},
                            {"score_bits", problem.scoreBits},
                            {"sparse", problem.sparse},
                            {"key_bits", problem.keyBits},
                            {"blocks_by_captures", problem.blocksByCaptures},
                            {"key_chunk", problem.keyChunk},
                            {"page", problem.page},
                            {"packed", problem.packed},
                            {"few_rows", problem.fewRows},
                            {"invariant", problem.invariant}};
}

/// Checks names and types of the facts of an entry; returns an error message,
/// or an empty string.
static std::string checkProblem(const llvm::json::Object &problem) {
  static const TargetInfo kAny = {"", "", 0, 0};
  ScheduleProblem any{&kAny, StreamBits(), 0, 0};
  llvm::json::Object known = describeProblem(any);
  for (StringRef name : kRequired)
    if (!problem.get(name))
      return llvm::formatv(".problem: '{0}' is missing", name);
  for (auto &[key, value] : problem) {
    StringRef name = key;
    const llvm::json::Value *like = known.get(name);
    if (!like) {
      std::string names;
      for (auto &[other, ignored] : known)
        names += (names.empty() ? "" : ", ") + StringRef(other).str();
      return llvm::formatv(".problem: unknown fact '{0}', expected {1}", name,
                           names);
    }
    bool fits = like->kind() == llvm::json::Value::Number
                    ? value.getAsInteger().has_value()
                    : value.kind() == like->kind();
    if (!fits)
      return llvm::formatv(
          ".problem.{0}: expected {1}", name,
          like->kind() == llvm::json::Value::Number    ? "an integer"
          : like->kind() == llvm::json::Value::Boolean ? "true or false"
                                                       : "a string");
  }
  StringRef target = *problem.getString("target");
  if (!lookupTarget(target))
    return llvm::formatv(".problem.target: unknown target '{0}'", target);
  StringRef elements = *problem.getString("elements");
  if (elements != "f16" && elements != "bf16")
    return llvm::formatv(".problem.elements: expected f16 or bf16, found '{0}'",
                         elements);
  return "";
}

/// Reads one entry, or returns an error message.
static std::string readEntry(const llvm::json::Value &value,
                             ScheduleTable::Entry &entry) {
  const llvm::json::Object *object = value.getAsObject();
  const llvm::json::Object *problem =
      object ? object->getObject("problem") : nullptr;
  std::optional<StringRef> schedule =
      object ? object->getString("schedule") : std::nullopt;
  if (!problem || !schedule)
    return ": expected an object with 'problem', an object, and 'schedule', a "
           "string";
  for (auto &[key, ignored] : *object) {
    StringRef name = key;
    if (name != "problem" && name != "schedule" && name != "milliseconds")
      return llvm::formatv(": unknown member '{0}'", name);
  }
  std::string wrong = checkProblem(*problem);
  entry = {*problem, schedule->str(),
           object->getNumber("milliseconds").value_or(0)};
  return wrong;
}

FailureOr<ScheduleTable>
ScheduleTable::load(StringRef path,
                    function_ref<InFlightDiagnostic()> emitError) {
  auto file = readRegularFile(path);
  if (!file) {
    emitError() << "cannot read schedule table '" << path
                << "': " << llvm::toString(file.takeError());
    return failure();
  }
  llvm::Expected<llvm::json::Value> root = parseJSON((*file)->getBuffer());
  if (!root) {
    emitError() << "schedule table '" << path
                << "' is not JSON: " << llvm::toString(root.takeError());
    return failure();
  }
  ScheduleTable table;
  table.path = path;
  const llvm::json::Object *object = root->getAsObject();
  const llvm::json::Array *list =
      object ? object->getArray("schedules") : nullptr;
  if (!list || object->size() != 1) {
    emitError()
        << "schedule table '" << path
        << "': expected an object with one member, the array 'schedules'";
    return failure();
  }
  for (auto [index, value] : llvm::enumerate(*list)) {
    std::string wrong = readEntry(value, table.entries.emplace_back());
    // Report an invalid schedule when the table is loaded, not when a problem
    // matches the entry.
    ScheduleFields fields;
    if (wrong.empty() && failed(fields.set(table.entries.back().schedule, [&] {
          InFlightDiagnostic diag = emitError();
          diag.attachNote() << "in " << table.describe(table.entries.back());
          return diag;
        })))
      return failure();
    if (wrong.empty())
      continue;
    emitError() << "schedule table '" << path << "': schedules[" << index << "]"
                << wrong;
    return failure();
  }
  return table;
}

const ScheduleTable::Entry *
ScheduleTable::lookup(const ScheduleProblem &problem) const {
  llvm::json::Object facts = describeProblem(problem);
  for (const Entry &entry : entries)
    if (llvm::all_of(entry.problem, [&](auto &fact) {
          return *facts.get(StringRef(fact.first)) == fact.second;
        }))
      return &entry;
  return nullptr;
}

std::string ScheduleTable::describe(const Entry &entry) const {
  return llvm::formatv("schedules[{0}] of '{1}'", &entry - entries.data(),
                       path);
}

void ScheduleTable::set(Entry entry) {
  for (Entry &other : entries)
    if (other.problem == entry.problem) {
      other = std::move(entry);
      return;
    }
  entries.insert(entries.begin(), std::move(entry));
}

std::string ScheduleTable::print() const {
  llvm::json::Array list;
  for (const Entry &entry : entries) {
    llvm::json::Object object{{"problem", llvm::json::Object(entry.problem)},
                              {"schedule", entry.schedule}};
    if (entry.milliseconds)
      object["milliseconds"] = entry.milliseconds;
    list.push_back(std::move(object));
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                      {"schedules", std::move(list)}}));
}
