//===- ForwardOp.cpp - attn.forward -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

using namespace mlir;
using namespace fovea::attn;

static LogicalResult verifyOutput(ForwardOp op) {
  if (failed(verifyTensor(op, "output", op.getOutputType())))
    return failure();
  Type element = op.getQueryType().getElementType();
  if (op.getOutputType().getElementType() != element &&
      !op.getOutputType().getElementType().isF32())
    return op.emitOpError() << "output must be " << element << " or f32, found "
                            << op.getOutputType().getElementType();
  auto q = op.getQueryType().getShape(), v = op.getValueType().getShape(),
       o = op.getOutputType().getShape();
  if (!agree(q[0], o[0]) || !agree(q[1], o[1]) || !agree(q[2], o[2]))
    return op.emitOpError()
           << "output must have the query's batch, heads and sequence, found "
           << op.getOutputType() << " for " << op.getQueryType();
  if (o[3] != v[3])
    return op.emitOpError()
           << "output and value must have the same head dim, found " << o[3]
           << " and " << v[3];
  return success();
}

LogicalResult ForwardOp::verify() {
  if (failed(verifyVariant(*this)) || failed(verifyOutput(*this)))
    return failure();
  return getLse() ? verifyRowValues(*this, "lse", getLse().getType())
                  : success();
}

LogicalResult ForwardOp::verifyRegions() { return verifyVariantRegions(*this); }
