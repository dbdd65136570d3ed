//===- Flags.cpp - Order through strong writes ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores the publications of strong writes, and those that warps have observed.
// Used by ld, st and atom.
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

using namespace fovea::ptx;

bool Polled::isKnown(const Flags *flags, uint64_t address, uint64_t version,
                     uint32_t mask, Scope scope) {
  Seen &seen = places[{flags, address}];
  if (seen.version != version || seen.scope != scope)
    seen = {version, 0, scope};
  bool isKnown = (mask & ~seen.lanes) == 0;
  seen.lanes |= mask;
  return isKnown;
}

const Flags::Place *Flags::lookup(uint64_t address) const {
  auto found = all.find(address);
  return found == all.end() ? nullptr : &found->second;
}

void Flags::clear(uint64_t address) {
  if (auto found = all.find(address); found != all.end()) {
    found->second.publications.clear();
    ++found->second.version;
  }
}

void Flags::add(uint64_t address, uint32_t cluster, uint32_t rank, Scope scope,
                const Knowledge &knowledge) {
  Place &place = all[address];
  ++place.version;
  for (Publication &p : place.publications)
    if (p.cluster == cluster && p.rank == rank && p.scope == scope)
      return p.knowledge.join(knowledge);
  place.publications.push_back({cluster, rank, scope, knowledge});
}
