//===- GlobalShadow.cpp - Access history of global memory -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages of shadow memory for global memory, created on first access. They back
// race detection across clusters.
//
//===----------------------------------------------------------------------===//

#include "GlobalShadow.h"

#include <algorithm>

using namespace fovea::ptx;

GlobalShadow::Watched::~Watched() {
  for (std::atomic<Page *> &page : pages)
    delete page.load();
}

GlobalShadow::Page &GlobalShadow::Watched::get(uint64_t page) {
  Page *found = pages[page].load(std::memory_order_acquire);
  if (found)
    return *found;
  auto made = std::make_unique<Page>();
  if (pages[page].compare_exchange_strong(found, made.get()))
    found = made.release();
  return *found;
}

GlobalShadow::Watched &
GlobalShadow::watch(const Device::Allocation &allocation) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Watched> &watched = all[allocation.address];
  if (!watched)
    watched = std::make_unique<Watched>(allocation.size);
  return *watched;
}

const GlobalShadow::Watched *GlobalShadow::find(uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = all.find(address);
  return found == all.end() ? nullptr : found->second.get();
}

Conflict GlobalShadow::touch(Watched &watched, uint64_t offset, uint64_t bytes,
                             const Access &access, Stamp &with) {
  for (uint64_t end = offset + bytes; offset < end;) {
    uint64_t page = offset / kPage, stop = std::min(end, (page + 1) * kPage);
    Page &in = watched.get(page);
    std::lock_guard<std::mutex> lock(in.mutex);
    Conflict conflict =
        in.shadow.touch(offset - page * kPage, stop - offset, access, with);
    if (conflict != Conflict::None)
      return conflict;
    offset = stop;
  }
  return Conflict::None;
}

Stamp GlobalShadow::find(const Watched &watched, uint64_t offset,
                         uint64_t bytes, bool reads) {
  for (uint64_t end = offset + bytes; offset < end;) {
    uint64_t page = offset / kPage, stop = std::min(end, (page + 1) * kPage);
    if (const Page *in = watched.pages[page].load())
      if (Stamp found =
              in->shadow.find(offset - page * kPage, stop - offset, reads))
        return found;
    offset = stop;
  }
  return Stamp();
}
