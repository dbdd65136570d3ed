//===- LaunchCalls.h - From calls to launches -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_LAUNCHCALLS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_LAUNCHCALLS_H

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Dialect/Launch/IR/Launch.h"

namespace fovea {

/// Replaces the calls of `func`, which is the one op `op`, by launches of the
/// kernel of `abi`, which `op` has become. Fails with a diagnostic where the
/// function is used in another way.
llvm::LogicalResult replaceCallsByLaunches(mlir::func::FuncOp func,
                                           attn::KernelOpInterface op,
                                           launch::AbiOp abi);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_LAUNCHCALLS_H
