//===- RoleSlicer.h - The part of a program that a role runs ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Whether `op`, and what it holds, does no more than read: every role may have
/// a copy.
bool onlyReads(mlir::Operation *op);

/// Loops and branches, which are copied value by value.
bool isStructural(mlir::Operation *op);

/// Copies from a program what one role must run: the ops that it owns, what
/// these need, and the loops and branches around them. Values that loops carry
/// and branches yield are kept only if they are needed.
class RoleSlicer {
public:
  /// `owns` is asked about ops with effects, `isShared` about values that are
  /// the same for all roles and will be captured.
  using Owns = std::function<bool(mlir::Operation *)>;
  using IsShared = bool (*)(mlir::Value);
  /// What only reads may stand in several slices, but for what `isOwned` says
  /// is somebody's.
  RoleSlicer(Owns owns, IsShared isShared, Owns isOwned = {})
      : owns(std::move(owns)), isShared(isShared), isOwned(std::move(isOwned)) {
  }

  /// Finds what the role needs of `block`, and what `extra` does. Ops for which
  /// `isGiven` holds need nothing. Fails with a diagnostic where the role's
  /// work depends on something that it can't compute.
  mlir::LogicalResult
  analyze(mlir::Block &block,
          llvm::function_ref<bool(mlir::Operation *)> isGiven,
          mlir::ValueRange extra = {});
  /// After an analysis: the role has `op`, too.
  mlir::LogicalResult add(mlir::Operation *op);
  /// Finds what `value` needs, besides what was found for others. Fails,
  /// silently, where the role can't compute it or `isWanted` does not hold for
  /// something that it needs; all is then as it was before.
  mlir::LogicalResult
  analyzeValue(mlir::Block &block, mlir::Value value,
               llvm::function_ref<bool(mlir::Value)> isWanted);

  bool isLive(mlir::Operation *op) const { return live.contains(op); }

  /// Shared values that the role uses, in the order of their discovery.
  llvm::ArrayRef<mlir::Value> getCaptures() const {
    return captures.getArrayRef();
  }

  /// Called instead of copying an op; true if it did so.
  using CloneHook = llvm::function_ref<bool(
      mlir::OpBuilder &, mlir::Operation *, mlir::IRMapping &)>;

  /// Copies `block` to `b`'s insertion point, without its terminator.
  void clone(mlir::OpBuilder &b, mlir::Block &block, mlir::IRMapping &mapping,
             CloneHook cloneHook);

private:
  void need(mlir::Value value);
  /// Value `index` that a loop carries or a branch yields.
  void needCarried(mlir::Operation *op, unsigned index);
  void markLive(mlir::Operation *op);
  void markStructure(mlir::Operation *op);
  /// Fails with a diagnostic.
  mlir::LogicalResult
  finish(llvm::function_ref<bool(mlir::Operation *)> isGiven);
  /// Whether some of the role's work is nested in `op`.
  bool containsOwned(mlir::Operation *op) const;
  bool isNeeded(mlir::Value value) const { return needed.contains(value); }

  void cloneFor(mlir::OpBuilder &b, mlir::scf::ForOp loop,
                mlir::IRMapping &mapping, CloneHook cloneHook);
  void cloneWhile(mlir::OpBuilder &b, mlir::scf::WhileOp loop,
                  mlir::IRMapping &mapping, CloneHook cloneHook);
  void cloneIf(mlir::OpBuilder &b, mlir::scf::IfOp branch,
               mlir::IRMapping &mapping, CloneHook cloneHook);

  /// Why a role can't have an op.
  struct Obstacle {
    mlir::Operation *op = nullptr;
    llvm::StringRef message;
  };
  /// Follows the worklist, up to the first obstacle: a value that is not wanted
  /// is one.
  Obstacle findNeeded(llvm::function_ref<bool(mlir::Operation *)> isGiven,
                      llvm::function_ref<bool(mlir::Value)> isWanted = {});

  Owns owns;
  IsShared isShared;
  Owns isOwned;
  mlir::Block *root = nullptr;
  // In the order of their discovery, so that it can be taken back.
  llvm::SetVector<mlir::Operation *> live;
  llvm::SetVector<mlir::Value> needed;
  llvm::SmallVector<mlir::Value> worklist;
  llvm::SetVector<mlir::Value> captures;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLESLICER_H
