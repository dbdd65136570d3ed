//===- RoleSlicer.h - Extract a role's program ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extracts the part of a program that one role runs: the ops that it owns,
// their dependences, and the loops and branches around them. RoleAssignment
// uses the analysis; `warp-specialize` clones the result.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLESLICER_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLESLICER_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {

/// True if `op` and its nested ops only read memory or have no effects; every
/// role may then have a clone.
bool onlyReads(mlir::Operation *op);

/// True for loops and branches, which are cloned value by value.
bool isStructural(mlir::Operation *op);

/// The slice of one role. Loop-carried and yielded values are kept only if the
/// role needs them.
class RoleSlicer {
public:
  /// `owns` decides whether the role runs an op with effects. `isShared`
  /// selects the values that all roles capture.
  using Owns = std::function<bool(mlir::Operation *)>;
  using IsShared = bool (*)(mlir::Value);
  /// Ops that only read may be in several slices, except those for which
  /// `isOwned` holds.
  RoleSlicer(Owns owns, IsShared isShared, Owns isOwned = {})
      : owns(std::move(owns)), isShared(isShared), isOwned(std::move(isOwned)) {
  }

  /// Computes the ops of `block` that the role needs for its own ops and for
  /// the values `extra`. Operands of ops for which `isGiven` holds are not
  /// followed. Fails with a diagnostic if the role needs a value that it can't
  /// compute.
  mlir::LogicalResult
  analyze(mlir::Block &block,
          llvm::function_ref<bool(mlir::Operation *)> isGiven,
          mlir::ValueRange extra = {});
  /// Adds `op` to the role, after `analyze`.
  mlir::LogicalResult add(mlir::Operation *op);
  /// Adds the ops that compute `value` to the slice. Fails without a diagnostic
  /// and without changes if the role can't compute it, or if `isWanted` does
  /// not hold for a value that it needs.
  mlir::LogicalResult
  analyzeValue(mlir::Block &block, mlir::Value value,
               llvm::function_ref<bool(mlir::Value)> isWanted);

  bool isLive(mlir::Operation *op) const { return live.contains(op); }

  /// Shared values that the role uses, in the order of their discovery.
  llvm::ArrayRef<mlir::Value> getCaptures() const {
    return captures.getArrayRef();
  }

  /// Called before an op is cloned. Returns true if it has emitted a
  /// replacement.
  using CloneHook = llvm::function_ref<bool(
      mlir::OpBuilder &, mlir::Operation *, mlir::IRMapping &)>;

  /// Clones the slice of `block`, without its terminator, at `b`.
  void clone(mlir::OpBuilder &b, mlir::Block &block, mlir::IRMapping &mapping,
             CloneHook cloneHook);

private:
  void need(mlir::Value value);
  /// Marks the loop-carried or yielded value `index` as needed.
  void needCarried(mlir::Operation *op, unsigned index);
  void markLive(mlir::Operation *op);
  void markStructure(mlir::Operation *op);
  /// Fails with a diagnostic.
  mlir::LogicalResult
  finish(llvm::function_ref<bool(mlir::Operation *)> isGiven);
  /// True if the role owns an op that is nested in `op`.
  bool containsOwned(mlir::Operation *op) const;
  bool isNeeded(mlir::Value value) const { return needed.contains(value); }

  void cloneFor(mlir::OpBuilder &b, mlir::scf::ForOp loop,
                mlir::IRMapping &mapping, CloneHook cloneHook);
  void cloneWhile(mlir::OpBuilder &b, mlir::scf::WhileOp loop,
                  mlir::IRMapping &mapping, CloneHook cloneHook);
  void cloneIf(mlir::OpBuilder &b, mlir::scf::IfOp branch,
               mlir::IRMapping &mapping, CloneHook cloneHook);

  /// The reason why a role can't run an op.
  struct Obstacle {
    mlir::Operation *op = nullptr;
    llvm::StringRef message;
  };
  /// Processes the worklist up to the first obstacle. A value for which
  /// `isWanted` does not hold is one.
  Obstacle findNeeded(llvm::function_ref<bool(mlir::Operation *)> isGiven,
                      llvm::function_ref<bool(mlir::Value)> isWanted = {});

  Owns owns;
  IsShared isShared;
  Owns isOwned;
  mlir::Block *root = nullptr;
  // In the order of discovery, so that `analyzeValue` can roll back.
  llvm::SetVector<mlir::Operation *> live;
  llvm::SetVector<mlir::Value> needed;
  llvm::SmallVector<mlir::Value> worklist;
  llvm::SetVector<mlir::Value> captures;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLESLICER_H
