//===- Order.h - What happens before what ---------------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Vector clocks over agents: the warps of a cluster, of which lanes are told
// apart, mbarriers and groups of asynchronous work. An access carries a Stamp:
// who, which lanes, and the agent's epoch. A Clock says up to which epoch of
// each agent everything has happened. Releases end an epoch.
//
#ifndef FOVEA_LIB_PTX_ORDER_H
#define FOVEA_LIB_PTX_ORDER_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace fovea::ptx {

inline constexpr uint32_t kAllLanes = ~0u;
inline constexpr uint16_t kNobody = 0xffff;

/// How far apart threads may be that a strong access or a fence concerns.
enum Scope : uint8_t { InCta, InCluster, InDevice };
inline constexpr unsigned kScopes = 3;

/// One access.
struct Stamp {
  uint32_t epoch = 0;
  /// None: all lanes did it together, each knows that it is done.
  uint32_t lanes = 0;
  /// Instruction that did it.
  uint32_t place = 0;
  /// The cluster of its grid that the agent belongs to.
  uint32_t cluster = 0;
  uint16_t agent = kNobody;
  /// Went through the async proxy; is atomic or volatile, and for whom (a
  /// Scope); bytes of a word that it touched (0: all); a write that changed
  /// nothing.
  uint16_t async : 1, strong : 1, scope : 2, bytes : 4, equal : 1;
  Stamp() : async(0), strong(0), scope(0), bytes(0), equal(0) {}
  explicit operator bool() const { return agent != kNobody; }
};

/// Everything that somebody knows to have happened.
class Clock {
public:
  /// Lanes of one agent that are further than all of it.
  struct Extra {
    uint32_t epoch, lanes;
    uint16_t agent;
  };

  uint32_t get(uint16_t agent) const {
    return agent < all.size() ? all[agent] : 0;
  }
  void raise(uint16_t agent, uint32_t epoch) {
    if (agent >= all.size())
      all.resize(agent + 1);
    if (all[agent] < epoch)
      all[agent] = epoch;
  }
  /// Those lanes alone.
  void raise(uint16_t agent, uint32_t epoch, uint32_t lanes);
  void join(const Clock &other);
  bool covers(const Stamp &stamp) const {
    return get(stamp.agent) >= stamp.epoch ||
           (!extras.empty() && coversByLanes(stamp));
  }
  bool empty() const { return all.empty() && extras.empty(); }

private:
  bool coversByLanes(const Stamp &stamp) const;
  std::vector<uint32_t> all;
  llvm::SmallVector<Extra, 2> extras;
};

/// What somebody knows, and what of it the async proxy can see: generic writes
/// count there from a proxy fence on. And what tcgen05 work comes after: what
/// was known at the last fence after a synchronisation.
struct Knowledge {
  /// What is known of another cluster.
  struct Foreign {
    uint32_t cluster;
    Clock known, visible;
  };
  Clock known, visible, tensor;
  std::vector<Foreign> foreign;

  void join(const Knowledge &other) {
    known.join(other.known);
    visible.join(other.visible);
    tensor.join(other.tensor);
    for (const Foreign &entry : other.foreign)
      learn(entry.cluster, entry.known, entry.visible);
  }
  /// In cluster `self`: what somebody in cluster `from` knows.
  void join(uint32_t self, uint32_t from, const Knowledge &other);
  /// All that is known is visible to the async proxy.
  void showAll() {
    visible.join(known);
    for (Foreign &entry : foreign)
      entry.visible.join(entry.known);
  }
  bool covers(const Stamp &stamp, uint32_t self) const {
    const Clock *clock = stamp.cluster == self ? &known : find(stamp.cluster);
    return clock && clock->covers(stamp);
  }
  bool shows(const Stamp &stamp, uint32_t self) const;

private:
  void learn(uint32_t cluster, const Clock &known, const Clock &visible);
  const Clock *find(uint32_t cluster) const;
};

/// The last write to some bytes, and the reads since.
struct Cell {
  static constexpr unsigned kReads = 3;
  Stamp write;
  Stamp reads[kReads];
};

/// Who asks: an access about to happen and what its agent knows.
struct Access {
  Stamp stamp;
  bool write = false;
  const Knowledge *knowledge = nullptr;
  /// The warp and the lanes that do it, or asked for it: what these lanes did
  /// before is in order with it, whatever clocks say.
  uint16_t issuer = kNobody;
  uint32_t issuerLanes = 0;
  /// Agents of one CTA's warps, which are numbered CTA by CTA.
  uint16_t agentsPerCta = 0;
};

/// Why two accesses are a race.
enum class Conflict : uint8_t { None, Unordered, Proxy };

/// Memory that is watched: 16-byte granules, split into words where accesses
/// are smaller.
class Shadow {
public:
  /// Of a place that many read without order, `bounded` memory remembers a few
  /// reads only: not all writes that follow are found to be in no order.
  explicit Shadow(uint64_t bytes, bool bounded = false);
  /// Checks and records an access to bytes of the memory. On a conflict `with`
  /// is the earlier access.
  Conflict touch(uint64_t offset, uint64_t bytes, const Access &access,
                 Stamp &with);
  /// A write to some of the bytes or, if asked for, any access.
  Stamp find(uint64_t offset, uint64_t bytes, bool reads) const;
  /// Forgets all accesses to the bytes.
  void forget(uint64_t offset, uint64_t bytes);

private:
  Conflict touchCell(Cell &cell, uint64_t key, const Access &access,
                     Stamp &with);
  bool bounded;
  std::vector<Cell> granules;
  /// Words of granule g are at splits[g] - 1, four of them, if splits[g] != 0.
  std::vector<uint32_t> splits;
  std::vector<Cell> words;
  llvm::SmallVector<uint32_t, 0> freeWords;
  /// Reads that a cell has no room for.
  llvm::DenseMap<uint64_t, std::vector<Stamp>> overflow;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_ORDER_H
