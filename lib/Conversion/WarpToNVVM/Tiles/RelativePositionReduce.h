//===- RelativePositionReduce.h - Sums along a tile's diagonals -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_RELATIVEPOSITIONREDUCE_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_RELATIVEPOSITIONREDUCE_H

#include "WarpToNVVM.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fovea {

/// Whether a scatter adds up elements that lie on one diagonal first: its
/// indices are scalars and tiles made of diagonals, and each warp holds rows of
/// its own in blocks of 8 rows and columns.
bool sumsDiagonals(tile::ScatterOp op);
/// Whether nothing but such scatters asks for a tile made of diagonals: they
/// take the diagonals as they are.
bool isForSums(tile::DiagonalsOp op);

/// Adds up, in each warp, what lies on one diagonal of the tile that a scatter
/// adds.
///
/// A block of 8 rows and columns has the diagonals of the block below it and to
/// its right, so a thread adds those up alone. Let D number the blocks that
/// remain: lane 4g + c holds columns 2c and 2c + 1 of row g of each. Rows are
/// then added up in pairs, those at distance 1, at distance 2 and at distance
/// 4; the second row of a pair is meant as many columns earlier, and the lanes
/// that hold the pair keep half of its sums each. So what each lane holds
/// halves three times, and takes about as many exchanges as it had registers.
class RelativePositionReduce {
public:
  RelativePositionReduce(mlir::OpBuilder &builder, tile::ScatterOp op);

  /// The sum that goes with register `number` of the diagonals' layout.
  struct Sum {
    unsigned number;
    mlir::Value value;
    /// Whether the lane's diagonal is one that has no other sum; null: always.
    mlir::Value counts;
  };
  using Registers = llvm::SmallVector<mlir::Value>;
  /// What a thread holds of each remaining block, in even and odd columns.
  struct BlockSums {
    Registers even, odd;
  };
  BlockSums addBlocks(mlir::ValueRange elements);
  llvm::SmallVector<Sum> add(const BlockSums &blocks);
  /// The registers that `add` has sums for.
  llvm::SmallVector<unsigned> getNumbers() const;

private:
  /// How lanes exchange sums in one of the three steps.
  struct Exchange {
    /// The lane that has what this one lacks.
    mlir::Value from;
    /// Whether what comes from there goes to the next block: true where
    /// columns, moved by the rows' distance, leave theirs.
    mlir::Value isLate;
    /// Whether the lane keeps blocks with odd numbers.
    mlir::Value keepsOdd;
  };

  /// Between two rows, of which the lane holds the second one or not.
  Exchange makeExchange(mlir::Value isSecond, mlir::Value from);

  Registers addNeighbours(llvm::ArrayRef<mlir::Value> even,
                          llvm::ArrayRef<mlir::Value> odd, const Exchange &by);
  /// Adds up rows, and leaves half of the registers.
  Registers halve(llvm::ArrayRef<mlir::Value> held, const Exchange &by);
  /// The lane that `halve` has left a sum in, of the diagonal whose number has
  /// that remainder by 32.
  mlir::Value findLane(mlir::Value remainder);

  /// The lane with that bit 2 and bit 0 of its row, and with the columns
  /// `moved` of the two rows that differ in bit 1.
  mlir::Value makeLane(mlir::Value row4, mlir::Value row1, mlir::Value moved);
  /// Brings what the steps have left to where the diagonals' layout has it.
  llvm::SmallVector<Sum> distribute(llvm::ArrayRef<mlir::Value> held);
  /// Diagonals of a warp's rows.
  int64_t countDiagonals() const;

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
