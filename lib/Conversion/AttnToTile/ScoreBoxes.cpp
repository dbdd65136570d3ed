//===- ScoreBoxes.cpp - Captured tensors read as blocks ----------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreBoxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;

namespace {
/// How a value of a region depends on the position within a block.
enum class Dependence { Uniform, Query, Key, Other };

class Dependences {
public:
  explicit Dependences(Region &scoreMod) {
    // The score; batch entry, head, query and key; captured values.
    kinds[scoreMod.getArgument(0)] = Dependence::Other;
    kinds[scoreMod.getArgument(3)] = Dependence::Query;
    kinds[scoreMod.getArgument(4)] = Dependence::Key;
    for (Operation &op : scoreMod.front().without_terminator())
      for (Value result : op.getResults())
        kinds[result] = join(&op);
  }

  Dependence of(Value value) { return kinds.lookup(value); }

private:
  Dependence join(Operation *op) {
    SmallVector<Dependence> operands = llvm::map_to_vector(
        op->getOperands(), [&](Value value) { return of(value); });
    auto isUniform = [](Dependence d) { return d == Dependence::Uniform; };
    if (llvm::all_of(operands, isUniform))
      return Dependence::Uniform;
    if (isa<arith::AddIOp, arith::SubIOp>(op) && isUniform(operands[1]))
      return operands[0];
    if (isa<arith::AddIOp>(op) && isUniform(operands[0]))
      return operands[1];
    return Dependence::Other;
  }

  llvm::DenseMap<Value, Dependence> kinds;
};
} // namespace

static bool isBox(tensor::ExtractOp extract, Dependences &dependences) {
  Type element = extract.getType();
  if (!element.isF16() && !element.isBF16())
    return false;
  auto indices = extract.getIndices();
  if (indices.size() < 2 || dependences.of(indices.back()) != Dependence::Key)
    return false;
  unsigned queries = 0;
  for (Value index : indices.drop_back()) {
    Dependence kind = dependences.of(index);
    if (kind == Dependence::Key || kind == Dependence::Other)
      return false;
    queries += kind == Dependence::Query;
  }
  return queries == 1;
}

ScoreBoxes fovea::findScoreBoxes(attn::ForwardOp op) {
  ScoreBoxes boxes;
  Region &scoreMod = op.getScoreMod();
  if (scoreMod.empty())
    return boxes;
  Dependences dependences(scoreMod);
  llvm::SmallSetVector<unsigned, 4> captures;
  for (auto extract : scoreMod.front().getOps<tensor::ExtractOp>()) {
    auto tensor = dyn_cast<BlockArgument>(extract.getTensor());
    if (!tensor || !isBox(extract, dependences))
      continue;
    captures.insert(tensor.getArgNumber() -
                    attn::ForwardOp::kScoreModArguments);
    boxes.bits += extract.getType().getIntOrFloatBitWidth();
  }
  boxes.captures = captures.takeVector();
  llvm::sort(boxes.captures);
  return boxes;
}
