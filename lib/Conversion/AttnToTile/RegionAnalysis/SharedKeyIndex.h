//===- SharedKeyIndex.h - Values that keys share ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SHAREDKEYINDEX_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SHAREDKEYINDEX_H

#include "mlir/IR/Value.h"

#include <optional>

namespace fovea {

/// The fewest neighbouring keys that are worth a load of their own.
constexpr int64_t kLeastKeyChunk = 16;

/// If `index` of a region is `key`, its argument, divided by a constant: how
/// many neighbouring keys have one value of it. None if those are few.
std::optional<int64_t> getKeyChunk(mlir::Value index, mlir::BlockArgument key);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SHAREDKEYINDEX_H
