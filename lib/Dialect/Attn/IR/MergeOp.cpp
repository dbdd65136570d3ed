//===- MergeOp.cpp - attn.merge -------------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clauses.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace fovea::attn;

/// Dimensions of the outputs of one part, and of stacked parts.
static constexpr int64_t kRank = 4, kStackedRank = 5;

void MergeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "o");
  if (getLse())
    setName(getLse(), "lse");
}

// attn.merge (%o0, %lse0), (%o1, %lse1) layout(bshd) {attrs}
//   : tensor, tensor -> tensor, tensor
ParseResult MergeOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> outputs, lses;
  auto parsePair = [&]() -> ParseResult {
    return failure(
        parser.parseLParen() || parser.parseOperand(outputs.emplace_back()) ||
        parser.parseComma() || parser.parseOperand(lses.emplace_back()) ||
        parser.parseRParen());
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(parsePair))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("layout"))) {
    FailureOr<LayoutAttr> layout = parseLayout(parser);
    if (failed(layout))
      return failure();
    result.addAttribute(getLayoutAttrName(result.name), *layout);
  }
  Type output, lse;
  SmallVector<Type> results;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseType(output) || parser.parseComma() ||
      parser.parseType(lse) || parser.parseArrow() ||
      parser.parseTypeList(results))
    return failure();
  for (auto &operand : outputs)
    if (parser.resolveOperand(operand, output, result.operands))
      return failure();
  for (auto &operand : lses)
    if (parser.resolveOperand(operand, lse, result.operands))
      return failure();
  if (results.empty() || results.size() > 2)
    return parser.emitError(loc, "expected one or two results, found ")
           << results.size();
  result.addTypes(results);
  return success();
}

void MergeOp::print(OpAsmPrinter &p) {
  p << ' ';
  llvm::interleaveComma(llvm::zip(getOutputs(), getLses()), p, [&](auto pair) {
    p << '(' << std::get<0>(pair) << ", " << std::get<1>(pair) << ')';
  });
  if (getLayout() != Layout::BHSD)
    p << " layout(" << stringifyLayout(getLayout()) << ')';
  p.printOptionalAttrDict((*this)->getAttrs(), {getLayoutAttrName()});
  p << " : " << getOutputs().front().getType() << ", "
    << getLses().front().getType() << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), p);
}

bool MergeOp::isStacked() {
  return cast<RankedTensorType>(getOutputs().front().getType()).getRank() ==
         kStackedRank;
}

static bool isFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

/// Checks O of the parts and of the result.
static LogicalResult verifyOutputs(MergeOp op) {
  auto result = cast<RankedTensorType>(op.getOutput().getType());
  auto part = cast<RankedTensorType>(op.getOutputs().front().getType());
  bool hasRank = part.getRank() == kRank || part.getRank() == kStackedRank;
  if (!hasRank || result.getRank() != kRank)
    return op.emitOpError("outputs must have rank 4, or 5 if they are stacked, "
                          "and the result rank 4, found ")
           << part << " and " << result;
  if (op.isStacked() && op.getOutputs().size() != 1)
    return op.emitOpError("stacked parts must be the only pair, found ")
           << op.getOutputs().size() << " pairs of " << part;
  if (!isFloat(part.getElementType()) || !isFloat(result.getElementType()))
    return op.emitOpError("outputs must be f16, bf16 or f32, found ")
           << part.getElementType() << " and " << result.getElementType();
  if (part.getEncoding() || result.getEncoding())
    return op.emitOpError("outputs must have no encoding, found ")
           << part << " and " << result;
  if (ShapedType::isDynamic(part.getShape().back()))
    return op.emitOpError("head dim must be static, found ") << part;
  if (failed(verifyCompatibleShape(part.getShape().take_back(kRank),
                                   result.getShape())))
    return op.emitOpError("result shape ")
           << result << " does not match the parts' " << part;
  return success();
}

/// Checks an LSE against the `expected` shape.
static LogicalResult verifyLse(MergeOp op, Type type,
                               ArrayRef<int64_t> expected) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() == int64_t(expected.size()) && !tensor.getEncoding() &&
      tensor.getElementType().isF32() &&
      succeeded(verifyCompatibleShape(tensor.getShape(), expected)))
    return success();
  return op.emitOpError("lse must be an f32 tensor of ")
         << (expected.size() == kRank ? "parts, " : "")
         << "batch, heads, queries as the outputs have them, found " << tensor;
}

LogicalResult MergeOp::verify() {
  if (getNumOperands() == 0 || getNumOperands() % 2 != 0)
    return emitOpError("expected (output, lse) pairs, found ")
           << getNumOperands() << " operands";
  if (failed(verifyOutputs(*this)))
    return failure();
  Type partType = getOutputs().front().getType(),
       lseType = getLses().front().getType();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(partType).getShape();
  ArrayRef<int64_t> part = shape.take_back(kRank);
  SmallVector<int64_t, 4> expected = {part[0], part[1], part[2]};
  if (getLayout() == Layout::BSHD)
    std::swap(expected[1], expected[2]);
  if (getLse() && failed(verifyLse(*this, getLse().getType(), expected)))
    return failure();
  if (isStacked())
    expected.insert(expected.begin(), shape.front());
  if (failed(verifyLse(*this, lseType, expected)))
    return failure();
  for (Value v : getOutputs())
    if (v.getType() != partType)
      return emitOpError("all parts must have the same type, found ")
             << v.getType() << " and " << partType;
  for (Value v : getLses())
    if (v.getType() != lseType)
      return emitOpError("all log-sum-exps must have the same type, found ")
             << v.getType() << " and " << lseType;
  return success();
}

/// The number of dimensions of one part: 4 for O, 3 for LSE.
static unsigned getPartRank(bool isOutput) { return isOutput ? kRank : 3; }

static SmallVector<int64_t> getOrder(bool isOutput, Layout layout,
                                     bool isStacked = false) {
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, getPartRank(isOutput) + isStacked));
  if (isOutput && layout == Layout::BSHD)
    std::swap(order[1 + isStacked], order[2 + isStacked]);
  return order;
}

static SmallVector<std::string> getDims(bool isOutput, Layout layout,
                                        bool isStacked = false) {
  SmallVector<std::string> dims = {"B", "Hq", "Sq", "Dv"};
  dims.truncate(getPartRank(isOutput));
  if (isOutput && layout == Layout::BSHD)
    std::swap(dims[1], dims[2]);
  if (isStacked)
    dims.insert(dims.begin(), "parts");
  return dims;
}

std::string MergeOp::getOperandName(unsigned index) {
  if (isStacked())
    return index == 0 ? "o_parts" : "lse_parts";
  unsigned parts = getOutputs().size();
  return (index < parts ? "o" + Twine(index) : "lse" + Twine(index - parts))
      .str();
}
std::string MergeOp::getResultName(unsigned index) {
  return index == 0 ? "o" : "lse";
}
SmallVector<std::string> MergeOp::getOperandDimNames(unsigned index) {
  return getDims(index < getOutputs().size(), getLayout(), isStacked());
}
SmallVector<std::string> MergeOp::getResultDimNames(unsigned index) {
  return getDims(index == 0, getLayout());
}
SmallVector<int64_t> MergeOp::getOperandMemoryOrder(unsigned index) {
  return getOrder(index < getOutputs().size(), getLayout(), isStacked());
}
SmallVector<int64_t> MergeOp::getResultMemoryOrder(unsigned index) {
  return getOrder(index == 0, getLayout());
}

bool MergeOp::isOperandCopied(unsigned index) {
  return index < getOutputs().size();
}
bool MergeOp::isResultCopied(unsigned index) { return index == 0; }
WorkDims MergeOp::getWorkDims() { return {"B", "Hq", "Sq", "", ""}; }

SmallVector<std::pair<std::string, int64_t>> MergeOp::getDimLimits() {
  constexpr int64_t kMost = AttentionOpInterface::kMaxSequenceLength;
  SmallVector<std::pair<std::string, int64_t>> limits = {{"Sq", kMost}};
  if (isStacked())
    limits.emplace_back("parts", kMost);
  return limits;
}
