//===- PlanSyntax.cpp - Syntax of the plan dialect ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Plan/IR/Plan.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::plan;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A flag is its keyword without a value.
static ParseResult parseValue(AsmParser &, bool &value) {
  value = true;
  return success();
}
static ParseResult parseValue(AsmParser &parser, int64_t &value) {
  return failure(parser.parseEqual() || parser.parseInteger(value));
}
static ParseResult parseValue(AsmParser &parser, StringAttr &value) {
  return failure(parser.parseEqual() || parser.parseAttribute(value));
}
template <typename Enum>
static ParseResult parseValue(AsmParser &parser, Enum &value) {
  StringRef keyword;
  if (parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> found = symbolizeEnum<Enum>(keyword);
  if (!found)
    return parser.emitError(loc) << "unknown value '" << keyword << "'";
  value = *found;
  return success();
}

static void printValue(AsmPrinter &, bool) {}
static void printValue(AsmPrinter &printer, int64_t value) {
  printer << " = " << value;
}
static void printValue(AsmPrinter &printer, StringAttr value) {
  printer << " = " << value;
}
template <typename Enum>
static void printValue(AsmPrinter &printer, Enum value) {
  printer << " = " << stringifyEnum(value);
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// Parses the value of the field `name`. Returns false if there is no such
/// field, and fails after a diagnostic if the value is invalid.
template <typename Plan>
static FailureOr<bool> parseField(AsmParser &parser, StringRef name,
                                  Plan &plan) {
  bool isKnown = false, isRight = true;
  forEachField<Plan>([&](auto field) {
    if (field.name != name)
      return;
    isKnown = true;
    isRight = succeeded(parseValue(parser, plan.*field.member));
  });
  if (!isRight)
    return failure();
  return isKnown;
}

/// Prints the first `always` fields and all fields that differ from their
/// defaults, each after a comma.
template <typename Plan>
static void printFields(AsmPrinter &printer, const Plan &plan,
                        unsigned always = 0) {
  const Plan none;
  unsigned number = 0;
  forEachField<Plan>([&](auto field) {
    if (number++ >= always && plan.*field.member == none.*field.member)
      return;
    printer << ", " << field.name;
    printValue(printer, plan.*field.member);
  });
}

template <typename Plan>
static std::string listFields() {
  std::string list;
  forEachField<Plan>([&](auto field) {
    list += (list.empty() ? "" : ", ") + field.name.str();
  });
  return list;
}

namespace {
/// Parses keywords and rejects repeated ones.
class Keywords {
public:
  explicit Keywords(AsmParser &parser) : parser(parser) {}

  ParseResult parse(StringRef &keyword) {
    loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    if (seen.insert(keyword).second)
      return success();
    return parser.emitError(loc) << "'" << keyword << "' is specified twice";
  }
  void emitUnknown(StringRef keyword, const Twine &known) {
    parser.emitError(loc) << "unknown field '" << keyword << "', expected "
                          << known;
  }

private:
  AsmParser &parser;
  SMLoc loc;
  llvm::StringSet<> seen;
};
} // namespace

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Parses `<"k", stages = 3>`.
template <typename Entry, typename Plan>
static Attribute parseEntry(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  Plan plan;
  Keywords keywords(parser);
  if (parser.parseLess() || parser.parseAttribute(name))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    if (keywords.parse(keyword))
      return {};
    FailureOr<bool> isField = parseField(parser, keyword, plan);
    if (failed(isField))
      return {};
    if (!*isField) {
      keywords.emitUnknown(keyword, listFields<Plan>());
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<Entry>(loc, parser.getContext(), name, plan);
}

template <typename Entry>
static void printEntry(AsmPrinter &printer, Entry entry) {
  printer << "<" << entry.getName();
  printFields(printer, entry.getFields());
  printer << ">";
}

Attribute StreamAttr::parse(AsmParser &parser, Type) {
  return parseEntry<StreamAttr, StreamPlan>(parser);
}
void StreamAttr::print(AsmPrinter &printer) const {
  printEntry(printer, *this);
}
Attribute DotAttr::parse(AsmParser &parser, Type) {
  return parseEntry<DotAttr, DotPlan>(parser);
}
void DotAttr::print(AsmPrinter &printer) const { printEntry(printer, *this); }
Attribute StoreAttr::parse(AsmParser &parser, Type) {
  return parseEntry<StoreAttr, StorePlan>(parser);
}
void StoreAttr::print(AsmPrinter &printer) const { printEntry(printer, *this); }

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Parses `"s"` or `"s" + 1`.
static StepAttr parseStep(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  int64_t stage = 0;
  if (parser.parseAttribute(name))
    return {};
  if (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(stage))
    return {};
  return parser.getChecked<StepAttr>(loc, parser.getContext(), name, stage);
}

static void printStep(AsmPrinter &printer, StepAttr step) {
  printer << step.getName();
  if (int64_t stage = step.getStage())
    printer << " + " << stage;
}

Attribute StepAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  StepAttr step = parseStep(parser);
  return step && succeeded(parser.parseGreater()) ? step : StepAttr();
}
void StepAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printStep(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Parses `= [<...>, <...>]`.
template <typename Entry>
static ParseResult parseList(AsmParser &parser, SmallVector<Entry> &entries) {
  return failure(parser.parseEqual() ||
                 parser.parseCommaSeparatedList(
                     AsmParser::Delimiter::Square, [&]() -> ParseResult {
                       return parser.parseCustomAttributeWithFallback(
                           entries.emplace_back());
                     }));
}
static ParseResult parseList(AsmParser &parser, SmallVector<StepAttr> &steps) {
  return failure(parser.parseEqual() ||
                 parser.parseCommaSeparatedList(
                     AsmParser::Delimiter::Square, [&]() -> ParseResult {
                       return success(
                           bool(steps.emplace_back(parseStep(parser))));
                     }));
}
static ParseResult parseList(AsmParser &parser,
                             SmallVector<StringAttr> &names) {
  return failure(parser.parseEqual() ||
                 parser.parseCommaSeparatedList(
                     AsmParser::Delimiter::Square, [&]() -> ParseResult {
                       return parser.parseAttribute(names.emplace_back());
                     }));
}

template <typename Entry>
static void printList(AsmPrinter &printer, StringRef name,
                      ArrayRef<Entry> entries) {
  if (entries.empty())
    return;
  printer << ", " << name << " = [";
  llvm::interleaveComma(entries, printer, [&](Entry entry) {
    printer.printStrippedAttrOrType(entry);
  });
  printer << "]";
}

Attribute KernelAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Attribute unit;
  KernelPlan fields;
  SmallVector<StreamAttr> streams;
  SmallVector<DotAttr> dots;
  SmallVector<StoreAttr> stores;
  SmallVector<RoleAttr> roles;
  SmallVector<StepAttr> order;
  SmallVector<StringAttr> asked;
  Keywords keywords(parser);
  if (parser.parseLess())
    return {};
  SMLoc unitLoc = parser.getCurrentLocation();
  if (parser.parseAttribute(unit))
    return {};
  if (!isa<MatrixUnitAttrInterface>(unit)) {
    parser.emitError(unitLoc) << "expected an MMA unit, found " << unit;
    return {};
  }
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    if (keywords.parse(keyword))
      return {};
    FailureOr<bool> isField = parseField(parser, keyword, fields);
    if (failed(isField))
      return {};
    if (*isField)
      continue;
    ParseResult isRight = failure();
    if (keyword == "streams")
      isRight = parseList(parser, streams);
    else if (keyword == "dots")
      isRight = parseList(parser, dots);
    else if (keyword == "stores")
      isRight = parseList(parser, stores);
    else if (keyword == "roles")
      isRight = parseList(parser, roles);
    else if (keyword == "order")
      isRight = parseList(parser, order);
    else if (keyword == "asked")
      isRight = parseList(parser, asked);
    else
      keywords.emitUnknown(keyword,
                           listFields<KernelPlan>() +
                               ", streams, dots, stores, roles, order, asked");
    if (isRight)
      return {};
  }
  if (parser.parseGreater())
    return {};
  return KernelAttr::getChecked(
      [&] { return parser.emitError(loc); }, parser.getContext(),
      cast<MatrixUnitAttrInterface>(unit), fields,
      ArrayRef<StreamAttr>(streams), ArrayRef<DotAttr>(dots),
      ArrayRef<StoreAttr>(stores), ArrayRef<RoleAttr>(roles),
      ArrayRef<StepAttr>(order), ArrayRef<StringAttr>(asked));
}

static void printOrder(AsmPrinter &printer, ArrayRef<StepAttr> order) {
  if (order.empty())
    return;
  printer << ", order = [";
  llvm::interleaveComma(order, printer,
                        [&](StepAttr step) { printStep(printer, step); });
  printer << "]";
}

static void printNames(AsmPrinter &printer, StringRef name,
                       ArrayRef<StringAttr> names) {
  if (names.empty())
    return;
  printer << ", " << name << " = [";
  llvm::interleaveComma(names, printer);
  printer << "]";
}

void KernelAttr::print(AsmPrinter &printer) const {
  // The tile shape, warps and stages are always printed.
  constexpr unsigned kAlways = 4;
  printer << "<" << getUnit();
  printFields(printer, getFields(), kAlways);
  printList(printer, "streams", getStreams());
  printList(printer, "dots", getDots());
  printList(printer, "stores", getStores());
  printList(printer, "roles", getRoles());
  printOrder(printer, getOrder());
  printNames(printer, "asked", getAsked());
  printer << ">";
}
