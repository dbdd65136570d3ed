//===- Blocks.cpp - Loops over key blocks ---------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// Parses `%lower to %upper step 64 descending full(%fb, %fe)`.
static ParseResult
parseRange(OpAsmParser &parser, int64_t &step, BlockOrder &order,
           SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  auto parseOperand = [&] {
    return parser.parseOperand(operands.emplace_back());
  };
  if (parseOperand() || parser.parseKeyword("to") || parseOperand() ||
      parser.parseKeyword("step") || parser.parseInteger(step))
    return failure();
  order.isDescending = succeeded(parser.parseOptionalKeyword("descending"));
  order.isAtLeastOnce = !order.isDescending &&
                        succeeded(parser.parseOptionalKeyword("at_least_once"));
  return failure(parser.parseKeyword("full") || parser.parseLParen() ||
                 parseOperand() || parser.parseComma() || parseOperand() ||
                 parser.parseRParen());
}

/// Parses `%count masked(%masked) init(%a : i32) step 64`.
static ParseResult
parseVisits(OpAsmParser &parser, int64_t &step,
            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
            SmallVectorImpl<Type> &types) {
  if (parser.parseOperand(operands.emplace_back()) ||
      parser.parseKeyword("masked") || parser.parseLParen() ||
      parser.parseOperand(operands.emplace_back()) || parser.parseRParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("init")) &&
      (parser.parseLParen() || parser.parseOperandList(operands) ||
       parser.parseColonTypeList(types) || parser.parseRParen()))
    return failure();
  return failure(parser.parseKeyword("step") || parser.parseInteger(step));
}

ParseResult
tile::parseBlocks(OpAsmParser &parser, bool &isVisiting, int64_t &step,
                  BlockOrder &order,
                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                  SmallVectorImpl<Type> &initTypes) {
  isVisiting = succeeded(parser.parseOptionalKeyword("blocks"));
  return isVisiting ? parseVisits(parser, step, operands, initTypes)
                    : parseRange(parser, step, order, operands);
}

std::array<int32_t, 8> tile::getSegments(bool isVisiting, size_t inits,
                                         size_t more) {
  int32_t range = isVisiting ? 0 : 1, visits = isVisiting ? 1 : 0;
  return {range,  range,  range,          range,
          visits, visits, int32_t(inits), int32_t(more)};
}

ParseResult tile::parseWithArguments(OpAsmParser &parser, Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseArgumentList(arguments,
                                          OpAsmParser::Delimiter::Paren,
                                          /*allowType=*/true) ||
                 parser.parseRegion(region, arguments));
}

void tile::printWithArguments(OpAsmPrinter &p, StringRef name, Region &region) {
  if (region.empty())
    return;
  p.increaseIndent();
  p.printNewline();
  p << name << '(';
  llvm::interleaveComma(region.getArguments(), p, [&](BlockArgument a) {
    p << a << ": " << a.getType();
  });
  p << ") ";
  p.printRegion(region, /*printEntryBlockArgs=*/false);
  p.decreaseIndent();
}

//===----------------------------------------------------------------------===//
// IsPartialOp
//===----------------------------------------------------------------------===//

LogicalResult IsPartialOp::verify() {
  if (getFirst() || getEnd())
    return success();
  return emitOpError("needs a bound, 'below' or 'from'");
}

OpFoldResult IsPartialOp::fold(FoldAdaptor adaptor) {
  auto block = dyn_cast_or_null<IntegerAttr>(adaptor.getBlock()),
       first = dyn_cast_or_null<IntegerAttr>(adaptor.getFirst()),
       end = dyn_cast_or_null<IntegerAttr>(adaptor.getEnd());
  if (!block)
    return {};
  bool isBelow = first && block.getValue().slt(first.getValue()),
       isBehind = end && block.getValue().sge(end.getValue());
  bool isKnown = (!getFirst() || first) && (!getEnd() || end);
  if (!isKnown && !isBelow && !isBehind)
    return {};
  return BoolAttr::get(getContext(), isBelow || isBehind);
}

void IsPartialOp::inferResultRanges(ArrayRef<ConstantIntRanges> ranges,
                                    SetIntRangeFn setRange) {
  const ConstantIntRanges &block = ranges[0];
  bool mayBe = false, surelyIs = false;
  if (getFirst()) {
    const ConstantIntRanges &first = ranges[1];
    mayBe |= block.smin().slt(first.smax());
    surelyIs |= block.smax().slt(first.smin());
  }
  if (getEnd()) {
    const ConstantIntRanges &end = ranges.back();
    mayBe |= block.smax().sge(end.smin());
    surelyIs |= block.smin().sge(end.smax());
  }
  setRange(getResult(), ConstantIntRanges::fromUnsigned(APInt(1, surelyIs),
                                                        APInt(1, mayBe)));
}

//===----------------------------------------------------------------------===//
// ForBlocksOp
//===----------------------------------------------------------------------===//

LogicalResult ForBlocksOp::verify() {
  if (getDescending() && getAtLeastOnce())
    return emitOpError(
        "has both 'descending' and 'at_least_once': 'descending' "
        "already runs at least once");
  return verifyBlocks(*this);
}

LogicalResult ForBlocksOp::verifyRegions() {
  if (failed(verifyVisit(*this)))
    return failure();
  TypeRange carried = getCarried().getTypes();
  if (getResultTypes() != carried)
    return emitOpError("results must have the types of the carried values, (")
           << carried << "), found (" << getResultTypes() << ")";
  SmallVector<Type> types = {IndexType::get(getContext()),
                             IntegerType::get(getContext(), 1)};
  llvm::append_range(types, carried);
  if (!llvm::equal(getBody().getArgumentTypes(), types))
    return emitOpError("body must have arguments (")
           << types << "), found (" << getBody().getArgumentTypes() << ")";
  Operation *yield = getBody().front().getTerminator();
  if (!isa<YieldOp>(yield) || yield->getOperandTypes() != carried)
    return yield->emitOpError("in the body must yield (")
           << carried << "), found (" << yield->getOperandTypes() << ")";
  return success();
}

ParseResult ForBlocksOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> initTypes, carriedTypes;
  Builder &builder = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  int64_t step;
  bool isVisiting;
  BlockOrder order;
  if (parseBlocks(parser, isVisiting, step, order, operands, initTypes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("carry")) &&
      (parser.parseLParen() || parser.parseOperandList(operands) ||
       parser.parseColonTypeList(carriedTypes) || parser.parseRParen()))
    return failure();
  Region *body = result.addRegion(), *visit = result.addRegion();
  if ((isVisiting &&
       (parser.parseKeyword("visit") || parseWithArguments(parser, *visit))) ||
      parser.parseKeyword("do") || parseWithArguments(parser, *body) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (order.isDescending)
    result.addAttribute(getDescendingAttrName(result.name),
                        builder.getUnitAttr());
  if (order.isAtLeastOnce)
    result.addAttribute(getAtLeastOnceAttrName(result.name),
                        builder.getUnitAttr());
  result.addAttribute(getStepAttrName(result.name),
                      builder.getI64IntegerAttr(step));
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr(getSegments(
                          isVisiting, initTypes.size(), carriedTypes.size())));
  result.addTypes(carriedTypes);
  SmallVector<Type> types(isVisiting ? 2 : 4, builder.getIndexType());
  llvm::append_range(types, initTypes);
  llvm::append_range(types, carriedTypes);
  return parser.resolveOperands(operands, types, loc, result.operands);
}

void ForBlocksOp::print(OpAsmPrinter &p) {
  printBlocks(p, *this);
  if (!getCarried().empty())
    p << " carry(" << getCarried() << " : " << getCarried().getTypes() << ')';
  printWithArguments(p, "visit", getVisit());
  printWithArguments(p, "do", getBody());
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {getStepAttrName(), getDescendingAttrName(),
                           getAtLeastOnceAttrName(),
                           getOperandSegmentSizesAttrName()});
}
