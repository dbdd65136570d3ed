//===- PackedSequences.h - Tiles of packed sequences ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over tiles of sequences whose rows are packed into one batch entry.
// The sequence that is divided into tiles is called the queries; the lowering
// of key tiles exchanges queries and keys.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDSEQUENCES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDSEQUENCES_H

#include "Kernel/SequenceOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fovea {

/// The rows of a sequence: the first one in memory, or null if the sequence is
/// a batch entry, and their number.
struct SequenceRows {
  mlir::Value first, count;
};

/// A query tile of a packed sequence; rows of a sequence count from 0.
struct PackedTile {
  /// The sequence's index is the batch entry that regions see. The row is that
  /// of the tile: with PackGQA queries times heads of a group.
  KernelBuilder::Work work;
  SequenceRows queries, keys;
  /// True if the item exists, i1: the grid has room for more, which have no
  /// rows and the position of the last item. Null with shares.
  mlir::Value exists;
};

/// Emits the loop over tiles of packed sequences.
class PackedWorkEmitter {
public:
  /// Emits, at the positions of the builder, the keys of a sequence.
  using LocateKeys = llvm::function_ref<SequenceRows(mlir::Value sequence)>;
  /// Heads per L2 section for a sequence with so many keys.
  using HeadsPerSection = llvm::function_ref<mlir::Value(mlir::Value keys)>;

  PackedWorkEmitter(KernelBuilder &kb, const PackedWork &work,
                    plan::KernelAttr plan);

  /// Starts the loop. Without `headsPerSection` the tiles of one head are
  /// consecutive; sections start with the last tiles, or with the first ones if
  /// `firstTilesFirst`.
  PackedTile begin(LocateKeys locateKeys, HeadsPerSection headsPerSection,
                   bool firstTilesFirst);

  /// The number of items of a loop over shares: heads of sequences.
  mlir::Value countShared();
  mlir::Value countTiles(mlir::Value sequence);
  /// An upper bound of the tiles of the sequences before this one: at most the
  /// tiles of all rows, and one per sequence.
  mlir::Value countTilesBefore(mlir::Value sequence) {
    return emitFirstSlot(sequence);
  }
  /// Tile `index` of a sequence and head.
  PackedTile describe(mlir::Value sequence, mlir::Value head, mlir::Value index,
                      LocateKeys locateKeys);

private:
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value loadOrder(int64_t row, mlir::Value place);
  mlir::Value emitFirstSlot(mlir::Value place);
  mlir::Value emitSlotBound();
  void countSequences();
  void emitSearchRange();
  mlir::Value emitSearch(mlir::Value slot);
  /// Clamps a slot that comes from scratch memory to the available slots.
  mlir::Value clampSlot(mlir::Value slot);
  /// Starts the loop over items; returns their number.
  mlir::Value beginLoop();
  /// The sequence at `place`: its index and its rows.
  PackedTile emitSequence(mlir::Value place, LocateKeys locateKeys);
  /// The sequence's tile and the head of an item.
  std::pair<mlir::Value, mlir::Value>
  emitTileAndHead(mlir::Value item, mlir::Value place, mlir::Value keys,
                  HeadsPerSection headsPerSection, bool firstTilesFirst);
  /// Removes the rows and keys of items that do not exist or have no rows.
  void clip(PackedTile &tile);

  KernelBuilder &kb;
  mlir::OpBuilder &b;
  mlir::Location loc;
  PackedWork work;
  tile::WorkSchedule schedule;
  mlir::Value offsets;
  int64_t tileM;
  /// The order computed by a prologue kernel; null for the caller's order.
  mlir::Value order;
  mlir::Value queryRows;
  /// Slots of the host's grid.
  mlir::Value slotBound;
  /// Number of sequences; steps of a search, and the widest of them.
  mlir::Value sequences, steps, widest;
};

/// The rows of sequence `n` by `offsets`, clamped to the `rows` of the tensor.
SequenceRows emitPackedRows(KernelBuilder &kb, mlir::Value offsets,
                            mlir::Value n, mlir::Value rows);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDSEQUENCES_H
