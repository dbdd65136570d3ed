//===- Order.h - Happens-before and race detection --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks over agents: the warps of a cluster (with separate lanes),
// mbarriers, and groups of asynchronous work. An access has a Stamp: the agent,
// its lanes and its epoch. A Clock has for each agent the last epoch that
// happened before. A release ends an epoch.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_ORDER_H
#define FOVEA_LIB_PTX_ORDER_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace fovea::ptx {

inline constexpr uint32_t kAllLanes = ~0u;
inline constexpr uint16_t kNoAgent = 0xffff;
/// Agents per warp. Agents are numbered warp by warp, CTA by CTA.
/// The first ones are the warp's own accesses and its cp.async, which both go
/// through the generic proxy.
inline constexpr unsigned kWarpAgents = 8, kGenericAgents = 2;
/// Pipelines of tcgen05 work. If only the promised order is kept, copies are in
/// `kCopyPipeline` and products in one of each accumulator, kind and shape,
/// from `kIssuePipeline` on; otherwise all of it is in `kIssuePipeline`.
inline constexpr unsigned kCopyPipeline = 1, kIssuePipeline = 2,
                          kLastPipeline = 127;

/// The scope of a strong access or a fence.
enum Scope : uint8_t { InCta, InCluster, InDevice };
inline constexpr unsigned kScopes = 3;

/// An access in the history.
struct Stamp {
  uint32_t epoch = 0;
  /// 0: all lanes together; each lane knows that the access is done.
  uint32_t lanes = 0;
  /// Index of the instruction.
  uint32_t place = 0;
  /// The agent's cluster.
  uint32_t cluster = 0;
  uint16_t agent = kNoAgent;
  /// async: through the async proxy. strong: atomic or volatile, with its
  /// `scope`. bytes: the touched bytes of a word (0: all). equal: a write that
  /// changed nothing. pipeline: of tcgen05.mma and .cp; else 0.
  uint16_t async : 1, strong : 1, scope : 2, bytes : 4, equal : 1, pipeline : 7;
  Stamp() : async(0), strong(0), scope(0), bytes(0), equal(0), pipeline(0) {}
  explicit operator bool() const { return agent != kNoAgent; }
};

/// The set of accesses that happened before a point in the execution.
class Clock {
public:
  /// Lanes of one agent that are ahead of the whole agent.
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
  /// Raises the epoch of these lanes only.
  void raise(uint16_t agent, uint32_t epoch, uint32_t lanes);
  void join(const Clock &other);
  /// Joins the accesses of agents that `isMeant` selects.
  void joinIf(const Clock &other, llvm::function_ref<bool(uint16_t)> isMeant);
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

/// The tcgen05 work that happened before a point: completed work; and copies
/// and products that were only issued, which precede later work of their
/// pipelines.
struct TensorOrder {
  Clock done, copies, products;

  void join(const TensorOrder &other) {
    done.join(other.done);
    copies.join(other.copies);
    products.join(other.products);
  }
  bool empty() const {
    return done.empty() && copies.empty() && products.empty();
  }
};

/// Everything that happened before a point: `known`; the part that is visible
/// to the async proxy, which sees generic writes only after a proxy fence;
/// tcgen05 work before fences before a synchronisation (`passed`), and
/// initialisations of mbarriers before a 'fence.mbarrier_init', both of which
/// relaxed arrivals publish too. `tensor` is the work that later tcgen05 work
/// of the thread itself is ordered after: `passed` at the last fence after a
/// synchronisation, and work that it waited for.
struct Knowledge {
  /// Knowledge about another cluster.
  struct Foreign {
    uint32_t cluster;
    Clock known, visible;
  };
  Clock known, visible, inits;
  TensorOrder passed, tensor;
  std::vector<Foreign> foreign;

  void join(const Knowledge &other) {
    known.join(other.known);
    visible.join(other.visible);
    joinRelaxed(other);
    for (const Foreign &entry : other.foreign)
      learn(entry.cluster, entry.known, entry.visible);
  }
  /// Joins the part that relaxed accesses publish.
  void joinRelaxed(const Knowledge &other) {
    inits.join(other.inits);
    passed.join(other.passed);
  }
  bool hasRelaxed() const { return !inits.empty() || !passed.empty(); }
  /// Joins the accesses of asynchronous work of the cluster, without those
  /// through the generic proxy. `warpAgents` is the number of agents of its
  /// warps.
  void joinAsync(const Knowledge &other, unsigned warpAgents);
  /// Joins, in cluster `self`, the knowledge of an agent of cluster `from`.
  void join(uint32_t self, uint32_t from, const Knowledge &other);
  /// Makes all knowledge visible to the async proxy.
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

/// An access to be checked, with the knowledge of its agent.
struct Access {
  Stamp stamp;
  bool write = false;
  const Knowledge *knowledge = nullptr;
  /// The warp and lanes that execute or issued the access. Their earlier
  /// accesses are ordered before it independently of clocks.
  uint16_t issuer = kNoAgent;
  uint32_t issuerLanes = 0;
  /// Agents of one CTA's warps, which are numbered CTA by CTA.
  uint16_t agentsPerCta = 0;
};

/// True if a thread issued both pieces of asynchronous work.
bool isSameThread(const Stamp &a, const Stamp &b);
/// True if tcgen05 work is executed after an earlier piece because both are in
/// one pipeline. `order` is that of the later one's thread.
bool isPipelined(const Stamp &earlier, const Stamp &later,
                 const TensorOrder &order);

/// The reason why two accesses race.
enum class Conflict : uint8_t { None, Unordered, Proxy };

/// Access history of a memory: 16-byte granules, split into words for smaller
/// accesses.
class Shadow {
public:
  /// `bounded` memory remembers only a few unordered reads of an address, so
  /// some races of later writes are missed.
  explicit Shadow(uint64_t bytes, bool bounded = false);
  /// Checks and records an access. On a conflict, `with` is the earlier access.
  Conflict touch(uint64_t offset, uint64_t bytes, const Access &access,
                 Stamp &with);
  /// The last write to any of the bytes or, with `reads`, any access.
  Stamp find(uint64_t offset, uint64_t bytes, bool reads) const;
  /// Removes the history of the bytes.
  void forget(uint64_t offset, uint64_t bytes);

private:
  Conflict touchCell(Cell &cell, uint64_t key, const Access &access,
                     Stamp &with);
  bool bounded;
  std::vector<Cell> granules;
  /// If splits[g] != 0, the four words of granule g are at splits[g] - 1.
  std::vector<uint32_t> splits;
  std::vector<Cell> words;
  llvm::SmallVector<uint32_t, 0> freeWords;
  /// Reads that do not fit in a cell.
  llvm::DenseMap<uint64_t, std::vector<Stamp>> overflow;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_ORDER_H
