//===- BlockExtremes.cpp - attn.block_min and attn.block_max --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockIndices.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fovea::attn;

/// Argument numbers of kv_classify.
static constexpr unsigned kFirstQuery = 2, kFirstKey = 4;

ParseResult fovea::attn::parseBlockIndices(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
    OpAsmParser::UnresolvedOperand &first, OpAsmParser::UnresolvedOperand &last,
    IntegerAttr &dim) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t position = 0;
  auto parseIndex = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    SMLoc indexLoc = parser.getCurrentLocation();
    if (parser.parseOperand(operand))
      return failure();
    if (failed(parser.parseOptionalKeyword("to"))) {
      indices.push_back(operand);
    } else {
      if (dim)
        return parser.emitError(indexLoc, "expected one range of positions, "
                                          "found a second one");
      dim = parser.getBuilder().getI64IntegerAttr(position);
      first = operand;
      if (parser.parseOperand(last))
        return failure();
    }
    ++position;
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseIndex))
    return failure();
  if (!dim)
    return parser.emitError(loc, "expected a range of positions, such as "
                                 "'%j0 to %j1', among the indices");
  return success();
}

void fovea::attn::printBlockIndices(OpAsmPrinter &p, Operation *,
                                    OperandRange indices, Value first,
                                    Value last, IntegerAttr dim) {
  p << '[';
  for (int64_t position = 0; position <= int64_t(indices.size()); ++position) {
    if (position != 0)
      p << ", ";
    if (position == dim.getInt())
      p << first << " to " << last;
    else
      p << indices[position - (position > dim.getInt())];
  }
  p << ']';
}

/// True if `value` depends on the block's position.
static bool dependsOnBlock(Value value, Block &body) {
  SetVector<Value> slice;
  slice.insert(value);
  for (unsigned next = 0; next < slice.size(); ++next) {
    Value current = slice[next];
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      unsigned number = argument.getArgNumber();
      if (argument.getOwner() == &body && number >= kFirstQuery &&
          number < AttentionOpInterface::kKVClassifyArguments)
        return true;
      continue;
    }
    Operation *op = current.getDefiningOp();
    slice.insert(op->operand_begin(), op->operand_end());
    SetVector<Value> used;
    getUsedValuesDefinedAbove(op->getRegions(), used);
    slice.insert(used.begin(), used.end());
  }
  return false;
}

template <typename OpTy>
static LogicalResult verifyBlockExtreme(OpTy op) {
  auto parent = op->template getParentOfType<AttentionOpInterface>();
  Region *region = op->getParentRegion();
  if (!parent || region != &parent.getKvClassify())
    return op.emitOpError("is only valid in 'kv_classify' of an attention op");
  Block &body = region->front();
  if (body.getNumArguments() < AttentionOpInterface::kKVClassifyArguments)
    return success(); // the parent's verifier reports this
  if (!is_contained(body.getArguments().drop_front(
                        AttentionOpInterface::kKVClassifyArguments),
                    op.getTensor()))
    return op.emitOpError("expected a captured tensor, found a value that "
                          "'kv_classify' computes");
  RankedTensorType type = op.getTensor().getType();
  int64_t rank = type.getRank(), found = op.getIndices().size() + 1;
  if (found != rank)
    return op.emitOpError("expected ")
           << rank << " indices for " << type << ", found " << found;
  if (op.getDim() >= uint64_t(rank))
    return op.emitOpError("expected a dimension below ")
           << rank << ", found " << op.getDimAttr().getInt();
  auto isRange = [&](unsigned argument) {
    return op.getFirst() == body.getArgument(argument) &&
           op.getLast() == body.getArgument(argument + 1);
  };
  if (!isRange(kFirstQuery) && !isRange(kFirstKey))
    return op.emitOpError("expected the range of the block's queries or of its "
                          "keys, found other values");
  for (Value index : op.getIndices())
    if (dependsOnBlock(index, body))
      return op.emitOpError("expected other indices that do not depend on the "
                            "block, found one that does");
  return success();
}

LogicalResult BlockMinOp::verify() { return verifyBlockExtreme(*this); }
LogicalResult BlockMaxOp::verify() { return verifyBlockExtreme(*this); }

bool BlockMinOp::isOverQueries() {
  return cast<BlockArgument>(getFirst()).getArgNumber() == kFirstQuery;
}
bool BlockMaxOp::isOverQueries() {
  return cast<BlockArgument>(getFirst()).getArgNumber() == kFirstQuery;
}
