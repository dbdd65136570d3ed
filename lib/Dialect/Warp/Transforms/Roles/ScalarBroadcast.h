//===- ScalarBroadcast.h - What one role finds out for another --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers that are costly to find (read from memory, voted on, divided by what
// only the launch knows) and that the copying role needs anyway are sent along
// with the stage that it fills next.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_SCALARBROADCAST_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_SCALARBROADCAST_H

#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "llvm/ADT/MapVector.h"

namespace fovea::warp {

/// While a program is parted, a cast of a value to its own type stands for what
/// is received: it follows the wait for the stage that brings it, and what
/// comes after it uses it.
class ScalarBroadcast {
public:
  explicit ScalarBroadcast(const RoleAssignment &roles) : roles(roles) {}

  /// Puts casts wherever a value could be sent.
  void insert(mlir::Block &body);
  /// Keeps the casts that a receiving role needs, by the slices of all roles,
  /// and of these the ones that are not quickly computed from others. To be
  /// followed by a new analysis.
  void reduce(llvm::ArrayRef<RoleSlicer> slices);
  /// Slots for what is sent, made at `b`.
  llvm::SmallVector<mlir::Value> makeMailboxes(mlir::OpBuilder &b,
                                               mlir::Location loc);

  /// Whether the role receives what the cast stands for: it waits for the
  /// stage.
  bool isReceived(unsigned role, mlir::Operation *op) const;
  /// What the role sends.
  llvm::SmallVector<mlir::Value> getSent(unsigned role) const;
  /// The role's copy of `op`, where it is an acquire of its own or a cast.
  bool clone(unsigned role, mlir::OpBuilder &b, mlir::Operation *op,
             mlir::IRMapping &mapping);

private:
  struct Place {
    ProducerAcquireOp acquire;
    ConsumerWaitOp wait;
    /// Its pipeline's mailbox of this number.
    unsigned number = 0;
  };

  void insertIn(mlir::Block &block);
  /// Whether the role has time to find what others need, and a warp that alone
  /// does: it computes no tiles of its own.
  bool isSender(unsigned role);
  /// Whether the role that fills the stage is one, and has all that `value` is
  /// computed from.
  bool canSend(ProducerAcquireOp acquire, mlir::Value value);
  mlir::Value getMailbox(Place place) const {
    return mailboxes.lookup({place.acquire.getPipeline(), place.number});
  }

  const RoleAssignment &roles;
  mlir::Block *root = nullptr;
  llvm::DenseMap<unsigned, bool> senders;
  /// By role, what is needed of all that it can send.
  llvm::DenseMap<unsigned, RoleSlicer> sendable;
  /// And what it can't.
  llvm::DenseMap<unsigned, llvm::DenseSet<mlir::Value>> unsendable;
  llvm::MapVector<mlir::Operation *, Place> places;
  llvm::MapVector<std::pair<mlir::Value, unsigned>, mlir::Value> mailboxes;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_ROLES_SCALARBROADCAST_H
