//===- KernelBuilder.h - A kernel with its ABI ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELBUILDER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELBUILDER_H

#include "Kernel/KernelOptions.h"
#include "Kernel/PackedHeads.h"
#include "RegionAnalysis/AffineScore.h"

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

namespace fovea {

/// Packed sequences, the ones with the most keys first.
struct SequenceOrder {
  /// Numbers of the kernel's arguments: where queries and keys of sequences
  /// begin, and the scratch memory that the order is in.
  unsigned queryOffsets, keyOffsets, order;
  /// Rows of a slot.
  int64_t tileM;
};

/// A kernel in the making: its function with memref arguments in the kernel's
/// order of dimensions, builder at its end, and the grid's decomposition.
struct KernelBuilder : KernelOptions {
  mlir::OpBuilder builder;
  mlir::gpu::GPUFuncOp kernel;
  attn::KernelOpInterface op;
  tile::ForeachWorkOp workLoop = {};
  /// Set where a scalar of type index might not fit 32 bits.
  bool hasWideIndex = false;
  /// Extremes of a captured tensor, along one dimension of it, that a prologue
  /// finds: for each block of so many elements.
  struct Summary {
    unsigned operand;
    int64_t dim, block;
    /// Number of the kernel's argument for it, and what that is.
    unsigned argument;
    launch::ScratchMemRefParameterAttr memory;
  };
  llvm::SmallVector<Summary> summaries = {};
  /// The order of packed sequences, if a prologue finds one.
  std::optional<SequenceOrder> sequenceOrder = {};
  /// Scratch memory that the prologue fills: the kernel's last arguments.
  llvm::SmallVector<launch::ScratchMemRefParameterAttr> scratch = {};
  /// Which rows tiles have, for the grid.
  PackedHeads packedHeads = {};
  /// Of the random numbers that the kernel draws, or null.
  mlir::IntegerAttr generator = {};

  mlir::Location getLoc() { return op->getLoc(); }
  /// Kernel argument of the op's operand or result.
  mlir::Value operandArgument(unsigned index);
  mlir::Value resultArgument(unsigned index);
  /// Those of the tensors that an op captures.
  llvm::SmallVector<mlir::Value>
  captureArguments(attn::AttentionOpInterface attention);
  /// Makes the argument of an operand a tensor that the copy engine can read:
  /// the last stride 1, 16-byte rows.
  void makeContiguous(unsigned operand);
  /// Size of a kernel dimension as index, a constant if static.
  mlir::Value size(mlir::Value memref, int64_t dim);
  mlir::Value constant(int64_t value);
  /// The same as i32; and an index as i32.
  mlir::Value integer(int64_t value);
  mlir::Value toInteger(mlir::Value index);
  /// An op where the builder stands; its first result.
  template <typename OpTy, typename... Args>
  mlir::Value make(Args &&...args) {
    return OpTy::create(builder, getLoc(), std::forward<Args>(args)...)
        ->getResult(0);
  }
  mlir::RankedTensorType tileType(int64_t rows, int64_t columns,
                                  mlir::Type element);
  /// How many of `keys` keys a batch entry has by the op's sequence form; null
  /// if it has all of them.
  mlir::Value emitKeyLength(attn::AttentionOpInterface attention,
                            mlir::Value batch, mlir::Value keys);
  /// A splat f32 tile.
  mlir::Value splat(int64_t rows, int64_t columns, double value);
  /// Loads a tile of one head: rows from `row`, columns from `column`. One
  /// without a name is no stream.
  mlir::Value loadHead(mlir::Value memref, mlir::Value batch, mlir::Value head,
                       mlir::Value row, int64_t column, int64_t rows,
                       int64_t columns, mlir::Value limit,
                       llvm::StringRef name);

  /// One item of work: a tile of rows.
  struct Work {
    mlir::Value batch, head, row;
  };
  /// The order of a head's tiles.
  enum class TileOrder {
    LastFirst,
    FirstFirst,
    /// For tiles of keys that follow each other through blocks of queries,
    /// under masks that look back: from the last but `finalTiles` to the first,
    /// so that each one begins where the one before it has been, then those
    /// last ones, the shortest, in turn.
    ShortestFirst
  };
  /// In which order CTAs take the tiles.
  struct WorkOrder {
    tile::WorkSchedule schedule = tile::WorkSchedule::Single;
    /// Where tiles take unequal time: that many heads at a time, the last tiles
    /// of all of them first, since masks that look back give those the most
    /// keys (or the first ones, see below). Null: the tiles of one head follow
    /// each other.
    mlir::Value headsPerSection;
    /// With sections: how many of the tiles that a head has last in its order
    /// are kept for the end, when CTAs run out of work one by one. Null: none.
    mlir::Value finalTiles;
    /// The same tile of all batch entries follows each other: they share what
    /// else it reads.
    bool batchFirst = false;
    /// In sections or not.
    TileOrder tiles = TileOrder::LastFirst;
    /// The last head's tiles first, the whole order turned round.
    bool lastItemsFirst = false;
  };
  /// Starts the loop over tiles of `tileM` of the `rows` that each head of each
  /// batch entry has; the builder goes on in it.
  Work beginWork(mlir::Value batch, mlir::Value heads, mlir::Value rows,
                 int64_t tileM, const WorkOrder &order);
  /// The builder goes on after that loop.
  void endWork();
  /// The tile at a place of a head's order, with `ShortestFirst`.
  mlir::Value emitShortestFirst(mlir::Value place, mlir::Value tiles,
                                mlir::Value finalTiles);
};

/// The scores before score_mod: products of queries and keys times the op's
/// scale, a constant or an operand.
AffineScore scaleProducts(KernelBuilder &kb, attn::AttentionOpInterface attention,
                        mlir::Value products);

/// One tile of queries of a packed sequence, or of keys where what is said of
/// queries and of keys is exchanged; rows of a sequence count from 0.
struct PackedTile {
  /// The sequence's number is the batch entry that regions see.
  KernelBuilder::Work work;
  /// Where its rows begin in memory, and how many there are.
  mlir::Value firstQuery, queries, firstKey, keys;
  /// Whether the item is one, i1: the grid has room for more, which have no
  /// rows and the last one's place.
  mlir::Value exists;
};

/// Numbers of the operands that say where sequences begin: the rows that tiles
/// are made of, and those that they meet.
struct PackedOffsets {
  unsigned queries, keys;
};

/// Starts the loop over tiles of packed sequences. `headsPerSection`, unless
/// null, says how many heads of a sequence with so many keys are taken
/// together, the last tiles first, or the first ones.
PackedTile beginPackedWork(
    KernelBuilder &kb, mlir::Value query, mlir::Value key,
    PackedOffsets offsets, plan::KernelAttr plan,
    llvm::function_ref<mlir::Value(mlir::Value keys)> headsPerSection,
    bool firstTilesFirst = false);

/// Heads in sections; in a section the last tiles of all heads first. Gives an
/// item's tile and head. With `inTurn` every other section has them the other
/// way round, the last section as without.
std::pair<mlir::Value, mlir::Value>
decodeSections(mlir::OpBuilder &b, mlir::Location loc, mlir::Value item,
               mlir::Value tiles, mlir::Value allHeads, mlir::Value perSection,
               mlir::Value lastTile, bool inTurn);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELBUILDER_H
