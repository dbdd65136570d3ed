//===- CaptureGrads.h - Gradients that all pairs add to ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients by captured values, sinks and scale are sums over pairs or rows of
// all tiles. Kernels add to scratch memory, which is zero at first, and an
// epilogue rounds the sums to the gradient's type. Those of few elements, which
// differ by batch entry and head at most, are exact (`exactsum`); others are
// f32, and exact where gradients are to be deterministic and more than two
// numbers meet in an element.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADS_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// Whether the gradient by the scale is asked for, and is a sum over pairs.
/// With dQ it is one over queries.
bool asksForScaleOfPairs(attn::BackwardOp op);
/// Whether `op` asks for some that are over pairs: captured values' ones, or
/// that.
bool asksForPairSums(attn::BackwardOp op);

/// What the place of a contribution depends on, beside head and batch entry.
/// Distances: of query and key. Pairs: anything else. Tiles of keys find all
/// but the last on their way.
enum class PairPlaces { Keys, Queries, Distances, Pairs };
/// Whether tiles of keys can find all sums over pairs.
bool canTilesFindSums(attn::BackwardOp op);
/// The contributions with such places, in the region's order.
llvm::SmallVector<attn::ContributeOp> getContributions(attn::BackwardOp op,
                                                       PairPlaces places);
/// Those by distance or query, which the role that finds dQ's share adds to
/// memory, in the region's order.
llvm::SmallVector<attn::ContributeOp>
getReducedContributions(attn::BackwardOp op);
/// Those of them that add something else than the derivative by the
/// score before score_mod; of several that add one value the first.
llvm::SmallVector<attn::ContributeOp> getDistanceShares(attn::BackwardOp op);

/// An error where they are to be deterministic and one can't be.
llvm::LogicalResult checkSums(attn::BackwardOp op);

/// Where they are summed.
class CaptureGrads {
public:
  /// Gives the main kernel memory for those that `op` asks for.
  static CaptureGrads declare(KernelBuilder &kb, attn::BackwardOp op);

  /// Where a kernel adds to a gradient, one of the op's results: memory with
  /// its dimensions, or one element if it has none.
  mlir::Value getMemory(KernelBuilder &kb, mlir::Value gradient) const;
  /// The same for each captured value; null where its gradient is not asked
  /// for.
  llvm::SmallVector<mlir::Value> getCaptureMemory(KernelBuilder &kb) const;
  /// Makes the kernels that round them, behind the one whose ABI is `main`.
  void emitRounding(const KernelBuilder &kb, launch::AbiOp main) const;

private:
  explicit CaptureGrads(attn::BackwardOp op) : op(op) {}

  attn::BackwardOp op;
  /// Gradients, and numbers of the kernels' arguments.
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> memory;
};

/// Adds the elements of a tile that `counts` says to such memory; an exact sum
/// has one dimension more than there are indices. The plan may say by `name`
/// who does.
void addToSums(mlir::OpBuilder &b, mlir::Location loc, mlir::Value elements,
               mlir::Value sums, mlir::ValueRange indices, mlir::Value counts,
               mlir::StringAttr name = {});

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADS_H
