//===- Bottleneck.h - What bounds a forward kernel --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of the cycles that a forward kernel takes for a block of keys, from
// its plan and the rates of the target. `benchmarks/blackwell.py` counts the
// instructions of the machine code as well.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_BOTTLENECK_H
#define FOVEA_SCHEDULE_BOTTLENECK_H

#include "fovea/Dialect/Launch/IR/Launch.h"

#include <optional>
#include <string>

namespace fovea {

/// Cycles of one SM for one block of keys and all query rows of a CTA's tile.
struct BlockCycles {
  /// Of the MMA unit for both dots.
  int64_t dots;
  /// Of shared memory: reads of the dots' operands, and copies of K and V.
  int64_t sharedMemory;
  /// Of the unit for exponentials.
  int64_t exponentials;
  /// Of an SM's share of device memory for K and V, if all queries that share a
  /// key head fit a tile, so that each key is read once; otherwise 0, as tiles
  /// find K and V in L2.
  int64_t deviceMemory;
};

/// Returns the cycles of a forward kernel whose dots read shared memory; none
/// for other kernels and for targets without a known rate of dots.
std::optional<BlockCycles> getBlockCycles(launch::AbiOp kernel);

/// Returns a sentence that names what bounds the kernel, or why that is not
/// known.
std::string explainBottleneck(launch::AbiOp kernel);

} // namespace fovea

#endif // FOVEA_SCHEDULE_BOTTLENECK_H
