//===- Flags.h - What strong writes publish -------------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A release at a place in memory, and a strong read of it by somebody within
// the scopes of both, put what was before the one before what is after the
// other. So do fences around relaxed accesses.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_FLAGS_H
#define FOVEA_LIB_PTX_FLAGS_H

#include "Order.h"

#include "llvm/ADT/DenseMap.h"

namespace fovea::ptx {

struct Warp;
class Flags;

/// How an access is ordered with others.
enum class Order : uint8_t { Weak, Relaxed, Acquire, Release, Both };

/// What a warp's fences have gathered.
struct Fences {
  /// What the last fence of that scope, or a wider one, published.
  std::array<Knowledge, kScopes> published;
  /// What strong reads saw that a fence of that scope is needed to know.
  std::array<Knowledge, kScopes> seen;

  void fence(Warp &warp, uint32_t mask, Scope scope);
};

/// What a warp's acquiring reads of places have seen: who polls a place sees
/// the same again and again.
struct Polled {
  struct Seen {
    /// How often the place had been published to, and the lanes that know.
    uint64_t version = 0;
    uint32_t lanes = 0;
    Scope scope = InCta;
  };
  /// By whose places they are, the device's or the cluster's, and the address.
  llvm::SmallDenseMap<std::pair<const Flags *, uint64_t>, Seen, 4> places;

  /// Whether those lanes have seen that version already; they have from now on.
  bool isKnown(const Flags *flags, uint64_t address, uint64_t version,
               uint32_t mask, Scope scope);
};

/// Publications of strong writes, by address.
class Flags {
public:
  /// A strong access reads the place. False: it acquires, and there is nothing
  /// that the lanes did not know from their last read of it.
  bool observe(Warp &warp, uint64_t address, uint32_t mask, Order order,
               Scope scope) const;
  /// One writes it. A plain store ends what others have published; an atomic
  /// goes on.
  void publish(Warp &warp, uint64_t address, uint32_t mask, Order order,
               Scope scope, bool replaces);

private:
  struct Publication {
    uint32_t cluster, rank;
    Scope scope;
    Knowledge knowledge;
  };
  struct Place {
    std::vector<Publication> publications;
    uint64_t version = 0;
  };
  void add(Warp &warp, uint64_t address, Scope scope,
           const Knowledge &knowledge);
  llvm::DenseMap<uint64_t, Place> all;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_FLAGS_H
