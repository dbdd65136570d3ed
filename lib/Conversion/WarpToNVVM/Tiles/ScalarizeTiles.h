//===- ScalarizeTiles.h - Scalar code for tile elements ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar code for elements of integer and mask tiles, one element at a time,
// instead of vector ops on whole tiles. Keeps few values live, and shares the
// parts that elements have in common.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_SCALARIZETILES_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_SCALARIZETILES_H

#include "Math/ScalarBits.h"

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/DialectConversion.h"

#include <map>

namespace fovea {

/// For each register of a broadcast's result, the register of its source.
llvm::SmallVector<int64_t> getBroadcastRegisters(tile::BroadcastOp op);

/// A thread's element of a tile. Integers are `base + offset`: offsets are
/// static by the layout, and a thread's elements share bases.
struct Element {
  /// Null if the element is the constant `offset`.
  mlir::Value base;
  /// Has the element's width; zero for floats and i1.
  llvm::APInt offset = llvm::APInt(1, 0);
  /// True if other offsets use the base, too.
  bool isShared = false;
  /// True if `base + offset` does not overflow as a signed sum.
  bool isExact = true;
};

/// The scalar values that have been emitted for elements of tiles.
struct WrittenElements {
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Element> known;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> sources;
  llvm::DenseMap<mlir::Value, mlir::Operation *> extracted;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  using Key =
      std::tuple<const void *, unsigned, llvm::SmallVector<const void *, 3>>;
  std::map<Key, mlir::Value> emitted;
  /// For flags that are bits of words: the word and the bit.
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, int64_t>> bits;
};

/// The coordinate of a thread's first element for each iota op. Offsets lead to
/// the other elements.
class Coordinates {
public:
  explicit Coordinates(ScalarBits bits) : bits(std::move(bits)) {}

  void setBase(mlir::Value iota, mlir::Value base) { bases[iota] = base; }
  mlir::Value getBase(mlir::Value iota) const { return bases.lookup(iota); }

  /// Values emitted for earlier selects of the same block. They dominate later
  /// ones; otherwise each select of a chain would emit all values of the
  /// earlier ones again.
  WrittenElements &getWritten(mlir::Block *ofBlock) {
    if (block != ofBlock)
      written = WrittenElements();
    block = ofBlock;
    return written;
  }

  ScalarBits bits;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> bases;
  mlir::Block *block = nullptr;
  WrittenElements written;
};

/// Emits the computation of tile elements as scalars, one element at a time,
/// back to loaded or loop-carried values. An element's operands precede its
/// use; common parts are emitted for the first element.
///
/// Expressions are those before the conversion. One emitter therefore serves
/// one insertion point, or successive ones in the same block.
class ElementEmitter {
public:
  ElementEmitter(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                 Coordinates &coordinates)
      : b(b), loc(loc), coordinates(coordinates), written(own) {}
  /// Reuses values that other emitters have emitted before.
  ElementEmitter(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                 Coordinates &coordinates, WrittenElements &written)
      : b(b), loc(loc), coordinates(coordinates), written(written) {}

  /// Returns true if a tile's elements are computed one at a time. Short
  /// vectors fit into the registers and are not.
  static bool isEmitted(mlir::Value tile);

  /// The scalar in register `index` of a tile.
  mlir::Value get(mlir::Value tile, unsigned index) {
    return materialize(lookup(tile, index));
  }
  /// The element of a vector that exists already.
  mlir::Value extract(mlir::Value vector, unsigned index);

private:
  Element lookup(mlir::Value tile, unsigned index);
  Element make(mlir::Value tile, unsigned index);
  Element makeConstant(mlir::DenseElementsAttr splat);
  Element makeIota(tile::IotaOp op, unsigned index);
  llvm::ArrayRef<int64_t> getSources(tile::BroadcastOp op);

  /// The result of an elementwise op, rewritten to other ops if that separates
  /// constants.
  Element apply(mlir::Operation *op, llvm::ArrayRef<Element> operands);
  Element clone(mlir::Operation *op, llvm::ArrayRef<Element> operands);
  std::optional<Element> add(const Element &x, const Element &y, bool isExact);
  std::optional<Element> subtract(const Element &x, const Element &y,
                                  bool isExact);
  std::optional<Element> shiftRight(const Element &x, unsigned by);
  std::optional<Element> mask(const Element &x, const llvm::APInt &bits);
  /// `inRow` is true if the elements are consecutive columns of a row.
  std::optional<Element> compare(mlir::arith::CmpIPredicate predicate,
                                 const Element &x, const Element &y,
                                 bool inRow);

  static Element wrap(mlir::Value value);
  mlir::Value materialize(const Element &x);
  mlir::Value getConstant(mlir::TypedAttr value);
  mlir::Value getConstant(const llvm::APInt &value);
  /// Calls `make` once per kind of op and operands.
  mlir::Value getOnce(const void *kind, unsigned detail,
                      llvm::ArrayRef<mlir::Value> operands,
                      llvm::function_ref<mlir::Value()> make);
  template <typename Op>
  mlir::Value emit(mlir::Value x, mlir::Value y);
  /// Sums and differences; exact ones do not overflow.
  template <typename Op>
  mlir::Value emit(mlir::Value x, mlir::Value y, bool isExact);
  mlir::Value emitCompare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                          const llvm::APInt &y);
  /// Compares with a constant, signed, by a bit of a word that has the results
  /// for 32 consecutive constants. ptxas then sets seven predicates with one
  /// instruction (R2P).
  mlir::Value emitBitTest(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                          const llvm::APInt &y);
  mlir::Value emitBit(mlir::Value word, int64_t bit);
  /// Combines whole words if both flags are the same bit of words.
  template <typename Op>
  std::optional<Element> combineBits(const Element &x, const Element &y);
  std::optional<Element> compareWithBound(mlir::arith::CmpIPredicate predicate,
                                          const Element &x, const Element &y);

  /// True if an exact sum's base is non-negative.
  bool hasNonNegativeBase(const Element &x);
  /// True if its offset is non-negative, too.
  bool isCoordinate(const Element &x);
  /// True if base and offset have no common bits.
  bool isDisjoint(const Element &x);

  mlir::ConversionPatternRewriter &b;
  mlir::Location loc;
  Coordinates &coordinates;
  WrittenElements own;
  WrittenElements &written;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_SCALARIZETILES_H
