//===- Launch.h - Runs a kernel of a PTX module -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_LAUNCH_H
#define FOVEA_PTX_LAUNCH_H

#include "fovea/PTX/Device.h"

namespace fovea::ptx {

struct Footprint;
class Trace;

/// Properties of the GPU that a launch depends on.
struct Chip {
  uint32_t multiprocessors = 4;
  /// Maximum shared memory of one CTA in bytes, static and dynamic.
  uint64_t sharedMemory = 232448;
  /// 32-bit registers per SM.
  uint32_t registers = 65536;
};

/// A launch as the host specifies it.
struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  /// CTAs per cluster; zeros: the kernel's requirement, or one.
  std::array<uint32_t, 3> cluster = {};
  uint64_t dynamicSharedBytes = 0;
  /// The parameters in the layout of Kernel::parameters; all bytes must be
  /// given.
  std::vector<uint8_t> parameters;

  /// Determines the interleaving of warps and the completion of asynchronous
  /// work.
  uint64_t seed = 0;
  /// Maximum instructions per warp; 0: no limit.
  uint64_t stepLimit = uint64_t(1) << 30;
  /// Initial registers per thread; 0: derived from the kernel's directives.
  uint32_t registersPerThread = 0;
  /// Host threads, which execute clusters; 0: one per core.
  unsigned hostThreads = 0;
  /// Clusters that one host thread interleaves.
  unsigned residentClusters = 2;
  /// Report reads of uninitialised memory.
  bool checkUninitialized = true;
  /// Report unordered accesses to shared and tensor memory.
  bool checkRaces = true;
  /// Also report unordered accesses to global memory.
  bool checkGlobalRaces = true;
  /// A write of an equal value is not a race. The ISA has no such exception,
  /// but kernels in which several warps zero the same bytes rely on it.
  bool allowEqualWrites = true;
  /// A read of a register that an outstanding tcgen05.ld writes waits for the
  /// load, as the ISA permits (true register dependency). Otherwise the read
  /// needs 'tcgen05.wait::ld' before it.
  bool waitForTensorLoads = false;
  /// The footprint of the preceding grid (its Summary::footprint), if this grid
  /// may start before that one has ended. Its accesses count as unordered until
  /// 'griddepcontrol.wait'.
  std::shared_ptr<const Footprint> primary;
  /// Perturbs results of approximate functions, by the seed, within the error
  /// bound that the ISA states; otherwise they are correctly rounded.
  bool perturbApproximations = false;
  /// Of tcgen05.mma and .cp, keep only the order that the ISA promises
  /// (9.7.17.6.2), and not the order in which a thread issues them.
  bool promisedTensorOrder = false;
  /// Receives events; null: no trace.
  Trace *trace = nullptr;
  Chip chip;
};

/// Statistics of a launch.
struct Summary {
  /// Executed instructions, counted per warp and per thread.
  uint64_t warpInstructions = 0, threadInstructions = 0;
  uint64_t ctas = 0;
  /// The grid's accesses, if it let the next grid start and races are checked.
  std::shared_ptr<const Footprint> footprint;
};

/// Runs the kernel to its end. An error is a Report of what the kernel or the
/// launch did wrong; memory then has the state at that point.
llvm::Error run(Device &device, const Module &module, const Launch &launch,
                Summary *summary = nullptr);

} // namespace fovea::ptx

#endif // FOVEA_PTX_LAUNCH_H
