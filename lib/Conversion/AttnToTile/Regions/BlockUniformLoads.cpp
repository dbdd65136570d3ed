//===- BlockUniformLoads.cpp - Loads with one index per block -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/BlockUniformLoads.h"

#include "Regions/RegionEmitter.h"

#include "fovea/Analysis/IntervalOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

BlockUniformLoads::BlockUniformLoads(OpBuilder &builder,
                                     const RegionContext &context,
                                     Region &region)
    : builder(builder), context(context), b(builder, region.getLoc()),
      dependences(region, context.captures.size()) {
  auto arguments = region.getArguments()
                       .drop_back(context.captures.size())
                       .take_back(attn::ForwardOp::kMaskModArguments);
  mapping.map(arguments[0], context.batch);
  mapping.map(arguments[1], context.head);
  mapping.map(region.getArguments().take_back(context.captures.size()),
              context.captures);
  for (auto extract : region.front().getOps<tensor::ExtractOp>())
    if (llvm::any_of(extract.getIndices(), [&](Value index) {
          return dependences.of(index) ==
                 (RegionDependences::OnQuery | RegionDependences::OnKey |
                  RegionDependences::Narrowed);
        }))
      extracts.push_back(extract);
  if (extracts.empty())
    return;
  constexpr int64_t kLast = attn::ForwardOp::kMaxSequenceLength - 1;
  for (auto [argument, first, extent] :
       {std::tuple(arguments[2], context.row, context.rows),
        std::tuple(arguments[3], context.key, context.columns)}) {
    b.getRanges().set(argument, 0, kLast);
    b.getRanges().set(first, 0, kLast);
    Value last = b.add(first, b.constant(extent - 1));
    intervals.try_emplace(argument, Interval{first, last, /*attained=*/true});
  }
}

Value BlockUniformLoads::cloneUniform(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || op->getNumResults() != 1)
    return {};
  if (isa<attn::QueryLengthOp, attn::KeyLengthOp>(op)) {
    Value length =
        isa<attn::QueryLengthOp>(op) ? context.queryLength : context.keyLength;
    mapping.map(value, length);
    return length;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(cloneUniform(operand));
    if (!operands.back())
      return {};
  }
  Value clone;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    clone = memref::LoadOp::create(builder, op->getLoc(), operands.front(),
                                   ArrayRef<Value>(operands).drop_front());
  else if (isa<tensor::DimOp>(op))
    clone =
        memref::DimOp::create(builder, op->getLoc(), operands[0], operands[1]);
  else
    clone = builder.clone(*op, mapping)->getResult(0);
  if (Operation *divides = clone.getDefiningOp(); isIntegerDivision(divides)) {
    OpBuilder before(divides);
    divides->setOperand(1,
                        emitHarmlessDivisor(before, op->getLoc(), operands[1],
                                            /*isNonNegative=*/false));
  }
  mapping.map(value, clone);
  return clone;
}

FailureOr<Interval> BlockUniformLoads::inferInterval(Value value) {
  Type type = value.getType();
  if (!type.isIndex() && !type.isSignlessInteger())
    return failure();
  if (dependences.isUniform(value)) {
    Value scalar = cloneUniform(value);
    if (!scalar)
      return failure();
    Value end = b.toIndex(scalar);
    return Interval{end, end};
  }
  return fovea::inferInterval(
      value, b, [&](Value operand) { return getInterval(operand); });
}

FailureOr<Interval> BlockUniformLoads::getInterval(Value value) {
  return getOrInfer(intervals, value,
                    [&](Value value) { return inferInterval(value); });
}

/// True if index arithmetic in the block needs more than 32 bits, as bit
/// intervals do: their signs are constants, and bits are moved by shifts of up
/// to 32.
static bool needsWideIndex(Block &block) {
  auto isWide = [](Operation &op) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isIndex())
      return false;
    APInt value;
    if (matchPattern(&op, m_ConstantInt(&value)))
      return !value.isSignedIntN(32);
    return isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) &&
           matchPattern(op.getOperand(1), m_ConstantInt(&value)) &&
           value.sge(32);
  };
  return llvm::any_of(block, isWide);
}

Value BlockUniformLoads::isInside(tensor::ExtractOp extract, int64_t dim,
                                  Value index) {
  Location loc = extract.getLoc();
  Value size = memref::DimOp::create(builder, loc,
                                     mapping.lookup(extract.getTensor()), dim);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, index,
                               size);
}

Value BlockUniformLoads::emitCondition() {
  // With PackGQA the indices differ by head.
  if (extracts.empty() || context.packedHeads)
    return {};
  Value condition;
  auto require = [&](Value holds) {
    condition = condition ? b.logicalAnd(condition, holds) : holds;
  };
  for (tensor::ExtractOp extract : extracts) {
    SmallVector<Value> place;
    for (Value index : extract.getIndices()) {
      FailureOr<Interval> interval = getInterval(index);
      if (failed(interval))
        return {};
      // A block past the end may have an index past the end.
      if (!dependences.isUniform(index))
        require(isInside(extract, place.size(), interval->lo));
      place.push_back(interval->lo);
      if (!interval->isPoint())
        require(b.equal(interval->lo, interval->hi));
    }
    places.try_emplace(extract, std::move(place));
  }
  context.hasWideIndex |= needsWideIndex(*builder.getInsertionBlock());
  return condition;
}
