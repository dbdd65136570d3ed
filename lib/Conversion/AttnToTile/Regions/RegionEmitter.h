//===- RegionEmitter.h - Ops of a region on tiles ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// What stands in a kernel for the values of a region: a scalar where they are
/// the same for the whole block, else a tile as large as what they depend on.
class RegionValues {
public:
  /// A value, or several.
  template <typename From, typename To>
  void map(From &&values, To &&by) {
    mapping.map(std::forward<From>(values), std::forward<To>(by));
  }
  mlir::Value lookup(mlir::Value value) const { return mapping.lookup(value); }
  mlir::Value lookupOrNull(mlir::Value value) const {
    return mapping.lookupOrNull(value);
  }
  bool contains(mlir::Value value) const { return mapping.contains(value); }
  /// Of what depends on the distance of query and key alone: a 1x(M+N) tile of
  /// it by distance, besides the tile of scores or in its place.
  void mapDiagonals(mlir::Value value, mlir::Value by) {
    diagonals.try_emplace(value, by);
  }
  mlir::Value lookupDiagonals(mlir::Value value) const {
    return diagonals.lookup(value);
  }
  /// Whether a scalar stands for it.
  bool isUniform(mlir::Value value) const;
  bool areUniform(mlir::ValueRange values) const {
    return llvm::all_of(values, [&](mlir::Value v) { return isUniform(v); });
  }
  /// Clones an op on scalars, whose results stand for those of `op`.
  mlir::Operation *clone(mlir::OpBuilder &b, mlir::Operation *op) {
    return b.clone(*op, mapping);
  }

private:
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, mlir::Value> diagonals;
};

/// Emits the ops of a region one by one, for a block of scores at once: each at
/// the join of what its operands depend on. Values of type `index` become i32
/// on tiles where their range allows, else i64.
class RegionEmitter {
public:
  /// Scalars go to where `scalars` stands, tiles to where `builder` does;
  /// `exact` are the floats that nothing may be approximated for.
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

  /// Checks that `op` is arithmetic on numbers.
  static mlir::LogicalResult checkArithmetic(mlir::Operation *op);
  /// Emits arithmetic on scalars.
  void emitUniform(mlir::Operation *op);
  /// Emits arithmetic on what differs within the block.
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  void emitLength(mlir::Operation *op);
  mlir::LogicalResult emitDim(mlir::tensor::DimOp op);

  /// The scalar that stands for a value, as index if that is one. Says so in
  /// the context if it might not fit 32 bits.
  mlir::Value asIndex(mlir::Value value);
  /// Says so in the context if a scalar index might not fit 32 bits.
  void noteWidth(mlir::Value value);
  /// Whether some scalar of type index became an i64.
  bool hasWideScalars() const { return hasWideScalar; }

private:
  /// Allows the chip's approximations for what `clone`, made of `op`, computes,
  /// where the last places don't matter.
  void allowApproximation(mlir::Operation *op, mlir::Operation *clone);
  /// The divisor of `op`, an integer division, but 1 where it is 0.
  mlir::Value makeHarmlessDivisor(mlir::OpBuilder &b, mlir::Operation *op,
                                  mlir::Value divisor);
  /// Emits an op on scalars of type index that might not fit 32 bits, as one on
  /// i64: the kernel's index may have 32.
  void emitWide(mlir::Operation *op);
  llvm::SmallVector<mlir::Value> emitWideResults(mlir::Operation *op);
  /// The rows and columns of what `op` gives.
  llvm::SmallVector<int64_t, 2> joinShapes(mlir::Operation *op);
  /// Bits that an op on indices computes in.
  unsigned getIndexWidth(mlir::Operation *op);
  /// A cast between index and integers is one between widths on tiles.
  mlir::Value castIndex(mlir::Operation *op, mlir::Value source,
                        mlir::RankedTensorType type);
  /// `value`, which stands for `of`, as a tile of `shape`; index as an integer
  /// of `indexWidth`.
  mlir::Value asTile(mlir::Location loc, mlir::Value of, mlir::Value value,
                     llvm::ArrayRef<int64_t> shape, unsigned indexWidth);
  /// A tile of the scalar `index`, as the integers that `type` has.
  mlir::Value splat(mlir::Location loc, mlir::Value index,
                    mlir::RankedTensorType type);

  bool hasWideScalar = false;
  /// What `splat` made last.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> splats;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONEMITTER_H
