//===- SharedMemoryModel.cpp - What the warps of a CTA share ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp/SharedMemoryModel.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

void Signal::apply() const {
  if (releases)
    pipeline->announceRelease(party, stage);
  else
    pipeline->announceCommit(party, stage);
}

const StoredRows *Slot::findStored(const Party &party) const {
  for (const StoredRows &rows : stored)
    if (rows.party == party)
      return &rows;
  return nullptr;
}

const FilledRows *Slot::findFilled(const Party &party) const {
  for (const FilledRows &rows : filled)
    if (rows.party == party && rows.use.isFilledBy(party))
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
