//===- ForwardSyntax.cpp - How attn.forward is written ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clauses.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::attn;

void ForwardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "o");
  if (getLse())
    setName(getLse(), "lse");
}

void ForwardOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  static constexpr StringRef kScoreMod[] = {"s", "b", "h", "i", "j"};
  static constexpr StringRef kMaskMod[] = {"b", "h", "i", "j"};
  static constexpr StringRef kBlock[] = {"b", "h", "i0", "i1", "j0", "j1"};
  ArrayRef<StringRef> names = kBlock;
  if (&region == &getScoreMod())
    names = kScoreMod;
  else if (&region == &getMaskMod())
    names = kMaskMod;
  else if (&region == &getKvBounds())
    names = names.take_front(kKVBoundsArguments);
  for (auto [name, argument] : llvm::zip(names, region.getArguments()))
    setName(argument, name);
}

namespace {
/// Operands and types of a clause such as `captures(%a, %b : t, u)`.
struct TypedOperands {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc;
};
} // namespace

/// Parses as many types as there are operands: what follows the last one, a
/// comma perhaps, is the clause's own.
static ParseResult parseTypedOperands(OpAsmParser &parser,
                                      TypedOperands &clause) {
  if (parser.getCurrentLocation(&clause.loc) ||
      parser.parseOperandList(clause.operands) || parser.parseColon())
    return failure();
  for (size_t index = 0; index < clause.operands.size(); ++index)
    if ((index != 0 && parser.parseComma()) ||
        parser.parseType(clause.types.emplace_back()))
      return failure();
  return success();
}

/// Parses the clause of the sequence form that `keyword` names.
static ParseResult parseSequenceForm(OpAsmParser &parser, StringRef keyword,
                                     Attribute &form, TypedOperands &clause) {
  if (parser.parseLParen() || parseTypedOperands(parser, clause))
    return failure();
  FailureOr<SequenceFormAttrInterface> parsed =
      fovea::attn::detail::parseSequenceParameters(parser, keyword);
  if (failed(parsed))
    return failure();
  form = *parsed;
  return parser.parseRParen();
}

/// Parses `(%a, %b : t, u)`, after the types perhaps `, numbers = [0, 2]`.
static ParseResult parseCaptures(OpAsmParser &parser, TypedOperands &captures,
                                 DenseI64ArrayAttr &numbers) {
  if (parser.parseLParen() || parseTypedOperands(parser, captures))
    return failure();
  if (succeeded(parser.parseOptionalComma())) {
    SmallVector<int64_t> list;
    if (parser.parseKeyword("numbers") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(list.emplace_back());
        }))
      return failure();
    numbers = parser.getBuilder().getDenseI64ArrayAttr(list);
  }
  return parser.parseRParen();
}

/// Parses `(0.1, %seed, %offset)` and `(0.1, %seed, %offset, generator = 1)`.
static ParseResult parseDropout(OpAsmParser &parser, FloatAttr &probability,
                                IntegerAttr &generator, TypedOperands &clause) {
  Builder &b = parser.getBuilder();
  double value;
  clause.types.assign(2, b.getI64Type());
  if (parser.parseLParen() || parser.parseFloat(value) || parser.parseComma() ||
      parser.getCurrentLocation(&clause.loc) ||
      parser.parseOperand(clause.operands.emplace_back()) ||
      parser.parseComma() ||
      parser.parseOperand(clause.operands.emplace_back()))
    return failure();
  probability = b.getF64FloatAttr(value);
  if (succeeded(parser.parseOptionalComma())) {
    int64_t version;
    if (parser.parseKeyword("generator") || parser.parseEqual() ||
        parser.parseInteger(version))
      return failure();
    generator = b.getI64IntegerAttr(version);
  }
  return parser.parseRParen();
}

/// Parses `(%pc, %pi : t, u, size = [128, 128])`.
static ParseResult parseBlocks(OpAsmParser &parser, TypedOperands &lists,
                               DenseI64ArrayAttr &size) {
  SmallVector<int64_t> extents;
  if (parser.parseLParen() || parseTypedOperands(parser, lists) ||
      parser.parseComma() || parser.parseKeyword("size") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(extents.emplace_back());
      }))
    return failure();
  size = parser.getBuilder().getDenseI64ArrayAttr(extents);
  return parser.parseRParen();
}

/// Parses `(%x: t, ...) { ... }`.
static ParseResult parseModRegion(OpAsmParser &parser, Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseRegion(region, arguments, /*enableNameShadowing=*/true))
    return failure();
  if (region.empty())
    region.emplaceBlock();
  return success();
}

// attn.forward %q, %k, %v clause* attr-dict? : q, k, v -> o, lse
namespace {
/// What stands between the operands and the types of `attn.forward`.
class Clauses {
public:
  Clauses(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result),
        sequence(DenseAttr::get(parser.getContext())) {
    for (Region *&region : regions)
      region = result.addRegion();
  }

  /// All clauses, in any order, each at most once.
  ParseResult parse();
  /// Operands behind query, key and value, in the op's order.
  ParseResult resolve(SMLoc start);

private:
  ParseResult parseClause(StringRef keyword);
  ParseResult parseScale();
  ParseResult parseSinks();

  OpAsmParser &parser;
  OperationState &result;
  static constexpr StringRef kRegions[] = {"score_mod", "mask_mod", "kv_bounds",
                                           "kv_classify"};
  Region *regions[std::size(kRegions)];
  Attribute sequence;
  TypedOperands scale, captures, sequenceOperands, sinks, dropout, blockLists;
};
} // namespace

ParseResult Clauses::parseScale() {
  OpAsmParser::UnresolvedOperand operand;
  if (parser.parseLParen())
    return failure();
  OptionalParseResult parsed = parser.parseOptionalOperand(operand);
  if (parsed.has_value()) {
    if (failed(*parsed) || parser.parseColonType(scale.types.emplace_back()))
      return failure();
    scale.operands.push_back(operand);
    return parser.parseRParen();
  }
  double constant;
  if (parser.parseFloat(constant))
    return failure();
  result.addAttribute(ForwardOp::getScaleAttrName(result.name),
                      parser.getBuilder().getF64FloatAttr(constant));
  return parser.parseRParen();
}

ParseResult Clauses::parseSinks() {
  if (parser.parseLParen() || parseTypedOperands(parser, sinks) ||
      parser.parseRParen())
    return failure();
  if (sinks.operands.size() != 1)
    return parser.emitError(sinks.loc, "expected one tensor of sinks, found ")
           << sinks.operands.size();
  return success();
}

ParseResult Clauses::parseClause(StringRef keyword) {
  for (auto [name, region] : llvm::zip(kRegions, regions))
    if (keyword == name)
      return parseModRegion(parser, *region);
  if (keyword == "scale")
    return parseScale();
  if (keyword == "sinks")
    return parseSinks();
  if (keyword == "layout") {
    FailureOr<LayoutAttr> layout = parseLayout(parser);
    if (failed(layout))
      return failure();
    result.addAttribute(ForwardOp::getLayoutAttrName(result.name), *layout);
    return success();
  }
  if (keyword == "captures") {
    DenseI64ArrayAttr numbers;
    if (parseCaptures(parser, captures, numbers))
      return failure();
    if (numbers)
      result.addAttribute(ForwardOp::getCaptureNumbersAttrName(result.name),
                          numbers);
    return success();
  }
  if (keyword == "dropout") {
    FloatAttr probability;
    IntegerAttr generator;
    if (parseDropout(parser, probability, generator, dropout))
      return failure();
    if (generator)
      result.addAttribute(ForwardOp::getDropoutGeneratorAttrName(result.name),
                          generator);
    result.addAttribute(ForwardOp::getDropoutAttrName(result.name),
                        probability);
    return success();
  }
  if (keyword == "blocks") {
    DenseI64ArrayAttr size;
    if (parseBlocks(parser, blockLists, size))
      return failure();
    result.addAttribute(ForwardOp::getBlockSizeAttrName(result.name), size);
    return success();
  }
  return parseSequenceForm(parser, keyword, sequence, sequenceOperands);
}

ParseResult Clauses::parse() {
  llvm::StringSet<> seen;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  ArrayRef<StringRef> forms = fovea::attn::detail::getSequenceKeywords();
  SmallVector<StringRef> keywords = {
      "scale",     "layout",      "captures", "score_mod", "mask_mod",
      "kv_bounds", "kv_classify", "sinks",    "dropout",   "blocks"};
  llvm::append_range(keywords, forms);
  while (succeeded(parser.parseOptionalKeyword(&keyword, keywords))) {
    bool isForm = llvm::is_contained(forms, keyword);
    StringRef kind = isForm ? StringRef("sequence form") : keyword;
    if (!seen.insert(kind).second)
      return parser.emitError(loc, "'") << kind << "' is given twice";
    if (parseClause(keyword))
      return failure();
    loc = parser.getCurrentLocation();
  }
  result.addAttribute(ForwardOp::getSequenceAttrName(result.name), sequence);
  return success();
}

ParseResult Clauses::resolve(SMLoc start) {
  scale.loc = start;
  for (TypedOperands *clause :
       {&scale, &captures, &sequenceOperands, &sinks, &dropout, &blockLists})
    if (parser.resolveOperands(clause->operands, clause->types, clause->loc,
                               result.operands))
      return failure();
  int32_t numDropout = dropout.operands.size() / 2;
  int32_t segments[] = {1,
                        1,
                        1,
                        int32_t(scale.operands.size()),
                        int32_t(captures.operands.size()),
                        int32_t(sequenceOperands.operands.size()),
                        int32_t(sinks.operands.size()),
                        numDropout,
                        numDropout,
                        int32_t(blockLists.operands.size())};
  result.addAttribute(ForwardOp::getOperandSegmentSizesAttrName(result.name),
                      parser.getBuilder().getDenseI32ArrayAttr(segments));
  return success();
}

ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> qkv;
  SMLoc loc = parser.getCurrentLocation(), typesLoc;
  if (parser.parseOperandList(qkv, 3))
    return failure();
  Clauses clauses(parser, result);
  SmallVector<Type> types, results;
  if (clauses.parse() || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColon() || parser.getCurrentLocation(&typesLoc) ||
      parser.parseTypeList(types) || parser.parseArrow() ||
      parser.parseTypeList(results))
    return failure();
  if (types.size() != 3)
    return parser.emitError(typesLoc,
                            "expected the types of q, k and v, found ")
           << types.size() << " types";
  if (results.size() > 2)
    return parser.emitError(typesLoc, "expected one or two results, found ")
           << results.size();
  result.addTypes(results);
  return failure(parser.resolveOperands(qkv, types, loc, result.operands) ||
                 clauses.resolve(loc));
}

static void printTypedOperands(OpAsmPrinter &p, StringRef keyword,
                               OperandRange operands) {
  p << ' ' << keyword << '(' << operands << " : " << operands.getTypes();
}

static void printModRegion(OpAsmPrinter &p, StringRef keyword, Region &region) {
  if (region.empty())
    return;
  p.printNewline();
  p << keyword << '(';
  llvm::interleaveComma(region.getArguments(), p, [&](BlockArgument argument) {
    p << argument << ": " << argument.getType();
  });
  p << ") ";
  p.printRegion(region, /*printEntryBlockArgs=*/false);
}

void ForwardOp::print(OpAsmPrinter &p) {
  p << ' ' << getQuery() << ", " << getKey() << ", " << getValue();
  if (getScaleValue())
    p << " scale(" << getScaleValue() << " : " << getScaleValue().getType()
      << ')';
  else if (FloatAttr scale = getScaleAttr()) {
    p << " scale(";
    p.printAttributeWithoutType(scale);
    p << ')';
  }
  if (getLayout() != Layout::BHSD)
    p << " layout(" << stringifyLayout(getLayout()) << ')';
  if (!getSequenceOperands().empty()) {
    printTypedOperands(p, getSequence().getKeyword(), getSequenceOperands());
    getSequence().printParameters(p);
    p << ')';
  }
  if (getSinks())
    p << " sinks(" << getSinks() << " : " << getSinks().getType() << ')';
  if (FloatAttr dropout = getDropoutAttr()) {
    p << " dropout(";
    p.printAttributeWithoutType(dropout);
    p << ", " << getDropoutSeed() << ", " << getDropoutOffset();
    if (int64_t(getDropoutGenerator()) != fovea::generator::kVersion)
      p << ", generator = " << int64_t(getDropoutGenerator());
    p << ')';
  }
  if (!getCaptures().empty()) {
    printTypedOperands(p, "captures", getCaptures());
    if (std::optional<ArrayRef<int64_t>> numbers = getCaptureNumbers()) {
      p << ", numbers = [";
      llvm::interleaveComma(*numbers, p);
      p << ']';
    }
    p << ')';
  }
  if (hasBlocks()) {
    printTypedOperands(p, "blocks", getBlockLists());
    p << ", size = [";
    llvm::interleaveComma(*getBlockSize(), p);
    p << "])";
  }
  p.increaseIndent();
  printModRegion(p, "score_mod", getScoreMod());
  printModRegion(p, "mask_mod", getMaskMod());
  printModRegion(p, "kv_bounds", getKvBounds());
  printModRegion(p, "kv_classify", getKvClassify());
  bool hasRegions = llvm::any_of(
      (*this)->getRegions(), [](Region &region) { return !region.empty(); });
  if (hasRegions)
    p.printNewline();
  p.decreaseIndent();
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {getScaleAttrName(), getLayoutAttrName(),
                           getSequenceAttrName(), getCaptureNumbersAttrName(),
                           getDropoutAttrName(), getDropoutGeneratorAttrName(),
                           getBlockSizeAttrName(),
                           getOperandSegmentSizesAttrName()});
  p << (hasRegions ? ": " : " : ") << getQuery().getType() << ", "
    << getKey().getType() << ", " << getValue().getType() << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), p);
}
