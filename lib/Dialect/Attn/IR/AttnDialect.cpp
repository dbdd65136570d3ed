//===- AttnDialect.cpp - The attn dialect ---------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockIndices.h"
#include "Clauses.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::attn;

#include "fovea/Dialect/Attn/IR/AttnDialect.cpp.inc"
#include "fovea/Dialect/Attn/IR/AttnEnums.cpp.inc"

#include "fovea/Dialect/Attn/IR/AttnAttrInterfaces.cpp.inc"
#include "fovea/Dialect/Attn/IR/AttnOpInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Attn/IR/AttnAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Attn/IR/AttnOps.cpp.inc"

namespace {
/// Functions with attention can be inlined. The regions of attn ops contain no
/// calls, so nothing is inlined into them.
struct AttnInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Attn/IR/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
  addInterfaces<AttnInliner>();
}

//===----------------------------------------------------------------------===//
// Lengths of the current sequence
//===----------------------------------------------------------------------===//

static LogicalResult verifyInsideRegion(Operation *op) {
  if (op->getParentOfType<AttentionOpInterface>())
    return success();
  return op->emitOpError("is only valid inside a region of an attention op");
}

LogicalResult QueryLengthOp::verify() { return verifyInsideRegion(*this); }
LogicalResult KeyLengthOp::verify() { return verifyInsideRegion(*this); }

static ConstantIntRanges getLengthRange() {
  return ConstantIntRanges::fromSigned(
      APInt(64, 0), APInt(64, AttentionOpInterface::kMaxSequenceLength));
}

void QueryLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                      SetIntRangeFn setRange) {
  setRange(getResult(), getLengthRange());
}
void KeyLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getResult(), getLengthRange());
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

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

LogicalResult MergeOp::verify() {
  if (getNumOperands() == 0 || getNumOperands() % 2 != 0)
    return emitOpError("expected (output, lse) pairs, found ")
           << getNumOperands() << " operands";
  auto isFloat = [](Type t) {
    return isa<Float16Type, BFloat16Type, Float32Type>(t);
  };
  auto outType = cast<RankedTensorType>(getOutput().getType());
  auto partType = cast<RankedTensorType>(getOutputs().front().getType());
  auto lseType = cast<RankedTensorType>(getLses().front().getType());
  if (partType.getRank() != 4 || outType.getRank() != 4)
    return emitOpError("outputs must have rank 4, found ")
           << partType << " and " << outType;
  if (!isFloat(partType.getElementType()) || !isFloat(outType.getElementType()))
    return emitOpError("outputs must be f16, bf16 or f32, found ")
           << partType.getElementType() << " and " << outType.getElementType();
  if (partType.getEncoding() || outType.getEncoding())
    return emitOpError("outputs must have no encoding, found ")
           << partType << " and " << outType;
  if (partType.isDynamicDim(3))
    return emitOpError("head dim must be static, found ") << partType;
  if (failed(verifyCompatibleShape(partType.getShape(), outType.getShape())))
    return emitOpError("result shape ")
           << outType << " does not match the parts' " << partType;
  int64_t heads = getLayout() == Layout::BHSD ? 1 : 2;
  int64_t sequence = getLayout() == Layout::BHSD ? 2 : 1;
  SmallVector<int64_t, 3> expected = {partType.getDimSize(0),
                                      partType.getDimSize(heads),
                                      partType.getDimSize(sequence)};
  for (Type type : {Type(lseType), getLse() ? getLse().getType() : Type()}) {
    auto tensor = dyn_cast_or_null<RankedTensorType>(type);
    if (!tensor)
      continue;
    if (tensor.getRank() != 3 || tensor.getEncoding() ||
        !tensor.getElementType().isF32() ||
        failed(verifyCompatibleShape(tensor.getShape(), expected)))
      return emitOpError("lse must be an f32 tensor of batch, heads, queries "
                         "as the outputs have them, found ")
             << tensor;
  }
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

static SmallVector<int64_t> memoryOrder(unsigned rank, Layout layout) {
  if (rank == 4 && layout == Layout::BSHD)
    return {0, 2, 1, 3};
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

static SmallVector<std::string> mergeDims(unsigned rank, Layout layout) {
  SmallVector<std::string> dims = {"B", "Hq", "Sq", "Dv"};
  dims.truncate(rank);
  if (rank == 4 && layout == Layout::BSHD)
    std::swap(dims[1], dims[2]);
  return dims;
}

std::string MergeOp::getOperandName(unsigned index) {
  unsigned parts = getOutputs().size();
  return (index < parts ? "o" + Twine(index) : "lse" + Twine(index - parts))
      .str();
}
std::string MergeOp::getResultName(unsigned index) {
  return index == 0 ? "o" : "lse";
}
SmallVector<std::string> MergeOp::getOperandDimNames(unsigned index) {
  return mergeDims(index < getOutputs().size() ? 4 : 3, getLayout());
}
SmallVector<std::string> MergeOp::getResultDimNames(unsigned index) {
  return mergeDims(index == 0 ? 4 : 3, getLayout());
}
SmallVector<int64_t> MergeOp::getOperandMemoryOrder(unsigned index) {
  return memoryOrder(index < getOutputs().size() ? 4 : 3, getLayout());
}
SmallVector<int64_t> MergeOp::getResultMemoryOrder(unsigned index) {
  return memoryOrder(index == 0 ? 4 : 3, getLayout());
}

bool MergeOp::isOperandCopied(unsigned index) {
  return index < getOutputs().size();
}
bool MergeOp::isResultCopied(unsigned index) { return index == 0; }
WorkDims MergeOp::getWorkDims() { return {"B", "Hq", "Sq", "", ""}; }

SmallVector<std::pair<std::string, int64_t>> MergeOp::getDimLimits() {
  return {{"Sq", AttentionOpInterface::kMaxSequenceLength}};
}
