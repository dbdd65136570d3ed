//===- TurnedLists.h - Lists of blocks, by keys -----------------*- C++ -*-===//
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
// numbers of blocks of queries in ascending order.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_TURNEDLISTS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_TURNEDLISTS_H

#include "HelperKernels.h"
#include "VisitedBlocks.h"

namespace fovea {

class TurnedLists {
public:
  explicit TurnedLists(attn::AttentionOpInterface op) : op(op) {}

  /// Gives the kernel memory for them.
  void declare(KernelBuilder &kb);
  /// Those of a kernel that has the memory.
  BlockLists get(KernelBuilder &kb);
  /// Makes the kernel that fills the memory, if there is any; one more kernel
  /// of the prologue of the one whose ABI is `main`.
  void buildKernel(const KernelBuilder &kb, launch::AbiOp main);

private:
  attn::AttentionOpInterface op;
  /// Numbers of the kernels' arguments for counts and indices of each list.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2> memory;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_TURNEDLISTS_H
