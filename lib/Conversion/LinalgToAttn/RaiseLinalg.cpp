//===- RaiseLinalg.cpp - Raise linalg to attention ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts at the second contraction and proceeds backwards: `Match` finds the
// parts of attention, `Arrangement` assigns dimensions, and `Variant` creates
// score_mod and mask_mod.
//
//===----------------------------------------------------------------------===//

#include "fovea/Conversion/Passes.h"

#include "Arrangement.h"
#include "Variant.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea {
#define GEN_PASS_DEF_ATTNRAISELINALG
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;
using namespace fovea::raising;

namespace {
struct RaiseLinalgPass : fovea::impl::AttnRaiseLinalgBase<RaiseLinalgPass> {
  using AttnRaiseLinalgBase::AttnRaiseLinalgBase;

  void runOnOperation() override;
  bool raise(Operation *op);
};
} // namespace

static remark::RemarkOpts getRemarkOptions(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name("attention")
      .category("raise")
      .function(function ? function.getName() : StringRef());
}

static void report(const Missed &missed) {
  remark::missed(missed.where->getLoc(), getRemarkOptions(missed.where))
      << remark::reason("{0}", missed.reason);
}

/// Creates a tensor with these dimensions; head dimensions are static in its
/// type.
static Value makeOperand(OpBuilder &builder, Location loc, const Space &space,
                         const Place &place, const Groups &groups) {
  Groups from;
  for (const Position &position : place.positions)
    from.push_back(position.axes);
  Value tensor = regroup(builder, loc, space, place.tensor, from, groups);
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(3))
    return tensor;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = space.getSize(groups.back());
  return tensor::CastOp::create(builder, loc, type.clone(shape), tensor);
}

static Value makeForward(OpBuilder &builder, Location loc, Match &match,
                         const Arrangement &arrangement, Variant &variant) {
  const Space &space = *match.space;
  Value q = makeOperand(builder, loc, space, arrangement.query,
                        arrangement.getQueryGroups()),
        k = makeOperand(builder, loc, space, arrangement.key,
                        arrangement.getKeyGroups()),
        v = makeOperand(builder, loc, space, arrangement.value,
                        arrangement.getValueGroups());
  SmallVector<int64_t> shape;
  for (const AxisList &group : arrangement.getOutputGroups())
    shape.push_back(space.getSize(group));
  auto type = RankedTensorType::get(
      shape, getElementTypeOrSelf(arrangement.output.tensor.getType()));
  SmallVector<Value> captures = variant.makeCaptures(builder, loc);
  auto sequence = attn::DenseAttr::get(builder.getContext());
  auto op = attn::ForwardOp::create(
      builder, loc, type, /*lse=*/Type(), q, k, v, /*scales=*/ValueRange(),
      /*scaleValue=*/Value(), captures, /*sequenceOperands=*/ValueRange(),
      /*sinks=*/Value(),
      /*dropoutSeed=*/Value(), /*dropoutOffset=*/Value(),
      /*blockLists=*/ValueRange(), /*scaleNames=*/ArrayAttr(),
      /*captureNumbers=*/DenseI64ArrayAttr(),
      /*captureNames=*/ArrayAttr(),
      /*blockSize=*/DenseI64ArrayAttr(),
      builder.getF64FloatAttr(variant.getScale()), /*dropout=*/FloatAttr(),
      /*dropoutGenerator=*/generator::kVersion, arrangement.layout, sequence,
      /*valueColumns=*/DenseI64ArrayAttr(), /*invariant=*/false);
  variant.fillRegions(builder, op);
  return op.getOutput();
}

/// Replaces the result; the other ops become dead.
static void replace(Match &match, const Arrangement &arrangement,
                    Variant &variant) {
  Value result = arrangement.output.tensor;
  Location loc = match.output.op->getLoc();
  // After ops that the result needs, such as the sizes of an expand_shape.
  OpBuilder builder(result.getDefiningOp());
  Value output = makeForward(builder, loc, match, arrangement, variant);
  Groups wanted;
  for (const Position &position : arrangement.output.positions)
    wanted.push_back(position.axes);
  output = regroup(builder, loc, *match.space, output,
                   arrangement.getOutputGroups(), wanted);
  if (output.getType() != result.getType())
    output = tensor::CastOp::create(builder, loc, result.getType(), output);
  result.replaceAllUsesWith(output);
}

bool RaiseLinalgPass::raise(Operation *op) {
  std::optional<Missed> missed;
  std::optional<Match> match = findAttention(op, missed);
  std::optional<Arrangement> arrangement;
  while (match && !missed) {
    arrangement = arrange(*match, missed);
    if (!match->space->hasCut() || !findAgain(*match, missed))
      break;
  }
  if (match && !missed && arrangement) {
    Variant variant(*match, *arrangement, maskedBelow);
    if (variant.check(missed)) {
      replace(*match, *arrangement, variant);
      ++numRaised;
      remark::passed(op->getLoc(), getRemarkOptions(op)) << "raised";
      return true;
    }
  }
  if (missed)
    report(*missed);
  return false;
}

/// Erases dead ops, users and nested ops first.
static void eraseDead(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (op != root &&
        isa<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
            tensor::TensorDialect>(op->getDialect()) &&
        isOpTriviallyDead(op))
      op->erase();
}

void RaiseLinalgPass::runOnOperation() {
  SmallVector<Operation *> contractions;
  getOperation()->walk(
      [&](linalg::LinalgOp op) { contractions.push_back(op); });
  bool raised = false;
  for (Operation *op : contractions)
    raised |= raise(op);
  if (raised)
    eraseDead(getOperation());
}
