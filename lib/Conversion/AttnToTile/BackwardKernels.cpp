//===- BackwardKernels.cpp - Which kernels a backward pass has --*- C++ -*-===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"
#include "BlockSummaries.h"
#include "HelperKernels.h"
#include "KernelLowering.h"
#include "RegionDependences.h"

#include "fovea/Schedule/ScheduleRemarks.h"

using namespace mlir;
using namespace fovea;

/// What has no lowering to kernels yet is said, with what it is.
static LogicalResult checkLowered(KernelBuilder &kb, attn::BackwardOp op) {
  if (failed(checkTensors(kb, op)) || failed(BackwardSums(op).verify()))
    return failure();
  // Products of matrices have operands of one type.
  Type values = op.getValueType().getElementType(),
       gradients = cast<RankedTensorType>(op.getOutputGradient().getType())
                       .getElementType();
  if (values != gradients)
    return op.emitError("kernels take an output gradient of v's element type, ")
           << values << ", found " << gradients << ": round it before";
  if (!op.getScoreMod().empty() && op.getScoreGradient().empty())
    return op.emitError("score_mod's derivative is not known: run "
                        "attn-differentiate first");
  return success();
}

namespace {
class BackwardLowering final : public KernelLowering {
public:
  explicit BackwardLowering(attn::BackwardOp op)
      : op(op), sums(op), turned(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override;
  LogicalResult emitHelpers(KernelBuilder &kb, launch::AbiOp main) override;

private:
  LogicalResult choosePlans(KernelBuilder &kb);
  /// The kernels, in the order in which they run; one is the main one.
  SmallVector<BackwardPart> findParts();
  /// The last kernel over tiles of keys, if there is one: what the op counts
  /// its work by.
  unsigned findMainPart();
  plan::KernelAttr getPlan(const BackwardPart &part) {
    return !part.hasQueryTiles()     ? plans.keys
           : part.sums && plans.sums ? plans.sums
                                     : plans.queries;
  }
  /// Blocks of so many rows; where they are an entry's, one even if it has no
  /// rows, since roles visit a block in any case.
  AffineExpr countBlocks(SizeExpressions &sizes, int64_t rows);
  /// Whether tiles' turns differ from their numbers.
  bool hasTurnTable() {
    return plans.ordersSums && (!op.getQueryBounds().empty() ||
                                plans.keys->classify || op.hasBlocks());
  }
  /// Turns that a tile has at a head, at most.
  AffineExpr countTurns(SizeExpressions &sizes);
  /// Tiles of the kernel's rows for each head, at most.
  AffineExpr countTiles(const BackwardPart &part, plan::KernelAttr plan,
                        SizeExpressions &sizes);
  unsigned declareOfQueries(KernelBuilder &kb, StringRef name, int64_t columns);
  void declareTurns(KernelBuilder &kb, BackwardScratch &declared);
  LogicalResult emitTurns(KernelBuilder &kb, const BackwardPart &part,
                          launch::AbiOp main);
  /// The scratch memory of the kernels.
  BackwardScratch declareScratch(KernelBuilder &kb);
  /// The extremes that a kernel asks for: what kernels share is the main one's.
  void declareSummaries(KernelBuilder &kb, const BackwardPart &part);
  LogicalResult emitHelper(KernelBuilder &kb, const BackwardPart &part,
                           launch::AbiOp main, bool isAfter);

  attn::BackwardOp op;
  BackwardPlans plans;
  SmallVector<BackwardPart> parts;
  unsigned mainPart = 0;
  BackwardScratch scratch;
  BackwardSums sums;
  TurnedLists turned;
};
} // namespace

/// Whether the derivative by a score depends on the score.
static bool readsScores(attn::BackwardOp op) {
  Region &gradient = op.getScoreGradient();
  return !gradient.empty() && !gradient.getArgument(0).use_empty();
}

/// Whether score_mod computes something for each pair. Else what it adds is
/// added to the values of the block's rows and columns.
static bool modifiesEachScore(attn::BackwardOp op) {
  Region &scoreMod = op.getScoreMod();
  if (scoreMod.empty())
    return false;
  RegionDependences dependences(scoreMod, op.getCaptures().size());
  return readsScores(op) ||
         !dependences.isSumOfSides(
             scoreMod.front().getTerminator()->getOperand(0));
}

/// The form and the plans of the kernels, by the target's planners.
LogicalResult BackwardLowering::choosePlans(KernelBuilder &kb) {
  BackwardProblem problem{
      kb.target, int64_t(op.getQueryType().getElementTypeBitWidth()),
      kb.padHeadDim(op.getQueryType()), kb.padHeadDim(op.getValueType())};
  problem.query = bool(op.getQueryGradient());
  problem.key = bool(op.getKeyGradient());
  problem.value = bool(op.getValueGradient());
  problem.sums = BackwardSums::areAsked(op);
  problem.modifies = modifiesEachScore(op) || op.getDropoutAttr();
  problem.readsScores = op.getDropoutAttr() || readsScores(op);
  problem.isSparse = op.isSparse();
  problem.isDeterministic = op.getDeterministic();
  problem.isPacked = op.getSequence().getKeyPlaces().arePacked;
  problem.classifies = !op.getKvClassify().empty();
  if (op.hasBlocks()) {
    problem.queryBlock = op.getQueryBlock();
    problem.keyBlock = op.getKeyBlock();
  }
  FailureOr<BackwardPlans> chosen =
      chooseBackwardPlans(op.getContext(), problem, kb.scheduleOverrides,
                          [&] { return op.emitError(); });
  if (failed(chosen))
    return failure();
  plans = *chosen;
  auto function = op->getParentOfType<FunctionOpInterface>();
  remarkBackwardPlans(
      {op, function ? function.getName() : StringRef(), kb.scheduleOverrides},
      problem, plans);
  return success();
}

SmallVector<BackwardPart> BackwardLowering::findParts() {
  bool query(op.getQueryGradient()), key(op.getKeyGradient()),
      value(op.getValueGradient());
  bool hasSums = BackwardSums::areAsked(op);
  SmallVector<BackwardPart> found;
  auto add = [&](BackwardPart::Kind kind, StringRef suffix) -> BackwardPart & {
    return found.emplace_back(BackwardPart{kind, suffix});
  };
  auto addKeys = [&](StringRef suffix, bool findsKey, bool findsValue) {
    BackwardPart &keys = add(BackwardPart::Keys, suffix);
    keys.key = findsKey;
    keys.value = findsValue;
    keys.addsQuery = plans.sumsQueries;
    keys.ordersSums = plans.ordersSums;
    keys.keepsGradients = plans.keepsGradients;
    keys.roundsWeights = plans.roundsWeights;
    keys.exponentsFirst = plans.exponentsFirst;
    keys.deltaFirst = plans.deltaFirst;
    keys.slopesFirst = plans.slopesFirst;
    keys.keyRoles = plans.keyRoles;
    keys.addsAhead = plans.addsAhead;
    keys.partColumns = plans.partColumns;
  };
  if (plans.sumsQueries) {
    BackwardPart &delta = add(BackwardPart::Delta, "delta");
    delta.addsQuery = delta.storesDelta = true;
    delta.ordersSums = plans.ordersSums;
    if (hasTurnTable())
      add(BackwardPart::Turns, "turns");
    addKeys("keys", true, true);
    add(BackwardPart::Round, "queries");
    if (hasSums)
      add(BackwardPart::Queries, "sums").sums = true;
    return found;
  }
  // D comes from the queries' kernel, where there is one.
  if (query || hasSums) {
    BackwardPart &queries = add(BackwardPart::Queries, "queries");
    queries.query = query;
    queries.sums = hasSums;
    queries.storesDelta = key;
  } else if (key) {
    add(BackwardPart::Delta, "delta").storesDelta = true;
  }
  if (key && value && plans.sharesKeyTiles) {
    addKeys("keys", true, true);
    return found;
  }
  if (value)
    addKeys("values", false, true);
  if (key)
    addKeys("keys", true, false);
  return found;
}

unsigned BackwardLowering::findMainPart() {
  unsigned last = parts.size() - 1;
  for (unsigned index = last; index > 0; --index)
    if (!parts[index].hasQueryTiles())
      return index;
  return last;
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

AffineExpr BackwardLowering::countBlocks(SizeExpressions &sizes, int64_t rows) {
  AffineExpr of = sizes.getSize(2);
  if (!op.getSequence().getKeyPlaces().arePacked) {
    AffineExpr one = getAffineConstantExpr(1, of.getContext());
    return of.ceilDiv(rows) + one.floorDiv(of + 1);
  }
  // Where each sequence ends is the device's knowledge: no fewer than it has.
  unsigned offsets = op.getSequenceOperands().getBeginOperandIndex();
  return of.floorDiv(rows) + sizes.getSize(offsets, 0);
}

/// A value of each query, or rows of them, as the kernel's next argument; in
/// fragments for all queries of a block.
unsigned BackwardLowering::declareOfQueries(KernelBuilder &kb, StringRef name,
                                            int64_t columns) {
  SizeExpressions sizes(kb, /*operand=*/0);
  SmallVector<AffineExpr> extents;
  for (int64_t dim = 0; dim < 3; ++dim)
    extents.push_back(sizes.getSize(dim));
  if (plans.sumsQueries)
    extents.back() = countBlocks(sizes, plans.keys->tileN) * plans.keys->tileN;
  if (columns)
    extents.push_back(kb.builder.getAffineConstantExpr(columns));
  return fovea::declareScratch(kb, name, sizes.getNames(), extents,
                               kb.builder.getF32Type());
}

BackwardScratch BackwardLowering::declareScratch(KernelBuilder &kb) {
  BackwardScratch declared;
  if (op.getKeyGradient())
    declared.delta = declareOfQueries(kb, "delta", /*columns=*/0);
  if (!plans.sumsQueries)
    return declared;
  declared.exponents = declareOfQueries(kb, "exponents", /*columns=*/0);
  declared.querySums =
      declareOfQueries(kb, "dq_sum", kb.padHeadDim(op.getQueryType()));
  if (plans.ordersSums)
    declareTurns(kb, declared);
  return declared;
}

void BackwardLowering::declareTurns(KernelBuilder &kb,
                                    BackwardScratch &declared) {
  Type i32 = kb.builder.getI32Type();
  SizeExpressions sizes(kb, /*operand=*/0);
  AffineExpr batch = sizes.getSize(0), heads = sizes.getSize(1),
             turns = countTurns(sizes);
  declared.semaphores = fovea::declareScratch(
      kb, "semaphores", sizes.getNames(), {batch, heads, turns}, i32);
  if (!hasTurnTable())
    return;
  AffineExpr tiles =
      sizes.getSize(/*of=*/1, /*dim=*/2).ceilDiv(plans.keys->tileM);
  declared.turns = fovea::declareScratch(kb, "turns", sizes.getNames(),
                                         {batch, heads, tiles, turns}, i32);
}

void BackwardLowering::declareSummaries(KernelBuilder &kb,
                                        const BackwardPart &part) {
  plan::KernelAttr plan = getPlan(part);
  if (plan->classify)
    BlockSummaries(kb, op.getKvClassify(), op.getFirstCapture(),
                   /*queries=*/plan->tileN, /*keys=*/plan->tileM);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

FailureOr<plan::KernelAttr> BackwardLowering::emit(KernelBuilder &kb) {
  if (failed(checkLowered(kb, op)) || failed(choosePlans(kb)))
    return failure();
  parts = findParts();
  scratch = declareScratch(kb);
  sums.declare(kb);
  if (op.hasBlocks() && llvm::any_of(parts, [](const BackwardPart &part) {
        return !part.hasQueryTiles();
      }))
    turned.declare(kb, /*asBits=*/plans.ordersSums);
  for (const BackwardPart &part : parts)
    declareSummaries(kb, part);
  mainPart = findMainPart();
  const BackwardPart &part = parts[mainPart];
  plan::KernelAttr plan = getPlan(part);
  if (failed(BackwardEmitter(kb, op, part, plan, scratch, sums, turned).emit()))
    return failure();
  return plan;
}

AffineExpr BackwardLowering::countTiles(const BackwardPart &part,
                                        plan::KernelAttr plan,
                                        SizeExpressions &sizes) {
  if (part.fillsFragments() || op.getSequence().getKeyPlaces().arePacked)
    return countBlocks(sizes, plan->tileM);
  return sizes.getSize(2).ceilDiv(plan->tileM);
}

AffineExpr BackwardLowering::countTurns(SizeExpressions &sizes) {
  return countBlocks(sizes, plans.keys->tileN);
}

/// A CTA is a warp, and has `kTurnsOfWarp` turns of a head's tiles.
LogicalResult BackwardLowering::emitTurns(KernelBuilder &kb,
                                          const BackwardPart &part,
                                          launch::AbiOp main) {
  SizeExpressions sizes(kb, /*operand=*/0);
  AffineExpr ctas = countTurns(sizes).ceilDiv(BackwardEmitter::kTurnsOfWarp) *
                    sizes.getSize(1) * sizes.getSize(0);
  ScheduleFields fields;
  fields.tileM = plans.keys->tileM;
  fields.tileN = plans.keys->tileN;
  fields.warps = fields.stages = 1;
  auto arguments =
      llvm::to_vector(llvm::seq<unsigned>(0, kb.kernel.getNumArguments()));
  KernelBuilder inner = kb;
  inner.kernel = beginHelperKernel(inner.builder, kb, main,
                                   {part.suffix, arguments, sizes.getNames(),
                                    ctas, makePlan(main.getContext(), fields)});
  // Blocks are visited as the kernel of keys does it.
  if (failed(BackwardEmitter(inner, op, part, plans.keys, scratch, sums, turned)
                 .emit()))
    return failure();
  gpu::ReturnOp::create(inner.builder, op.getLoc());
  kb.hasWideIndex |= inner.hasWideIndex;
  return success();
}

LogicalResult BackwardLowering::emitHelper(KernelBuilder &kb,
                                           const BackwardPart &part,
                                           launch::AbiOp main, bool isAfter) {
  if (part.kind == BackwardPart::Turns)
    return emitTurns(kb, part, main);
  plan::KernelAttr plan = getPlan(part);
  SizeExpressions sizes(kb, /*operand=*/part.hasQueryTiles() ? 0 : 1);
  AffineExpr ctas =
      countTiles(part, plan, sizes) * sizes.getSize(1) * sizes.getSize(0);
  auto arguments =
      llvm::to_vector(llvm::seq<unsigned>(0, kb.kernel.getNumArguments()));
  KernelBuilder inner = kb;
  inner.kernel = beginHelperKernel(
      inner.builder, kb, main,
      {part.suffix, arguments, sizes.getNames(), ctas, plan, isAfter});
  if (failed(
          BackwardEmitter(inner, op, part, plan, scratch, sums, turned).emit()))
    return failure();
  gpu::ReturnOp::create(inner.builder, op.getLoc());
  kb.hasWideIndex |= inner.hasWideIndex;
  // The host asks the main kernel which numbers are drawn.
  if (inner.generator) {
    launch::lookupAbi(inner.kernel).setGeneratorAttr(inner.generator);
    main.setGeneratorAttr(inner.generator);
  }
  return success();
}

LogicalResult BackwardLowering::emitHelpers(KernelBuilder &kb,
                                            launch::AbiOp main) {
  turned.buildKernel(kb, main);
  for (auto [index, part] : llvm::enumerate(parts))
    if (index != mainPart &&
        failed(emitHelper(kb, part, main, /*isAfter=*/index > mainPart)))
      return failure();
  sums.emitRounding(kb, main);
  return success();
}

std::unique_ptr<KernelLowering>
fovea::makeBackwardLowering(attn::BackwardOp op) {
  return std::make_unique<BackwardLowering>(op);
}
