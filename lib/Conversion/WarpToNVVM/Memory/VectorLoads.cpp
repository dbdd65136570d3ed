//===- VectorLoads.cpp - Specialise code for plain vectors ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Duplicates the code that uses a large vector of a key block, such as its
// document indices. One version loads plain vectors, which exist whole and are
// contiguous; the other loads element by element.
//
// If the versions joined right after the loads, the whole vector would be in
// registers there, besides scores and accumulators: 64 registers per thread for
// 128 elements of 64 bits. The versions therefore join after the mask has been
// applied, and ptxas loads elements where they are needed.
//
// If each lane of a warp needs elements of the whole vector, each lane
// prefetches two elements of every 64 before the preceding dots, and shuffles
// distribute them.
//
//===----------------------------------------------------------------------===//

#include "Memory/TileAddressing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;

/// The loads of large vectors in `block`. Sources that are not arguments of the
/// kernel are diagnosed later.
static SmallVector<tile::LoadOp> findVectors(Block &block) {
  SmallVector<tile::LoadOp> loads;
  for (auto load : block.getOps<tile::LoadOp>())
    if (TileAddressing::isVector(load.getResult().getType(),
                                 load.getBoxDims()) &&
        load.getSource().getDefiningOp<UnrealizedConversionCastOp>())
      loads.push_back(load);
  return loads;
}

/// Returns true if the op computes vectors or a part of a mask, as opposed to
/// scores that the mask was applied to.
static bool isVectorOrMask(Operation *op) {
  return isa<tile::BroadcastOp>(op) ||
         llvm::none_of(op->getResultTypes(), [](Type type) {
           auto tile = dyn_cast<RankedTensorType>(type);
           return !tile || (isa<FloatType>(tile.getElementType()) &&
                            tile.getDimSize(0) != 1 && tile.getDimSize(1) != 1);
         });
}

/// The last op of the block that uses the vectors, or values computed from them
/// until they are applied to scores.
static Operation *findLastUser(ArrayRef<tile::LoadOp> loads) {
  Operation *last = loads.back();
  SmallVector<Operation *> work(loads.begin(), loads.end());
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      Operation *here = last->getBlock()->findAncestorOpInBlock(*user);
      if (last->isBeforeInBlock(here))
        last = here;
      if (here == user && isVectorOrMask(user))
        work.push_back(user);
    }
  return last;
}

/// Returns true if the ops from `first` to `last` may be duplicated.
static bool canDuplicate(Operation *first, Operation *last) {
  for (Operation *op = first;; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        (!isMemoryEffectFree(op) && !hasSingleEffect<MemoryEffects::Read>(op)))
      return false;
    if (op == last)
      return true;
  }
}

/// Results of the ops from `first` to `last` that are used after `last`.
static SmallVector<Value> findResults(Operation *first, Operation *last) {
  SmallVector<Value> results;
  for (Operation *op = first; op != last->getNextNode(); op = op->getNextNode())
    for (Value value : op->getResults())
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return last->isBeforeInBlock(
                last->getBlock()->findAncestorOpInBlock(*user));
          }))
        results.push_back(value);
  return results;
}

/// Returns true if the op declares a write to global memory.
static bool writesGlobalMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> writes;
  if (effects)
    effects.getEffects<MemoryEffects::Write>(writes);
  return llvm::any_of(writes, [](const auto &effect) {
    Value buffer = effect.getValue();
    return buffer && isa<MemRefType>(buffer.getType()) &&
           !warp::isSharedBuffer(buffer.getType());
  });
}

/// The first of the consecutive dots before `first` that `load` could be moved
/// above, or null. The search leaves branches upwards, since operands of the
/// load may be known there, too.
static Operation *findDots(tile::LoadOp load, Operation *first) {
  auto stays = [&](Operation *op) {
    return writesGlobalMemory(op) ||
           llvm::any_of(load->getOperands(), [&](Value operand) {
             return operand.getDefiningOp() == op;
           });
  };
  Operation *dots = nullptr;
  for (Operation *op = first; op && !stays(op);) {
    if (isa<warp::DotOp>(op))
      dots = op;
    else if (dots)
      break;
    Operation *before = op->getPrevNode();
    op = before ? before : dyn_cast_or_null<scf::IfOp>(op->getParentOp());
  }
  return dots;
}

void VectorLoads::split(Block &block) {
  SmallVector<tile::LoadOp> loads = findVectors(block);
  if (loads.empty())
    return;
  Operation *first = loads.front(), *last = findLastUser(loads);
  if (!canDuplicate(first, last))
    return;
  // The operands must be defined before the first vector load.
  for (tile::LoadOp load : loads)
    for (Value operand : load->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && def->getBlock() == &block && !def->isBeforeInBlock(first))
        return;

  OpBuilder b(first);
  Location loc = first->getLoc();
  Value areAll;
  SmallVector<SmallVector<Value, 2>> shares;
  for (tile::LoadOp load : loads) {
    // A lane's share is small: it is loaded before the dots. The whole vector
    // would have no registers there.
    OpBuilder ahead = b;
    if (Operation *dots = findDots(load, first))
      ahead.setInsertionPoint(dots);
    FailureOr<GlobalView> view = getGlobalView(ahead, loc, load.getSource());
    if (failed(view))
      return;
    TileAddressing access(ahead, loc, *view, load.getIndices(),
                          load.getBoxDims(), load.getResult().getType(),
                          load.getLimit());
    Value isPlain = access.emitIsPlain();
    areAll = areAll ? arith::AndIOp::create(b, loc, areAll, isPlain).getResult()
                    : isPlain;
    shares.emplace_back();
    if (access.isHeldByWarp())
      shares.back() = access.emitShares(isPlain);
  }
  SmallVector<Value> results = findResults(first, last);
  auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(results)),
                                  emitAll(b, loc, areAll),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [old, value] : llvm::zip(results, branch.getResults()))
    old.replaceUsesWithIf(value, [&](OpOperand &use) {
      return last->isBeforeInBlock(
          block.findAncestorOpInBlock(*use.getOwner()));
    });
  IRMapping mapping;
  b.setInsertionPointToEnd(branch.thenBlock());
  for (Operation *op = first; op != last->getNextNode(); op = op->getNextNode())
    b.clone(*op, mapping);
  scf::YieldOp::create(b, loc, llvm::map_to_vector(results, [&](Value value) {
                         return mapping.lookup(value);
                       }));
  // Vectors of nested and enclosing code may be live at the same time.
  unsigned number = 0;
  for (auto [other, used] : rare)
    if (block.findAncestorOpInBlock(*other) ||
        other->getBlock()->findAncestorOpInBlock(*block.getParentOp()))
      number = std::max(number, used + 1);
  for (auto [load, shared] : llvm::zip(loads, shares)) {
    plain[mapping.lookup(load.getResult()).getDefiningOp()] = shared;
    rare[load] = number++;
  }
  Block *rest = branch.elseBlock();
  b.setInsertionPointToEnd(rest);
  Operation *end = scf::YieldOp::create(b, loc, results);
  rest->getOperations().splice(end->getIterator(), block.getOperations(),
                               first->getIterator(),
                               std::next(last->getIterator()));
}

VectorLoads::Buffer VectorLoads::getBuffer(tile::LoadOp load, Type element,
                                           int32_t count) {
  Buffer &buffer =
      buffers[{rare.lookup(load), element.getAsOpaquePointer(), count}];
  if (buffer.elements)
    return buffer;
  auto kernel = load->getParentOfType<gpu::GPUFuncOp>();
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  buffer.elements = LLVM::AllocaOp::create(b, loc, pointer, element,
                                           emitI32(b, loc, count), 16);
  buffer.word = LLVM::AllocaOp::create(b, loc, pointer, b.getI32Type(),
                                       emitI32(b, loc, 1));
  return buffer;
}

void VectorLoads::split(gpu::GPUFuncOp kernel) {
  SmallVector<Block *> blocks;
  kernel.walk([&](Block *block) { blocks.push_back(block); });
  for (Block *block : blocks)
    split(*block);
}
