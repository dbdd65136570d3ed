//===- RegionDependences.cpp - Dependences of region values ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/RegionDependences.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

RegionDependences::RegionDependences(Region &region, unsigned captures,
                                     BlockRows rows) {
  auto arguments = region.getArguments().drop_back(captures);
  auto coordinates =
      arguments.take_back(attn::ForwardOp::kMaskModArguments); // b, h, i, j
  for (BlockArgument ofScore : arguments.drop_back(coordinates.size()))
    kinds[ofScore] = OnScore;
  if (rows == BlockRows::QueriesOfHeads)
    kinds[coordinates[1]] = kinds[coordinates[2]] = OnQuery;
  else
    addCoordinate(coordinates[rows == BlockRows::Heads ? 1 : 2], OnQuery);
  addCoordinate(coordinates[3], OnKey);
  for (Operation &op : region.front().without_terminator())
    add(op);
}

void RegionDependences::addCoordinate(Value argument, Kind kind) {
  kinds[argument] = kind;
  steps[argument] = {kind == OnQuery, kind == OnKey};
}

/// True if different operands give different results: blocks with disjoint
/// operands have no value in common.
static bool isInjective(Operation &op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp>(op);
}

std::optional<RegionDependences::Steps>
RegionDependences::getSteps(Value value) const {
  if (isUniform(value))
    return Steps{0, 0};
  auto found = steps.find(value);
  if (found == steps.end())
    return std::nullopt;
  return found->second;
}

/// Additions wrap modulo the type, so a difference of coordinates remains one.
/// A cast to a wider type in between could break that; of a coordinate it is
/// exact.
void RegionDependences::addSteps(Operation &op) {
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    auto coordinate = dyn_cast<BlockArgument>(op.getOperand(0));
    Type type = op.getResult(0).getType();
    if (coordinate && steps.contains(coordinate) &&
        type.getIntOrFloatBitWidth() >= 32)
      steps[op.getResult(0)] = Steps(steps.lookup(coordinate));
    return;
  }
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return;
  std::optional<Steps> left = getSteps(op.getOperand(0)),
                       right = getSteps(op.getOperand(1));
  if (!left || !right)
    return;
  int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
  Steps sum = {left->query + sign * right->query,
               left->key + sign * right->key};
  steps[op.getResult(0)] = sum;
  if (sum.key != 0 && sum.query == -sum.key)
    relative.insert(op.getResult(0));
}

void RegionDependences::add(Operation &op) {
  unsigned kind = Uniform;
  for (Value operand : op.getOperands())
    kind |= of(operand);
  if (kind != Uniform && !isInjective(op))
    kind |= Narrowed;
  for (Value result : op.getResults())
    kinds[result] = kind;
  addSteps(op);
  if (kind != Uniform && op.getNumRegions() == 0 &&
      llvm::all_of(op.getOperands(), [&](Value operand) {
        return isUniform(operand) || isByDistance(operand);
      }))
    relative.insert(op.result_begin(), op.result_end());
}

bool RegionDependences::isShifted(Value value, Kind kind) const {
  auto found = steps.find(value);
  return found != steps.end() && value.getType().isIndex() &&
         found->second.query == (kind == OnQuery) &&
         found->second.key == (kind == OnKey);
}

bool RegionDependences::keepsSum(Operation *op) const {
  if (isa<arith::MulFOp>(op))
    return isUniform(op->getOperand(0)) || isUniform(op->getOperand(1));
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::SIToFPOp,
             arith::AddIOp, arith::SubIOp, arith::IndexCastOp, arith::ExtSIOp>(
      op);
}

bool RegionDependences::isSumOfSides(Value value,
                                     ArrayRef<Value> others) const {
  // Processes each value once, however often it is used.
  SetVector<Value> parts;
  parts.insert(value);
  for (unsigned index = 0; index < parts.size(); ++index) {
    Value part = parts[index];
    Operation *op = part.getDefiningOp();
    // A value without a defining op is the score itself.
    if (!op || !isByScore(part) || llvm::is_contained(others, part))
      continue;
    if (!keepsSum(op))
      return false;
    parts.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

std::optional<int64_t> fovea::getKeyChunk(Value index, BlockArgument key) {
  // Keys are non-negative, so all kinds of division are equal.
  Operation *op = index.getDefiningOp();
  APInt constant;
  if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
                       arith::ShRUIOp, arith::ShRSIOp>(op) ||
      op->getOperand(0) != key ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)) ||
      constant.isNonPositive() || constant.getActiveBits() > 31)
    return std::nullopt;
  int64_t count = constant.getSExtValue();
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op)) {
    if (count > 30)
      return std::nullopt;
    count = int64_t(1) << count;
  }
  if (count < kLeastKeyChunk)
    return std::nullopt;
  return count;
}
