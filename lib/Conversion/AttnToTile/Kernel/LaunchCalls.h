//===- LaunchCalls.h - Replaces calls by launches ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces calls of a function that has become a kernel by `launch.call`.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_LAUNCHCALLS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_LAUNCHCALLS_H

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Dialect/Launch/IR/Launch.h"

namespace fovea {

/// Replaces the calls of `func`, whose only op `op` has become the kernel of
/// `abi`, by launches of it. Reports an error if the function has other uses.
llvm::LogicalResult replaceCallsByLaunches(mlir::func::FuncOp func,
                                           attn::KernelOpInterface op,
                                           launch::AbiOp abi);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_LAUNCHCALLS_H
