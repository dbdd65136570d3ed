//===- TransposeBlockLists.h - Lists of blocks, by keys ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op lists, for each block of queries, the blocks of keys that it sees. A
// kernel whose tiles are keys asks the other way: a prologue turns the lists
// round, into scratch memory. Each list becomes one of the same form, with the
// numbers of blocks of queries in ascending order; or, where tiles visit blocks
// in order and others count who comes before them, a bit for each block.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_TRANSPOSEBLOCKLISTS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_TRANSPOSEBLOCKLISTS_H

#include "Kernel/HelperKernels.h"
#include "KeyBlocks/BlockIterator.h"

namespace fovea {

/// For blocks of `rows` keys, words that have a bit for each block of `columns`
/// queries: whether the partial list of that has them, and the full one, or
/// null.
struct BlockBits {
  mlir::Value partial, full;
  int64_t rows, columns;
};

class TransposeBlockLists {
public:
  /// Gives the main kernel memory for the op's: for lists, or for bits.
  static TransposeBlockLists declare(KernelBuilder &kb, attn::AttentionOpInterface op,
                             bool asBits);

  /// Those of a kernel that has the memory.
  BlockLists get(KernelBuilder &kb) const;
  BlockBits getBits(KernelBuilder &kb) const;
  /// Makes the kernel that fills the memory; one more kernel of the prologue of
  /// the one whose ABI is `main`.
  void buildKernel(const KernelBuilder &kb, launch::AbiOp main) const;

private:
  explicit TransposeBlockLists(attn::AttentionOpInterface op) : op(op) {}

  attn::AttentionOpInterface op;
  /// Numbers of the kernels' arguments for each list: counts and indices, or
  /// bits.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> memory;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_TRANSPOSEBLOCKLISTS_H
