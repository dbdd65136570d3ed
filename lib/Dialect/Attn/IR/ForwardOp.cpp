//===- ForwardOp.cpp - attn.forward -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CapturedSizes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

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

std::optional<double> ForwardOp::getConstantScale() {
  if (getScaleValue())
    return std::nullopt;
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(double(getQueryType().getDimSize(3)));
}

int64_t ForwardOp::getDroppedShare() {
  return getDropoutAttr()
             ? std::lround(getDropoutAttr().getValueAsDouble() * kDropoutSteps)
             : 0;
}

int64_t ForwardOp::getCaptureNumber(unsigned index) {
  std::optional<ArrayRef<int64_t>> numbers = getCaptureNumbers();
  return numbers ? (*numbers)[index] : index;
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

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
  MLIRContext *context = parser.getContext();
  if (parser.parseLParen() || parseTypedOperands(parser, clause))
    return failure();
  if (keyword == LengthsAttr::getMnemonic()) {
    form = LengthsAttr::get(context);
  } else if (keyword == PackedAttr::getMnemonic()) {
    form = PackedAttr::get(context);
  } else {
    int64_t page;
    if (parser.parseComma() || parser.parseKeyword("page") ||
        parser.parseEqual() || parser.parseInteger(page))
      return failure();
    form = PagedAttr::get(context, page);
  }
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

/// Parses `(0.1, %seed, %offset)`.
static ParseResult parseDropout(OpAsmParser &parser, FloatAttr &probability,
                                TypedOperands &clause) {
  Builder &b = parser.getBuilder();
  double value;
  clause.types.assign(2, b.getI64Type());
  if (parser.parseLParen() || parser.parseFloat(value) || parser.parseComma() ||
      parser.getCurrentLocation(&clause.loc) ||
      parser.parseOperandList(clause.operands, 2) || parser.parseRParen())
    return failure();
  probability = b.getF64FloatAttr(value);
  return success();
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
ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::UnresolvedOperand> qkv;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(qkv, 3))
    return failure();

  Region *scoreMod = result.addRegion();
  Region *maskMod = result.addRegion();
  Region *kvBounds = result.addRegion();
  Region *kvClassify = result.addRegion();
  TypedOperands captures, sequenceOperands, scaleOperand, sinks, dropout,
      blockLists;
  Attribute form = DenseAttr::get(context);
  llvm::StringSet<> seen;
  StringRef keyword;
  SMLoc keywordLoc = parser.getCurrentLocation();
  while (succeeded(parser.parseOptionalKeyword(
      &keyword, {"scale", "layout", "captures", "score_mod", "mask_mod",
                 "kv_bounds", "kv_classify", "lengths", "packed", "paged",
                 "sinks", "dropout", "blocks"}))) {
    bool isForm =
        keyword == "lengths" || keyword == "packed" || keyword == "paged";
    if (!seen.insert(isForm ? StringRef("sequence form") : keyword).second)
      return parser.emitError(keywordLoc, "'")
             << (isForm ? StringRef("sequence form") : keyword)
             << "' is given twice";
    if (keyword == "scale") {
      double scale;
      OpAsmParser::UnresolvedOperand operand;
      if (parser.parseLParen())
        return failure();
      OptionalParseResult parsed = parser.parseOptionalOperand(operand);
      if (parsed.has_value()) {
        if (failed(*parsed) ||
            parser.parseColonType(scaleOperand.types.emplace_back()))
          return failure();
        scaleOperand.operands.push_back(operand);
      } else {
        if (parser.parseFloat(scale))
          return failure();
        result.addAttribute(getScaleAttrName(result.name),
                            builder.getF64FloatAttr(scale));
      }
      if (parser.parseRParen())
        return failure();
    } else if (keyword == "layout") {
      StringRef name;
      SMLoc layoutLoc;
      if (parser.parseLParen() || parser.getCurrentLocation(&layoutLoc) ||
          parser.parseKeyword(&name) || parser.parseRParen())
        return failure();
      std::optional<Layout> layout = symbolizeLayout(name);
      if (!layout)
        return parser.emitError(layoutLoc, "expected 'bhsd' or 'bshd', found '")
               << name << "'";
      result.addAttribute(getLayoutAttrName(result.name),
                          LayoutAttr::get(context, *layout));
    } else if (keyword == "captures") {
      DenseI64ArrayAttr numbers;
      if (parseCaptures(parser, captures, numbers))
        return failure();
      if (numbers)
        result.addAttribute(getCaptureNumbersAttrName(result.name), numbers);
    } else if (keyword == "sinks") {
      if (parser.parseLParen() || parseTypedOperands(parser, sinks) ||
          parser.parseRParen())
        return failure();
      if (sinks.operands.size() != 1)
        return parser.emitError(sinks.loc,
                                "expected one tensor of sinks, found ")
               << sinks.operands.size();
    } else if (keyword == "dropout") {
      FloatAttr probability;
      if (parseDropout(parser, probability, dropout))
        return failure();
      result.addAttribute(getDropoutAttrName(result.name), probability);
    } else if (keyword == "blocks") {
      DenseI64ArrayAttr size;
      if (parseBlocks(parser, blockLists, size))
        return failure();
      result.addAttribute(getBlockSizeAttrName(result.name), size);
    } else if (isForm) {
      if (parseSequenceForm(parser, keyword, form, sequenceOperands))
        return failure();
    } else {
      Region *region = keyword == "score_mod"   ? scoreMod
                       : keyword == "mask_mod"  ? maskMod
                       : keyword == "kv_bounds" ? kvBounds
                                                : kvClassify;
      if (parseModRegion(parser, *region))
        return failure();
    }
    keywordLoc = parser.getCurrentLocation();
  }
  result.addAttribute(getSequenceAttrName(result.name), form);

  SmallVector<Type> types, results;
  SMLoc typesLoc;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typesLoc) || parser.parseTypeList(types) ||
      parser.parseArrow() || parser.parseTypeList(results))
    return failure();
  if (types.size() != 3)
    return parser.emitError(typesLoc,
                            "expected the types of q, k and v, found ")
           << types.size() << " types";
  if (results.size() > 2)
    return parser.emitError(typesLoc, "expected one or two results, found ")
           << results.size();
  if (parser.resolveOperands(qkv, types, loc, result.operands) ||
      parser.resolveOperands(scaleOperand.operands, scaleOperand.types, loc,
                             result.operands) ||
      parser.resolveOperands(captures.operands, captures.types, captures.loc,
                             result.operands) ||
      parser.resolveOperands(sequenceOperands.operands, sequenceOperands.types,
                             sequenceOperands.loc, result.operands) ||
      parser.resolveOperands(sinks.operands, sinks.types, sinks.loc,
                             result.operands) ||
      parser.resolveOperands(dropout.operands, dropout.types, dropout.loc,
                             result.operands) ||
      parser.resolveOperands(blockLists.operands, blockLists.types,
                             blockLists.loc, result.operands))
    return failure();
  int32_t numDropout = dropout.operands.size() / 2;
  int32_t segments[] = {1,
                        1,
                        1,
                        int32_t(scaleOperand.operands.size()),
                        int32_t(captures.operands.size()),
                        int32_t(sequenceOperands.operands.size()),
                        int32_t(sinks.operands.size()),
                        numDropout,
                        numDropout,
                        int32_t(blockLists.operands.size())};
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr(segments));
  result.addTypes(results);
  return success();
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
    if (auto paged = dyn_cast<PagedAttr>(getSequence()))
      p << ", page = " << paged.getPage();
    p << ')';
  }
  if (getSinks())
    p << " sinks(" << getSinks() << " : " << getSinks().getType() << ')';
  if (FloatAttr dropout = getDropoutAttr()) {
    p << " dropout(";
    p.printAttributeWithoutType(dropout);
    p << ", " << getDropoutSeed() << ", " << getDropoutOffset() << ')';
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
                           getDropoutAttrName(), getBlockSizeAttrName(),
                           getOperandSegmentSizesAttrName()});
  p << (hasRegions ? ": " : " : ") << getQuery().getType() << ", "
    << getKey().getType() << ", " << getValue().getType() << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), p);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool isAttentionFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

/// Two extents agree unless both are static and differ.
static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

static bool isCaptureType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getRank() <= 4 && !tensor.getEncoding() &&
           (isAttentionFloat(tensor.getElementType()) ||
            tensor.getElementType().isSignlessInteger(1) ||
            tensor.getElementType().isSignlessInteger(8) ||
            tensor.getElementType().isSignlessInteger(32) ||
            tensor.getElementType().isSignlessInteger(64));
  return type.isIndex() || type.isF32() || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

/// Checks what joins or leaves the softmax besides the scores.
static LogicalResult verifyWeights(ForwardOp op) {
  if (Value sinks = op.getSinks()) {
    auto type = cast<RankedTensorType>(sinks.getType());
    int64_t heads = op.getQueryType().getDimSize(op.getHeadDim());
    if (type.getRank() != 1 || type.getEncoding() ||
        !type.getElementType().isF32() || !agree(type.getDimSize(0), heads))
      return op.emitOpError("sinks must be an f32 tensor of the query's heads, "
                            "found ")
             << type;
  }
  bool hasSeed(op.getDropoutSeed()), hasOffset(op.getDropoutOffset()),
      hasProbability(op.getDropoutAttr());
  if (hasSeed != hasProbability || hasOffset != hasProbability)
    return op.emitOpError("dropout takes a probability, a seed and an offset");
  if (!hasProbability)
    return success();
  double p = op.getDropoutAttr().getValueAsDouble();
  constexpr double kMost = 1.0 - 1.0 / ForwardOp::kDropoutSteps;
  if (!(p >= 0.0 && p <= kMost))
    return op.emitOpError("dropout must be at least 0 and at most 65535/65536, "
                          "found ")
           << p;
  return success();
}

LogicalResult ForwardOp::verify() {
  struct Named {
    StringRef name;
    RankedTensorType type;
  };
  Named tensors[] = {{"query", getQueryType()},
                     {"key", getKeyType()},
                     {"value", getValueType()},
                     {"output", getOutputType()}};
  for (const Named &tensor : tensors) {
    if (tensor.type.getRank() != 4)
      return emitOpError() << tensor.name << " must have rank 4, found "
                           << tensor.type;
    if (tensor.type.getEncoding())
      return emitOpError() << tensor.name << " must have no encoding, found "
                           << tensor.type;
    if (!isAttentionFloat(tensor.type.getElementType()))
      return emitOpError() << tensor.name << " must be f16, bf16 or f32, found "
                           << tensor.type.getElementType();
    if (tensor.type.isDynamicDim(3))
      return emitOpError() << "head dim of the " << tensor.name
                           << " must be static, found " << tensor.type;
    int64_t elements = 1;
    for (int64_t size : tensor.type.getShape()) {
      if (size == 0)
        return emitOpError()
               << tensor.name << " must not be empty, found " << tensor.type;
      if (!ShapedType::isDynamic(size) &&
          llvm::MulOverflow(elements, size, elements))
        return emitOpError() << tensor.name
                             << " has more than 2^63 elements: " << tensor.type;
    }
  }
  Type element = getQueryType().getElementType();
  if (getKeyType().getElementType() != element ||
      getValueType().getElementType() != element)
    return emitOpError()
           << "query, key and value must have one element type, found "
           << element << ", " << getKeyType().getElementType() << " and "
           << getValueType().getElementType();
  if (getOutputType().getElementType() != element &&
      !getOutputType().getElementType().isF32())
    return emitOpError() << "output must be " << element << " or f32, found "
                         << getOutputType().getElementType();

  int64_t h = getHeadDim(), s = getSequenceDim();
  auto q = getQueryType().getShape(), k = getKeyType().getShape(),
       v = getValueType().getShape(), o = getOutputType().getShape();
  if (!getSequence().hasPagedKeys() && !agree(q[0], k[0]))
    return emitOpError() << "query and key must have one batch size, found "
                         << q[0] << " and " << k[0];
  if (!agree(k[0], v[0]) || !agree(k[h], v[h]) || !agree(k[s], v[s]))
    return emitOpError()
           << "key and value must agree in all but the head dim, found "
           << getKeyType() << " and " << getValueType();
  if (q[3] != k[3])
    return emitOpError() << "query and key must have one head dim, found "
                         << q[3] << " and " << k[3];
  if (!ShapedType::isDynamic(q[h]) && !ShapedType::isDynamic(k[h]) &&
      q[h] % k[h] != 0)
    return emitOpError()
           << "the number of query heads must be a multiple of the number of "
              "key heads, found "
           << q[h] << " and " << k[h];
  if (!agree(q[0], o[0]) || !agree(q[1], o[1]) || !agree(q[2], o[2]))
    return emitOpError()
           << "output must have the query's batch, heads and sequence, found "
           << getOutputType() << " for " << getQueryType();
  if (o[3] != v[3])
    return emitOpError() << "output and value must have one head dim, found "
                         << o[3] << " and " << v[3];
  for (auto [name, type] :
       {std::pair<StringRef, RankedTensorType>("query", getQueryType()),
        {"key", getKeyType()}}) {
    int64_t length = type.getDimSize(s);
    if (length > kMaxSequenceLength)
      return emitOpError() << name << " sequence must be at most 2^30 long, "
                           << "found " << length;
  }
  if (getLse()) {
    auto lse = cast<RankedTensorType>(getLse().getType());
    if (lse.getRank() != 3 || lse.getEncoding() ||
        !lse.getElementType().isF32() || !agree(lse.getDimSize(0), q[0]) ||
        !agree(lse.getDimSize(1), q[h]) || !agree(lse.getDimSize(2), q[s]))
      return emitOpError() << "lse must be an f32 tensor of the query's batch, "
                              "heads and sequence, found "
                           << lse;
  }

  if (getScaleValue() && getScaleAttr())
    return emitOpError("expected one scale, found a constant and an operand");
  if (getScaleAttr() && !getScaleAttr().getValue().isFinite())
    return emitOpError("scale must be finite, found ")
           << getScaleAttr().getValueAsDouble();
  for (auto [index, capture] : llvm::enumerate(getCaptures()))
    if (!isCaptureType(capture.getType()))
      return emitOpError()
             << "captured value #" << index
             << " must be an index, f32, i32 or i64, or a tensor of rank at "
                "most 4 of f16, bf16, f32, i1, i8, i32 or i64, found "
             << capture.getType();

  if (std::optional<ArrayRef<int64_t>> numbers = getCaptureNumbers()) {
    if (numbers->size() != getCaptures().size())
      return emitOpError() << "expected a number for each of "
                           << getCaptures().size() << " captured values, found "
                           << numbers->size();
    int64_t least = 0;
    for (int64_t number : *numbers) {
      if (number < least || number > kMaxCaptureNumber)
        return emitOpError()
               << "numbers of captured values must ascend, from "
                  "0 to "
               << kMaxCaptureNumber << ", found [" << *numbers << ']';
      least = number + 1;
    }
  }

  if (failed(verifyWeights(*this)))
    return failure();
  SmallVector<StringRef> names = getSequence().getOperandNames();
  if (names.size() != getSequenceOperands().size())
    return emitOpError() << "sequence form '" << getSequence().getKeyword()
                         << "' takes " << names.size() << " operands, found "
                         << getSequenceOperands().size();
  if (failed(getSequence().verifyOperands([&] { return emitOpError(); },
                                          getSequenceOperands().getTypes(),
                                          q[0])))
    return failure();
  return verifyBlocks();
}

/// Checks arguments, results and purity of one region.
static LogicalResult verifyModRegion(ForwardOp op, StringRef name,
                                     Region &region, ArrayRef<Type> leading,
                                     ArrayRef<Type> results) {
  if (region.empty())
    return success();
  SmallVector<Type> expected(leading);
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (!llvm::equal(region.getArgumentTypes(), expected)) {
    InFlightDiagnostic diag = op.emitOpError();
    diag << name << " must have arguments (" << expected << "), found (";
    diag << region.getArgumentTypes() << ")";
    return diag;
  }
  Block &block = region.front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError() << name << " must end with 'attn.yield'";
  if (!llvm::equal(yield.getOperandTypes(), results)) {
    InFlightDiagnostic diag = yield.emitOpError();
    diag << "in " << name << " must yield (" << results << "), found (";
    diag << yield.getOperandTypes() << ")";
    return diag;
  }
  WalkResult walk = region.walk([&](Operation *inner) -> WalkResult {
    if (isMemoryEffectFree(inner))
      return WalkResult::advance();
    return inner->emitOpError()
           << "is not allowed in " << name
           << ": it may have side effects, and the regions of 'attn.forward' "
              "are pure";
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ForwardOp::verifyRegions() {
  MLIRContext *context = getContext();
  Type index = IndexType::get(context), f32 = Float32Type::get(context),
       i1 = IntegerType::get(context, 1);
  if (failed(verifyModRegion(*this, "score_mod", getScoreMod(),
                             {f32, index, index, index, index}, {f32})) ||
      failed(verifyModRegion(*this, "mask_mod", getMaskMod(),
                             {index, index, index, index}, {i1})) ||
      failed(verifyModRegion(*this, "kv_bounds", getKvBounds(),
                             {index, index, index, index},
                             {index, index, index, index})))
    return failure();
  SmallVector<Type> block(kKVClassifyArguments, index);
  if (failed(verifyModRegion(*this, "kv_classify", getKvClassify(), block,
                             {i1, i1})))
    return failure();
  return verifyCapturedSizes(*this);
}

//===----------------------------------------------------------------------===//
// Canonicalisation
//===----------------------------------------------------------------------===//

namespace {
/// A score_mod that yields its score, a mask_mod that yields true: no region.
struct DropTrivialRegions : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    auto yielded = [](Region &region) {
      return cast<YieldOp>(region.front().back()).getResults().front();
    };
    Region &scoreMod = op.getScoreMod(), &maskMod = op.getMaskMod();
    bool identity =
        !scoreMod.empty() && yielded(scoreMod) == scoreMod.getArgument(0);
    bool unmasked = !maskMod.empty() && matchPattern(yielded(maskMod), m_One());
    if (!identity && !unmasked)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      auto drop = [&](Region &region) { rewriter.eraseBlock(&region.front()); };
      if (identity)
        drop(scoreMod);
      if (unmasked)
        drop(maskMod);
      for (Region *region : {&op.getKvBounds(), &op.getKvClassify()})
        if (unmasked && !region->empty())
          drop(*region);
    });
    return success();
  }
};

/// Captured values that no region reads, and values captured twice. What stays
/// keeps its number: hosts pass it by that name.
struct PruneCaptures : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    struct ModRegion {
      Region *region;
      unsigned leading;
    };
    ModRegion regions[] = {
        {&op.getScoreMod(), ForwardOp::kScoreModArguments},
        {&op.getMaskMod(), ForwardOp::kMaskModArguments},
        {&op.getKvBounds(), ForwardOp::kKVBoundsArguments},
        {&op.getKvClassify(), ForwardOp::kKVClassifyArguments}};
    OperandRange captures = op.getCaptures();
    llvm::SmallDenseMap<Value, unsigned> first;
    BitVector dead(captures.size());
    rewriter.startOpModification(op);
    // Uses of a repeated capture move to its first mention; only then is it
    // known which ones are read.
    for (auto [index, capture] : llvm::enumerate(captures)) {
      auto [entry, isNew] = first.try_emplace(capture, index);
      for (ModRegion &mod : regions)
        if (!isNew && !mod.region->empty())
          rewriter.replaceAllUsesWith(
              mod.region->getArgument(mod.leading + index),
              mod.region->getArgument(mod.leading + entry->second));
    }
    for (unsigned index = 0; index < captures.size(); ++index)
      if (llvm::all_of(regions, [&](ModRegion &mod) {
            return mod.region->empty() ||
                   mod.region->getArgument(mod.leading + index).use_empty();
          }))
        dead.set(index);
    if (dead.none()) {
      rewriter.cancelOpModification(op);
      return failure();
    }
    for (ModRegion &mod : regions) {
      if (mod.region->empty())
        continue;
      BitVector arguments(mod.leading);
      for (unsigned index = 0; index < dead.size(); ++index)
        arguments.push_back(dead.test(index));
      mod.region->front().eraseArguments(arguments);
    }
    SmallVector<Value> kept;
    SmallVector<int64_t> numbers;
    for (auto [index, capture] : llvm::enumerate(captures))
      if (!dead.test(index)) {
        kept.push_back(capture);
        numbers.push_back(op.getCaptureNumber(index));
      }
    op.getCapturesMutable().assign(kept);
    if (llvm::equal(numbers, llvm::seq<int64_t>(0, numbers.size())))
      op.removeCaptureNumbersAttr();
    else
      op.setCaptureNumbers(numbers);
    rewriter.finalizeOpModification(op);
    return success();
  }
};

/// A run-time scale that is a finite constant becomes one of the op.
struct FoldConstantScale : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    APFloat scale(0.0f);
    if (!op.getScaleValue() || op.getScaleAttr() ||
        !matchPattern(op.getScaleValue(), m_ConstantFloat(&scale)) ||
        !scale.isFinite())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getScaleValueMutable().clear();
      op.setScaleAttr(rewriter.getF64FloatAttr(scale.convertToDouble()));
    });
    return success();
  }
};
} // namespace

void ForwardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<DropTrivialRegions, FoldConstantScale, PruneCaptures>(context);
}
