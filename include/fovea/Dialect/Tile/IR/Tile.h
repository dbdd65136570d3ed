//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILE_H
#define FOVEA_DIALECT_TILE_IR_TILE_H

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Plan/IR/Plan.h"
#include "fovea/Support/Generator.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea::tile {
using plan::getMaxEnumValForRecurrenceKind;
using plan::RecurrenceKind;
using plan::stringifyRecurrenceKind;
using plan::stringifyWorkSchedule;
using plan::symbolizeRecurrenceKind;
using plan::symbolizeWorkSchedule;
using plan::WorkSchedule;
using plan::WorkScheduleAttr;

/// A static tensor of rank 2 whose encoding says that it lives in registers.
bool isRegisterTile(mlir::Type type);

/// Checks what every register tile has: rank 2, static positive extents.
llvm::LogicalResult
verifyRegisterTile(llvm::ArrayRef<int64_t> shape,
                   llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The dimensions of a memref that a box's rows and columns run along.
struct BoxDims {
  int64_t row, column;
  /// Rows `r` lie `r / foldExtent` places along `row` and `r % foldExtent`
  /// along this; -1 and 1 where they run along one dimension.
  int64_t fold = -1, foldExtent = 1;
  /// Elements lie as matrix units hold them, lane by lane or register by
  /// register; see `tile.load`.
  bool inFragments = false, byRegister = false;

  BoxDims(llvm::ArrayRef<int64_t> dims,
          std::optional<llvm::ArrayRef<int64_t>> folded,
          bool inFragments = false, bool byRegister = false)
      : row(dims[0]), column(dims[1]), inFragments(inFragments),
        byRegister(byRegister) {
    if (!folded)
      return;
    fold = (*folded)[0];
    foldExtent = (*folded)[1];
  }

  bool isFolded() const { return fold != -1; }
  bool isVector() const { return row == -1 || column == -1; }
  /// Extents of a fragment, of a matrix and of a vector.
  static constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8,
                           kFragmentElements = 16;
  /// Whether a thread's registers at these columns, from its first one on, are
  /// one pair of each chunk of 8, as those of sums: then their places add up,
  /// and groups begin where the thread's first does.
  static bool holdsPairs(llvm::ArrayRef<int64_t> columns) {
    return llvm::all_of(columns,
                        [](int64_t column) { return (column & 6) == 0; });
  }
  /// The same of rows: one of each chunk of 8.
  static bool holdsChunks(llvm::ArrayRef<int64_t> rows) {
    return llvm::all_of(rows, [](int64_t row) { return (row & 7) == 0; });
  }
  /// Registers at the offsets `rows` and `columns` in the order of memory, in
  /// groups of up to `most` that are neighbours there.
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>>
  groupFragments(llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> columns,
                 size_t most) const;
  /// Where column `c`, or element `c` of a vector, lies in fragments one behind
  /// the other.
  int64_t getFragmentPlace(int64_t c) const {
    int64_t pair =
        byRegister ? (c >> 1 & 3) + (c & 1) * 32 : (c >> 1 & 3) * 4 + (c & 1);
    return isVector()
               ? c / kFragmentElements * kFragmentElements + (c >> 3 & 1) * 2 +
                     pair
               : c / kFragmentColumns * kFragmentColumns * kFragmentRows + pair;
  }
  /// Where row `r` lies in its fragments.
  int64_t getFragmentRowPlace(int64_t r) const {
    return byRegister ? (r & 7) * 4 + (r >> 3 & 1) * 64
                      : (r & 7) * 16 + (r >> 3 & 1) * 2;
  }
  bool contains(int64_t dim) const {
    return dim == row || dim == column || dim == fold;
  }
};

/// A dot's name and this is that of what is done to its accumulator between two
/// rounds of a loop: a change in place may be another role's.
inline constexpr llvm::StringLiteral kUpdateSuffix = ".update";

/// A name's first word: what the parts of a family have in common. Empty if
/// there is no name.
llvm::StringRef getFamily(mlir::StringAttr name);

/// Far above what any chip holds: types beyond it are mistakes, better said
/// where they are made than by whatever allocates them.
inline constexpr int64_t kMaxTileExtent = 65536;

namespace detail {
llvm::LogicalResult verifyName(mlir::Operation *op);
} // namespace detail

/// Checks the `fold` of a box of `rows` rows, dims being valid.
llvm::LogicalResult verifyFold(mlir::Operation *op, mlir::MemRefType memref,
                               llvm::ArrayRef<int64_t> dims,
                               std::optional<llvm::ArrayRef<int64_t>> fold,
                               int64_t rows);
} // namespace fovea::tile

#include "fovea/Dialect/Tile/IR/TileDialect.h.inc"
#include "fovea/Dialect/Tile/IR/TileEnums.h.inc"

#include "fovea/Dialect/Tile/IR/TileAttrInterfaces.h.inc"
#include "fovea/Dialect/Tile/IR/TileOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Tile/IR/TileOps.h.inc"

namespace fovea::tile {
/// `value` as the stream `name`, if the plan has it come through memory on
/// chip (`isStaged`); else the value itself. `plan` may be null.
mlir::Value makeStaged(mlir::OpBuilder &b, mlir::Location loc,
                       plan::KernelAttr plan, llvm::StringRef name,
                       mlir::Value value);

/// Whether `op` reads a tile of a tensor that its kernel was given and does
/// nothing but read, such as a captured one.
bool readsUnwrittenTensor(mlir::Operation *op);

/// Whether `op` makes a tile of constants and scalars alone. `isTile` says
/// which types count as tiles.
bool makesTile(mlir::Operation *op,
               llvm::function_ref<bool(mlir::Type)> isTile = isRegisterTile);
/// Makes such tiles once for each of their uses: what several users share says
/// nothing of what these have in common.
void makeTilesForEachUse(
    mlir::Operation *kernel,
    llvm::function_ref<bool(mlir::Type)> isTile = isRegisterTile);

/// Whether a dot can take, of `a`, the rows from `first` on, or of `b` the
/// columns, as many as `acc` has; else an error. Both lie along the columns of
/// what is stored.
mlir::LogicalResult verifyRows(mlir::Operation *dot, mlir::ShapedType a,
                               mlir::ShapedType acc, bool transposeA,
                               int64_t first);
mlir::LogicalResult verifyColumns(mlir::Operation *dot, mlir::ShapedType b,
                                  mlir::ShapedType acc, bool transposeB,
                                  int64_t first);

/// A tile of `shape` and element type with the encoding of `like`.
mlir::RankedTensorType tileLike(mlir::RankedTensorType like,
                                llvm::ArrayRef<int64_t> shape,
                                mlir::Type elementType);
} // namespace fovea::tile

#endif // FOVEA_DIALECT_TILE_IR_TILE_H
