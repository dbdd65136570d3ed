//===- Relays.h - What one role finds out for another -----------*- C++ -*-===//
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

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_RELAYS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_RELAYS_H

#include "RoleSlicer.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "llvm/ADT/MapVector.h"

namespace fovea::warp {

/// While a program is parted, a cast of a value to its own type stands for what
/// is received: it follows the wait for the stage that brings it, and what
/// comes after it uses it.
class Relays {
public:
  /// `owns` and `isShared` are the sending role's.
  Relays(RoleSlicer::Owns owns, RoleSlicer::IsShared isShared)
      : owns(owns), isShared(isShared) {}

  /// Puts casts wherever a value could be sent.
  void insert(mlir::Block &body);
  /// Keeps the casts that the receiving role needs, and of these the ones that
  /// are not quickly computed from others. To be followed by a new analysis.
  void reduce(const RoleSlicer &receiver);
  /// Slots for what is sent, made at `b`.
  llvm::SmallVector<mlir::Value> makeMailboxes(mlir::OpBuilder &b,
                                               mlir::Location loc);

  bool isRelay(mlir::Operation *op) const { return places.contains(op); }
  /// What is sent.
  llvm::SmallVector<mlir::Value> getSent() const;
  /// The sending role's copy of `op`, where it is an acquire or a cast.
  bool send(mlir::OpBuilder &b, mlir::Operation *op, mlir::IRMapping &mapping);
  /// The receiving role's copy of `op`, where it is a cast.
  bool receive(mlir::OpBuilder &b, mlir::Operation *op,
               mlir::IRMapping &mapping);

private:
  struct Place {
    ProducerAcquireOp acquire;
    /// Its pipeline's mailbox of this number.
    unsigned number = 0;
  };

  void insertIn(mlir::Block &block);
  /// Whether the sending role has all that `value` is computed from.
  bool canSend(mlir::Value value) const;
  mlir::Value getMailbox(Place place) const {
    return mailboxes.lookup({place.acquire.getPipeline(), place.number});
  }

  RoleSlicer::Owns owns;
  RoleSlicer::IsShared isShared;
  mlir::Block *root = nullptr;
  llvm::MapVector<mlir::Operation *, Place> places;
  llvm::MapVector<std::pair<mlir::Value, unsigned>, mlir::Value> mailboxes;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_RELAYS_H
