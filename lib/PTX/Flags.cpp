//===- Flags.cpp - What strong writes publish -----------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

void Flags::observe(Warp &warp, uint64_t address, uint32_t mask, Order order,
                    Scope scope) const {
  auto found = all.find(address);
  if (found == all.end())
    return;
  const uint32_t self = warp.cluster->index;
  for (const Publication &p : found->second) {
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
}

void Flags::add(Warp &warp, uint64_t address, Scope scope,
                const Knowledge &knowledge) {
  const uint32_t cluster = warp.cluster->index, rank = warp.cta->rank;
  for (Publication &p : all[address])
    if (p.cluster == cluster && p.rank == rank && p.scope == scope)
      return p.knowledge.join(knowledge);
  all[address].push_back({cluster, rank, scope, knowledge});
}

void Flags::publish(Warp &warp, uint64_t address, uint32_t mask, Order order,
                    Scope scope, bool replaces) {
  if (replaces)
    all.erase(address);
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
