//===- RoleAssignment.h - Assign ops to roles -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which roles run each op of a kernel that is still one program. Roles
// own names; the other ops follow from these:
//
//   ops with a name           the role that owns the name
//   acquire, commit           the producer: the role that owns the
//                             pipeline's name
//   wait, release             the consumers: the roles that read the
//                             pipeline's data, except the producer, which
//                             may read back its own rows. For a pipeline
//                             without data: the roles that write to tensors
//                             between wait and release
//   stores without a name     the producer of the stage that they fill
//   dot_wait, begin/end_turn  the role of their dots
//   fences                    the roles of the stores to the same buffer
//   waits for copies to global memory
//                             the roles of the copies
//   zeroed rows               the roles that read the same buffer
//   reads and computation     every role that needs the result
//   all other ops             the role that owns "*"
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLEASSIGNMENT_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLEASSIGNMENT_H

#include "Roles/RoleSlicer.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {

/// The roles of the kernel's plan. A role with `owns = copies` gets the names
/// of all copies that no other role owns. Empty if the plan has no roles.
llvm::SmallVector<plan::RoleAttr> getRoles(mlir::gpu::GPUFuncOp kernel,
                                           launch::AbiOp abi);

/// The role that owns `name`, or else the role that owns "*"; null if there is
/// none. `name` may be null.
plan::RoleAttr lookupOwner(llvm::ArrayRef<plan::RoleAttr> roles,
                           mlir::StringAttr name);

/// True for values that all roles share: kernel arguments, buffers and
/// barriers.
bool isSharedValue(mlir::Value value);
/// True if the op creates a shared value.
bool makesShared(mlir::Operation *op);
/// True if each role runs the op for itself.
bool runsInEachRole(mlir::Operation *op);
/// True if one warp can hold the value: no owned rows, and at most one column
/// per lane of a tile.
bool isOneWarps(mlir::Value value);

class RoleAssignment {
public:
  RoleAssignment(mlir::gpu::GPUFuncOp kernel,
                 llvm::ArrayRef<plan::RoleAttr> roles)
      : kernel(kernel), roles(roles) {}

  /// Fails with a diagnostic if no role runs an op, if two roles would compute
  /// the same tile, or if no pipeline orders the accesses of two roles to the
  /// same memory.
  mlir::LogicalResult compute();

  llvm::ArrayRef<plan::RoleAttr> getRoles() const { return roles; }
  /// True if the role runs the op for its effects.
  bool owns(unsigned role, mlir::Operation *op) const {
    return owners.lookup(op) >> role & 1;
  }
  /// The same as a callback for slicers. The assignment must outlive it.
  RoleSlicer::Owns getOwns(unsigned role) const {
    return [this, role](mlir::Operation *op) { return owns(role, op); };
  }
  /// True if a role runs the op for its effects.
  bool isOwned(mlir::Operation *op) const { return owners.lookup(op) != 0; }
  /// The producer of the pipeline of an acquire.
  unsigned getProducer(ProducerAcquireOp acquire) const;
  /// The role that fetches work indices for all roles.
  unsigned getFetcher() const { return fetcher; }
  /// Prints each op that a role runs for its effects, with its roles.
  void print(llvm::raw_ostream &os);

private:
  /// A set of roles, one bit per role.
  using Roles = uint64_t;
  /// The memory that an operand refers to: its allocation, the offset of the
  /// view and its element type. All stages of a ring are the same memory.
  struct Memory {
    mlir::Value root;
    int64_t from = 0;
    mlir::Type element;
    bool operator==(const Memory &other) const {
      return root == other.root && from == other.from &&
             element == other.element;
    }
  };
  /// A pipeline with the memory that it transfers, and the ops that fill and
  /// read this memory.
  struct Stream {
    PipelineOp pipeline;
    Roles producer = 0;
    llvm::SmallVector<Memory, 2> memories;
    llvm::SmallVector<mlir::Operation *, 4> fills, reads;
    /// Waits, releases and zeroed rows.
    llvm::SmallVector<mlir::Operation *, 4> consumerOps;
  };

  static Memory getMemory(mlir::Value value);
  std::string list(Roles set) const;
  /// The role that owns `name`, or else the role that owns "*".
  Roles getOwner(mlir::StringAttr name) const;
  Stream *findStream(mlir::Value pipeline);
  mlir::LogicalResult assignNamed();
  mlir::LogicalResult collectFills(mlir::Block &block,
                                   llvm::SmallVector<Stream *, 2> open);
  void assignPingPongSections();
  mlir::LogicalResult assignWaits();
  /// Assigns fences and waits for copies to the roles of the ops on the same
  /// buffer.
  template <typename Op, typename Of>
  void assignAs();
  /// The roles that run an op for its effects or for its results.
  Roles getRunning(mlir::Operation *op) const;
  Roles getReaders(const Stream &stream) const;
  /// The roles that the stream orders after its producer: its readers, or the
  /// roles that wait if there are no readers.
  Roles getOrdered(const Stream &stream) const;
  /// The role that releases the stages of a stream without readers: the role
  /// that owns "*", or else the role with the most warps. Never the producer.
  Roles getFallbackConsumer(const Stream &stream) const;
  void findReaders();
  void findGuarded(Stream &stream);
  /// Assigns waits and releases to the readers, up to a fixpoint.
  mlir::LogicalResult assignReaders();
  mlir::LogicalResult checkAssigned();
  mlir::LogicalResult checkCrossings();
  mlir::LogicalResult checkMemory();
  mlir::LogicalResult checkWriters(llvm::ArrayRef<mlir::Operation *> writers);
  mlir::LogicalResult checkPingPongSections();

  mlir::gpu::GPUFuncOp kernel;
  llvm::SmallVector<plan::RoleAttr> roles;
  unsigned fetcher = 0;
  llvm::DenseMap<mlir::Operation *, Roles> owners;
  std::vector<Stream> streams;
  /// The ops that each role runs, as far as known.
  std::vector<RoleSlicer> slices;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_ROLEASSIGNMENT_H
