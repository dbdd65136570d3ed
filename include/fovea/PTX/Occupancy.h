//===- Occupancy.h - Registers and occupancy of a kernel --------*- C++ -*-===//
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

/// Initial registers per thread: the maximum that `.maxnreg`, or `.maxntid` (or
/// `.reqntid`) with `.minnctapersm`, allow, in steps of 8. An assembler may
/// allocate fewer to kernels without `setmaxnreg`.
uint32_t getRegistersPerThread(const Kernel &kernel, const Chip &chip);

/// CTAs of `threads` threads that one SM can hold, limited by shared memory,
/// threads, and the registers that `.minnctapersm` implies; 0 if none fits.
uint32_t getResidentBlocks(const Kernel &kernel, uint32_t threads,
                           uint64_t dynamicSharedBytes, const Chip &chip);

} // namespace fovea::ptx

#endif // FOVEA_PTX_OCCUPANCY_H
