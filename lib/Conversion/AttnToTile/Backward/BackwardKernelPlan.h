//===- BackwardKernelPlan.h - One kernel of a backward pass -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H

#include "fovea/Schedule/BackwardPlans.h"

namespace fovea {

/// What is decided of one kernel of a backward pass before any of it is
/// emitted; no IR.
struct BackwardKernelPlan {
  /// Of queries: D, with zeros for dQ's sums; D, and of all pairs what is asked
  /// for; or dQ, rounded sums. Of keys: dK and dV, and what there is to add to
  /// dQ's sums.
  /// Turns: when each tile of keys may add to a block of queries.
  enum Kind { Delta, Queries, Round, Keys, Turns };
  Kind kind;
  llvm::StringRef suffix;
  /// Turns are those of the kernel of keys, whose plan this is then.
  plan::KernelAttr plan = {};
  /// Head dims, padded to what products sum over.
  int64_t headDim = 0, valueHeadDim = 0;
  /// Of a kernel of keys: what it finds.
  bool key = false, value = false;
  /// Of a kernel of queries: whether it finds dQ, and the sinks' gradient;
  /// whether it leaves D to others.
  bool query = false, sinks = false, storesDelta = false;
  /// Of one that has dQ before it is scaled: whether it finds the gradient by
  /// the scale.
  bool scale = false;
  /// It finds sums over pairs: gradients by captured values, and by the scale
  /// where nobody finds it with dQ.
  bool sums = false;
  /// dQ is summed in memory.
  bool addsQuery = false;
  /// Then: one register of all lanes behind the other, where an instruction
  /// adds an element of each lane.
  bool sumsByRegister = false;
  /// Then: in one order of the tiles, which take turns.
  bool ordersSums = false;
  /// Then: dS stays in registers for dK's product; a part of dQ's share of a
  /// block is found while the one before is added.
  bool keepsGradients = false, addsAhead = false;
  /// Of a kernel of keys: dV's product is issued after dS is computed, and dP's
  /// starts from -delta.
  bool valuesLate = false, startsFromDelta = false;
  /// Of such a kernel: dS is computed from rounded P.
  bool roundsWeights = false;
  KeyRoles keyRoles = KeyRoles::Joint;
  /// Rows and columns of a product for dQ.
  int64_t partRows = kQueryPartRows, partColumns = kQueryPartColumns;
  /// What queries have of their own is read before the products beside it are
  /// issued, not when it is needed.
  bool exponentsFirst = false, deltaFirst = false;
  /// Score_mod's derivative is found with the weights, not when it is needed.
  bool slopesFirst = false;
  /// A tile of keys visits a block of all heads of its group before the next
  /// one: the tiles of a head stay together then, and share what L2 holds.
  bool visitsGroups = false;
  /// Tiles of keys take turns at dQ's sums from the diagonal on, each behind
  /// the one that begins a block later.
  bool followsDiagonal = false;
  /// Each of those begins at a block of its own. Those of a document without a
  /// diagonal begin at one, and wait for each other there.
  bool beginsApart = false;

  /// Its tiles are queries, or keys.
  bool hasQueryTiles() const { return kind != Keys && kind != Turns; }
  /// It writes whole blocks of memory in fragments, at least one.
  bool fillsFragments() const { return kind == Delta && addsQuery; }

  /// Rows of the kernel's tile.
  int64_t getTileRows() const { return plan->tileM; }
  /// Parts of it, with as many rows each, that a role of its own meets.
  int64_t getStrips() const {
    return keyRoles == KeyRoles::Strips ? kKeyStrips : 1;
  }
  /// Extents of a tile of scores.
  int64_t getRows() const { return getTileRows() / getStrips(); }
  int64_t getColumns() const { return plan->tileN; }
  /// Queries and keys of one.
  int64_t countQueries() const {
    return hasQueryTiles() ? getRows() : getColumns();
  }
  int64_t countKeys() const {
    return hasQueryTiles() ? getColumns() : getRows();
  }
  /// A name of what each strip has of its own.
  std::string getStripName(llvm::StringRef name, int64_t strip) const {
    return getStrips() == 1 ? name.str()
                            : (name + "." + llvm::Twine(strip)).str();
  }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H
