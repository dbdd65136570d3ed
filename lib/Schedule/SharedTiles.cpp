//===- SharedTiles.cpp - Shared memory of a plan ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedTiles.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea;

// Barriers, mailboxes, and alignment of the first buffer in kernels with roles.
static constexpr int64_t kBarrierBytes = 1024;

int64_t fovea::padColumns(int64_t columns, int64_t bits) {
  return llvm::alignTo(columns, warp::getBoxPanelColumns(columns, bits));
}

int64_t fovea::countSharedBytes(ArrayRef<SharedTile> tiles,
                                ArrayRef<plan::StreamAttr> streams,
                                ArrayRef<plan::StoreAttr> stores,
                                int64_t stages, bool hasRoles) {
  auto countBuffers = [&](const SharedTile &tile) -> int64_t {
    if (tile.name.empty() || (tile.isOfItem && !hasRoles))
      return 1;
    auto isNamed = [&](auto entry) { return entry.getName() == tile.name; };
    if (tile.isStore) {
      const auto *store = llvm::find_if(stores, isNamed);
      return store != stores.end() && store->getFields().isCopied &&
             !store->getFields().over;
    }
    const auto *stream = llvm::find_if(streams, isNamed);
    if (stream == streams.end())
      return stages;
    return stream->getFields().over ? 0 : stream->getFields().stages;
  };
  int64_t bytes = hasRoles ? kBarrierBytes : 0;
  for (const SharedTile &tile : tiles)
    bytes += countBuffers(tile) * tile.bytes;
  return bytes;
}
