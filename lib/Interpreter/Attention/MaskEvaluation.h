//===- MaskEvaluation.h - Evaluates masks -----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates mask_mod and block lists for blocks of rows, checks the claims of
// kv_bounds and kv_classify against them, and maps blocks.
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
  /// Receives the block's map, if requested.
  BlockMap::Row *map = nullptr;
};

/// The mask of an attention op for blocks of rows, and checks of the op's
/// claims about the mask. Regions are executed in `inner` frames, with the
/// captured values of `frame`.
class MaskEvaluation {
public:
  MaskEvaluation(attn::AttentionOpInterface op, Frame &frame)
      : op(op), frame(frame) {}

  /// Batch entry, head, queries and keys of the block, as arguments of its
  /// regions.
  llvm::SmallVector<RuntimeValue> getCoordinates(const RowBlock &block) const;
  /// Runs a region whose arguments are `leading` and the captured values.
  llvm::LogicalResult runRegion(Frame &inner, mlir::Region &region,
                                llvm::ArrayRef<RuntimeValue> leading,
                                llvm::SmallVectorImpl<RuntimeValue> &results);
  /// Evaluates mask_mod and block lists.
  llvm::LogicalResult evaluateMask(const RowBlock &block, Frame &inner,
                                   RuntimeValue &mask);

  /// Compares the claims of kv_bounds for the block with the mask.
  llvm::LogicalResult checkBounds(const RowBlock &block, Frame &inner);
  /// Compares the claims of kv_classify for key blocks with the mask.
  llvm::LogicalResult checkClassification(const RowBlock &block, Frame &inner);
  /// Fills the block's map.
  llvm::LogicalResult mapBlocks(const RowBlock &block, Frame &inner);

private:
  void hideUnlisted(const RowBlock &block, RuntimeValue &mask);
  llvm::LogicalResult findVisits(const RowBlock &block, Frame &inner,
                                 llvm::MutableArrayRef<BlockUse> visits);
  llvm::LogicalResult findVisitsInRange(const RowBlock &block, Frame &inner,
                                        llvm::MutableArrayRef<BlockUse> visits);
  llvm::LogicalResult
  findVisitsOfKeyTiles(const RowBlock &block, Frame &inner,
                       llvm::MutableArrayRef<BlockUse> visits);

  attn::AttentionOpInterface op;
  Frame &frame;
};

/// First and last keys of the blocks of `columns` keys, as lanes.
std::pair<RuntimeValue, RuntimeValue> makeKeyBlocks(int64_t keys,
                                                    int64_t columns);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_MASKEVALUATION_H
