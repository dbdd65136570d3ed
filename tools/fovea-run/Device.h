//===- Device.h - Execution on a GPU or on the emulator ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_DEVICE_H
#define FOVEA_TOOLS_FOVEA_RUN_DEVICE_H

#include "Backend.h"

namespace fovea::run {

/// The compiled kernel on a CUDA device: compiled here, or loaded from the
/// files that the options name. With --benchmark the kernel is timed and the
/// result printed. With --device=ptx the device is the emulator, which runs
/// once per seed.
std::unique_ptr<Backend> createDeviceBackend(const Program &program,
                                             const Options &options);

/// Times a kernel, PTX or machine code, on the inputs: the median of many runs,
/// in milliseconds, after 30 ms of warm-up. Reports failures.
ExitCode timeKernel(const Program &program, const Options &options,
                    const Workload &workload, llvm::StringRef image,
                    llvm::StringRef metadata, double &milliseconds);

/// The number of pairs of query and key that the mask and the lengths leave
/// visible, over all heads and batch entries; nullopt if the program does not
/// have exactly one attn.forward.
std::optional<double> countVisiblePairs(const Program &program,
                                        const Workload &workload,
                                        const Options &options);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_DEVICE_H
