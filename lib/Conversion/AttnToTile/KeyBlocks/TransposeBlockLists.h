//===- TransposeBlockLists.h - Transposed block-sparse lists ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op lists the key blocks that each query block sees. Kernels over key tiles
// need the transposed lists, which a prologue kernel writes to scratch memory:
// either lists of the same form with ascending query blocks; or, if tiles
// process blocks in order and semaphore slots are counted, a bitmap.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_TRANSPOSEBLOCKLISTS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_TRANSPOSEBLOCKLISTS_H

#include "Kernel/HelperKernels.h"
#include "KeyBlocks/BlockIterator.h"

namespace fovea {

/// Bitmaps of the query blocks that see each key block: for blocks of `rows`
/// keys a bit per block of `columns` queries, from the partial list and from
/// the full list or null.
struct BlockBits {
  mlir::Value partial, full;
  int64_t rows, columns;
};

class TransposeBlockLists {
public:
  /// Adds scratch arguments for the op's lists to the main kernel, for lists or
  /// bitmaps.
  static TransposeBlockLists
  declare(KernelBuilder &kb, attn::AttentionOpInterface op, bool asBits);

  /// The transposed lists in a kernel that has those arguments.
  BlockLists get(KernelBuilder &kb) const;
  BlockBits getBits(KernelBuilder &kb) const;
  /// Creates the prologue kernel that fills the memory; `main` is the ABI of
  /// the main kernel.
  void buildKernel(const KernelBuilder &kb, launch::AbiOp main) const;

private:
  explicit TransposeBlockLists(attn::AttentionOpInterface op) : op(op) {}

  attn::AttentionOpInterface op;
  /// Argument indices per list: counts and indices, or a bitmap.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> memory;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_TRANSPOSEBLOCKLISTS_H
