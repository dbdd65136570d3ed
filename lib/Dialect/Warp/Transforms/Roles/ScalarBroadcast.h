//===- ScalarBroadcast.h - Scalar broadcast between roles -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets one role compute expensive integers (loaded, balloted, or divided by
// launch-time values) and broadcast them to other roles through shared memory.
// The producer that needs an integer anyway sends it with the stage that it
// fills next; the consumers receive it after their wait.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_SCALARBROADCAST_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_SCALARBROADCAST_H

#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "llvm/ADT/MapVector.h"

namespace fovea::warp {

/// Selects and emits the broadcasts. While the program is split into roles, an
/// `unrealized_conversion_cast` of a value to its own type represents the
/// received value. The cast follows the wait for the stage that carries the
/// value, and later uses read the cast.
class ScalarBroadcast {
public:
  explicit ScalarBroadcast(const RoleAssignment &roles) : roles(roles) {}

  /// Inserts a cast wherever a value could be sent.
  void insert(mlir::Block &body);
  /// Keeps the casts that a receiving role needs according to `slices`, and
  /// that can't be computed cheaply from other received values. The slices must
  /// be recomputed afterwards.
  void reduce(llvm::ArrayRef<RoleSlicer> slices);
  /// Creates the mailboxes at `b`.
  llvm::SmallVector<mlir::Value> makeMailboxes(mlir::OpBuilder &b,
                                               mlir::Location loc);

  /// True if the role receives the value of the cast, because it waits for the
  /// stage.
  bool isReceived(unsigned role, mlir::Operation *op) const;
  /// The values that the role sends.
  llvm::SmallVector<mlir::Value> getSent(unsigned role) const;
  /// Emits the role's replacement of `op` if it is an acquire or a cast.
  /// Returns false for other ops.
  bool clone(unsigned role, mlir::OpBuilder &b, mlir::Operation *op,
             mlir::IRMapping &mapping);

private:
  struct Transfer {
    ProducerAcquireOp acquire;
    ConsumerWaitOp wait;
    /// The index of the mailbox among those of its pipeline.
    unsigned number = 0;
  };

  void insertIn(mlir::Block &block);
  /// True if the role computes no tiles, so that it has time to compute values
  /// for other roles.
  bool isSender(unsigned role);
  /// True if the producer of the stage is a sender and can compute `value`.
  bool canSend(ProducerAcquireOp acquire, mlir::Value value);
  mlir::Value getMailbox(Transfer transfer) const {
    return mailboxes.lookup({transfer.acquire.getPipeline(), transfer.number});
  }

  const RoleAssignment &roles;
  mlir::Block *root = nullptr;
  llvm::DenseMap<unsigned, bool> senders;
  /// For each role, the slice of the values that it can send.
  llvm::DenseMap<unsigned, RoleSlicer> sendable;
  /// For each role, the values that it can't send.
  llvm::DenseMap<unsigned, llvm::DenseSet<mlir::Value>> unsendable;
  llvm::MapVector<mlir::Operation *, Transfer> transfers;
  llvm::MapVector<std::pair<mlir::Value, unsigned>, mlir::Value> mailboxes;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_SCALARBROADCAST_H
