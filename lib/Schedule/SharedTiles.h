//===- SharedTiles.h - Shared memory of a plan ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shared memory that the streams and stores of a plan need, before there is
// a tile program. Planners compare plans by it; the pass that allocates shared
// memory has the last word.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_SHAREDTILES_H
#define FOVEA_LIB_SCHEDULE_SHAREDTILES_H

#include "fovea/Dialect/Plan/IR/Plan.h"

namespace fovea {

/// Number of columns of a buffer row, padded to complete panels.
int64_t padColumns(int64_t columns, int64_t bits);

/// One stage of a stream, or the buffer of a store, in shared memory.
struct SharedTile {
  /// The name of the stream or store; empty: one buffer without an entry.
  llvm::StringRef name;
  int64_t bytes;
  bool isStore = false;
  /// The stream has one tile per work item. Without roles it has one buffer.
  bool isOfItem = false;
};

/// Returns the bytes of all buffers of the tiles, with the stages of their
/// streams. `stages` applies to streams without an entry. Stores that don't
/// copy through a buffer of their own need none.
int64_t countSharedBytes(llvm::ArrayRef<SharedTile> tiles,
                         llvm::ArrayRef<plan::StreamAttr> streams,
                         llvm::ArrayRef<plan::StoreAttr> stores, int64_t stages,
                         bool hasRoles);

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_SHAREDTILES_H
