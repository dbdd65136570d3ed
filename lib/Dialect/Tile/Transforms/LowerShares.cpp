//===- LowerShares.cpp - Lower joins of partial states to memory ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.join`: a piece of an item stores its state and arrives; the CTA
// that arrives last loads the states of all pieces and combines them in order.
// A few pieces are loaded before any of them is combined: the loads of a CTA
// must overlap to hide their latency.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "fovea/Support/CloneBody.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fovea::tile {
#define GEN_PASS_DEF_LOWERSHARES
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

// Elements of one tile of all pieces that are loaded together: 128 registers of
// each thread of a warp group.
static constexpr int64_t kMostElements = 16384;

/// The pieces that are loaded together: at most `most`, as far as their largest
/// tiles fit registers.
static int64_t countLoadedPieces(JoinOp op, int64_t most) {
  int64_t largest = 1;
  for (BlockArgument tile : op.getEach().getArguments().drop_front())
    largest = std::max(largest,
                       cast<RankedTensorType>(tile.getType()).getNumElements());
  return std::clamp<int64_t>(kMostElements / largest, 1, most);
}

namespace {
class JoinLowering {
public:
  JoinLowering(JoinOp op, int64_t most)
      : op(op), b(op.getLoc(), op), loc(op.getLoc()),
        unroll(countLoadedPieces(op, most)) {}

  void lower();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  /// The slot of piece `part`, which is not 0 unless the op has `slots`.
  Value emitSlot(Value part);
  Value emitFirstSlot();
  void storeState();
  SmallVector<Value> loadState(Value slot, Value row);
  /// Combines the state of piece 0 with all others, `unroll` at a time.
  SmallVector<Value> emitPieces(Value row, ValueRange state);
  void emitRows();

  JoinOp op;
  ImplicitLocOpBuilder b;
  Location loc;
  int64_t unroll;
};
} // namespace

Value JoinLowering::emitFirstSlot() {
  if (op.getSlot())
    return op.getSlot();
  Value even = arith::MulIOp::create(b, op.getCta(), constant(2));
  return arith::AddIOp::create(b, even, constant(1));
}

Value JoinLowering::emitSlot(Value part) {
  if (op.getSlot())
    return arith::AddIOp::create(b, op.getSlot(), part);
  return arith::MulIOp::create(b, arith::AddIOp::create(b, op.getCta(), part),
                               constant(2));
}

void JoinLowering::storeState() {
  Value slot;
  if (op.getSlot()) {
    slot = emitSlot(op.getPart());
  } else {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          op.getPart(), constant(0));
    slot = arith::SelectOp::create(b, loc, isFirst, emitFirstSlot(),
                                   emitSlot(op.getPart()));
  }
  named("slot", slot);
  Value zero = constant(0);
  for (auto [tile, memory] : llvm::zip(op.getStates(), op.getMemory())) {
    bool isVector = cast<MemRefType>(memory.getType()).getRank() == 2;
    SmallVector<Value> at = {slot, zero};
    if (!isVector)
      at.push_back(zero);
    StoreOp::create(b, loc, tile, memory, at, op.getRows(),
                    b.getDenseI64ArrayAttr({1, isVector ? -1 : 2}),
                    /*fold=*/DenseI64ArrayAttr(), /*fragments=*/UnitAttr(),
                    /*by_register=*/UnitAttr(), /*add=*/UnitAttr(),
                    op.getNameAttr());
  }
}

SmallVector<Value> JoinLowering::loadState(Value slot, Value row) {
  SmallVector<Value> state;
  // The arguments of `each` have the types of the rows.
  for (auto [argument, memory] :
       llvm::zip(op.getEach().getArguments().drop_front(), op.getMemory())) {
    bool isVector = cast<MemRefType>(memory.getType()).getRank() == 2;
    SmallVector<Value> at = {slot, row};
    if (!isVector)
      at.push_back(constant(0));
    state.push_back(LoadOp::create(
        b, loc, argument.getType(), memory, at, op.getRows(),
        ArrayRef<int64_t>{1, isVector ? -1 : 2}, op.getNameAttr()));
  }
  return state;
}

SmallVector<Value> JoinLowering::emitPieces(Value row, ValueRange state) {
  auto loop = scf::ForOp::create(b, loc, constant(1), op.getParts(),
                                 constant(unroll), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<SmallVector<Value>> loaded;
  SmallVector<Value> exists = {Value()};
  Value last = arith::SubIOp::create(b, op.getParts(), constant(1));
  for (int64_t index = 0; index < unroll; ++index) {
    Value part = loop.getInductionVar();
    if (index != 0) {
      part = arith::AddIOp::create(b, part, constant(index));
      exists.push_back(
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, part, last));
      part = arith::MinUIOp::create(b, part, last);
    }
    loaded.push_back(loadState(emitSlot(part), row));
  }
  SmallVector<Value> combined(loop.getRegionIterArgs());
  for (auto [piece, isPiece] : llvm::zip(loaded, exists)) {
    SmallVector<Value> before = combined;
    combined.append(piece);
    combined = cloneBody(b, op.getCombine(), combined);
    // A select instead of a branch: LLVM would sink the loads into the branch,
    // and their latencies would no longer overlap.
    if (isPiece)
      for (auto [after, old] : llvm::zip(combined, before))
        after = arith::SelectOp::create(b, isPiece, after, old);
  }
  scf::YieldOp::create(b, loc, combined);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void JoinLowering::emitRows() {
  auto rows = scf::ForOp::create(b, loc, constant(0), op.getRows(),
                                 constant(op.getStep()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rows.getBody());
  Value row = rows.getInductionVar();
  SmallVector<Value> state = emitPieces(row, loadState(emitFirstSlot(), row));
  state.insert(state.begin(), row);
  cloneBody(b, op.getEach(), state);
}

void JoinLowering::lower() {
  Value isWhole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        op.getParts(), constant(1));
  named("is_whole", isWhole);
  auto branch = scf::IfOp::create(b, loc, isWhole, /*withElseRegion=*/true);
  b.setInsertionPoint(branch.thenYield());
  cloneBody(b, op.getWhole(), op.getStates());
  b.setInsertionPoint(branch.elseYield());
  storeState();
  auto isLast =
      ArriveOp::create(b, getNamedLoc(loc, "is_last"), op.getCounters(),
                       op.getCta(), op.getParts(), op.getNameAttr());
  auto last = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false);
  b.setInsertionPoint(last.thenYield());
  emitRows();
  op.erase();
}

namespace {
struct LowerShares : fovea::tile::impl::LowerSharesBase<LowerShares> {
  using LowerSharesBase::LowerSharesBase;

  void runOnKernel() override {
    if (unroll < 1) {
      getOperation().emitError("option 'unroll' must be positive, found ")
          << int64_t(unroll);
      return signalPassFailure();
    }
    SmallVector<JoinOp> joins;
    getOperation().walk([&](JoinOp op) { joins.push_back(op); });
    for (JoinOp op : joins)
      JoinLowering(op, unroll).lower();
    numJoins += joins.size();
  }
};
} // namespace
