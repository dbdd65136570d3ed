//===- RegionEmitter.h - Region ops on tiles --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the ops of a region for a score block, as scalar or tile ops.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONEMITTER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONEMITTER_H

#include "KeyBlocks/BlockTiles.h"
#include "RegionAnalysis/RegionRanges.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace fovea {

/// The kernel's values for those of a region: a scalar if uniform in the block,
/// else a tile as large as the dimensions that it depends on.
class RegionValues {
public:
  /// Maps a value, or several.
  template <typename From, typename To>
  void map(From &&values, To &&by) {
    mapping.map(std::forward<From>(values), std::forward<To>(by));
  }
  mlir::Value lookup(mlir::Value value) const { return mapping.lookup(value); }
  mlir::Value lookupOrNull(mlir::Value value) const {
    return mapping.lookupOrNull(value);
  }
  bool contains(mlir::Value value) const { return mapping.contains(value); }
  /// Maps a value that depends on the relative position alone to a 1x(M+N) tile
  /// with one element per relative position, in addition to or in place of a
  /// score tile.
  void mapRelative(mlir::Value value, mlir::Value by) {
    diagonals.try_emplace(value, by);
  }
  mlir::Value lookupRelative(mlir::Value value) const {
    return diagonals.lookup(value);
  }
  /// True if the value is a scalar.
  bool isUniform(mlir::Value value) const;
  bool areUniform(mlir::ValueRange values) const {
    return llvm::all_of(values, [&](mlir::Value v) { return isUniform(v); });
  }
  /// Clones an op on scalars and maps its results.
  mlir::Operation *clone(mlir::OpBuilder &b, mlir::Operation *op) {
    return b.clone(*op, mapping);
  }

private:
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, mlir::Value> diagonals;
};

/// True if `op` is an integer division or remainder.
bool isIntegerDivision(mlir::Operation *op);

/// `divisor`, a scalar or a tile, with 1 in place of 0. A kernel also divides
/// for missing elements, whose captured values read as 0, and for masked ones,
/// whose divisor may be anything.
mlir::Value emitHarmlessDivisor(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Value divisor, bool isNonNegative);

/// Emits the ops of a region one by one for a whole score block, each with the
/// shape that joins those of its operands. On tiles, values of type `index`
/// become i32 if their range allows, else i64.
class RegionEmitter {
public:
  /// Scalars are emitted at `scalars`, tiles at `builder`; `exact` are the
  /// floats that must not be approximated.
  RegionEmitter(mlir::OpBuilder &builder, mlir::OpBuilder &scalars,
                const RegionContext &context, const RegionRanges &ranges,
                const llvm::DenseSet<mlir::Value> &exact)
      : builder(builder), scalars(scalars), context(context), ranges(ranges),
        exact(exact), tiles(builder, context) {}

  mlir::OpBuilder &builder, &scalars;
  const RegionContext &context;
  const RegionRanges &ranges;
  const llvm::DenseSet<mlir::Value> &exact;
  const BlockTiles tiles;
  RegionValues values;

  /// Reports ops that are not arithmetic on scalars.
  static mlir::LogicalResult checkArithmetic(mlir::Operation *op);
  /// Emits arithmetic on scalars.
  void emitUniform(mlir::Operation *op);
  /// Emits arithmetic on tiles.
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  void emitLength(mlir::Operation *op);
  mlir::LogicalResult emitDim(mlir::tensor::DimOp op);

  /// The scalar of a value, as index if it is one. Records in the context if it
  /// might not fit 32 bits.
  mlir::Value asIndex(mlir::Value value);
  /// Records in the context if a scalar index might not fit 32 bits.
  void noteWidth(mlir::Value value);
  /// True if some scalar of type index became an i64.
  bool hasWideScalars() const { return hasWideScalar; }

private:
  /// Allows the GPU's approximations in `clone`, made from `op`, unless its
  /// value must be exact.
  void allowApproximation(mlir::Operation *op, mlir::Operation *clone);
  /// The divisor of the integer division `op`, with 1 in place of 0.
  mlir::Value makeHarmlessDivisor(mlir::OpBuilder &b, mlir::Operation *op,
                                  mlir::Value divisor);
  /// Emits an op on scalars of type index that might not fit 32 bits as an i64
  /// op, since the kernel's index may have 32 bits.
  void emitWide(mlir::Operation *op);
  llvm::SmallVector<mlir::Value> emitWideResults(mlir::Operation *op);
  /// The shape of the result of `op`.
  llvm::SmallVector<int64_t, 2> joinShapes(mlir::Operation *op);
  /// Bit width of an op on indices.
  unsigned getIndexWidth(mlir::Operation *op);
  /// Emits a cast between index and integers as a change of width.
  mlir::Value castIndex(mlir::Operation *op, mlir::Value source,
                        mlir::RankedTensorType type);
  /// `value`, the kernel's value of `of`, as a tile of `shape`; index as an
  /// integer of `indexWidth`.
  mlir::Value asTile(mlir::Location loc, mlir::Value of, mlir::Value value,
                     llvm::ArrayRef<int64_t> shape, unsigned indexWidth);
  /// A splat of the scalar `index`, as the integer type of `type`.
  mlir::Value splat(mlir::Location loc, mlir::Value index,
                    mlir::RankedTensorType type);

  bool hasWideScalar = false;
  /// The last results of `splat`.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> splats;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONEMITTER_H
