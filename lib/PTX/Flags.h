//===- Flags.h - Order through strong writes --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A release at an address, and a strong read of it within the scopes of both,
// order everything before the release before everything after the read. Fences
// around relaxed accesses do the same.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_FLAGS_H
#define FOVEA_LIB_PTX_FLAGS_H

#include "Order.h"

#include "llvm/ADT/DenseMap.h"

namespace fovea::ptx {

class Flags;

/// The memory order of an access.
enum class Order : uint8_t { Weak, Relaxed, Acquire, Release, Both };

/// State of a warp's fences.
struct Fences {
  /// Knowledge published by the last fence of that scope or a wider one.
  std::array<Knowledge, kScopes> published;
  /// Knowledge observed by strong reads that becomes effective with a fence of
  /// that scope.
  std::array<Knowledge, kScopes> seen;
};

/// The versions that a warp's acquiring reads have observed. A polling warp
/// observes the same version repeatedly.
struct Polled {
  struct Seen {
    /// The number of publications at the address, and the lanes that observed
    /// them.
    uint64_t version = 0;
    uint32_t lanes = 0;
    Scope scope = InCta;
  };
  /// By the owner (device or cluster) and the address.
  llvm::SmallDenseMap<std::pair<const Flags *, uint64_t>, Seen, 4> places;

  /// True if these lanes have already observed that version; records it.
  bool isKnown(const Flags *flags, uint64_t address, uint64_t version,
               uint32_t mask, Scope scope);
};

/// Publications of strong writes, by address. Warps observe and add them
/// (Warp::observe, Warp::publish).
class Flags {
public:
  struct Publication {
    uint32_t cluster, rank;
    Scope scope;
    Knowledge knowledge;
  };
  struct Place {
    std::vector<Publication> publications;
    uint64_t version = 0;
  };

  /// Returns the publications at the address, or null.
  const Place *lookup(uint64_t address) const;
  /// Ends the publications at the address: its value is replaced.
  void clear(uint64_t address);
  /// Adds knowledge that a CTA publishes at the address.
  void add(uint64_t address, uint32_t cluster, uint32_t rank, Scope scope,
           const Knowledge &knowledge);

private:
  llvm::DenseMap<uint64_t, Place> all;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_FLAGS_H
