//===- Occupancy.h - What a kernel takes of a multiprocessor --------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_OCCUPANCY_H
#define FOVEA_PTX_OCCUPANCY_H

#include "fovea/PTX/Launch.h"

namespace fovea::ptx {

/// Registers that a thread of the kernel starts with: as many as `.maxnreg`, or
/// `.maxntid` (or `.reqntid`) with `.minnctapersm`, allow, in steps of 8. An
/// assembler may give fewer to kernels without `setmaxnreg`.
uint32_t getRegistersPerThread(const Kernel &kernel, const Chip &chip);

/// CTAs of so many threads that fit a multiprocessor at once, by shared memory,
/// threads, and what `.minnctapersm` promises of registers; 0 if none does.
uint32_t getResidentBlocks(const Kernel &kernel, uint32_t threads,
                           uint64_t dynamicSharedBytes, const Chip &chip);

} // namespace fovea::ptx

#endif // FOVEA_PTX_OCCUPANCY_H
