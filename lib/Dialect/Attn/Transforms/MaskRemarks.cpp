//===- MaskRemarks.cpp - Remarks on analysed masks ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskRemarks.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

static remark::RemarkOpts getOptions(AttentionOpInterface op, StringRef name) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(name).category("mask").function(
      function ? function.getName() : StringRef());
}

/// The location of remarks on the whole mask: its terminator.
static Location getMaskLoc(AttentionOpInterface op) {
  return op.getMaskMod().front().getTerminator()->getLoc();
}

/// Strips clamps to the sequence and to the other bounds.
static Value stripLimits(Value bound, ValueRange bounds) {
  auto isLimit = [&](Value value) {
    return matchPattern(value, m_Zero()) ||
           value.getDefiningOp<KeyLengthOp>() ||
           value.getDefiningOp<QueryLengthOp>() ||
           llvm::is_contained(bounds, value);
  };
  while (Operation *op = bound.getDefiningOp()) {
    if (!isa<arith::MinSIOp, arith::MaxSIOp>(op))
      break;
    bool isSecond = isLimit(op->getOperand(0));
    if (!isSecond && !isLimit(op->getOperand(1)))
      break;
    bound = op->getOperand(isSecond);
  }
  return bound;
}

/// True if a bound has a constant position relative to the block's first or
/// last row, `row`.
static bool isRelativeTo(Value bound, Value row) {
  if (bound == row)
    return true;
  Operation *op = bound.getDefiningOp();
  if (!op ||
      !isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return false;
  bool follows = false;
  for (Value operand : op->getOperands()) {
    bool isSize = matchPattern(operand, m_Constant()) ||
                  operand.getDefiningOp<KeyLengthOp>() ||
                  operand.getDefiningOp<QueryLengthOp>();
    bool inner = isRelativeTo(operand, row);
    if (!isSize && !inner)
      return false;
    follows |= inner;
  }
  return follows;
}

/// True if a bound contains a select, whose formula is hard to read.
static bool hasChoice(Value bound) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open = {bound};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<arith::SelectOp>(op))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Describes the skipped rows and the unmasked rows. `what` and `rows` are keys
/// and queries, or queries and keys.
static std::string describeBounds(Region &region, StringRef what,
                                  StringRef rows) {
  ValueRange bounds = region.front().getTerminator()->getOperands();
  Value first = region.getArgument(2), last = region.getArgument(3);
  bool isOfKeys = what == "keys";
  bool hasLower = !matchPattern(bounds[0], m_Zero());
  bool hasUpper = isOfKeys ? !bounds[3].getDefiningOp<KeyLengthOp>()
                           : !bounds[3].getDefiningOp<QueryLengthOp>();
  SmallVector<Value> stripped = llvm::map_to_vector(
      bounds, [&](Value bound) { return stripLimits(bound, bounds); });
  Value lb = stripped[0], fb = stripped[1], fe = stripped[2], ub = stripped[3];
  static constexpr StringLiteral kAbove = " (blocks above the diagonal)",
                                 kBelow = " (blocks below the diagonal)";
  std::string text;
  auto add = [&](const Twine &part) {
    text += ((text.empty() ? "" : " and ") + part).str();
  };
  if (hasLower && hasChoice(lb))
    add(what + " before the first visible one");
  else if (hasLower)
    add(what + " before " + printFormula(lb) +
        (!isRelativeTo(lb, first) ? ""
         : isOfKeys               ? kBelow
                                  : kAbove));
  if (hasUpper && hasChoice(ub))
    add(what + " after the last visible one");
  else if (hasUpper)
    add(what + " from " + printFormula(ub) + " on" +
        (!isRelativeTo(ub, last) ? ""
         : isOfKeys              ? kAbove
                                 : kBelow));
  text = text.empty() ? "no " + what.str() + " are skipped by their position"
                      : rows.str() + " skip " + text;
  if (bounds[1] == bounds[2])
    return text + "; every processed block evaluates the mask";
  if (hasChoice(fb) || hasChoice(fe))
    return text + (isOfKeys ? "; keys that all these queries see need no mask"
                            : "; queries that see all these keys need no mask");
  return text + "; " + what.str() + " from " + printFormula(fb) + " to " +
         printFormula(fe) + " need no mask";
}

static void remarkFindings(AttentionOpInterface op) {
  if (std::string text = describeVisibleKeys(op.getMaskMod()); !text.empty())
    remark::analysis(getMaskLoc(op), getOptions(op, "mask"))
        << remark::reason("{0}", text);
  remark::analysis(getMaskLoc(op), getOptions(op, "kv_bounds"))
      << remark::reason("{0}", describeBounds(op.getKvBounds(), "keys",
                                              "queries i0 to i1"));
  if (auto backward = dyn_cast<BackwardOp>(op.getOperation());
      backward && !backward.getQueryBounds().empty())
    remark::analysis(getMaskLoc(op), getOptions(op, "query_bounds"))
        << remark::reason("{0}", describeBounds(backward.getQueryBounds(),
                                                "queries", "keys j0 to j1"));
  if (op.getKvClassify().empty())
    return;
  ValueRange verdicts =
      op.getKvClassify().front().getTerminator()->getOperands();
  std::string text = "a block of queries i0 to i1 and keys j0 to j1 ";
  text += matchPattern(verdicts[0], m_One())
              ? "may always have visible pairs"
              : "may have visible pairs if " + printFormula(verdicts[0]);
  text += matchPattern(verdicts[1], m_Zero())
              ? "; it always evaluates the mask"
              : "; it needs no mask if " + printFormula(verdicts[1]);
  remark::analysis(getMaskLoc(op), getOptions(op, "kv_classify"))
      << remark::reason("{0}", text);
}

void fovea::attn::remarkUnanalyzed(AttentionOpInterface op) {
  StringRef reason =
      op.hasBlocks()
          ? "block lists determine the processed blocks; the mask is not "
            "analysed"
      : op.getMaskMod().empty() ? "no mask: all blocks are processed"
                                : "the program specifies the bounds; the mask "
                                  "is not analysed";
  remark::analysis(op.getLoc(), getOptions(op, "mask"))
      << remark::reason("{0}", reason.str());
}

/// Describes the cost of the missing key range of `obstacle`.
static StringRef describeLoss(AttentionOpInterface op, const Obstacle &obstacle,
                              const MaskFindings *blocks) {
  bool isTold = blocks && !op.getKvClassify().empty() &&
                llvm::none_of(blocks->unknown, [&](const Obstacle &other) {
                  return other.condition == obstacle.condition;
                });
  return isTold ? "it gives no range of keys; kernels with warp roles test "
                  "each block at run time"
                : "it skips no block, and every processed block evaluates the "
                  "mask";
}

void fovea::attn::remarkMask(AttentionOpInterface op,
                             const MaskFindings &ranges,
                             const MaskFindings *blocks) {
  if (!op->getContext()->getRemarkEngine())
    return;
  remarkFindings(op);
  llvm::SmallDenseSet<Operation *> said;
  auto remarkObstacle = [&](const Obstacle &obstacle) {
    if (said.insert(obstacle.op).second)
      remark::missed(obstacle.op->getLoc(), getOptions(op, "unknown"))
          << remark::metric("Op", obstacle.op->getName().getStringRef())
          << remark::reason("{0}: {1}", obstacle.reason,
                            describeLoss(op, obstacle, blocks));
  };
  // Obstacles of block predicates are more informative than those of ranges.
  if (blocks)
    llvm::for_each(blocks->unknown, remarkObstacle);
  for (const Obstacle &obstacle : ranges.unknown)
    if (!blocks || llvm::none_of(blocks->unknown, [&](const Obstacle &other) {
          return other.condition == obstacle.condition;
        }))
      remarkObstacle(obstacle);
  for (Operation *hull : ranges.hulls)
    if (said.insert(hull).second)
      remark::missed(hull->getLoc(), getOptions(op, "hull"))
          << remark::metric("Op", hull->getName().getStringRef())
          << remark::reason(
                 "{0}",
                 op.getKvClassify().empty()
                     ? "its keys are not one range: kernels iterate over the "
                       "smallest enclosing range"
                     : "its keys are not one range: kernels with warp roles "
                       "test each block of the smallest enclosing range at run "
                       "time");
}
