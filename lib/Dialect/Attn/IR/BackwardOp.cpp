//===- BackwardOp.cpp - attn.backward ---------------------------*- C++ -*-===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

using namespace mlir;
using namespace fovea::attn;

Value BackwardOp::getGradientOfCapture(unsigned index) {
  const auto *found = llvm::find(getDifferentiated(), int64_t(index));
  if (found == getDifferentiated().end())
    return {};
  return getCaptureGradients()[found - getDifferentiated().begin()];
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks the results of the forward op and the gradients with respect to them.
static LogicalResult verifyOutputs(BackwardOp op) {
  auto output = cast<RankedTensorType>(op.getOutput().getType());
  auto gradient = cast<RankedTensorType>(op.getOutputGradient().getType());
  if (failed(verifyTensor(op, "output", output)))
    return failure();
  Type element = op.getQueryType().getElementType();
  if (output.getElementType() != element && !output.getElementType().isF32())
    return op.emitOpError() << "output must be " << element << " or f32, found "
                            << output.getElementType();
  auto q = op.getQueryType().getShape(), v = op.getValueType().getShape(),
       o = output.getShape();
  if (!agree(q[0], o[0]) || !agree(q[1], o[1]) || !agree(q[2], o[2]) ||
      o[3] != v[3])
    return op.emitOpError() << "output must have the query's batch, heads and "
                               "sequence and the value's head dim, found "
                            << output << " for " << op.getQueryType() << " and "
                            << op.getValueType();
  // The gradient of an f32 output may be rounded to the type that kernels
  // multiply.
  if (gradient != output && gradient != output.clone(element))
    return op.emitOpError()
           << "the output's gradient must have the output's type " << output
           << ", or that of " << element << ", found " << gradient;
  if (failed(verifyRowValues(op, "lse", op.getLse().getType())))
    return failure();
  return op.getLseGradient() ? verifyRowValues(op, "lse_gradient",
                                               op.getLseGradient().getType())
                             : success();
}

/// Checks that `gradient`, if present, has the type of its operand `by`, or
/// that type with f32 elements. The gradient of a scalar is a rank-0 tensor.
static LogicalResult verifyGradient(BackwardOp op, const Twine &name,
                                    Value gradient, Type by) {
  if (!gradient)
    return success();
  auto found = cast<RankedTensorType>(gradient.getType());
  auto expected = dyn_cast<RankedTensorType>(by);
  if (!expected)
    expected = RankedTensorType::get({}, by);
  if (found == expected ||
      found == expected.clone(Float32Type::get(op.getContext())))
    return success();
  return op.emitOpError() << "the gradient of " << name << " must be "
                          << expected << ", or that of f32, found " << found;
}

/// Checks the captured values with gradients.
static LogicalResult verifyDifferentiated(BackwardOp op) {
  ArrayRef<int64_t> positions = op.getDifferentiated();
  if (positions.size() != op.getCaptureGradients().size())
    return op.emitOpError()
           << "expected a gradient for each of " << positions.size()
           << " captured values, found " << op.getCaptureGradients().size();
  int64_t least = 0, count = op.getCaptures().size();
  for (auto [position, gradient] :
       llvm::zip(positions, op.getCaptureGradients())) {
    if (position < least || position >= count)
      return op.emitOpError()
             << "captured values with gradients must ascend, below " << count
             << ", found [" << positions << ']';
    least = position + 1;
    Type type = op.getCaptures()[position].getType();
    if (!isa<FloatType>(getElementTypeOrSelf(type)))
      return op.emitOpError() << op.describeCapture(position)
                              << " has no gradient: expected a float or a "
                                 "tensor of floats, found "
                              << type;
    if (failed(
            verifyGradient(op, op.describeCapture(position), gradient, type)))
      return failure();
    std::string name = "d" + op.getCaptureName(position);
    if (isReservedName(op, name) || hasCaptureNamed(op, name))
      return op.emitOpError()
             << "the gradient of " << op.describeCapture(position)
             << " would have the name '" << name << "' of another tensor";
  }
  return success();
}

LogicalResult BackwardOp::verify() {
  if (failed(verifyVariant(*this)) || failed(verifyOutputs(*this)))
    return failure();
  if (getSequence().getPlaces().page)
    return emitOpError("the sequence form '")
           << getSequence().getKeyword()
           << "' has no gradients: batch entries may share a page";
  SequencePlaces places = getSequence().getPlaces();
  if (places.packsQueries() != places.packsKeys())
    return emitOpError(
        "packed queries have gradients only with packed keys, as "
        "'packed(%cu_q, %cu_k)'");
  if (getNumResults() == 0)
    return emitOpError("expected at least one gradient");
  if (failed(verifyGradient(*this, "q", getQueryGradient(), getQueryType())) ||
      failed(verifyGradient(*this, "k", getKeyGradient(), getKeyType())) ||
      failed(verifyGradient(*this, "v", getValueGradient(), getValueType())) ||
      failed(verifyDifferentiated(*this)))
    return failure();
  if (getSinksGradient() && !getSinks())
    return emitOpError("the gradient of sinks needs sinks, found none");
  if (getScaleGradient() && !getScaleValue())
    return emitOpError(
        "the gradient of the scale needs a run-time scale, found "
        "none");
  if (getSinks() && failed(verifyGradient(*this, "sinks", getSinksGradient(),
                                          getSinks().getType())))
    return failure();
  return verifyGradient(*this, "scale", getScaleGradient(),
                        Float32Type::get(getContext()));
}

LogicalResult BackwardOp::verifyRegions() {
  if (failed(verifyVariantRegions(*this)))
    return failure();
  Type index = IndexType::get(getContext()),
       f32 = Float32Type::get(getContext());
  if (getScoreMod().empty() && !getScoreGradient().empty())
    return emitOpError("'score_gradient' needs a score_mod");
  if (failed(verifyModRegion(*this, "score_gradient", getScoreGradient(),
                             {f32, f32, index, index, index, index}, {f32},
                             llvm::IsaPred<ContributeOp>)))
    return failure();
  return verifyModRegion(*this, "query_bounds", getQueryBounds(),
                         {index, index, index, index},
                         {index, index, index, index});
}

//===----------------------------------------------------------------------===//
// attn.contribute
//===----------------------------------------------------------------------===//

LogicalResult ContributeOp::verify() {
  auto parent = cast<BackwardOp>((*this)->getParentOp());
  Region &region = parent.getScoreGradient();
  if ((*this)->getParentRegion() != &region)
    return emitOpError("is only valid in 'score_gradient'");
  auto target = dyn_cast<BlockArgument>(getTarget());
  if (!target || target.getOwner() != &region.front() ||
      target.getArgNumber() < BackwardOp::kScoreGradientArguments)
    return emitOpError("expected the region's argument of a captured value, "
                       "found another value");
  unsigned capture =
      target.getArgNumber() - BackwardOp::kScoreGradientArguments;
  if (!llvm::is_contained(parent.getDifferentiated(), int64_t(capture)))
    return emitOpError() << "expected a captured value with a gradient, found "
                         << parent.describeCapture(capture);
  auto tensor = dyn_cast<RankedTensorType>(target.getType());
  int64_t rank = tensor ? tensor.getRank() : 0;
  if (int64_t(getIndices().size()) != rank)
    return emitOpError() << "expected " << rank << " indices for "
                         << target.getType() << ", found "
                         << getIndices().size();
  return success();
}
