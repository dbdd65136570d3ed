//===- SharedMemoryModel.cpp - What the warps of a CTA share ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemoryModel.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

void Signal::apply() const {
  if (consumer)
    pipeline->announceRelease(*consumer, stage);
  else
    pipeline->announceCommit(stage);
}

const StoredRows *Slot::findStored(const Party &party) const {
  for (const StoredRows &rows : stored)
    if (rows.party == party)
      return &rows;
  return nullptr;
}

Operation *Slot::findUnfenced(const Party &party) const {
  for (auto &[writer, op] : unfenced)
    if (writer == party)
      return op;
  return nullptr;
}

void Slot::fence(const Party &party) {
  llvm::erase_if(unfenced, [&](auto &entry) { return entry.first == party; });
}
