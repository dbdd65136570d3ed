//===- Launch.h - Runs a kernel of a PTX module ---------------------*- C++
//-*-===//
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

/// Chip facts that a launch depends on.
struct Chip {
  uint32_t multiprocessors = 4;
  /// Bytes of shared memory that one CTA may have, static and dynamic.
  uint64_t sharedMemory = 232448;
  /// 32-bit registers of a multiprocessor.
  uint32_t registers = 65536;
};

/// A launch as the host describes it.
struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  /// CTAs of a cluster; zeros: what the kernel requires, or one.
  std::array<uint32_t, 3> cluster = {};
  uint64_t dynamicSharedBytes = 0;
  /// The parameters as Kernel::parameters lays them out, each byte given.
  std::vector<uint8_t> parameters;

  /// Decides which interleaving runs and when asynchronous work ends.
  uint64_t seed = 0;
  /// Instructions that one warp may execute. 0: no limit.
  uint64_t stepLimit = uint64_t(1) << 30;
  /// Registers of a thread at the start; 0: what the kernel's directives imply.
  uint32_t registersPerThread = 0;
  /// Host threads; 0: one for each core. Clusters run on them.
  unsigned hostThreads = 0;
  /// Clusters that take turns on one host thread.
  unsigned residentClusters = 2;
  /// Report reads of memory that was never written.
  bool checkUninitialized = true;
  /// Report unordered accesses to shared and tensor memory.
  bool checkRaces = true;
  /// Report unordered accesses to global memory, too.
  bool checkGlobalRaces = true;
  /// A write of the value that is there already is no race. (The ISA makes no
  /// exception for it; kernels in which several warps fill the same bytes with
  /// zeros rely on one.)
  bool allowEqualWrites = true;
  /// What the grid before this one did, if this one may start before that one
  /// has ended: Summary::footprint of the other. What the two access counts as
  /// unordered until 'griddepcontrol.wait'.
  std::shared_ptr<const Footprint> primary;
  /// Moves results of approximate functions within the bound that the ISA
  /// states, by the seed; otherwise they are correctly rounded.
  bool perturbApproximations = false;
  /// Who did what when. Null: not written.
  Trace *trace = nullptr;
  Chip chip;
};

/// What a launch was.
struct Summary {
  /// Instructions of warps and of threads.
  uint64_t warpInstructions = 0, threadInstructions = 0;
  uint64_t ctas = 0;
  /// What the grid accessed, if it let the next one start and races are
  /// watched.
  std::shared_ptr<const Footprint> footprint;
};

/// Runs the kernel to its end. An Error is a Report: what the kernel, or the
/// launch, did wrong. The memory is then as far as the kernel came.
llvm::Error run(Device &device, const Module &module, const Launch &launch,
                Summary *summary = nullptr);

} // namespace fovea::ptx

#endif // FOVEA_PTX_LAUNCH_H
