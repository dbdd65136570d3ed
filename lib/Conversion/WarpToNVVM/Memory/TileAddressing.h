//===- TileAddressing.h - A thread's elements of a tile -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses and predicates of a thread's elements of a tile in global memory,
// with the common parts computed once.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_TILEADDRESSING_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_TILEADDRESSING_H

#include "Memory/GlobalAddress.h"

#include <map>

namespace fovea {

/// Emits addresses and predicates for the elements of a tile that a thread
/// holds.
class TileAddressing {
public:
  /// Rows from `limit` on, unless null, do not exist.
  TileAddressing(mlir::OpBuilder &b, mlir::Location loc, const GlobalView &view,
                 mlir::ValueRange indices, const tile::BoxDims &dims,
                 mlir::RankedTensorType tile, mlir::Value limit);

  /// The address of register `index` of the tile.
  Place getPlace(unsigned index);

  /// True if registers `index` and `index + 1` are adjacent in memory, aligned
  /// to a pair, and exist together.
  bool isPair(unsigned index);

  /// For memory in fragments: registers in memory order, in groups of adjacent
  /// elements of up to 16 bytes.
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> getFragmentGroups();

  /// True if chunks of 8 columns, from the tile's first, exist as a whole and
  /// are contiguous in memory.
  bool hasWholeChunks();

  /// True if the tile is a vector of many registers along one memory dimension,
  /// so that one bounds check for all of them pays off.
  bool isVector() { return isVector(tile, dims); }
  static bool isVector(mlir::RankedTensorType tile, const tile::BoxDims &dims);

  /// For vectors: i1, true if all elements exist and are contiguous, and pairs
  /// of registers are aligned. Other threads may differ.
  mlir::Value emitIsPlain();

  /// The address of register `index` of a vector, recomputed for each register:
  /// only a few values stay live.
  Place getVectorPlace(unsigned index);

  /// Loads the registers of a plain vector, pairs with one instruction. All
  /// lanes of the warp must execute it: if each lane needs pairs of the whole
  /// vector, the warp loads it once and shuffles.
  llvm::SmallVector<mlir::Value> emitPlainLoads();

  /// True if each lane of a warp holds pairs of the whole vector, by its
  /// columns.
  bool isHeldByWarp() const;
  /// Loads the lane's share of such a vector if `predicate` holds.
  llvm::SmallVector<mlir::Value> emitShares(mlir::Value predicate);
  /// Distributes the lanes' shares to the registers of such a vector by
  /// shuffles. All lanes must execute it.
  llvm::SmallVector<mlir::Value>
  distributeShares(llvm::ArrayRef<mlir::Value> shares);

  /// Offsets of the registers along a dimension of the tile.
  llvm::ArrayRef<int64_t> getOffsets(int64_t t) { return offsets[t]; }

  mlir::Type getMemoryType() const { return fovea::getMemoryType(view); }

private:
  /// A coordinate along one dimension of the tile.
  struct Along {
    mlir::Value distance; // in elements, i64
    mlir::Value inside;   // null: always true
  };

  void prepare();
  mlir::Value both(mlir::Value x, mlir::Value y);
  /// The dimension of the tile that a vector runs along.
  int64_t getDirection() const { return dims.row == -1 ? 1 : 0; }
  /// True if a register of a vector and the next one form an aligned pair.
  bool startsPair(size_t index);
  /// Address of the thread's first element of a plain vector.
  mlir::Value emitFirstAddress();
  bool isEvenStart();
  /// 0 <= coordinate < bound, as one unsigned comparison.
  mlir::Value isInside(int64_t dim, mlir::Value coordinate);
  const Along &lookup(int64_t t, int64_t offset);
  mlir::Value addBits(mlir::Value sum, mlir::Value coordinate, int64_t shift,
                      int64_t mask, int64_t weight);
  /// For memory in fragments: offsets of coordinates.
  mlir::Value emitFragmentRow(int64_t offset);
  mlir::Value emitFragmentColumn(int64_t t, int64_t offset);
  /// The offset of a row that is folded from two dimensions (PackGQA).
  Along getFoldedRow(int64_t offset);
  /// True if the start is constant, the bound static, and the whole tile
  /// inside.
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
  /// The first offset of a vector that exists, and the end of those that do;
  /// i32.
  mlir::Value firstInside, endInside;
  std::map<int64_t, Along> cache[2];
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_TILEADDRESSING_H
