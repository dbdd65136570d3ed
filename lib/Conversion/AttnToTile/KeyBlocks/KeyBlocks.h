//===- KeyBlocks.h - Key blocks of a query tile -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selects the key blocks that a query tile of the forward processes.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_KEYBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_KEYBLOCKS_H

#include "Forward/ForwardKernel.h"
#include "KeyBlocks/BlockIterator.h"

namespace fovea {

/// The key blocks that a query tile processes: single ones, or a range.
struct KeyBlocks {
  /// Set if single blocks are processed.
  std::unique_ptr<BlockIterator> single;
  /// Else: the range, and the part of it that needs no mask, in whole blocks.
  mlir::Value lower, fullLower, fullUpper, upper;
  /// Keys that the rows owned by the executing threads may see; empty: all.
  llvm::SmallVector<mlir::Value, 2> visible;
};

/// Emits the blocks: from block-sparse lists, a range from kv_bounds, or the
/// blocks of the range that kv_classify selects at run time.
mlir::FailureOr<KeyBlocks> emitKeyBlocks(const ForwardKernel &kernel);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_KEYBLOCKS_H
