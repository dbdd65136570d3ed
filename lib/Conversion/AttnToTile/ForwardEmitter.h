//===- ForwardEmitter.h - Parts of a forward kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARDEMITTER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARDEMITTER_H

#include "KernelBuilder.h"
#include "RegionToTile.h"
#include "VisitedBlocks.h"

#include "fovea/Target/Schedule.h"

namespace fovea {

struct ScoreBoxes;

/// What kv_bounds says, within the keys that there are.
struct KeyBounds {
  mlir::Value lower, fullLower, fullUpper, upper;
};

/// The parts of one forward kernel, in the order of its program: what its
/// schedule depends on (ForwardProblem.cpp), its tiles (ForwardTiles.cpp),
/// their scores (ForwardScores.cpp), and the loop over keys with what follows
/// it (ForwardToTile.cpp).
class ForwardEmitter {
public:
  ForwardEmitter(KernelBuilder &kb, attn::ForwardOp op)
      : kb(kb), op(op), loc(op.getLoc()) {}

  mlir::FailureOr<plan::KernelAttr> emit();

private:
  mlir::LogicalResult chooseTiles();
  /// Lets the plan go without what this program has no use for.
  mlir::LogicalResult dropUnusedFields(const ScoreBoxes &boxes);
  /// The function that the op stands in, or nothing.
  llvm::StringRef getFunctionName();
  mlir::LogicalResult reportUnused(llvm::StringRef field,
                                   const llvm::Twine &reason);
  ScheduleProblem makeProblem(const ScoreBoxes &boxes);
  PackedHeads findPackedHeads();
  /// Whether a tile of queries visits some blocks only.
  bool picksBlocks() {
    return !op.getKvBounds().empty() || !op.getKvClassify().empty() ||
           op.hasBlocks();
  }
  /// Whether tiles of queries differ in how many keys they visit.
  bool isUneven() {
    return picksBlocks() || !op.getSequence().getKeyPlaces().fillTensors();
  }
  /// Whether blocks of a range can be told apart. One query's blocks are
  /// cheaper visited than asked about.
  bool classifies() { return !kb.packedHeads && !op.getKvClassify().empty(); }
  /// Whether blocks of what score_mod reads come through shared memory.
  bool stagesScores() { return plan.getStream("score").isStaged; }
  /// Whether batch entries read the same blocks of captured tensors.
  bool sharesBoxes() {
    mlir::Region &scoreMod = op.getScoreMod();
    return stagesScores() && !scoreMod.empty() &&
           scoreMod.getArgument(1).use_empty();
  }
  /// Whether heads are taken in sections, the longest tiles first.
  bool hasSections() {
    return picksBlocks() && plan->work != plan::WorkSchedule::Single;
  }
  int64_t getKeyBytes();
  mlir::Value emitHeadsPerSection(mlir::Value keys);
  mlir::Value emitFinalTiles(mlir::Value heads);
  void emitCoordinates();
  /// Whether where blocks begin and end is computed from captured values: wide
  /// arithmetic, which is done once a tile.
  bool computesBoundsFromCaptures();
  /// Whether warp groups, four warps each, or roles compute parts of a tile's
  /// rows, each on its own.
  bool partsRows() {
    return kb.heldRows && !computesBoundsFromCaptures() && plan.hasRoles() &&
           !kb.packedHeads &&
           plan->warps * plan->cluster > plan.getUnit().getGroupWarps();
  }
  /// The query before `end`, 0 where there is none: regions see no number
  /// below.
  mlir::Value emitLastQuery(mlir::Value end);
  mlir::FailureOr<KeyBounds> emitKeyBounds(mlir::Value start, mlir::Value end);
  std::pair<mlir::Value, mlir::Value> emitHeldRows();
  llvm::SmallVector<mlir::Value, 2> emitVisibleKeys(const KeyBounds &held);
  mlir::FailureOr<KeyBounds> emitHeldKeyBounds();
  void emitBatchEntry(mlir::Value heads, mlir::Value headRows);
  void emitPackedSequence();
  mlir::LogicalResult emitBlocks();
  /// Row of memory that a sequence's row is.
  mlir::Value toMemory(mlir::Value first, mlir::Value row);
  /// Indices of the tile's first row in Q, O and, but for the last, LSE.
  llvm::SmallVector<mlir::Value> getRowPlace();
  /// The dimension of those that rows run along, and what is folded into it.
  int64_t getRowDim() { return kb.packedHeads ? 1 : 2; }
  mlir::DenseI64ArrayAttr getFold();
  mlir::LogicalResult emitBounds();
  mlir::FailureOr<tile::SoftmaxSumOp> emitSum();
  /// Fills the region of the sum's scores; the factor that they are without.
  mlir::FailureOr<double> emitScores(mlir::Region &scores);
  mlir::FailureOr<mlir::Value> emitScore(mlir::OpBuilder &invariant,
                                         mlir::Value key, mlir::Value products,
                                         double &scale);
  mlir::FailureOr<mlir::Value> emitVisible(mlir::Value key, mlir::Value partial,
                                           mlir::Value score);
  void emitResults(tile::SoftmaxSumOp sum);
  mlir::FailureOr<mlir::Value> applyMask(mlir::Value key, mlir::Value score);
  mlir::FailureOr<mlir::Value> emitMask(mlir::Value key, mlir::Value score);
  mlir::Value hideIfRagged(mlir::Value key, mlir::Value score);
  mlir::Value hide(mlir::Value keep, mlir::Value score);
  mlir::Value hideMissingKeys(mlir::Value key, mlir::Value score);
  RegionContext makeContext(mlir::Value key);
  void emitDropout(mlir::Region &weights);
  mlir::Value emitSink();
  mlir::Value emitCommonScore();
  mlir::Value roundDown(mlir::Value value);
  mlir::Value roundUp(mlir::Value value);

  KernelBuilder &kb;
  attn::ForwardOp op;
  mlir::Location loc;

  plan::KernelAttr plan;
  int64_t rows, columns, headDim, valueHeadDim;
  mlir::Type element;
  mlir::Value q, k, v, o, lse;
  llvm::SmallVector<mlir::Value> captures;
  KernelBuilder::Work work;
  /// Lengths of the sequence, and where it lies: a batch index of the tensors
  /// and the first rows there, null where they are 0.
  mlir::Value keyHead, queries, keys, memoryBatch, firstQuery, firstKey;
  /// The tile's first row in memory, along the dimension that rows run along;
  /// where rows and keys end there, if others follow.
  mlir::Value firstRow, rowLimit, keyLimit;
  mlir::Value lower, upper, fullLower, fullUpper;
  /// Keys that rows held by the executing threads may see; empty: all.
  llvm::SmallVector<mlir::Value, 2> visible;
  /// Set where single blocks are visited, instead of a range.
  std::unique_ptr<VisitedBlocks> visited;
  mlir::Value queryTile;
  /// What the scores of a row have in common, by row; see Score.
  mlir::Value rowStep;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARDEMITTER_H
