//===- GqaBlockOrder.cpp - Block order of GQA key tiles -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A key tile processes the queries of all heads of its group. With heads in the
// outer loop the tiles of a key head drift apart under a mask, since each has a
// different number of blocks, and read queries from DRAM each time. So blocks
// are the outer and heads the inner loop, flattened into one.
//
// An L2 section contains as many heads as have two tiles per SM, and starts
// with the tiles of the first keys. Under a causal mask these have the most
// blocks: they start together at the last block and stay together. As one of
// them ends, a tile of the second half of the keys starts, which has fewer
// blocks, at the end of the sequence. It processes them in ascending order, so
// all such tiles are at one block at a time, too. In a simulation of L2 (8
// heads per key head, head dim 256, 4096 tokens) a pass transfers 0.7 GB; it
// transfers 3.4 GB if all tiles use descending blocks, and 8.8 GB with heads in
// the outer loop.
//
//===----------------------------------------------------------------------===//

#include "Backward/GqaBlockOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

/// True if the tile processes query blocks in ascending order: tiles in the
/// second half of the keys do. No tile with descending order follows one with
/// ascending order, which it would wait for in ordered accumulation.
static Value emitIsAscending(const BackwardKernel &kernel) {
  KernelBuilder &kb = kernel.kb;
  Value twice = kb.make<arith::MulIOp>(kernel.tile.work.row, kb.constant(2));
  return kb.make<arith::CmpIOp>(arith::CmpIPredicate::sge, twice,
                                kernel.tile.keys);
}

/// The factor by which `emitMember` multiplies instead of dividing by the group
/// size; null if the size is constant.
static Value emitReciprocal(const BackwardKernel &kernel) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  if (!op.getQueryType().isDynamicDim(op.getHeadDim()) &&
      !op.getKeyType().isDynamicDim(op.getHeadDim()))
    return {};
  Value most = kb.make<arith::ConstantIntOp>(-1, 32);
  Value size =
      kb.make<arith::IndexCastUIOp>(kb.builder.getI32Type(), kernel.tile.group);
  return kb.make<arith::DivUIOp>(most, size);
}

GqaLoop fovea::makeGqaLoop(const BackwardKernel &kernel,
                           const RowRange &range) {
  KernelBuilder &kb = kernel.kb;
  Value step = kb.constant(kernel.part.getColumns());
  auto count = [&](Value row) -> Value {
    return kb.make<arith::CeilDivUIOp>(row, step);
  };
  auto subtract = [&](Value x, Value y) -> Value {
    return kb.make<arith::SubIOp>(x, y);
  };
  Value begin = count(range.lower), end = count(range.upper);
  if (kernel.part.plan.visitsAtLeastOnce())
    end = kb.make<arith::MaxSIOp>(
        end, kb.make<arith::AddIOp>(begin, kb.constant(1)));
  Value fullBegin = count(range.fullLower), fullEnd = count(range.fullUpper);
  Value upwards = emitIsAscending(kernel);
  auto choose = [&](Value up, Value down) -> Value {
    return kb.make<arith::SelectOp>(upwards, up, down);
  };
  GqaLoop visits;
  visits.reciprocal = emitReciprocal(kernel);
  visits.first = choose(begin, subtract(end, kb.constant(1)));
  visits.direction = choose(kb.constant(1), kb.constant(-1));
  // The loop's row for a block count, which may be negative.
  auto toRow = [&](Value blocks) -> Value {
    Value some = kb.make<arith::MaxSIOp>(blocks, kb.constant(0));
    Value count = kb.make<arith::MulIOp>(some, kernel.tile.group);
    return kb.make<arith::MulIOp>(count, step);
  };
  visits.range = {
      kb.constant(0),
      toRow(choose(subtract(fullBegin, begin), subtract(end, fullEnd))),
      toRow(choose(subtract(fullEnd, begin), subtract(end, fullBegin))),
      toRow(subtract(end, begin))};
  return visits;
}

/// Iteration divided by the group size, and the remainder. A division takes
/// some hundred cycles per iteration; the product with the reciprocal is exact
/// or one less, since there are fewer than 2^32 iterations.
static std::pair<Value, Value> emitMember(KernelBuilder &kb, Value visit,
                                          Value group, Value reciprocal) {
  if (!reciprocal)
    return {kb.make<arith::DivUIOp>(visit, group),
            kb.make<arith::RemUIOp>(visit, group)};
  Type i32 = kb.builder.getI32Type(), i64 = kb.builder.getI64Type();
  auto widen = [&](Value v) -> Value {
    return kb.make<arith::ExtUIOp>(i64, v);
  };
  Value narrow = kb.make<arith::IndexCastUIOp>(i32, visit);
  Value size = kb.make<arith::IndexCastUIOp>(i32, group);
  Value product = kb.make<arith::MulIOp>(widen(narrow), widen(reciprocal));
  Value high =
      kb.make<arith::ShRUIOp>(product, kb.make<arith::ConstantIntOp>(32, 64));
  Value quotient = kb.make<arith::TruncIOp>(i32, high);
  Value rest =
      kb.make<arith::SubIOp>(narrow, kb.make<arith::MulIOp>(quotient, size));
  Value isMore = kb.make<arith::CmpIOp>(arith::CmpIPredicate::uge, rest, size);
  Value next =
      kb.make<arith::AddIOp>(quotient, kb.make<arith::ConstantIntOp>(1, 32));
  Value left = kb.make<arith::SubIOp>(rest, size);
  auto choose = [&](Value yes, Value no) -> Value {
    Value chosen = kb.make<arith::SelectOp>(isMore, yes, no);
    return kb.make<arith::IndexCastUIOp>(kb.builder.getIndexType(), chosen);
  };
  return {choose(next, quotient), choose(left, rest)};
}

QueryPlace fovea::getGqaPosition(const BackwardKernel &kernel,
                                 const GqaLoop &visits, Value firstHead,
                                 Value row) {
  KernelBuilder &kb = kernel.kb;
  Value step = kb.constant(kernel.part.getColumns());
  Value visit = kb.make<arith::DivUIOp>(row, step);
  auto [number, member] =
      emitMember(kb, visit, kernel.tile.group, visits.reciprocal);
  Value head = kb.make<arith::AddIOp>(firstHead, member);
  Value distance = kb.make<arith::MulIOp>(number, visits.direction);
  Value block = kb.make<arith::AddIOp>(visits.first, distance);
  return kernel.placeQueries(head, kb.make<arith::MulIOp>(block, step));
}
