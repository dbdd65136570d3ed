//===- Order.cpp - Happens-before and race detection ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the vector clocks and the access history of a memory that detect
// unordered accesses.
//
//===----------------------------------------------------------------------===//

#include "Order.h"

#include <algorithm>

using namespace fovea::ptx;

void Clock::raise(uint16_t agent, uint32_t epoch, uint32_t lanes) {
  if (get(agent) >= epoch)
    return;
  for (Extra &extra : extras) {
    if (extra.agent != agent)
      continue;
    if (extra.epoch == epoch) {
      extra.lanes |= lanes;
      return;
    }
    // The same lanes with a later epoch.
    if (extra.lanes == lanes) {
      extra.epoch = std::max(extra.epoch, epoch);
      return;
    }
  }
  extras.push_back({epoch, lanes, agent});
}

void Clock::join(const Clock &other) {
  if (other.empty())
    return;
  if (all.size() < other.all.size())
    all.resize(other.all.size());
  for (size_t n = 0, e = other.all.size(); n < e; ++n)
    all[n] = std::max(all[n], other.all[n]);
  for (const Extra &extra : other.extras)
    raise(extra.agent, extra.epoch, extra.lanes);
  llvm::erase_if(extras, [&](const Extra &extra) {
    return get(extra.agent) >= extra.epoch;
  });
}

void Clock::joinIf(const Clock &other,
                   llvm::function_ref<bool(uint16_t)> isMeant) {
  for (size_t n = 0, e = other.all.size(); n < e; ++n)
    if (other.all[n] && isMeant(n))
      raise(n, other.all[n]);
  for (const Extra &extra : other.extras)
    if (isMeant(extra.agent))
      raise(extra.agent, extra.epoch, extra.lanes);
}

bool Clock::coversByLanes(const Stamp &stamp) const {
  uint32_t lanes = stamp.lanes;
  if (!lanes)
    return llvm::any_of(extras, [&](const Extra &extra) {
      return extra.agent == stamp.agent && extra.epoch >= stamp.epoch;
    });
  for (const Extra &extra : extras)
    if (extra.agent == stamp.agent && extra.epoch >= stamp.epoch)
      lanes &= ~extra.lanes;
  return !lanes;
}

void Knowledge::learn(uint32_t cluster, const Clock &other,
                      const Clock &otherVisible) {
  for (Foreign &entry : foreign)
    if (entry.cluster == cluster) {
      entry.known.join(other);
      entry.visible.join(otherVisible);
      return;
    }
  foreign.push_back({cluster, other, otherVisible});
}

const Clock *Knowledge::find(uint32_t cluster) const {
  for (const Foreign &entry : foreign)
    if (entry.cluster == cluster)
      return &entry.known;
  return nullptr;
}

void Knowledge::joinAsync(const Knowledge &other, unsigned warpAgents) {
  auto isAsync = [&](uint16_t agent) {
    return agent >= warpAgents || agent % kWarpAgents >= kGenericAgents;
  };
  known.joinIf(other.known, isAsync);
  visible.joinIf(other.visible, isAsync);
  joinRelaxed(other);
}

bool Knowledge::shows(const Stamp &stamp, uint32_t self) const {
  if (stamp.cluster == self)
    return visible.covers(stamp);
  return llvm::any_of(foreign, [&](const Foreign &entry) {
    return entry.cluster == stamp.cluster && entry.visible.covers(stamp);
  });
}

void Knowledge::join(uint32_t self, uint32_t from, const Knowledge &other) {
  if (self == from)
    return join(other);
  learn(from, other.known, other.visible);
  for (const Foreign &entry : other.foreign) {
    if (entry.cluster != self) {
      learn(entry.cluster, entry.known, entry.visible);
      continue;
    }
    known.join(entry.known);
    visible.join(entry.visible);
  }
}

Shadow::Shadow(uint64_t bytes, bool bounded)
    : bounded(bounded), granules((bytes + 15) / 16), splits(granules.size()) {}

/// True if the access follows `earlier` in one lane's program order.
/// Asynchronous accesses have no such order.
static bool isInOrder(const Stamp &earlier, const Access &access) {
  return earlier.agent == access.issuer &&
         earlier.cluster == access.stamp.cluster &&
         !(earlier.lanes & ~access.issuerLanes);
}

bool fovea::ptx::isSameThread(const Stamp &a, const Stamp &b) {
  return a.cluster == b.cluster && a.lanes == b.lanes &&
         a.agent / kWarpAgents == b.agent / kWarpAgents;
}

bool fovea::ptx::isPipelined(const Stamp &earlier, const Stamp &later,
                             const TensorOrder &order) {
  // A copy is not ordered after anything; a product is after copies and
  // products of its pipeline.
  if (!earlier.pipeline || later.pipeline < kIssuePipeline ||
      (earlier.pipeline != later.pipeline && earlier.pipeline != kCopyPipeline))
    return false;
  return isSameThread(earlier, later) || order.copies.covers(earlier) ||
         order.products.covers(earlier);
}

/// The scope that two strong accesses need in order not to race.
static unsigned getDistance(const Stamp &earlier, const Access &access) {
  const Stamp &now = access.stamp;
  if (earlier.cluster != now.cluster)
    return InDevice;
  return earlier.agent / access.agentsPerCta == now.agent / access.agentsPerCta
             ? InCta
             : InCluster;
}

static Conflict compare(const Stamp &earlier, bool earlierWrites,
                        const Access &access) {
  const Stamp &now = access.stamp;
  if (earlier.bytes && now.bytes && !(earlier.bytes & now.bytes))
    return Conflict::None;
  if (earlier.strong && now.strong &&
      std::min(earlier.scope, now.scope) >= getDistance(earlier, access))
    return Conflict::None;
  if (!isInOrder(earlier, access) &&
      !isPipelined(earlier, now, access.knowledge->tensor) &&
      !access.knowledge->covers(earlier, now.cluster))
    return Conflict::Unordered;
  bool crosses = earlierWrites && !earlier.async && now.async;
  return !crosses || access.knowledge->shows(earlier, now.cluster)
             ? Conflict::None
             : Conflict::Proxy;
}

Conflict Shadow::touchCell(Cell &cell, uint64_t key, const Access &access,
                           Stamp &with) {
  std::vector<Stamp> *more = nullptr;
  if (!overflow.empty()) {
    auto found = overflow.find(key);
    if (found != overflow.end())
      more = &found->second;
  }
  // A write of an equal value changes nothing, so it need not be ordered after
  // the previous write.
  if (cell.write && !access.stamp.equal) {
    Conflict conflict = compare(cell.write, true, access);
    auto isKnown = [&](const Stamp &read) {
      return read && read.equal &&
             compare(read, true, access) == Conflict::None;
    };
    if (conflict != Conflict::None &&
        (access.write || (llvm::none_of(cell.reads, isKnown) &&
                          !(more && llvm::any_of(*more, isKnown))))) {
      with = cell.write;
      return conflict;
    }
  }
  if (access.write) {
    auto check = [&](const Stamp &read) {
      Conflict conflict = compare(read, false, access);
      if (conflict != Conflict::None)
        with = read;
      return conflict;
    };
    for (const Stamp &read : cell.reads)
      if (read)
        if (Conflict conflict = check(read); conflict != Conflict::None)
          return conflict;
    if (more) {
      for (const Stamp &read : *more)
        if (Conflict conflict = check(read); conflict != Conflict::None)
          return conflict;
      overflow.erase(key);
    }
    cell = Cell();
    cell.write = access.stamp;
    return Conflict::None;
  }
  // A read that happens before this one can be dropped: later accesses are
  // ordered after both. An arrival with .cta scope orders other CTAs after
  // asynchronous reads only (Knowledge::joinAsync).
  auto isCovered = [&](const Stamp &read) {
    return !read.equal && read.bytes == access.stamp.bytes &&
           (bounded || read.async || !access.stamp.async) &&
           compare(read, false, access) == Conflict::None;
  };
  Stamp *free = nullptr;
  for (Stamp &read : cell.reads) {
    if (read.agent == access.stamp.agent && read.epoch == access.stamp.epoch &&
        read.cluster == access.stamp.cluster &&
        read.async == access.stamp.async && read.equal == access.stamp.equal &&
        read.strong == access.stamp.strong &&
        read.scope == access.stamp.scope &&
        read.pipeline == access.stamp.pipeline) {
      read.lanes |= access.stamp.lanes;
      if (read.bytes)
        read.bytes = access.stamp.bytes ? read.bytes | access.stamp.bytes : 0;
      return Conflict::None;
    }
    if (!read || isCovered(read))
      free = &read;
  }
  if (!free && bounded)
    free = &cell.reads[access.stamp.cluster % Cell::kReads];
  if (free) {
    *free = access.stamp;
    return Conflict::None;
  }
  if (!more)
    more = &overflow[key];
  llvm::erase_if(*more, isCovered);
  more->push_back(access.stamp);
  return Conflict::None;
}

Conflict Shadow::touch(uint64_t offset, uint64_t bytes, const Access &access,
                       Stamp &with) {
  for (uint64_t end = offset + bytes; offset < end;) {
    uint64_t g = offset / 16;
    uint64_t stop = std::min(end, (g + 1) * 16);
    bool whole = stop - offset == 16;
    if (whole && (!splits[g] || access.write)) {
      Conflict conflict = Conflict::None;
      if (splits[g]) {
        // The access covers all words: check them, then use one cell again.
        uint32_t base = splits[g] - 1;
        for (unsigned w = 0; w < 4 && conflict == Conflict::None; ++w) {
          conflict = touchCell(words[base + w], g * 8 + w, access, with);
          words[base + w] = Cell();
        }
        freeWords.push_back(base);
        splits[g] = 0;
        granules[g] = Cell();
      }
      if (conflict == Conflict::None)
        conflict = touchCell(granules[g], g * 8 + 4, access, with);
      if (conflict != Conflict::None)
        return conflict;
      offset = stop;
      continue;
    }
    if (!splits[g]) {
      uint32_t base = words.size();
      if (freeWords.empty())
        words.resize(base + 4);
      else
        base = freeWords.pop_back_val();
      auto more = overflow.find(g * 8 + 4);
      std::vector<Stamp> rest;
      if (more != overflow.end()) {
        rest = std::move(more->second);
        overflow.erase(more);
      }
      for (unsigned w = 0; w < 4; ++w) {
        words[base + w] = granules[g];
        if (!rest.empty())
          overflow[g * 8 + w] = rest;
      }
      splits[g] = base + 1;
    }
    while (offset < stop) {
      unsigned w = offset % 16 / 4;
      uint64_t wordEnd = std::min(stop, g * 16 + (w + 1) * 4);
      Access part = access;
      unsigned first = offset % 4, count = wordEnd - offset;
      part.stamp.bytes = count == 4 ? 0 : ((1u << count) - 1) << first;
      Conflict conflict =
          touchCell(words[splits[g] - 1 + w], g * 8 + w, part, with);
      if (conflict != Conflict::None)
        return conflict;
      offset = wordEnd;
    }
  }
  return Conflict::None;
}

Stamp Shadow::find(uint64_t offset, uint64_t bytes, bool reads) const {
  Stamp result;
  auto look = [&](const Cell &cell) {
    if (cell.write)
      result = cell.write;
    for (const Stamp &read : cell.reads)
      // Writes of equal values are stored as reads.
      if (read && (reads || read.equal))
        result = read;
  };
  for (uint64_t at = offset & ~uint64_t(3); at < offset + bytes; at += 4) {
    uint64_t g = at / 16;
    look(splits[g] ? words[splits[g] - 1 + at % 16 / 4] : granules[g]);
  }
  return result;
}

void Shadow::forget(uint64_t offset, uint64_t bytes) {
  for (uint64_t g = offset / 16; g * 16 < offset + bytes; ++g)
    for (unsigned w = 0; w < 4; ++w) {
      uint64_t at = g * 16 + w * 4;
      if (at < offset || at >= offset + bytes)
        continue;
      if (!splits[g]) {
        uint32_t base = words.size();
        if (freeWords.empty())
          words.resize(base + 4);
        else
          base = freeWords.pop_back_val();
        for (unsigned n = 0; n < 4; ++n)
          words[base + n] = granules[g];
        splits[g] = base + 1;
      }
      words[splits[g] - 1 + w] = Cell();
      overflow.erase(g * 8 + w);
    }
}
