//===- KernelBuilder.h - State of a kernel under construction ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state shared by all lowerings to kernels: the function and its arguments,
// the loop over work items with its order, and helpers that emit common ops.
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

/// Packed sequences in descending order of their number of keys.
struct SequenceOrder {
  /// Argument indices: the offsets of queries, the offsets of keys or else the
  /// numbers of keys, and the scratch memory of the order.
  unsigned queryOffsets, keys;
  bool keysAreOffsets;
  unsigned order;
  /// Rows per query and rows of a slot.
  int64_t rowsPerQuery, tileM;
};

/// A kernel under construction: its function, whose memref arguments have the
/// kernel's dimension order, the builder at its end, and the loop over work
/// items.
struct KernelBuilder : KernelOptions {
  mlir::OpBuilder builder;
  mlir::gpu::GPUFuncOp kernel;
  attn::KernelOpInterface op;
  tile::ForeachWorkOp workLoop = {};
  /// Set if a scalar of type index might not fit 32 bits.
  bool hasWideIndex = false;
  /// Block min/max of a captured tensor along `dim`, per `block` elements,
  /// computed by a prologue kernel.
  struct MinMaxBuffer {
    unsigned operand;
    int64_t dim, block;
    /// Argument index and description of the scratch memory.
    unsigned argument;
    launch::ScratchMemRefParameterAttr memory;
  };
  llvm::SmallVector<MinMaxBuffer> minMaxBuffers = {};
  /// The order of packed sequences, if a prologue kernel computes one.
  std::optional<SequenceOrder> sequenceOrder = {};
  /// Scratch memory and workspaces: the kernel's last arguments.
  llvm::SmallVector<mlir::Attribute> scratch = {};
  /// PackGQA rows of tiles, for the grid.
  PackedHeads packedHeads = {};
  /// Version of the random generator that the kernel uses, or null.
  mlir::IntegerAttr generator = {};

  mlir::Location getLoc() { return op->getLoc(); }
  /// Kernel argument of the op's operand or result. An updated operand and its
  /// result have one argument.
  mlir::Value operandArgument(unsigned index);
  mlir::Value resultArgument(unsigned index);
  /// Arguments of the op's captured tensors.
  llvm::SmallVector<mlir::Value>
  captureArguments(attn::AttentionOpInterface attention);
  /// Makes the argument of an operand a tensor that TMA can read: last stride
  /// 1, 16-byte aligned rows.
  void makeContiguous(unsigned operand);
  /// Size of a dimension as index, a constant if static.
  mlir::Value size(mlir::Value memref, int64_t dim);
  mlir::Value constant(int64_t value);
  /// A constant as i32; an index as i32.
  mlir::Value integer(int64_t value);
  mlir::Value toInteger(mlir::Value index);
  /// Creates an op at the builder's position; returns its first result.
  template <typename OpTy, typename... Args>
  mlir::Value make(Args &&...args) {
    return OpTy::create(builder, getLoc(), std::forward<Args>(args)...)
        ->getResult(0);
  }
  mlir::RankedTensorType tileType(int64_t rows, int64_t columns,
                                  mlir::Type element);
  /// Number of keys of a batch entry by the op's sequence form; null if it has
  /// all `keys` keys.
  mlir::Value emitKeyLength(attn::AttentionOpInterface attention,
                            mlir::Value batch, mlir::Value keys);
  /// A splat f32 tile.
  mlir::Value splat(int64_t rows, int64_t columns, double value);
  /// Loads a tile of one head: rows from `row`, columns from `column`. Without
  /// a name the load is not a stream.
  mlir::Value loadHead(mlir::Value memref, mlir::Value batch, mlir::Value head,
                       mlir::Value row, int64_t column, int64_t rows,
                       int64_t columns, mlir::Value limit,
                       llvm::StringRef name);

  /// A work item: a tile of rows with all of their keys, or with one share of
  /// them.
  struct Work {
    mlir::Value batch, head, row;
    /// The index of the share, below `WorkOrder::shares`; null if there is one.
    mlir::Value share = {};
  };
  /// The order of a head's tiles.
  enum class TileOrder {
    LastFirst,
    FirstFirst,
    /// For key tiles with ordered accumulation under causal masks: from the
    /// last but `finalTiles` to the first, so that each tile starts where the
    /// previous one has been; then those last tiles, the shortest, in ascending
    /// order.
    ShortestFirst
  };
  /// The order in which CTAs take tiles.
  struct WorkOrder {
    tile::WorkSchedule schedule = tile::WorkSchedule::Single;
    /// Heads per L2 section, for tiles of unequal cost: a section starts with
    /// the last tiles of all its heads, which have the most keys under a causal
    /// mask (or with the first tiles, see `tiles`). Null: the tiles of one head
    /// are consecutive.
    mlir::Value headsPerSection;
    /// With sections: number of tail tiles, the last ones in a head's order,
    /// which are processed at the end to balance the tail. Null: none.
    mlir::Value finalTiles;
    /// The same tile of all batch entries is consecutive: they share the other
    /// data that it reads.
    bool batchFirst = false;
    /// Order of a head's tiles, with or without sections.
    TileOrder tiles = TileOrder::LastFirst;
    /// Reverses the whole order, so that the last head's tiles are first.
    bool lastItemsFirst = false;
    /// Number of consecutive items that share the keys of one tile.
    int64_t shares = 1;
  };
  /// Starts the loop over tiles of `tileM` of the `rows` of each head and batch
  /// entry; moves the builder into it.
  Work beginWork(mlir::Value batch, mlir::Value heads, mlir::Value rows,
                 int64_t tileM, const WorkOrder &order);
  /// Moves the builder after that loop.
  void endWork();
  /// The tile at index `place` of a head's order, with `ShortestFirst`.
  mlir::Value emitShortestFirst(mlir::Value place, mlir::Value tiles,
                                mlir::Value finalTiles);
};

/// The scores before score_mod: products of queries and keys times the op's
/// scale, a constant or an operand.
AffineScore scaleProducts(KernelBuilder &kb,
                          attn::AttentionOpInterface attention,
                          mlir::Value products);

/// Decodes an item of an order with L2 sections: returns its tile and its head
/// over all batch entries. In a section the last tiles of all heads are first.
/// With `inTurn` every other section is reversed, but not the last one.
std::pair<mlir::Value, mlir::Value>
decodeSections(mlir::OpBuilder &b, mlir::Location loc, mlir::Value item,
               mlir::Value tiles, mlir::Value allHeads, mlir::Value perSection,
               mlir::Value lastTile, bool inTurn);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELBUILDER_H
