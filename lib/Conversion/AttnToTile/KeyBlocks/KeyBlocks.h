//===- KeyBlocks.h - Which keys a tile visits -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_KEYBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_KEYBLOCKS_H

#include "Forward/ForwardKernel.h"
#include "KeyBlocks/BlockIterator.h"

namespace fovea {

/// The blocks of keys that a tile of queries visits: single ones, or those of a
/// range.
struct KeyBlocks {
  /// Set where single blocks are visited.
  std::unique_ptr<BlockIterator> single;
  /// Else: the range, and the part of it that needs no mask, in whole blocks.
  mlir::Value lower, fullLower, fullUpper, upper;
  /// Keys that rows held by the executing threads may see; empty: all.
  llvm::SmallVector<mlir::Value, 2> visible;
};

/// Emits which those are: listed ones, those of a range, or those of a range
/// that kv_classify picks.
mlir::FailureOr<KeyBlocks> emitKeyBlocks(const ForwardKernel &kernel);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_KEYBLOCKS_H
