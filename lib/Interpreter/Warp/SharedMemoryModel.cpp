//===- SharedMemoryModel.cpp - State of shared memory -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signals to pipelines, and lookup of an agent's rows and stores in a slot.
//
//===----------------------------------------------------------------------===//

#include "Warp/SharedMemoryModel.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

void Signal::apply() const {
  if (releases)
    pipeline->signalRelease(party, stage);
  else
    pipeline->signalCommit(party, stage);
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

Operation *Slot::findUnfenced(const Party &party, bool ownRows) const {
  for (auto &[writer, op] : unfenced)
    if (writer == party || (use && (writer.role != party.role || !ownRows)))
      return op;
  return nullptr;
}

void Slot::fence(const Party &party) {
  llvm::erase_if(unfenced, [&](auto &entry) { return entry.first == party; });
}
