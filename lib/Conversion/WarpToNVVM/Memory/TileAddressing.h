//===- TileAddressing.h - A thread's elements of a box of memory ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_TILEADDRESSING_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_TILEADDRESSING_H

#include "Memory/GlobalAddress.h"

#include <map>

namespace fovea {

/// Emits addresses and predicates of the elements that a thread holds of a box.
class TileAddressing {
public:
  /// Rows from `limit` on, unless null, don't exist.
  TileAddressing(mlir::OpBuilder &b, mlir::Location loc, const GlobalView &view,
            mlir::ValueRange indices, const tile::BoxDims &dims,
            mlir::RankedTensorType tile, mlir::Value limit);

  /// Where register `index` of the tile lives.
  Place getPlace(unsigned index);

  /// True if two registers are neighbours in memory, aligned to a pair, and
  /// exist together.
  bool isPair(unsigned index);

  /// In fragments: registers in the order of memory, in groups of neighbours
  /// that 16 bytes hold.
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> getFragmentGroups();

  /// True if chunks of 8 columns, from the tile's first, exist as a whole and
  /// lie side by side in memory.
  bool hasWholeChunks();

  /// True if the tile is a vector of many registers: all run along one
  /// dimension of memory, and to ask once about all of them is worth it.
  bool isVector() { return isVector(tile, dims); }
  static bool isVector(mlir::RankedTensorType tile, const tile::BoxDims &dims);

  /// Of a vector: all elements exist and lie side by side, and pairs of
  /// registers are aligned, as far as the thread can see.
  mlir::Value emitIsPlain();

  /// Where register `index` of a vector lives, found anew for each: they share
  /// no more than a few values.
  Place getVectorPlace(unsigned index);

  /// The registers of a plain vector, pairs by one instruction. All lanes of
  /// the warp take part: where each has pairs of all of it, they read it once.
  llvm::SmallVector<mlir::Value> emitPlainLoads();

  /// Whether each lane of a warp has pairs of all of a vector, by its columns.
  bool isHeldByWarp() const;
  /// What the lane reads of such a vector for all lanes, if `predicate` holds.
  llvm::SmallVector<mlir::Value> emitShares(mlir::Value predicate);
  /// The registers of such a vector, from the lanes' shares. All lanes take
  /// part.
  llvm::SmallVector<mlir::Value> handOut(llvm::ArrayRef<mlir::Value> shares);

  /// Offsets of the registers along a dimension of the tile.
  llvm::ArrayRef<int64_t> getOffsets(int64_t t) { return offsets[t]; }

  mlir::Type getMemoryType() const { return fovea::getMemoryType(view); }

private:
  /// A coordinate along one dimension of the tile.
  struct Along {
    mlir::Value distance; // in elements, i64
    mlir::Value inside;   // null: always
  };

  void prepare();
  mlir::Value both(mlir::Value x, mlir::Value y);
  /// Along which dimension of the tile a vector runs.
  int64_t getDirection() const { return dims.row == -1 ? 1 : 0; }
  /// Whether a register of a vector and the next one are two neighbours.
  bool startsPair(size_t index);
  /// Where the thread's first element of a plain vector lies.
  mlir::Value emitFirstAddress();
  bool isEvenStart();
  /// 0 <= coordinate < bound, as one unsigned comparison.
  mlir::Value isInside(int64_t dim, mlir::Value coordinate);
  const Along &lookup(int64_t t, int64_t offset);
  mlir::Value addBits(mlir::Value sum, mlir::Value coordinate, int64_t shift,
                      int64_t mask, int64_t weight);
  /// In fragments: where coordinates lie.
  mlir::Value emitFragmentRow(int64_t offset);
  mlir::Value emitFragmentColumn(int64_t t, int64_t offset);
  /// A row that has a coordinate along two dimensions.
  Along getFoldedRow(int64_t offset);
  /// Constant start, static bound, and the whole tile inside.
  bool isAlwaysInside(int64_t t);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const GlobalView &view;
  tile::BoxDims dims;
  mlir::RankedTensorType tile;
  llvm::SmallVector<mlir::Value> start, bounds;
  mlir::Value origin, always;
  llvm::SmallVector<int64_t> offsets[2];
  mlir::Value base[2];
  /// The first and the one behind the last offset of a vector that exist, i32.
  mlir::Value firstInside, endInside;
  std::map<int64_t, Along> cache[2];
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_TILEADDRESSING_H
