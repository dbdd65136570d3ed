//===- SharedKeyIndex.h - Indices shared by adjacent keys -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes indices such as `j / 128` that adjacent keys share.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SHAREDKEYINDEX_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SHAREDKEYINDEX_H

#include "mlir/IR/Value.h"

#include <optional>

namespace fovea {

/// The fewest adjacent keys that are worth a load of their own.
constexpr int64_t kLeastKeyChunk = 16;

/// If `index` is the argument `key` divided by a constant: the number of
/// adjacent keys that share its value. None if those are few.
std::optional<int64_t> getKeyChunk(mlir::Value index, mlir::BlockArgument key);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SHAREDKEYINDEX_H
