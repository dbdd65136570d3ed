//===- MaskEvaluation.h - Which keys queries see ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_MASKEVALUATION_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_MASKEVALUATION_H

#include "Attention/Sequences.h"
#include "fovea/Interpreter/BlockMap.h"
#include "fovea/Interpreter/Handlers.h"

namespace fovea::interp {

/// Query rows [first, first + count) of one head of one sequence.
struct RowBlock {
  const Sequence *sequence;
  int64_t head, first, count;
  /// Where the block's map goes, if one is asked for.
  BlockMap::Row *map = nullptr;
};

/// The regions of an attn.forward that say which keys are seen, block of rows
/// by block of rows; and what else is said of that, held against them. Executed
/// in `inner` frames, with the captured values of `frame`.
class MaskEvaluation {
public:
  MaskEvaluation(attn::AttentionOpInterface op, Frame &frame)
      : op(op), frame(frame) {}

  /// Batch entry, head, queries and keys of the block, as its regions get them.
  llvm::SmallVector<RuntimeValue> getCoordinates(const RowBlock &block) const;
  /// Runs a region whose arguments are `leading` and the captured values.
  llvm::LogicalResult runRegion(Frame &inner, mlir::Region &region,
                                llvm::ArrayRef<RuntimeValue> leading,
                                llvm::SmallVectorImpl<RuntimeValue> &results);
  /// What mask_mod and lists of blocks show.
  llvm::LogicalResult evaluateMask(const RowBlock &block, Frame &inner,
                                   RuntimeValue &mask);

  /// Compares what kv_bounds claims for the block with the mask.
  llvm::LogicalResult checkBounds(const RowBlock &block, Frame &inner);
  /// Compares what kv_classify claims for blocks of keys with the mask.
  llvm::LogicalResult checkClassification(const RowBlock &block, Frame &inner);
  /// Fills the block's map.
  llvm::LogicalResult mapBlocks(const RowBlock &block, Frame &inner);

private:
  void hideUnlisted(const RowBlock &block, RuntimeValue &mask);
  llvm::LogicalResult findVisits(const RowBlock &block, Frame &inner,
                                 llvm::MutableArrayRef<BlockVisit> visits);
  llvm::LogicalResult
  findVisitsInRange(const RowBlock &block, Frame &inner,
                    llvm::MutableArrayRef<BlockVisit> visits);
  llvm::LogicalResult
  findVisitsOfKeyTiles(const RowBlock &block, Frame &inner,
                       llvm::MutableArrayRef<BlockVisit> visits);

  attn::AttentionOpInterface op;
  Frame &frame;
};

/// First and last keys of the blocks of `columns` of them, as lanes.
std::pair<RuntimeValue, RuntimeValue> makeKeyBlocks(int64_t keys,
                                                    int64_t columns);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_MASKEVALUATION_H
