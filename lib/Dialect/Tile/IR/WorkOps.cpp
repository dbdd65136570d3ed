//===- WorkOps.cpp - Work items, shares of them, and their joins ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// Verifies the terminator of a region that yields `types`.
static LogicalResult verifyYield(Operation *op, StringRef name, Region &region,
                                 TypeRange types) {
  Operation *yield = region.front().getTerminator();
  if (yield->getOperandTypes() == types)
    return success();
  return op->emitOpError("region '")
         << name << "' must yield (" << types << "), found ("
         << yield->getOperandTypes() << ")";
}

/// Verifies a region with arguments of `types`.
static LogicalResult verifyArguments(Operation *op, StringRef name,
                                     Region &region, TypeRange types) {
  if (TypeRange(region.getArgumentTypes()) == types)
    return success();
  return op->emitOpError("region '")
         << name << "' must have the arguments (" << types << "), found ("
         << region.getArgumentTypes() << ")";
}

//===----------------------------------------------------------------------===//
// ForeachWorkOp
//===----------------------------------------------------------------------===//

/// Arguments of the body with `shares`: item, first, end, part, parts, cta;
/// with `tiles` also the tile.
static constexpr unsigned kShareArguments = 6;

static void buildWork(OpBuilder &builder, OperationState &state,
                      WorkSchedule schedule, unsigned arguments) {
  OpBuilder::InsertionGuard guard(builder);
  state.addAttribute(ForeachWorkOp::getScheduleAttrName(state.name),
                     WorkScheduleAttr::get(builder.getContext(), schedule));
  Region *body = state.addRegion();
  SmallVector<Type> types(arguments, builder.getIndexType());
  SmallVector<Location> locs(arguments, state.location);
  builder.createBlock(body, {}, types, locs);
  YieldOp::create(builder, state.location);
  state.addRegion();
  state.addRegion();
}

void ForeachWorkOp::build(OpBuilder &builder, OperationState &state,
                          Value count, WorkSchedule schedule) {
  state.addOperands(count);
  buildWork(builder, state, schedule, 1);
}

void ForeachWorkOp::build(OpBuilder &builder, OperationState &state,
                          Value count, Value per, bool hasTiles) {
  state.addOperands({count, per});
  buildWork(builder, state, WorkSchedule::Shares, kShareArguments + hasTiles);
}

SmallVector<Region *> ForeachWorkOp::getLoopRegions() { return {&getRegion()}; }

LogicalResult ForeachWorkOp::verify() {
  if (!isShared() && getPer())
    return emitOpError("has 'per', which needs schedule 'shares', found '")
           << stringifyWorkSchedule(getSchedule()) << "'";
  if (isShared() && !getPer())
    return emitOpError("needs 'per' with schedule 'shares'");
  APInt per;
  if (isShared() && matchPattern(getPer(), m_ConstantInt(&per)) &&
      !per.isStrictlyPositive())
    return emitOpError("'per' must be positive, found ") << per.getSExtValue();
  return success();
}

LogicalResult ForeachWorkOp::verifyRegions() {
  Type index = IndexType::get(getContext());
  SmallVector<Type> arguments(isShared() ? kShareArguments + hasTiles() : 1,
                              index);
  if (!isShared() && TypeRange(getRegion().getArgumentTypes()) != arguments)
    return emitOpError("body must have one index argument, found (")
           << getRegion().getArgumentTypes() << ")";
  if (failed(verifyArguments(*this, "do", getRegion(), arguments)))
    return failure();
  Operation *yield = getBody()->getTerminator();
  if (yield->getNumOperands() != 0)
    return yield->emitOpError("in tile.foreach_work must yield nothing, found ")
           << yield->getOperandTypes();
  if (isShared() == getExtent().empty())
    return emitOpError(isShared() ? "needs a region 'extent' with schedule "
                                    "'shares'"
                                  : "must have no region 'extent' without "
                                    "schedule 'shares'");
  if (!isShared() && hasTiles())
    return emitOpError("must have no region 'tiles' without schedule 'shares'");
  if (!isShared())
    return success();
  if (hasTiles() &&
      (failed(verifyArguments(*this, "tiles", getTiles(), index)) ||
       failed(verifyYield(*this, "tiles", getTiles(), index))))
    return failure();
  SmallVector<Type> ofExtent(1 + hasTiles(), index),
      yielded(1 + hasFixedPieces(), index);
  return failure(
      failed(verifyArguments(*this, "extent", getExtent(), ofExtent)) ||
      failed(verifyYield(*this, "extent", getExtent(), yielded)));
}

/// Parses `blocks(%first to %end) part(%part of %parts at %cta) tile(%tile)`,
/// if present.
static ParseResult parsePiece(OpAsmParser &parser,
                              SmallVectorImpl<OpAsmParser::Argument> &body) {
  if (failed(parser.parseOptionalKeyword("blocks")))
    return success();
  auto parseArgument = [&]() -> ParseResult {
    return parser.parseArgument(body.emplace_back());
  };
  if (parser.parseLParen() || parseArgument() || parser.parseKeyword("to") ||
      parseArgument() || parser.parseRParen() || parser.parseKeyword("part") ||
      parser.parseLParen() || parseArgument() || parser.parseKeyword("of") ||
      parseArgument() || parser.parseKeyword("at") || parseArgument() ||
      parser.parseRParen())
    return failure();
  if (failed(parser.parseOptionalKeyword("tile")))
    return success();
  return failure(parser.parseLParen() || parseArgument() ||
                 parser.parseRParen());
}

static ParseResult parseSchedule(OpAsmParser &parser, WorkSchedule &schedule) {
  StringRef keyword;
  if (parser.parseKeyword("schedule") || parser.parseLParen())
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword) || parser.parseRParen())
    return failure();
  std::optional<WorkSchedule> found = symbolizeWorkSchedule(keyword);
  if (!found)
    return parser.emitError(location, "schedule must be single, static, "
                                      "dynamic or shares, found '")
           << keyword << "'";
  schedule = *found;
  return success();
}

ParseResult ForeachWorkOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> arguments;
  OpAsmParser::UnresolvedOperand count, per;
  WorkSchedule schedule;
  if (parser.parseArgument(arguments.emplace_back()) ||
      parsePiece(parser, arguments) || parser.parseKeyword("to") ||
      parser.parseOperand(count) ||
      parser.resolveOperand(count, builder.getIndexType(), result.operands) ||
      parseSchedule(parser, schedule))
    return failure();
  result.addAttribute(getScheduleAttrName(result.name),
                      WorkScheduleAttr::get(builder.getContext(), schedule));
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = builder.getIndexType();
  Region *body = result.addRegion(), *extent = result.addRegion(),
         *tiles = result.addRegion();
  if (succeeded(parser.parseOptionalKeyword("per")) &&
      (parser.parseLParen() || parser.parseOperand(per) ||
       parser.parseRParen() ||
       parser.resolveOperand(per, builder.getIndexType(), result.operands)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("tiles")) &&
      parseWithArguments(parser, *tiles))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("extent")) &&
      (parseWithArguments(parser, *extent) || parser.parseKeyword("do")))
    return failure();
  if (parser.parseRegion(*body, arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (body->front().empty() ||
      !body->front().back().hasTrait<OpTrait::IsTerminator>()) {
    OpBuilder b(parser.getContext());
    b.setInsertionPointToEnd(&body->front());
    YieldOp::create(b, result.location);
  }
  return success();
}

void ForeachWorkOp::print(OpAsmPrinter &p) {
  p << ' ' << getItem();
  if (isShared())
    p << " blocks(" << getFirst() << " to " << getEnd() << ") part("
      << getPart() << " of " << getParts() << " at " << getCta() << ")";
  if (hasTiles())
    p << " tile(" << getTile() << ")";
  p << " to " << getCount() << " schedule("
    << stringifyWorkSchedule(getSchedule()) << ") ";
  if (isShared()) {
    p << "per(" << getPer() << ")";
    if (hasTiles())
      printWithArguments(p, "tiles", getTiles());
    printWithArguments(p, "extent", getExtent());
    p << " do ";
  }
  p.printRegion(getRegion(), /*printEntryBlockArgs=*/false,
                /*printBlockTerminators=*/false);
  p.printOptionalAttrDict((*this)->getAttrs(), {getScheduleAttrName()});
}

//===----------------------------------------------------------------------===//
// TakeShareOp
//===----------------------------------------------------------------------===//

LogicalResult TakeShareOp::verifyRegions() {
  Type index = IndexType::get(getContext());
  return failure(failed(verifyArguments(*this, "blocks", getBlocks(), index)) ||
                 failed(verifyYield(*this, "blocks", getBlocks(), index)));
}

ParseResult TakeShareOp::parse(OpAsmParser &parser, OperationState &result) {
  Type index = parser.getBuilder().getIndexType();
  OpAsmParser::UnresolvedOperand share, shares, count;
  result.addTypes(SmallVector<Type>(5, index));
  return failure(
      parser.parseOperand(share) || parser.parseKeyword("of") ||
      parser.parseOperand(shares) || parser.parseKeyword("over") ||
      parser.parseOperand(count) ||
      parser.resolveOperands({share, shares, count}, index, result.operands) ||
      parser.parseKeyword("blocks") ||
      parseWithArguments(parser, *result.addRegion()) ||
      parser.parseOptionalAttrDict(result.attributes));
}

void TakeShareOp::print(OpAsmPrinter &p) {
  p << ' ' << getShare() << " of " << getShares() << " over " << getCount();
  printWithArguments(p, "blocks", getBlocks());
  p.printOptionalAttrDict((*this)->getAttrs());
}

//===----------------------------------------------------------------------===//
// ArriveOp
//===----------------------------------------------------------------------===//

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

/// The op reads and writes the counter, so that passes keep its order.
static void addCounterEffects(Effects &effects, OpOperand &counters) {
  for (MemoryEffects::Effect *effect :
       {static_cast<MemoryEffects::Effect *>(MemoryEffects::Read::get()),
        static_cast<MemoryEffects::Effect *>(MemoryEffects::Write::get())})
    effects.emplace_back(effect, &counters,
                         SideEffects::DefaultResource::get());
}

void ArriveOp::getEffects(Effects &effects) {
  addCounterEffects(effects, getCountersMutable());
}

LogicalResult ArriveOp::verify() {
  if (getCounters().getType().getRank() != 1)
    return emitOpError("counters must have one dimension, found ")
           << getCounters().getType();
  APInt count;
  if (matchPattern(getCount(), m_ConstantInt(&count)) &&
      !count.isStrictlyPositive())
    return emitOpError("expected a positive number of arrivals, found ")
           << count.getSExtValue();
  return success();
}

//===----------------------------------------------------------------------===//
// JoinOp
//===----------------------------------------------------------------------===//

void JoinOp::getEffects(Effects &effects) {
  addCounterEffects(effects, getCountersMutable());
  for (OpOperand &memory : getMemoryMutable())
    addCounterEffects(effects, memory);
}

/// Verifies that the memref can hold the tiles of all pieces.
static LogicalResult verifyMemory(JoinOp op, RankedTensorType tile,
                                  MemRefType memory) {
  SmallVector<int64_t> shape = {ShapedType::kDynamic, tile.getDimSize(0)};
  if (tile.getDimSize(1) != 1)
    shape.push_back(tile.getDimSize(1));
  bool fits =
      memory.getElementType() == tile.getElementType() &&
      memory.getRank() == int64_t(shape.size()) &&
      memory.getShape().drop_front(2) == ArrayRef<int64_t>(shape).drop_front(2);
  if (!fits)
    return op.emitOpError("memory of a state ")
           << tile << " must be "
           << MemRefType::get(shape, tile.getElementType()) << ", found "
           << memory;
  // Slots may lack rows that do not count.
  int64_t rows = memory.getDimSize(1);
  if (rows < 1 || rows > shape[1])
    return op.emitOpError("slots must have from 1 to ")
           << shape[1] << " rows, found " << memory;
  return success();
}

LogicalResult JoinOp::verify() {
  if (getStates().empty())
    return emitOpError("needs a state to join");
  if (getStates().size() != getMemory().size())
    return emitOpError("needs memory for each of the ")
           << getStates().size() << " tiles, found " << getMemory().size();
  int64_t rows =
      cast<RankedTensorType>(getStates().front().getType()).getDimSize(0);
  for (auto [state, memory] : llvm::zip(getStates(), getMemory())) {
    auto tile = cast<RankedTensorType>(state.getType());
    if (tile.getDimSize(0) != rows)
      return emitOpError("states must have the same number of rows, found ")
             << rows << " and " << tile.getDimSize(0);
    if (failed(verifyMemory(*this, tile, cast<MemRefType>(memory.getType()))))
      return failure();
  }
  int64_t step = getStep();
  if (step < 1 || rows % step != 0)
    return emitOpError("'step' must be a divisor of the ")
           << rows << " rows of a state, found " << step;
  if (getCounters().getType().getRank() != 1)
    return emitOpError("counters must have one dimension, found ")
           << getCounters().getType();
  return success();
}

LogicalResult JoinOp::verifyRegions() {
  SmallVector<Type> whole(getStates().getTypes()), part;
  for (Type type : whole) {
    auto tile = cast<RankedTensorType>(type);
    part.push_back(
        RankedTensorType::get({int64_t(getStep()), tile.getDimSize(1)},
                              tile.getElementType(), tile.getEncoding()));
  }
  SmallVector<Type> both(part), each = {IndexType::get(getContext())};
  llvm::append_range(both, part);
  llvm::append_range(each, part);
  return failure(
      failed(verifyArguments(*this, "combine", getCombine(), both)) ||
      failed(verifyYield(*this, "combine", getCombine(), part)) ||
      failed(verifyArguments(*this, "whole", getWhole(), whole)) ||
      failed(verifyYield(*this, "whole", getWhole(), {})) ||
      failed(verifyArguments(*this, "each", getEach(), each)) ||
      failed(verifyYield(*this, "each", getEach(), {})));
}

namespace {
/// The operands of a join as text.
struct JoinOperands {
  SmallVector<OpAsmParser::UnresolvedOperand> states, memory;
  OpAsmParser::UnresolvedOperand part, parts, cta, rows, counters;
  std::optional<OpAsmParser::UnresolvedOperand> slot;
  SmallVector<Type> stateTypes, types;

  ParseResult parse(OpAsmParser &parser, int64_t &step);
  ParseResult resolve(OpAsmParser &parser, OperationState &result);
};
} // namespace

ParseResult JoinOperands::parse(OpAsmParser &parser, int64_t &step) {
  auto parseClause =
      [&](StringRef keyword,
          OpAsmParser::UnresolvedOperand &operand) -> ParseResult {
    return failure(parser.parseKeyword(keyword) || parser.parseLParen() ||
                   parser.parseOperand(operand) || parser.parseRParen());
  };
  if (parser.parseOperandList(states, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("part") || parser.parseLParen() ||
      parser.parseOperand(part) || parser.parseKeyword("of") ||
      parser.parseOperand(parts) || parser.parseKeyword("at") ||
      parser.parseOperand(cta) || parser.parseRParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("slots")) &&
      (parser.parseLParen() || parser.parseOperand(slot.emplace()) ||
       parser.parseRParen()))
    return failure();
  return failure(
      parseClause("rows", rows) || parser.parseKeyword("memory") ||
      parser.parseOperandList(memory, OpAsmParser::Delimiter::Paren) ||
      parseClause("counters", counters) || parser.parseKeyword("step") ||
      parser.parseInteger(step) || parser.parseColonTypeList(stateTypes) ||
      parser.parseKeyword("through") || parser.parseTypeList(types));
}

ParseResult JoinOperands::resolve(OpAsmParser &parser, OperationState &result) {
  Type index = parser.getBuilder().getIndexType();
  SMLoc loc = parser.getNameLoc();
  if (types.empty())
    return parser.emitError(loc, "expected the types of memory and counters");
  Type counterType = types.pop_back_val();
  SmallVectorImpl<Value> &operands = result.operands;
  SmallVector<OpAsmParser::UnresolvedOperand> numbers = {part, parts, cta};
  if (slot)
    numbers.push_back(*slot);
  numbers.push_back(rows);
  return failure(
      failed(parser.resolveOperands(states, stateTypes, loc, operands)) ||
      failed(parser.resolveOperands(numbers, index, operands)) ||
      failed(parser.resolveOperands(memory, types, loc, operands)) ||
      failed(parser.resolveOperand(counters, counterType, operands)));
}

ParseResult JoinOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &b = parser.getBuilder();
  StringAttr name;
  if (parser
          .parseOptionalAttribute(name, getNameAttrName(result.name),
                                  result.attributes)
          .has_value() &&
      !name)
    return failure();
  JoinOperands operands;
  int64_t step;
  if (operands.parse(parser, step) || operands.resolve(parser, result))
    return failure();
  result.addAttribute(getStepAttrName(result.name), b.getI64IntegerAttr(step));
  result.addAttribute(
      getOperandSegmentSizesAttrName(result.name),
      b.getDenseI32ArrayAttr({int32_t(operands.states.size()), 1, 1, 1,
                              int32_t(operands.slot.has_value()), 1,
                              int32_t(operands.memory.size()), 1}));
  for (StringRef keyword : {"combine", "whole", "each"})
    if (parser.parseKeyword(keyword) ||
        parseWithArguments(parser, *result.addRegion()))
      return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

void JoinOp::print(OpAsmPrinter &p) {
  if (getName())
    p << ' ' << getNameAttr();
  p << " (" << getStates() << ") part(" << getPart() << " of " << getParts()
    << " at " << getCta() << ")";
  if (getSlot())
    p << " slots(" << getSlot() << ")";
  p << " rows(" << getRows() << ") memory(" << getMemory() << ") counters("
    << getCounters() << ") step " << getStep() << " : "
    << getStates().getTypes() << " through ";
  llvm::interleaveComma(getMemory().getTypes(), p);
  p << ", " << getCounters().getType();
  printWithArguments(p, "combine", getCombine());
  printWithArguments(p, "whole", getWhole());
  printWithArguments(p, "each", getEach());
  p.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getNameAttrName(), getStepAttrName(), getOperandSegmentSizesAttrName()});
}
