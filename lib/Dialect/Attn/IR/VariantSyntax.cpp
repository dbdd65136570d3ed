//===- VariantSyntax.cpp - Syntax of attention ops' clauses ---------------===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantSyntax.h"

#include "Clauses.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::attn;

/// Names of the attributes that all attention ops have.
static constexpr StringLiteral kScale("scale"), kLayout("layout"),
    kTf32("tf32"), kSequence("sequence"), kCaptureNumbers("captureNumbers"),
    kCaptureNames("captureNames"), kDropout("dropout"),
    kDropoutGenerator("dropoutGenerator"), kBlockSize("blockSize"),
    kOperandSegments("operandSegmentSizes");

ParseResult fovea::attn::parseTypedOperands(OpAsmParser &parser,
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

/// Parses `, most = 16)` and the clause of the keys, if there are such.
static ParseResult parsePackedQueries(OpAsmParser &parser, Attribute &form,
                                      TypedOperands &clause);

/// Parses the clause of the sequence form `keyword`.
static ParseResult parseSequenceForm(OpAsmParser &parser, StringRef keyword,
                                     Attribute &form, TypedOperands &clause) {
  if (parser.parseLParen() || parseTypedOperands(parser, clause))
    return failure();
  // One operand: the offsets of the queries; a clause for the keys may follow.
  if (keyword == PackedAttr::getMnemonic() && clause.operands.size() == 1)
    return parsePackedQueries(parser, form, clause);
  FailureOr<SequenceFormAttrInterface> parsed =
      fovea::attn::detail::parseSequenceParameters(parser, keyword,
                                                   clause.operands.size());
  if (failed(parsed))
    return failure();
  form = *parsed;
  return parser.parseRParen();
}

static ParseResult parsePackedQueries(OpAsmParser &parser, Attribute &form,
                                      TypedOperands &clause) {
  int64_t most = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("most") || parser.parseEqual() ||
       parser.parseInteger(most)))
    return failure();
  if (parser.parseRParen())
    return failure();
  Attribute keys = DenseAttr::get(parser.getContext());
  StringRef keyKeyword;
  TypedOperands keyClause;
  if (succeeded(parser.parseOptionalKeyword(
          &keyKeyword,
          {LengthsAttr::getMnemonic(), PagedAttr::getMnemonic()})) &&
      parseSequenceForm(parser, keyKeyword, keys, keyClause))
    return failure();
  llvm::append_range(clause.operands, keyClause.operands);
  llvm::append_range(clause.types, keyClause.types);
  form = parser.getChecked<PackedQueriesAttr>(
      loc, parser.getContext(), llvm::cast<SequenceFormAttrInterface>(keys),
      most);
  return success(form != nullptr);
}

/// Parses `(%a, %b : t, u)`, optionally with `, numbers = [0, 2]` or
/// `, names = ["a", "b"]` after the types.
static ParseResult parseCaptures(OpAsmParser &parser, TypedOperands &captures,
                                 DenseI64ArrayAttr &numbers, ArrayAttr &names) {
  constexpr auto kSquare = OpAsmParser::Delimiter::Square;
  if (parser.parseLParen() || parseTypedOperands(parser, captures))
    return failure();
  if (failed(parser.parseOptionalComma()))
    return parser.parseRParen();
  if (succeeded(parser.parseOptionalKeyword("names"))) {
    SmallVector<std::string> list;
    if (parser.parseEqual() || parser.parseCommaSeparatedList(kSquare, [&] {
          return parser.parseString(&list.emplace_back());
        }))
      return failure();
    names = parser.getBuilder().getStrArrayAttr(
        llvm::to_vector_of<StringRef>(list));
    return parser.parseRParen();
  }
  SmallVector<int64_t> list;
  if (parser.parseKeyword("numbers") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(
          kSquare, [&] { return parser.parseInteger(list.emplace_back()); }))
    return failure();
  numbers = parser.getBuilder().getDenseI64ArrayAttr(list);
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

VariantClauses::VariantClauses(OpAsmParser &parser, OperationState &result,
                               ArrayRef<StringRef> regionNames,
                               ArrayRef<StringRef> ownKeywords,
                               ParseOwn parseOwn)
    : parser(parser), result(result), regionNames(regionNames),
      ownKeywords(ownKeywords), parseOwn(parseOwn),
      sequence(DenseAttr::get(parser.getContext())) {
  for (size_t number = 0; number < regionNames.size(); ++number)
    regions.push_back(result.addRegion());
}

ParseResult VariantClauses::parseScale() {
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
  result.addAttribute(kScale, parser.getBuilder().getF64FloatAttr(constant));
  return parser.parseRParen();
}

ParseResult VariantClauses::parseSinks() {
  if (parser.parseLParen() || parseTypedOperands(parser, sinks) ||
      parser.parseRParen())
    return failure();
  if (sinks.operands.size() != 1)
    return parser.emitError(sinks.loc, "expected one tensor of sinks, found ")
           << sinks.operands.size();
  return success();
}

ParseResult VariantClauses::parseClause(StringRef keyword) {
  for (auto [name, region] : llvm::zip(regionNames, regions))
    if (keyword == name)
      return parseModRegion(parser, *region);
  if (llvm::is_contained(ownKeywords, keyword))
    return parseOwn(keyword);
  if (keyword == "scale")
    return parseScale();
  if (keyword == "sinks")
    return parseSinks();
  if (keyword == "layout") {
    FailureOr<LayoutAttr> layout = parseLayout(parser);
    if (failed(layout))
      return failure();
    result.addAttribute(kLayout, *layout);
    return success();
  }
  if (keyword == kTf32) {
    result.addAttribute(kTf32, parser.getBuilder().getUnitAttr());
    return success();
  }
  if (keyword == "captures") {
    DenseI64ArrayAttr numbers;
    ArrayAttr names;
    if (parseCaptures(parser, captures, numbers, names))
      return failure();
    if (numbers)
      result.addAttribute(kCaptureNumbers, numbers);
    if (names)
      result.addAttribute(kCaptureNames, names);
    return success();
  }
  if (keyword == "dropout") {
    FloatAttr probability;
    IntegerAttr generator;
    if (parseDropout(parser, probability, generator, dropout))
      return failure();
    if (generator)
      result.addAttribute(kDropoutGenerator, generator);
    result.addAttribute(kDropout, probability);
    return success();
  }
  if (keyword == "blocks") {
    DenseI64ArrayAttr size;
    if (parseBlocks(parser, blockLists, size))
      return failure();
    result.addAttribute(kBlockSize, size);
    return success();
  }
  return parseSequenceForm(parser, keyword, sequence, sequenceOperands);
}

ParseResult VariantClauses::parse() {
  llvm::StringSet<> seen;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  ArrayRef<StringRef> forms = fovea::attn::detail::getSequenceKeywords();
  SmallVector<StringRef> keywords = {"scale",   "layout", "captures", "sinks",
                                     "dropout", "blocks", kTf32};
  llvm::append_range(keywords, regionNames);
  llvm::append_range(keywords, ownKeywords);
  llvm::append_range(keywords, forms);
  while (succeeded(parser.parseOptionalKeyword(&keyword, keywords))) {
    bool isForm = llvm::is_contained(forms, keyword);
    StringRef kind = isForm ? StringRef("sequence form") : keyword;
    if (!seen.insert(kind).second)
      return parser.emitError(loc, "'") << kind << "' is specified twice";
    if (parseClause(keyword))
      return failure();
    loc = parser.getCurrentLocation();
  }
  result.addAttribute(kSequence, sequence);
  return success();
}

ParseResult VariantClauses::resolve(SMLoc start, ArrayRef<int32_t> before,
                                    TypedOperands *last) {
  scale.loc = start;
  for (TypedOperands *clause : {&scale, &captures, &sequenceOperands, &sinks,
                                &dropout, &blockLists, last})
    if (clause && parser.resolveOperands(clause->operands, clause->types,
                                         clause->loc, result.operands))
      return failure();
  int32_t numDropout = dropout.operands.size() / 2;
  SmallVector<int32_t> segments(before);
  llvm::append_values(segments, int32_t(scale.operands.size()),
                      int32_t(captures.operands.size()),
                      int32_t(sequenceOperands.operands.size()),
                      int32_t(sinks.operands.size()), numDropout, numDropout,
                      int32_t(blockLists.operands.size()));
  if (last)
    segments.push_back(last->operands.size());
  result.addAttribute(kOperandSegments,
                      parser.getBuilder().getDenseI32ArrayAttr(segments));
  return success();
}

void fovea::attn::printTypedOperands(OpAsmPrinter &p, StringRef keyword,
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

static void printSequenceForm(OpAsmPrinter &p, SequenceFormAttrInterface form,
                              OperandRange operands) {
  if (operands.empty())
    return;
  if (Attribute keys = form.getKeyForm()) {
    printTypedOperands(p, form.getKeyword(), operands.take_front());
    form.printParameters(p);
    p << ')';
    return printSequenceForm(p, cast<SequenceFormAttrInterface>(keys),
                             operands.drop_front());
  }
  printTypedOperands(p, form.getKeyword(), operands);
  form.printParameters(p);
  p << ')';
}

void fovea::attn::printVariantClauses(OpAsmPrinter &p,
                                      AttentionOpInterface op) {
  if (op.getScaleValue())
    p << " scale(" << op.getScaleValue() << " : "
      << op.getScaleValue().getType() << ')';
  else if (FloatAttr scale = op.getScaleAttr()) {
    p << " scale(";
    p.printAttributeWithoutType(scale);
    p << ')';
  }
  if (op.getLayout() != Layout::BHSD)
    p << " layout(" << stringifyLayout(op.getLayout()) << ')';
  if (op.getTf32())
    p << ' ' << kTf32;
  printSequenceForm(p, op.getSequence(), op.getSequenceOperands());
  if (op.getSinks())
    p << " sinks(" << op.getSinks() << " : " << op.getSinks().getType() << ')';
  if (FloatAttr dropout = op.getDropoutAttr()) {
    p << " dropout(";
    p.printAttributeWithoutType(dropout);
    p << ", " << op.getDropoutSeed() << ", " << op.getDropoutOffset();
    if (int64_t(op.getDropoutGenerator()) != fovea::generator::kVersion)
      p << ", generator = " << int64_t(op.getDropoutGenerator());
    p << ')';
  }
  if (!op.getCaptures().empty()) {
    printTypedOperands(p, "captures", op.getCaptures());
    if (std::optional<ArrayRef<int64_t>> numbers = op.getCaptureNumbers()) {
      p << ", numbers = [";
      llvm::interleaveComma(*numbers, p);
      p << ']';
    }
    if (std::optional<ArrayAttr> names = op.getCaptureNames())
      p << ", names = " << *names;
    p << ')';
  }
  if (op.hasBlocks()) {
    printTypedOperands(p, "blocks", op.getBlockLists());
    p << ", size = [";
    llvm::interleaveComma(*op.getBlockSize(), p);
    p << "])";
  }
}

void fovea::attn::printVariantRegions(OpAsmPrinter &p, AttentionOpInterface op,
                                      ArrayRef<StringRef> regionNames,
                                      ArrayRef<StringRef> own) {
  p.increaseIndent();
  bool hasRegions = false;
  for (auto [name, region] : llvm::zip_equal(regionNames, op->getRegions())) {
    printModRegion(p, name, region);
    hasRegions |= !region.empty();
  }
  if (hasRegions)
    p.printNewline();
  p.decreaseIndent();
  SmallVector<StringRef> elided = {
      kScale,          kLayout,         kTf32,    kSequence,
      kCaptureNumbers, kCaptureNames,   kDropout, kDropoutGenerator,
      kBlockSize,      kOperandSegments};
  llvm::append_range(elided, own);
  p.printOptionalAttrDict(op->getAttrs(), elided);
  p << (hasRegions ? ": " : " : ");
}

bool fovea::attn::nameVariantArguments(AttentionOpInterface op, Region &region,
                                       OpAsmSetValueNameFn setName) {
  static constexpr StringRef kScoreMod[] = {"s", "b", "h", "i", "j"};
  static constexpr StringRef kMaskMod[] = {"b", "h", "i", "j"};
  static constexpr StringRef kBlock[] = {"b", "h", "i0", "i1", "j0", "j1"};
  ArrayRef<StringRef> names;
  if (&region == &op.getScoreMod())
    names = kScoreMod;
  else if (&region == &op.getMaskMod())
    names = kMaskMod;
  else if (&region == &op.getKvBounds())
    names =
        ArrayRef(kBlock).take_front(AttentionOpInterface::kKVBoundsArguments);
  else if (&region == &op.getKvClassify())
    names = kBlock;
  for (auto [name, argument] : llvm::zip(names, region.getArguments()))
    setName(argument, name);
  return !names.empty();
}
