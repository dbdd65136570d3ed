//===- CaptureGrads.h - Gradients summed over pairs or rows -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients with respect to captured tensors, sinks and scale are sums over
// pairs or rows of all tiles. Kernels add to zero-initialized scratch memory,
// and an epilogue kernel converts the sums to the gradient's type. Sums with
// few elements (per batch entry and head at most) are exact (`exactsum`).
// Others are f32, or exact if gradients must be deterministic and an element
// gets more than two contributions.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADS_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// True if the gradient with respect to the scale is needed and must be summed
/// over pairs. If dQ is computed, it is a sum over queries instead.
bool needsScaleFromPairs(attn::BackwardOp op);
/// True if `op` needs gradients that are sums over pairs: with respect to
/// captured tensors, or to the scale as above.
bool needsPairSums(attn::BackwardOp op);

/// Classes of a contribution's index, by the values that it depends on besides
/// head and batch entry. Distances: the relative position. Pairs: anything
/// else. Key tiles compute all classes but Pairs along with dK and dV.
enum class PairPlaces { Keys, Queries, Distances, Pairs };
/// True if key tiles can compute all sums over pairs.
bool canTilesFindSums(attn::BackwardOp op);
/// The contributions with such indices, in the region's order.
llvm::SmallVector<attn::ContributeOp> getContributions(attn::BackwardOp op,
                                                       PairPlaces places);
/// The contributions indexed by relative position or query, which the role that
/// computes dQ adds to memory, in the region's order.
llvm::SmallVector<attn::ContributeOp>
getReducedContributions(attn::BackwardOp op);
/// Those of them that add a value other than the derivative with respect to the
/// score before score_mod; each distinct value once.
llvm::SmallVector<attn::ContributeOp> getRelativeShares(attn::BackwardOp op);

/// Reports an error if gradients must be deterministic and one cannot be.
llvm::LogicalResult checkSums(attn::BackwardOp op);

/// The scratch memory of the sums.
class CaptureGrads {
public:
  /// Adds scratch arguments to the main kernel for the gradients that `op`
  /// needs.
  static CaptureGrads declare(KernelBuilder &kb, attn::BackwardOp op);

  /// The memory of a gradient, which is one of the op's results: it has the
  /// gradient's dimensions, or one element if there are none.
  mlir::Value getMemory(KernelBuilder &kb, mlir::Value gradient) const;
  /// The memory per captured tensor; null if its gradient is not needed.
  llvm::SmallVector<mlir::Value> getCaptureMemory(KernelBuilder &kb) const;
  /// Makes the kernels that convert the sums, after the one whose ABI is
  /// `main`.
  void emitRounding(const KernelBuilder &kb, launch::AbiOp main) const;

private:
  explicit CaptureGrads(attn::BackwardOp op) : op(op) {}

  attn::BackwardOp op;
  /// Gradients and argument indices.
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> memory;
};

/// Adds the elements of a tile to such memory where `counts` holds; an exact
/// sum has one dimension more than there are indices. `name` identifies the op
/// for the plan's role assignment.
void addToSums(mlir::OpBuilder &b, mlir::Location loc, mlir::Value elements,
               mlir::Value sums, mlir::ValueRange indices, mlir::Value counts,
               mlir::StringAttr name = {});

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADS_H
