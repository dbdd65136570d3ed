//===- RegionDependences.cpp - What values depend on ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionDependences.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

RegionDependences::RegionDependences(Region &region, unsigned captures) {
  auto arguments = region.getArguments().drop_back(captures);
  auto coordinates =
      arguments.take_back(attn::ForwardOp::kMaskModArguments); // b, h, i, j
  if (arguments.size() > coordinates.size())
    kinds[arguments.front()] = OnScore;
  shifted[coordinates[2]] = OnQuery;
  shifted[coordinates[3]] = OnKey;
  kinds[coordinates[2]] = OnQuery;
  kinds[coordinates[3]] = OnKey;
  for (Operation &op : region.front().without_terminator())
    add(op);
}

/// Whether other operands give another result: blocks of those have no value in
/// common.
static bool isInjective(Operation &op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp>(op);
}

void RegionDependences::add(Operation &op) {
  unsigned kind = Uniform;
  for (Value operand : op.getOperands())
    kind |= of(operand);
  if (kind != Uniform && !isInjective(op))
    kind |= Narrowed;
  for (Value result : op.getResults())
    kinds[result] = kind;
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return;
  Value left = op.getOperand(0), right = op.getOperand(1);
  if (isa<arith::AddIOp>(op) && isUniform(left))
    std::swap(left, right);
  auto found = shifted.find(left);
  if (found != shifted.end() && isUniform(right)) {
    Kind coordinate = found->second;
    shifted[op.getResult(0)] = coordinate;
  }
}
