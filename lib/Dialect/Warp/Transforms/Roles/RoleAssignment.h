//===- RoleAssignment.h - Which roles run what ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles own names. From these follows, in a kernel that is still one program in
// the order of use, which roles run each op:
//
//   what has a name           its owner
//   acquire, commit           the owner of the pipeline's name, its filler
//   wait, release             the roles that read what the pipeline brings, but
//                             for the filler, which may read back its own rows;
//                             of one that brings nothing, who writes to tensors
//                             between them
//   a store without a name    the filler of the stage that it is a part of
//   dot_wait, turns           as their dots
//   fences, waits for copies out, rows made zero
//                             as the stores, the copies out, the readers of the
//                             same buffer
//   what only reads or computes
//                             whoever needs it
//   anything else             the role that owns "*"
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLEASSIGNMENT_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLEASSIGNMENT_H

#include "Roles/RoleSlicer.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {

/// The roles that the kernel is to have: those of its abi, or the two that its
/// schedule has registers for; none if it asks for none.
llvm::SmallVector<plan::RoleAttr> getRoles(mlir::gpu::GPUFuncOp kernel,
                                           launch::AbiOp abi);

/// The role that owns a name, which may be null, or all that nobody else does;
/// null if there is none.
plan::RoleAttr lookupOwner(llvm::ArrayRef<plan::RoleAttr> roles,
                           mlir::StringAttr name);

/// What roles have in common: arguments of the kernel, buffers and barriers.
bool isSharedValue(mlir::Value value);
/// Whether the op makes such a value.
bool makesShared(mlir::Operation *op);
/// Whether each role runs the op, for itself.
bool runsInEachRole(mlir::Operation *op);
/// What one warp has: no rows, and of tiles no more than a column a lane.
bool isOneWarps(mlir::Value value);

class RoleAssignment {
public:
  RoleAssignment(mlir::gpu::GPUFuncOp kernel,
                 llvm::ArrayRef<plan::RoleAttr> roles)
      : kernel(kernel), roles(roles) {}

  /// Fails with a diagnostic where nobody would run an op, where a tile would
  /// have to be found by two roles, or where two roles touch one memory and
  /// nothing orders them.
  mlir::LogicalResult compute();

  llvm::ArrayRef<plan::RoleAttr> getRoles() const { return roles; }
  /// Whether the role runs the op for its effects.
  bool owns(unsigned role, mlir::Operation *op) const {
    return owners.lookup(op) >> role & 1;
  }
  /// The same as a function for slices. The assignment must outlive it.
  RoleSlicer::Owns getOwns(unsigned role) const {
    return [this, role](mlir::Operation *op) { return owns(role, op); };
  }
  /// Whether somebody runs the op for its effects.
  bool isOwned(mlir::Operation *op) const { return owners.lookup(op) != 0; }
  /// The role that fills the pipeline of an acquire.
  unsigned getFiller(ProducerAcquireOp acquire) const;
  /// The role that takes numbers of work items for all.
  unsigned getFetcher() const { return fetcher; }
  /// Prints each op that somebody runs for its effects, with its roles.
  void print(llvm::raw_ostream &os);

private:
  /// A set of roles, a bit each.
  using Roles = uint64_t;
  /// What memory an operand stands for: of what is made once, the part and how
  /// it is seen. Stages of a ring are one.
  struct Memory {
    mlir::Value root;
    int64_t from = 0;
    mlir::Type element;
    bool operator==(const Memory &other) const {
      return root == other.root && from == other.from &&
             element == other.element;
    }
  };
  /// What a pipeline brings, the ops that put it there, and those that take it.
  struct Stream {
    PipelineOp pipeline;
    Roles filler = 0;
    llvm::SmallVector<Memory, 2> brought;
    llvm::SmallVector<mlir::Operation *, 4> fills, reads;
    /// Waits, releases, rows made zero.
    llvm::SmallVector<mlir::Operation *, 4> verbs;
  };

  static Memory getMemory(mlir::Value value);
  std::string list(Roles set) const;
  /// The roles that own the name; whoever owns "*" if nobody does.
  Roles getOwner(mlir::StringAttr name) const;
  Stream *findStream(mlir::Value pipeline);
  mlir::LogicalResult assignNamed();
  mlir::LogicalResult collectFills(mlir::Block &block,
                                   llvm::SmallVector<Stream *, 2> open);
  void assignTurns();
  mlir::LogicalResult assignWaits();
  /// Fences, waits for copies out: as what they are about.
  template <typename Op, typename Of>
  void assignAs();
  /// Roles that have an op for its effects or because they need it.
  Roles getRunning(mlir::Operation *op) const;
  Roles getReaders(const Stream &stream) const;
  /// Whom the stream orders behind its filler: its readers, or who waits for
  /// what nobody reads.
  Roles getOrdered(const Stream &stream) const;
  /// Who gives back the stages of a stream that nobody reads: whoever has the
  /// rest, or else most warps, but not its filler.
  Roles getEmptier(const Stream &stream) const;
  void findReaders();
  void findGuarded(Stream &stream);
  /// Gives waits and releases to readers, until nothing is added.
  mlir::LogicalResult assignReaders();
  mlir::LogicalResult checkAssigned();
  mlir::LogicalResult checkCrossings();
  mlir::LogicalResult checkMemory();
  mlir::LogicalResult checkWriters(llvm::ArrayRef<mlir::Operation *> writers);
  mlir::LogicalResult checkTurns();

  mlir::gpu::GPUFuncOp kernel;
  llvm::SmallVector<plan::RoleAttr> roles;
  unsigned fetcher = 0;
  llvm::DenseMap<mlir::Operation *, Roles> owners;
  std::vector<Stream> streams;
  /// What each role runs, as far as it is known.
  std::vector<RoleSlicer> slices;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLEASSIGNMENT_H
