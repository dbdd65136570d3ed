//===- SplitSoftmax.cpp - Exponentials before and after a wait ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which exponentials of P run while the previous dot is outstanding and
// which run after its wait. By default all run before the wait; with
// `softmax_part` a share of the columns runs after it. The pass models the
// order with the `above` and `held` operands of `warp.dot_wait`.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

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

// Dots read P in steps of this many columns.
static constexpr int64_t kStepColumns = 16;
// Columns of the sample that represents all of P if its rows are not summed.
static constexpr int64_t kSampleColumns = 8;

namespace {
struct SplitSoftmaxPass : warp::impl::WarpSplitSoftmaxBase<SplitSoftmaxPass> {
  void runOnKernel() override;
};

/// P, in one block: rounded for the next dot while the previous dot is
/// outstanding.
class RoundedProbabilities {
public:
  /// Finds the P that is rounded before `wait`, while its dot is outstanding.
  static std::optional<RoundedProbabilities> find(DotWaitOp wait);

  /// Rounds P after the wait and keeps all exponentials before it. With `each`,
  /// the wait depends on each exponential, otherwise on the row sums or a
  /// sample.
  void keepAllLive(bool each);
  /// Does the same for the first `columns` columns, and moves the exponentials
  /// of the others to the end of the block. Returns false without changes if P
  /// has other uses.
  bool split(int64_t columns);
  int64_t getNumColumns() const {
    return probabilities().getType().getDimSize(1);
  }
  /// The name of the outstanding dot, which reads the previous P.
  StringAttr getDotName() const { return cast<DotOp>(issue).getNameAttr(); }

private:
  RoundedProbabilities(DotWaitOp wait, arith::TruncFOp round, Operation *issue)
      : wait(wait), round(round), issue(issue) {}

  TypedValue<RankedTensorType> probabilities() const {
    arith::TruncFOp op = round;
    return cast<TypedValue<RankedTensorType>>(op.getIn());
  }
  tile::ReduceOp findSum() const;
  /// Columns of `value`; elementwise ops are cloned for the narrower tile.
  Value getColumns(OpBuilder &b, Value value, int64_t from, int64_t width);
  Value makeColumns(OpBuilder &b, Value value, int64_t from, int64_t width);
  DotWaitOp wait;
  arith::TruncFOp round;
  Operation *issue;
  /// Cache of `getColumns`, by value and first column.
  DenseMap<std::pair<Value, int64_t>, Value> columnsOf;
};
} // namespace

/// The type of P when it is rounded, before it gets the layout of operands.
static Type getRoundedType(DotOp dot) {
  Value operand = dot.getA();
  if (auto convert = operand.getDefiningOp<ConvertLayoutOp>())
    operand = convert.getSource();
  return operand.getType();
}

std::optional<RoundedProbabilities> RoundedProbabilities::find(DotWaitOp wait) {
  auto dot = wait.getPending().getDefiningOp<DotOp>();
  if (!dot || dot->getBlock() != wait->getBlock() ||
      !tile::isRegisterTile(dot.getA().getType()))
    return std::nullopt;
  for (Operation *op = wait->getPrevNode(); op && op != dot;
       op = op->getPrevNode()) {
    auto round = dyn_cast<arith::TruncFOp>(op);
    // Other tiles may be rounded while the dot is outstanding, too.
    if (!round || round.getType() != getRoundedType(dot) ||
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
      return RoundedProbabilities(wait, round, dot);
  }
  return std::nullopt;
}

tile::ReduceOp RoundedProbabilities::findSum() const {
  for (Operation *user : probabilities().getUsers())
    if (auto reduce = dyn_cast<tile::ReduceOp>(user))
      if (reduce.getKind() == tile::ReduceKind::Add)
        return reduce;
  return {};
}

/// The value that the wait must stay after: the row sums of P, or a sample of
/// P.
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

/// Replaces the wait by one with the operands `above` (computed before it) and
/// `held` (kept live across it).
static DotWaitOp replaceWait(DotWaitOp wait, Value above, Value held) {
  OpBuilder b(wait);
  auto result =
      DotWaitOp::create(b, wait.getLoc(), wait.getPending(), above, held);
  wait.getResult().replaceAllUsesWith(result.getResult());
  wait.erase();
  return result;
}

void RoundedProbabilities::keepAllLive(bool each) {
  OpBuilder b(wait);
  tile::ReduceOp sum = findSum();
  bool isAbove =
      sum && sum->getBlock() == wait->getBlock() && sum->isBeforeInBlock(wait);
  Value above =
      each ? probabilities()
           : getAbove(b, probabilities(), isAbove ? sum.getResult() : Value());
  wait = replaceWait(wait, above, probabilities());
  round.getInMutable().assign(wait.getHeldResults().front());
  round->moveAfter(wait);
}

Value RoundedProbabilities::getColumns(OpBuilder &b, Value value, int64_t from,
                                       int64_t width) {
  // A shared operand is computed once.
  Value known = columnsOf.lookup({value, from});
  if (!known) {
    known = makeColumns(b, value, from, width);
    columnsOf[{value, from}] = known;
  }
  return known;
}

Value RoundedProbabilities::makeColumns(OpBuilder &b, Value value, int64_t from,
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

bool RoundedProbabilities::split(int64_t columns) {
  tile::ReduceOp sum = findSum();
  Block *block = wait->getBlock();
  // P may have two uses: the rounding, and one row sum whose result is added to
  // an accumulator that no op before the terminator reads.
  for (Operation *user : probabilities().getUsers())
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
  Value first = getColumns(above, probabilities(), 0, columns);
  auto sumOf = [&](OpBuilder &b, Value part) -> Value {
    return sum ? tile::ReduceOp::create(b, loc, sum.getType(), sum.getKind(),
                                        sum.getDim(), part)
               : Value();
  };
  Value firstSum = sumOf(above, first);
  Value sample = getAbove(above, first, firstSum);
  wait = replaceWait(wait, sample, first);
  Value second =
      getColumns(below, probabilities(), columns, getNumColumns() - columns);
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
      below, loc, probabilities().getType(),
      ValueRange{wait.getHeldResults().front(), second});
  Operation *old = probabilities().getDefiningOp();
  round.getInMutable().assign(joined);
  round->moveBefore(block->getTerminator());
  // Erase the ops that computed all columns.
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

/// Handles a loop that carries P unrounded and rounds it for a dot of the next
/// iteration: keeps P live across the first wait after its computation. Returns
/// false if there is no such P or no such wait.
static bool keepCarriedLive(DotOp dot, bool each) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto round = dot.getA().getDefiningOp<arith::TruncFOp>();
  if (!loop || !round)
    return false;
  Value wide = round.getIn();
  // P may be kept live across a wait before it is rounded.
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
  int64_t numParted = 0;
  for (DotWaitOp wait : waits) {
    std::optional<RoundedProbabilities> probabilities =
        RoundedProbabilities::find(wait);
    if (!probabilities)
      continue;
    ++numSplit;
    int64_t all = probabilities->getNumColumns();
    plan::DotPlan dot = abi.getPlan().getDot(probabilities->getDotName());
    int64_t columns =
        all * dot.operandBeforeWait / 100 / kStepColumns * kStepColumns;
    // Outside of the loop, the store of the accumulator follows the wait: all
    // exponentials run before it.
    bool inLoop = isa<scf::ForOp>(wait->getParentOp());
    if (inLoop && columns != 0 && columns != all &&
        probabilities->split(columns)) {
      ++numParted;
      continue;
    }
    if (inLoop)
      missed = wait->getParentOp();
    probabilities->keepAllLive(dot.isEachBeforeWait);
  }
  SmallVector<DotOp> dots;
  getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
  for (DotOp dot : dots)
    numSplit += keepCarriedLive(
        dot, abi.getPlan().getDot(dot.getNameAttr()).isEachBeforeWait);
  if (numParted != 0)
    reportDone(getOperation(), abi, "softmax_part", "Blocks", numParted);
  if (numParted != 0 || !abi.getPlan().hasDot([](const plan::DotPlan &dot) {
        return dot.operandBeforeWait != 100;
      }))
    return;
  if (failed(reportMissed(missed ? missed : getOperation(), abi, "softmax_part",
                          missed ? "the block's exponentials can't be split at "
                                   "a multiple of 16 columns"
                                 : "no loop rounds an operand of its next dot "
                                   "while a dot is outstanding")))
    return signalPassFailure();
  abi.setPlanAttr(abi.getPlan().changeDots(
      [](plan::DotPlan &dot) { dot.operandBeforeWait = 100; }));
}
