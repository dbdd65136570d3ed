//===- BackwardGroups.cpp - Heads that share keys ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of keys meets the queries of all heads of its group. Heads outside and
// blocks inside, the tiles of a key head drift apart under a mask, since each
// has blocks of its own number: what they read comes from memory each time. So
// blocks are outside, and heads inside, in one loop.
//
// Which queries are read at one time is a matter of order. Work has a section
// of heads with two tiles for each multiprocessor, the first keys' tiles first.
// Under a mask that looks back these have the most blocks. They begin together,
// at the last block, and stay together. As one of them ends, a tile of the
// keys' second half takes its place: the later, the fewer blocks it has, and
// the more of them are at the end. So these visit blocks upwards, and are
// together at one block, too, wherever they began. A simulation of what L2
// holds found that: with 8 heads to one at head dim 256 and 4096 tokens a pass
// reads or writes 0.7 GB of memory, with blocks downwards 3.4, with heads
// outside 8.8.
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

/// Heads are visited one after the other where tiles meet other blocks for
/// each, or all blocks: these stay together as it is. So they are where tiles
/// take turns and might have one head each, or long blocks: tiles that begin
/// together wait for a turn each of those before them, which takes too much of
/// so few visits.
bool BackwardEmitter::visitsGroupByBlocks(attn::BackwardOp op,
                                          plan::KernelAttr plan) {
  constexpr unsigned kHeadArgument = 1;
  constexpr int64_t kLongBlock = 128;
  int64_t heads = op.getQueryType().getDimSize(op.getHeadDim()),
          keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  bool mayBeGrouped = heads != keyHeads || ShapedType::isDynamic(heads);
  if (!mayBeGrouped || op.hasBlocks() || plan->classify)
    return false;
  bool mayBeAlone =
      ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads);
  if (op.getDeterministic() && (mayBeAlone || plan->tileN >= kLongBlock))
    return false;
  Region &bounds = op.getQueryBounds();
  return !bounds.empty() && bounds.getArgument(kHeadArgument).use_empty();
}

/// Whether the tile visits blocks of queries from the first one on: one of the
/// keys' second half does. No tile visits them downwards behind one that does
/// not, which would wait for it where they take turns.
Value BackwardEmitter::emitVisitsUpwards() {
  OpBuilder &b = kb.builder;
  Value twice = arith::MulIOp::create(b, loc, work.row, kb.constant(2));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, twice, keys);
}

BackwardEmitter::GroupVisits
BackwardEmitter::emitGroupVisits(const Bounds &bounds) {
  OpBuilder &b = kb.builder;
  Value step = kb.constant(getColumns());
  auto count = [&](Value row) -> Value {
    return arith::CeilDivUIOp::create(b, loc, row, step);
  };
  auto subtract = [&](Value x, Value y) -> Value {
    return arith::SubIOp::create(b, loc, x, y);
  };
  Value begin = count(bounds.lower), end = count(bounds.upper);
  if (plan.visitsAtLeastOnce())
    end = arith::MaxSIOp::create(
        b, loc, end, arith::AddIOp::create(b, loc, begin, kb.constant(1)));
  Value fullBegin = count(bounds.fullLower), fullEnd = count(bounds.fullUpper);
  Value upwards = emitVisitsUpwards();
  auto choose = [&](Value up, Value down) -> Value {
    return arith::SelectOp::create(b, loc, upwards, up, down);
  };
  GroupVisits visits;
  visits.reciprocal = emitReciprocal();
  visits.first = choose(begin, subtract(end, kb.constant(1)));
  visits.direction = choose(kb.constant(1), kb.constant(-1));
  // A loop's row for a number of blocks, which may be negative.
  auto toRow = [&](Value blocks) -> Value {
    Value some = arith::MaxSIOp::create(b, loc, blocks, kb.constant(0));
    Value count = arith::MulIOp::create(b, loc, some, group);
    return arith::MulIOp::create(b, loc, count, step);
  };
  visits.bounds = {
      kb.constant(0),
      toRow(choose(subtract(fullBegin, begin), subtract(end, fullEnd))),
      toRow(choose(subtract(fullEnd, begin), subtract(end, fullBegin))),
      toRow(subtract(end, begin))};
  return visits;
}

/// What `emitMember` multiplies by instead of dividing by the group's size;
/// null where that is a constant.
Value BackwardEmitter::emitReciprocal() {
  OpBuilder &b = kb.builder;
  if (!op.getQueryType().isDynamicDim(op.getHeadDim()) &&
      !op.getKeyType().isDynamicDim(op.getHeadDim()))
    return {};
  Value most = arith::ConstantIntOp::create(b, loc, -1, 32);
  Value size = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), group);
  return arith::DivUIOp::create(b, loc, most, size);
}

/// A visit's number divided by the group's size, and the remainder. A division
/// takes some hundred cycles each time; a product with the reciprocal is that
/// or one less, since there are fewer than 2^32 visits.
std::pair<Value, Value> BackwardEmitter::emitMember(Value visit,
                                                    Value reciprocal) {
  OpBuilder &b = kb.builder;
  if (!reciprocal)
    return {arith::DivUIOp::create(b, loc, visit, group),
            arith::RemUIOp::create(b, loc, visit, group)};
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto widen = [&](Value v) -> Value {
    return arith::ExtUIOp::create(b, loc, i64, v);
  };
  Value narrow = arith::IndexCastUIOp::create(b, loc, i32, visit);
  Value size = arith::IndexCastUIOp::create(b, loc, i32, group);
  Value product =
      arith::MulIOp::create(b, loc, widen(narrow), widen(reciprocal));
  Value high = arith::ShRUIOp::create(
      b, loc, product, arith::ConstantIntOp::create(b, loc, 32, 64));
  Value quotient = arith::TruncIOp::create(b, loc, i32, high);
  Value rest = arith::SubIOp::create(
      b, loc, narrow, arith::MulIOp::create(b, loc, quotient, size));
  Value isMore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, rest, size);
  Value next = arith::AddIOp::create(
      b, loc, quotient, arith::ConstantIntOp::create(b, loc, 1, 32));
  Value left = arith::SubIOp::create(b, loc, rest, size);
  auto choose = [&](Value yes, Value no) -> Value {
    Value chosen = arith::SelectOp::create(b, loc, isMore, yes, no);
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), chosen);
  };
  return {choose(next, quotient), choose(left, rest)};
}

void BackwardEmitter::placeInGroup(ScoreBlock &block,
                                   const GroupVisits &visits) {
  OpBuilder &b = kb.builder;
  Value step = kb.constant(getColumns());
  Value visit = arith::DivUIOp::create(b, loc, block.query, step);
  Value number;
  std::tie(number, block.member) = emitMember(visit, visits.reciprocal);
  block.head = arith::AddIOp::create(b, loc, block.head, block.member);
  Value distance = arith::MulIOp::create(b, loc, number, visits.direction);
  number = arith::AddIOp::create(b, loc, visits.first, distance);
  block.query = arith::MulIOp::create(b, loc, number, step);
}
