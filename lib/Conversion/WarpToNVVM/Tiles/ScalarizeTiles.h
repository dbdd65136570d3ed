//===- ScalarizeTiles.h - What elements of tiles compute --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_SCALARIZETILES_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_SCALARIZETILES_H

#include "Math/ScalarBits.h"
#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

namespace fovea {

/// Registers of a broadcast's source by those of its result.
llvm::SmallVector<int64_t> getBroadcastRegisters(tile::BroadcastOp op);

/// A thread's element of a tile: `base + offset`, for integers. Offsets are
/// known where layouts are; elements of a thread share bases.
struct Element {
  /// Null if the element is the constant `offset`.
  mlir::Value base;
  /// Of the element's width; zero for floats and truth values.
  llvm::APInt offset = llvm::APInt(1, 0);
  /// Whether the base was made for other offsets, too.
  bool isShared = false;
  /// Whether the sum is one of integers, without overflow, as signed numbers.
  bool isExact = true;
};

/// What has been written of the elements of tiles.
struct WrittenElements {
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Element> known;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> sources;
  llvm::DenseMap<mlir::Value, mlir::Operation *> extracted;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  using Key =
      std::tuple<const void *, unsigned, llvm::SmallVector<const void *, 3>>;
  std::map<Key, mlir::Value> emitted;
};

/// Coordinates of a thread's first elements, which offsets lead from to the
/// others, by the iota that has them.
class Coordinates {
public:
  explicit Coordinates(ScalarBits bits) : bits(std::move(bits)) {}

  void setBase(mlir::Value iota, mlir::Value base) { bases[iota] = base; }
  mlir::Value getBase(mlir::Value iota) const { return bases.lookup(iota); }

  /// What choices before one in the same block have written, which is there for
  /// it, too: each of a chain would write all before it once more.
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

/// Writes what elements of tiles compute as scalars, one element after the
/// other, down to what is loaded or carried: what an element needs stands in
/// front of its use, and what elements have in common is made for the first.
/// Expressions are those of the program before its conversion, so one emitter
/// serves one place in it, or places behind each other in one block.
class ElementEmitter {
public:
  ElementEmitter(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                 Coordinates &coordinates)
      : b(b), loc(loc), coordinates(coordinates), written(own) {}
  /// The same with what others have written before.
  ElementEmitter(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                 Coordinates &coordinates, WrittenElements &written)
      : b(b), loc(loc), coordinates(coordinates), written(written) {}

  /// Whether a tile's elements are computed one after the other: vectors that
  /// are short fit beside what else there is.
  static bool isEmitted(mlir::Value tile);

  /// The scalar in register `index` of a tile.
  mlir::Value get(mlir::Value tile, unsigned index) {
    return materialize(lookup(tile, index));
  }
  /// The same, of a vector that exists.
  mlir::Value extract(mlir::Value vector, unsigned index);

private:
  Element lookup(mlir::Value tile, unsigned index);
  Element make(mlir::Value tile, unsigned index);
  Element makeConstant(mlir::DenseElementsAttr splat);
  Element makeIota(tile::IotaOp op, unsigned index);
  llvm::ArrayRef<int64_t> getSources(tile::BroadcastOp op);

  /// What an elementwise op makes of its operands; as other ops if that takes
  /// constants out of it.
  Element apply(mlir::Operation *op, llvm::ArrayRef<Element> operands);
  Element clone(mlir::Operation *op, llvm::ArrayRef<Element> operands);
  std::optional<Element> add(const Element &x, const Element &y, bool isExact);
  std::optional<Element> subtract(const Element &x, const Element &y,
                                  bool isExact);
  std::optional<Element> shiftRight(const Element &x, unsigned by);
  std::optional<Element> mask(const Element &x, const llvm::APInt &bits);
  std::optional<Element> compare(mlir::arith::CmpIPredicate predicate,
                                 const Element &x, const Element &y);

  static Element wrap(mlir::Value value);
  mlir::Value materialize(const Element &x);
  mlir::Value getConstant(mlir::TypedAttr value);
  mlir::Value getConstant(const llvm::APInt &value);
  /// What `make` makes, once for the same kind of op and the same operands.
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

  /// Whether an exact sum's base is not negative.
  bool hasNonNegativeBase(const Element &x);
  /// Whether its offset is not negative either.
  bool isCoordinate(const Element &x);
  /// Whether no bit is in both base and offset.
  bool isDisjoint(const Element &x);

  mlir::ConversionPatternRewriter &b;
  mlir::Location loc;
  Coordinates &coordinates;
  WrittenElements own;
  WrittenElements &written;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_SCALARIZETILES_H
