//===- SoftmaxOps.cpp - Softmax ops of the tile dialect -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and syntax of tile.softmax_sum, tile.softmax_merge and
// tile.softmax_finish.
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fovea::tile;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Checks that offsets, sums and accumulators have the same rows.
static LogicalResult verifyState(Operation *op, RankedTensorType m,
                                 RankedTensorType l, TypeRange accs) {
  if (accs.empty())
    return op->emitOpError("expected at least one accumulator");
  for (Type type : accs) {
    auto acc = cast<RankedTensorType>(type);
    auto isRowTile = [&](RankedTensorType row) {
      return row.getDimSize(0) == acc.getDimSize(0) && row.getDimSize(1) == 1 &&
             row.getEncoding() == acc.getEncoding();
    };
    if (!isRowTile(m) || !isRowTile(l))
      return op->emitOpError("m and l must be row tiles of the accumulator's ")
             << acc.getDimSize(0) << " rows, found " << m << ", " << l
             << " and " << acc;
  }
  return success();
}

LogicalResult SoftmaxMergeOp::verify() {
  return verifyState(*this, getM().getType(), getL().getType(),
                     getAccs().getTypes());
}

LogicalResult SoftmaxFinishOp::verify() {
  if (getSink() && getSink().getType() != getM().getType())
    return emitOpError("sink must have the type of m, found ")
           << getSink().getType() << " and " << getM().getType();
  return verifyState(*this, getM().getType(), getL().getType(),
                     getAccs().getTypes());
}

//===----------------------------------------------------------------------===//
// SoftmaxSumOp
//===----------------------------------------------------------------------===//

/// The columns of all accumulators.
static int64_t countColumns(ValueRange accs) {
  int64_t columns = 0;
  for (Value acc : accs)
    columns += cast<RankedTensorType>(acc.getType()).getDimSize(1);
  return columns;
}

static OperandRange getValueTiles(SoftmaxSumOp op) {
  return op.getValues().front().getTerminator()->getOperands();
}

FloatType SoftmaxSumOp::getValueElementType() {
  return cast<FloatType>(getElementTypeOrSelf(getValueTiles(*this).front()));
}

SoftmaxSumOp::ValueColumns SoftmaxSumOp::getValueColumns(unsigned part) {
  OperandRange tiles = getValueTiles(*this);
  if (tiles.size() > 1)
    return {part, 0, true};
  auto tile = cast<RankedTensorType>(tiles.front().getType());
  auto acc = cast<RankedTensorType>(getAccs()[part].getType());
  return {0, countColumns(getAccs().take_front(part)),
          tile.getDimSize(1) == acc.getDimSize(1)};
}

StringAttr SoftmaxSumOp::getDotName(unsigned part) {
  StringAttr name = getNameAttr();
  if (!name || getAccs().size() == 1)
    return name;
  return StringAttr::get(getContext(), name.getValue() + "." + Twine(part));
}

LogicalResult SoftmaxSumOp::verify() {
  if (failed(verifyBlocks(*this)))
    return failure();
  if (!getScale().isFinite() || getScale().isNegative() || getScale().isZero())
    return emitOpError("scale must be positive and finite, found ")
           << getScale().convertToDouble();
  if (!getVisible().empty() && getVisible().size() != 2)
    return emitOpError("visible must have two bounds or none, found ")
           << getVisible().size();
  return verifyState(*this, getM().getType(), getL().getType(),
                     getAccs().getTypes());
}

static LogicalResult verifySoftmaxRegion(SoftmaxSumOp op, StringRef name,
                                         Region &region,
                                         ArrayRef<Type> arguments,
                                         function_ref<bool(TypeRange)> yields,
                                         const Twine &expected) {
  if (!llvm::equal(region.getArgumentTypes(), arguments))
    return op.emitOpError() << name << " must have arguments (" << arguments
                            << "), found (" << region.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || !yields(yield.getOperandTypes()))
    return region.front().getTerminator()->emitOpError()
           << "in " << name << " must yield " << expected << ", found "
           << region.front().getTerminator()->getOperandTypes();
  return success();
}

/// True for one tile of values for each accumulator, or one for all of them.
static bool areValueTiles(SoftmaxSumOp op, TypeRange types) {
  ResultRange accs = op.getAccs();
  auto first = cast<RankedTensorType>(accs.front().getType());
  auto isTile = [&](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && isa<FloatType>(tile.getElementType()) &&
           tile.getElementTypeBitWidth() <= 32 && tile.getRank() == 2 &&
           tile.getDimSize(0) == int64_t(op.getStep()) &&
           tile.getEncoding() == first.getEncoding();
  };
  if (types.empty() || !llvm::all_of(types, isTile) ||
      !llvm::all_equal(llvm::map_range(
          types, [](Type type) { return getElementTypeOrSelf(type); })))
    return false;
  auto getColumns = [](Type type) {
    return cast<RankedTensorType>(type).getDimSize(1);
  };
  if (types.size() == 1)
    return getColumns(types.front()) >= countColumns(accs);
  return llvm::equal(llvm::map_range(types, getColumns),
                     llvm::map_range(accs.getTypes(), getColumns));
}

LogicalResult SoftmaxSumOp::verifyRegions() {
  if (failed(verifyVisit(*this)))
    return failure();
  Type index = IndexType::get(getContext()),
       i1 = IntegerType::get(getContext(), 1);
  auto acc = cast<RankedTensorType>(getAccs().front().getType());
  int64_t rows = acc.getDimSize(0), columns = getStep();
  RankedTensorType scores =
      tileLike(acc, {rows, columns}, Float32Type::get(getContext()));
  auto isScores = [&](TypeRange types) {
    return types.size() == 1 && types.front() == scores;
  };
  auto areValues = [&](TypeRange types) { return areValueTiles(*this, types); };
  std::string score =
      "a " + std::to_string(rows) + "x" + std::to_string(columns) + " f32 tile";
  if (failed(verifySoftmaxRegion(*this, "scores", getScores(), {index, i1},
                                 isScores, score)) ||
      failed(verifySoftmaxRegion(
          *this, "values", getValues(), {index}, areValues,
          "tiles of " + Twine(columns) +
              " rows and one float type of at most 32 bits, one with the "
              "columns of each accumulator or one with at least " +
              Twine(countColumns(getAccs())) + " columns")))
    return failure();
  if (getWeights().empty())
    return success();
  return verifySoftmaxRegion(*this, "weights", getWeights(), {index, scores},
                             isScores, score);
}

ParseResult SoftmaxSumOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::UnresolvedOperand, 2> visible;
  SmallVector<Type> initTypes;
  Builder &builder = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  int64_t step;
  double scale;
  BlockOrder order;
  StringAttr name;
  if (OptionalParseResult parsed = parser.parseOptionalAttribute(
          name, getNameAttrName(result.name), result.attributes);
      parsed.has_value() && failed(*parsed))
    return failure();
  bool isVisiting;
  if (parseBlocks(parser, isVisiting, step, order, operands, initTypes))
    return failure();
  if (order.isAtLeastOnce)
    return parser.emitError(parser.getNameLoc(),
                            "'at_least_once' is supported on tile.for_blocks "
                            "only; 'descending' already runs at least once");
  if (order.isDescending)
    result.addAttribute(getDescendingAttrName(result.name),
                        builder.getUnitAttr());
  if (!isVisiting && succeeded(parser.parseOptionalKeyword("visible")) &&
      parser.parseOperandList(visible, 2, OpAsmParser::Delimiter::Paren))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand, 1> runtimeScale;
  if (parser.parseKeyword("scale") || parser.parseLParen() ||
      parser.parseFloat(scale) ||
      (succeeded(parser.parseOptionalComma()) &&
       parser.parseOperand(runtimeScale.emplace_back())) ||
      parser.parseRParen())
    return failure();
  result.addAttribute(getStepAttrName(result.name),
                      builder.getI64IntegerAttr(step));
  result.addAttribute(getScaleAttrName(result.name),
                      builder.getF32FloatAttr(scale));
  Region *scores = result.addRegion(), *values = result.addRegion(),
         *weights = result.addRegion(), *visit = result.addRegion();
  if (isVisiting &&
      (parser.parseKeyword("visit") || parseWithArguments(parser, *visit)))
    return failure();
  if (parser.parseKeyword("scores") || parseWithArguments(parser, *scores))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("weights")) &&
      parseWithArguments(parser, *weights))
    return failure();
  RankedTensorType row;
  SmallVector<Type> accs;
  if (parser.parseKeyword("values") || parseWithArguments(parser, *values) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseType(row) || parser.parseComma() ||
      parser.parseTypeList(accs))
    return failure();
  result.addTypes({row, row});
  result.addTypes(accs);
  auto ofBlocks = getSegments(isVisiting, initTypes.size(), visible.size());
  SmallVector<int32_t> segments(ofBlocks.begin(), ofBlocks.end());
  segments.push_back(runtimeScale.size());
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr(segments));
  SmallVector<Type> types(isVisiting ? 2 : 4, builder.getIndexType());
  llvm::append_range(types, initTypes);
  llvm::append_range(operands, visible);
  types.append(visible.size(), builder.getIndexType());
  llvm::append_range(operands, runtimeScale);
  types.append(runtimeScale.size(), builder.getF32Type());
  return parser.resolveOperands(operands, types, loc, result.operands);
}

void SoftmaxSumOp::print(OpAsmPrinter &p) {
  if (getNameAttr())
    p << ' ' << getNameAttr();
  printBlocks(p, *this);
  if (!getVisible().empty())
    p << " visible(" << getVisible() << ')';
  p << " scale(";
  p.printAttributeWithoutType(getScaleAttr());
  if (getRuntimeScale())
    p << ", " << getRuntimeScale();
  p << ')';
  printWithArguments(p, "visit", getVisit());
  printWithArguments(p, "scores", getScores());
  printWithArguments(p, "weights", getWeights());
  printWithArguments(p, "values", getValues());
  p.printNewline();
  p << " ";
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {getStepAttrName(), getScaleAttrName(),
                           getDescendingAttrName(), getNameAttrName(),
                           getOperandSegmentSizesAttrName()});
  p << " : " << getM().getType() << ", " << getAccs().getTypes();
}
