//===- LoopDependences.h - Dependences of a loop body -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPDEPENDENCES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPDEPENDENCES_H

#include "Pipelines/Ring.h"

#include "llvm/ADT/DenseMap.h"

namespace fovea::warp {

/// `to` of iteration i + `distance` must execute after `from` of iteration i.
struct LoopDependence {
  enum Kind {
    /// `to` uses a result of `from`.
    Value,
    /// The protocol of a ring: acquire, fill, commit, wait, read, release.
    Stage,
    /// Both access the same memory, and at least one writes it.
    Memory,
  };
  mlir::Operation *from, *to;
  int64_t distance;
  Kind kind;
};

/// The dependences between the ops of a loop body. An op with regions counts
/// with all ops that it contains.
class LoopDependences {
public:
  explicit LoopDependences(mlir::scf::ForOp loop);

  /// The dependences of an op on others, and of others on it.
  llvm::ArrayRef<LoopDependence> getSources(mlir::Operation *op) const;
  llvm::ArrayRef<LoopDependence> getTargets(mlir::Operation *op) const;
  /// The ops of the loop body, without its terminator.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

private:
  void add(mlir::Operation *from, mlir::Operation *to, int64_t distance,
           LoopDependence::Kind kind);
  /// Orders two ops as in the program, also across iterations.
  void keepOrder(mlir::Operation *first, mlir::Operation *second,
                 LoopDependence::Kind kind);
  void addValues(mlir::Operation *op);
  void addReads(mlir::Value buffer, const RingOps &ring);
  void addRings();
  void addMemory();
  mlir::Operation *inBody(mlir::Operation *op) {
    return loop.getBody()->findAncestorOpInBlock(*op);
  }
  bool isBefore(mlir::Operation *first, mlir::Operation *second) const {
    return first->isBeforeInBlock(second);
  }

  mlir::scf::ForOp loop;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::MapVector<mlir::Value, RingOps> rings;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LoopDependence>> sources,
      targets;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPDEPENDENCES_H
