//===- Flags.cpp - Order through strong writes ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the publications of strong writes and the fences that make them
// effective. Used by ld, st, atom and fence.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

using namespace fovea::ptx;

void Fences::fence(Warp &warp, uint32_t mask, Scope scope) {
  Knowledge all;
  warp.release(mask, all);
  for (unsigned s = 0; s <= scope; ++s) {
    published[s] = all;
    warp.acquire(mask, seen[s]);
  }
}

bool Polled::isKnown(const Flags *flags, uint64_t address, uint64_t version,
                     uint32_t mask, Scope scope) {
  Seen &seen = places[{flags, address}];
  if (seen.version != version || seen.scope != scope)
    seen = {version, 0, scope};
  bool isKnown = (mask & ~seen.lanes) == 0;
  seen.lanes |= mask;
  return isKnown;
}

bool Flags::observe(Warp &warp, uint64_t address, uint32_t mask, Order order,
                    Scope scope) const {
  auto found = all.find(address);
  uint64_t version = found == all.end() ? 0 : found->second.version;
  if (order == Order::Acquire &&
      warp.polled.isKnown(this, address, version, mask, scope))
    return false;
  if (found == all.end())
    return true;
  const uint32_t self = warp.cluster->index;
  for (const Publication &p : found->second.publications) {
    unsigned distance = p.cluster != self          ? InDevice
                        : p.rank != warp.cta->rank ? InCluster
                                                   : InCta;
    if (distance > p.scope || distance > scope)
      continue;
    Knowledge here;
    here.join(self, p.cluster, p.knowledge);
    if (order == Order::Acquire || order == Order::Both)
      warp.acquire(mask, here);
    else
      warp.fences.seen[distance].join(here);
  }
  return true;
}

void Flags::add(Warp &warp, uint64_t address, Scope scope,
                const Knowledge &knowledge) {
  const uint32_t cluster = warp.cluster->index, rank = warp.cta->rank;
  Place &place = all[address];
  ++place.version;
  for (Publication &p : place.publications)
    if (p.cluster == cluster && p.rank == rank && p.scope == scope)
      return p.knowledge.join(knowledge);
  place.publications.push_back({cluster, rank, scope, knowledge});
}

void Flags::publish(Warp &warp, uint64_t address, uint32_t mask, Order order,
                    Scope scope, bool replaces) {
  // Publications that were observed for the old value do not apply to the new
  // one.
  if (replaces)
    if (auto found = all.find(address); found != all.end()) {
      found->second.publications.clear();
      ++found->second.version;
    }
  if (order == Order::Release || order == Order::Both) {
    Knowledge knowledge;
    warp.release(mask, knowledge);
    add(warp, address, scope, knowledge);
  }
  for (unsigned s = 0; s <= scope; ++s)
    if (const Knowledge &fenced = warp.fences.published[s];
        !fenced.known.empty())
      add(warp, address, Scope(s), fenced);
}
