//===- RelativePositionReduce.h - Sums by relative position -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of a tile's elements by relative position (column minus row), within
// each warp, for scatters that add to an index of the relative position.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_RELATIVEPOSITIONREDUCE_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_RELATIVEPOSITIONREDUCE_H

#include "WarpToNVVM.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fovea {

/// Returns true if a scatter sums elements of equal relative position first:
/// its indices are scalars and tiles of relative positions, and each warp owns
/// rows in blocks of 8 rows and columns.
bool reducesByRelativePosition(tile::ScatterOp op);
/// Returns true if only such scatters use the op: they take its operand
/// directly.
bool isUsedByReductionsOnly(tile::DiagonalsOp op);

/// Sums, in each warp, the elements of equal relative position of the tile that
/// a scatter adds.
///
/// A block of 8 rows and columns has the same relative positions as the block
/// one step below and to the right, so a thread sums those by itself. Let D be
/// the index of the remaining blocks: lane 4g + c holds columns 2c and 2c + 1
/// of row g of each. Then rows are summed in pairs: those at distance 1, at
/// distance 2 and at distance 4. The second row of a pair is shifted by its
/// distance in columns, and each of the two rows' lanes keeps half of the sums.
/// Each step halves the registers of a lane, so the total number of exchanges
/// is about the initial number of registers.
class RelativePositionReduce {
public:
  RelativePositionReduce(mlir::OpBuilder &builder, tile::ScatterOp op);

  /// The sum of register `number` in the layout of relative positions.
  struct Sum {
    unsigned number;
    mlir::Value value;
    /// i1, true if this sum is the only one of the lane's relative position;
    /// null: always true.
    mlir::Value counts;
  };
  using Registers = llvm::SmallVector<mlir::Value>;
  /// A thread's sums of each remaining block, in even and odd columns.
  struct BlockSums {
    Registers even, odd;
  };
  BlockSums addBlocks(mlir::ValueRange elements);
  llvm::SmallVector<Sum> add(const BlockSums &blocks);
  /// The registers for which `add` returns sums.
  llvm::SmallVector<unsigned> getNumbers() const;

private:
  /// The exchange of sums among lanes in one of the three steps.
  struct Exchange {
    /// The lane to receive from.
    mlir::Value from;
    /// i1, true if the received value belongs to the next block, because its
    /// columns, shifted by the distance of the rows, leave their block.
    mlir::Value isLate;
    /// i1, true if the lane keeps blocks with odd indices.
    mlir::Value keepsOdd;
  };

  /// The exchange between two rows; `isSecond` tells whether the lane holds the
  /// second one.
  Exchange makeExchange(mlir::Value isSecond, mlir::Value from);

  Registers addNeighbours(llvm::ArrayRef<mlir::Value> even,
                          llvm::ArrayRef<mlir::Value> odd, const Exchange &by);
  /// Sums pairs of rows and keeps half of the registers.
  Registers halve(llvm::ArrayRef<mlir::Value> held, const Exchange &by);
  /// The lane that holds the sum of the relative position with this index
  /// modulo 32 after the last step.
  mlir::Value findLane(mlir::Value remainder);

  /// The lane with bits 2 and 0 of its row, and the shifted columns `moved` of
  /// the two rows that differ in bit 1.
  mlir::Value makeLane(mlir::Value row4, mlir::Value row1, mlir::Value moved);
  /// Moves the sums from the lanes of the last step to the layout of relative
  /// positions.
  llvm::SmallVector<Sum> distribute(llvm::ArrayRef<mlir::Value> held);
  /// Number of relative positions of a warp's rows.
  int64_t countPositions() const;

  mlir::Value i32(int64_t value);
  mlir::Value bit(mlir::Value of, int64_t number);
  mlir::Value isOne(mlir::Value bit);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value sum(mlir::Value x, mlir::Value y);
  mlir::Value shuffle(mlir::Value value, mlir::Value lane);

  mlir::ImplicitLocOpBuilder b;
  mlir::RankedTensorType tile;
  warp::DiagonalsAttr diagonals;
  mlir::Value lane, column;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_RELATIVEPOSITIONREDUCE_H
