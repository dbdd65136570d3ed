//===- SplitSoftmax.cpp - Exponentials around a wait ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPLITSOFTMAX
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Products take the weights in steps of so many columns.
static constexpr int64_t kStepColumns = 16;
// Columns of the tile that stands for all weights where no sums are taken.
static constexpr int64_t kSampleColumns = 8;

namespace {
struct SplitSoftmaxPass : warp::impl::WarpSplitSoftmaxBase<SplitSoftmaxPass> {
  void runOnKernel() override;
};

/// Weights that are rounded for the next product while the last one is in
/// flight, in one block.
class RoundedWeights {
public:
  /// Finds the weights that are rounded above `wait`.
  static std::optional<RoundedWeights> find(DotWaitOp wait);

  /// Rounds below the wait; all exponentials stay above it, each of them or
  /// what stands for them.
  void holdAll(bool each);
  /// As above for `columns` columns; the others' exponentials go to the end of
  /// the block. False, and nothing changed, where the weights have other uses.
  bool split(int64_t columns);
  int64_t getNumColumns() const { return weights().getType().getDimSize(1); }
  /// The name of the dot that is waited for, and reads the weights before
  /// these.
  StringAttr getDotName() const { return cast<DotOp>(issue).getNameAttr(); }

private:
  RoundedWeights(DotWaitOp wait, arith::TruncFOp round, Operation *issue)
      : wait(wait), round(round), issue(issue) {}

  TypedValue<RankedTensorType> weights() const {
    arith::TruncFOp op = round;
    return cast<TypedValue<RankedTensorType>>(op.getIn());
  }
  tile::ReduceOp findSum() const;
  /// Columns of `value`, computed anew where that is elementwise.
  Value getColumns(OpBuilder &b, Value value, int64_t from, int64_t width);
  Value makeColumns(OpBuilder &b, Value value, int64_t from, int64_t width);
  DotWaitOp wait;
  arith::TruncFOp round;
  Operation *issue;
  /// Parts of values that `getColumns` made, by their first column.
  DenseMap<std::pair<Value, int64_t>, Value> columnsOf;
};
} // namespace

std::optional<RoundedWeights> RoundedWeights::find(DotWaitOp wait) {
  auto dot = wait.getPending().getDefiningOp<DotOp>();
  if (!dot || dot->getBlock() != wait->getBlock() ||
      !tile::isRegisterTile(dot.getA().getType()))
    return std::nullopt;
  for (Operation *op = wait->getPrevNode(); op && op != dot;
       op = op->getPrevNode()) {
    auto round = dyn_cast<arith::TruncFOp>(op);
    // Others may round tiles under the product, too.
    if (!round || round.getType() != dot.getA().getType() ||
        !getElementTypeOrSelf(round.getIn()).isF32())
      continue;
    Operation *def = round.getIn().getDefiningOp();
    bool isUnderDot =
        def && def->getBlock() == wait->getBlock() && dot->isBeforeInBlock(def);
    bool isUsedLater = llvm::all_of(round->getUsers(), [&](Operation *user) {
      Operation *ancestor = wait->getBlock()->findAncestorOpInBlock(*user);
      return ancestor && wait->isBeforeInBlock(ancestor);
    });
    if (isUnderDot && isUsedLater)
      return RoundedWeights(wait, round, dot);
  }
  return std::nullopt;
}

tile::ReduceOp RoundedWeights::findSum() const {
  for (Operation *user : weights().getUsers())
    if (auto reduce = dyn_cast<tile::ReduceOp>(user))
      if (reduce.getKind() == tile::ReduceKind::Add)
        return reduce;
  return {};
}

/// The sums of weights that the wait shall stay below; without sums, some of
/// the weights.
static Value getAbove(OpBuilder &b, Value part, Value sum = {}) {
  if (sum)
    return sum;
  auto type = cast<RankedTensorType>(part.getType());
  int64_t width = std::min(kSampleColumns, type.getDimSize(1));
  return ExtractColumnsOp::create(
      b, part.getLoc(),
      tile::tileLike(type, {type.getDimSize(0), width}, type.getElementType()),
      part, type.getDimSize(1) - width);
}

/// The same wait, with tiles above it and held until after it.
static DotWaitOp replaceWait(DotWaitOp wait, Value above, Value held) {
  OpBuilder b(wait);
  auto result =
      DotWaitOp::create(b, wait.getLoc(), wait.getPending(), above, held);
  wait.getResult().replaceAllUsesWith(result.getResult());
  wait.erase();
  return result;
}

void RoundedWeights::holdAll(bool each) {
  OpBuilder b(wait);
  tile::ReduceOp sum = findSum();
  bool isAbove =
      sum && sum->getBlock() == wait->getBlock() && sum->isBeforeInBlock(wait);
  Value above =
      each ? weights()
           : getAbove(b, weights(), isAbove ? sum.getResult() : Value());
  wait = replaceWait(wait, above, weights());
  round.getInMutable().assign(wait.getHeldResults().front());
  round->moveAfter(wait);
}

Value RoundedWeights::getColumns(OpBuilder &b, Value value, int64_t from,
                                 int64_t width) {
  // What several ops use is computed once, not once for each way to it.
  Value known = columnsOf.lookup({value, from});
  if (!known) {
    known = makeColumns(b, value, from, width);
    columnsOf[{value, from}] = known;
  }
  return known;
}

Value RoundedWeights::makeColumns(OpBuilder &b, Value value, int64_t from,
                                  int64_t width) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(1) == 1)
    return value;
  Type narrow =
      tile::tileLike(type, {type.getDimSize(0), width}, type.getElementType());
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(
        b, value.getLoc(), splat.resizeSplat(cast<ShapedType>(narrow)));
  Operation *def = value.getDefiningOp();
  bool isUnderDot = def && def->getBlock() == issue->getBlock() &&
                    issue->isBeforeInBlock(def);
  auto broadcast = value.getDefiningOp<tile::BroadcastOp>();
  if (broadcast) {
    auto source = dyn_cast<RankedTensorType>(broadcast.getSource().getType());
    if (!source || source.getDimSize(1) == 1)
      return tile::BroadcastOp::create(b, value.getLoc(), narrow,
                                       broadcast.getSource());
  } else if (isUnderDot && def->hasTrait<OpTrait::Elementwise>() &&
             def->getNumResults() == 1) {
    IRMapping mapping;
    for (Value operand : def->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        mapping.map(operand, getColumns(b, operand, from, width));
    Operation *clone = b.clone(*def, mapping);
    clone->getResult(0).setType(narrow);
    return clone->getResult(0);
  }
  return ExtractColumnsOp::create(b, value.getLoc(), narrow, value, from);
}

bool RoundedWeights::split(int64_t columns) {
  tile::ReduceOp sum = findSum();
  Block *block = wait->getBlock();
  // Weights may be summed, by one op whose result is added to sums that
  // nobody needs before the end of the block, and rounded.
  for (Operation *user : weights().getUsers())
    if (user != round && user != sum)
      return false;
  arith::AddFOp total;
  if (sum) {
    if (sum->getBlock() != block || !sum->hasOneUse() ||
        columns % sum.getResult().getType().getDimSize(1) != 0)
      return false;
    total = dyn_cast<arith::AddFOp>(*sum->user_begin());
    if (!total || total->getBlock() != block)
      return false;
    for (Operation *user : total->getUsers())
      if (user != block->getTerminator())
        return false;
  }
  for (Operation *user : round->getUsers())
    if (user != block->getTerminator())
      return false;

  Location loc = round.getLoc();
  OpBuilder above(wait), below(block->getTerminator());
  Value first = getColumns(above, weights(), 0, columns);
  auto sumOf = [&](OpBuilder &b, Value part) -> Value {
    return sum ? tile::ReduceOp::create(b, loc, sum.getType(), sum.getKind(),
                                        sum.getDim(), part)
               : Value();
  };
  Value firstSum = sumOf(above, first);
  Value sample = getAbove(above, first, firstSum);
  wait = replaceWait(wait, sample, first);
  Value second =
      getColumns(below, weights(), columns, getNumColumns() - columns);
  if (sum) {
    Value before =
        total.getLhs() == sum.getResult() ? total.getRhs() : total.getLhs();
    Value half = arith::AddFOp::create(below, loc, before, firstSum);
    Value all = arith::AddFOp::create(below, loc, half, sumOf(below, second));
    total.replaceAllUsesWith(all);
    total.erase();
    sum.erase();
  }
  Value joined = ConcatColumnsOp::create(
      below, loc, weights().getType(),
      ValueRange{wait.getHeldResults().front(), second});
  Operation *old = weights().getDefiningOp();
  round.getInMutable().assign(joined);
  round->moveBefore(block->getTerminator());
  // What computed all columns at once is dead now.
  while (old && isOpTriviallyDead(old)) {
    SmallVector<Value> operands(old->getOperands());
    old->erase();
    old = nullptr;
    for (Value operand : operands)
      if (Operation *def = operand.getDefiningOp())
        if (isOpTriviallyDead(def))
          old = def;
  }
  return true;
}

/// Where a loop carries wide weights, and rounds them for a dot of the next
/// iteration: the first wait after them stays below them, each or some. False
/// if there are none, or no wait.
static bool holdCarried(DotOp dot, bool each) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto round = dot.getA().getDefiningOp<arith::TruncFOp>();
  if (!loop || !round)
    return false;
  Value wide = round.getIn();
  // A wait may hold it before it is rounded.
  if (auto held = wide.getDefiningOp<DotWaitOp>();
      held && wide != held.getResult())
    wide = held.getHeld()[cast<OpResult>(wide).getResultNumber() - 1];
  auto carried = dyn_cast<BlockArgument>(wide);
  if (!carried || carried.getOwner() != loop.getBody() ||
      carried == loop.getInductionVar() ||
      !tile::isRegisterTile(dot.getA().getType()))
    return false;
  OpOperand *next = loop.getTiedLoopYieldedValue(carried);
  Operation *def = next->get().getDefiningOp();
  if (!def || def->getBlock() != loop.getBody() || isa<DotWaitOp>(def))
    return false;
  Operation *op = def->getNextNode();
  while (op && !isa<DotWaitOp>(op))
    op = op->getNextNode();
  auto wait = cast_or_null<DotWaitOp>(op);
  if (!wait || !wait.getHeld().empty())
    return false;
  OpBuilder b(wait);
  Value above = each ? next->get() : getAbove(b, next->get());
  wait = replaceWait(wait, above, next->get());
  next->set(wait.getHeldResults().front());
  return true;
}

void SplitSoftmaxPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  SmallVector<DotWaitOp> waits;
  getOperation().walk([&](DotWaitOp wait) { waits.push_back(wait); });
  Operation *missed = nullptr;
  int64_t parted = 0;
  for (DotWaitOp wait : waits) {
    std::optional<RoundedWeights> weights = RoundedWeights::find(wait);
    if (!weights)
      continue;
    ++numSplit;
    int64_t all = weights->getNumColumns();
    plan::DotPlan dot = abi.getPlan().getDot(weights->getDotName());
    int64_t columns =
        all * dot.operandAbove / 100 / kStepColumns * kStepColumns;
    // At the end of a tile the product's wait is followed by its store: all
    // exponentials run before.
    bool inLoop = isa<scf::ForOp>(wait->getParentOp());
    if (inLoop && columns != 0 && columns != all && weights->split(columns)) {
      ++parted;
      continue;
    }
    if (inLoop)
      missed = wait->getParentOp();
    weights->holdAll(dot.isEachAbove);
  }
  SmallVector<DotOp> dots;
  getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
  for (DotOp dot : dots)
    numSplit +=
        holdCarried(dot, abi.getPlan().getDot(dot.getNameAttr()).isEachAbove);
  if (parted != 0)
    reportDone(getOperation(), abi, "softmax_part", "Blocks", parted);
  if (parted != 0 || !abi.getPlan().hasDot([](const plan::DotPlan &dot) {
        return dot.operandAbove != 100;
      }))
    return;
  if (failed(reportMissed(missed ? missed : getOperation(), abi, "softmax_part",
                          missed ? "the block's exponentials can't be parted "
                                   "at a multiple of 16 columns"
                                 : "no loop rounds what it multiplies next "
                                   "while a dot is in flight")))
    return signalPassFailure();
  abi.setPlanAttr(abi.getPlan().changeDots(
      [](plan::DotPlan &dot) { dot.operandAbove = 100; }));
}
