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

/// True for a static rank-2 tensor whose encoding places it in registers.
bool isRegisterTile(mlir::Type type);

/// Checks the shape of a register tile: rank 2, static positive extents.
llvm::LogicalResult
verifyRegisterTile(llvm::ArrayRef<int64_t> shape,
                   llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The memref dimensions of a tile's rows and columns, and the element order.
struct BoxDims {
  int64_t row, column;
  /// Row `r` has offset `r / foldExtent` along `row` and `r % foldExtent` along
  /// `fold`; -1 and 1 without a fold. Rows with an offset of at least
  /// `foldCount` along `fold` do not exist.
  int64_t fold = -1, foldExtent = 1, foldCount = 1;
  /// Each `groupRows` rows begin at an index of their own along `group`; -1 and
  /// 0 without groups.
  int64_t group = -1, groupRows = 0;
  /// Elements are in MMA fragment order, by lane or by register; see
  /// `tile.load`.
  bool inFragments = false, byRegister = false;

  BoxDims(llvm::ArrayRef<int64_t> dims,
          std::optional<llvm::ArrayRef<int64_t>> folded,
          bool inFragments = false, bool byRegister = false,
          std::optional<llvm::ArrayRef<int64_t>> groups = std::nullopt)
      : row(dims[0]), column(dims[1]), inFragments(inFragments),
        byRegister(byRegister) {
    if (folded) {
      fold = (*folded)[0];
      foldExtent = (*folded)[1];
      foldCount = folded->size() > 2 ? (*folded)[2] : foldExtent;
    }
    if (groups) {
      group = (*groups)[0];
      groupRows = (*groups)[1];
    }
  }

  bool isFolded() const { return fold != -1; }
  /// True if some rows of each fold do not exist.
  bool hasGaps() const { return foldCount < foldExtent; }
  bool hasGroups() const { return group != -1; }
  /// The place among a tile's indices of that of a group of rows along `group`:
  /// those of the groups after the first one follow one index per dimension.
  size_t getGroupIndex(int64_t number, int64_t rank) const {
    return number == 0 ? group : rank + number - 1;
  }
  bool isVector() const { return row == -1 || column == -1; }
  /// Extents of a fragment of a matrix and of a vector.
  static constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8,
                           kFragmentElements = 16;
  /// True if a thread's registers at these columns, relative to its first one,
  /// are one pair of each chunk of 8, as in accumulators. Their addresses then
  /// are the sum of both offsets, and groups begin at the thread's first
  /// address.
  static bool holdsPairs(llvm::ArrayRef<int64_t> columns) {
    return llvm::all_of(columns,
                        [](int64_t column) { return (column & 6) == 0; });
  }
  /// The same for rows: one row of each chunk of 8.
  static bool holdsChunks(llvm::ArrayRef<int64_t> rows) {
    return llvm::all_of(rows, [](int64_t row) { return (row & 7) == 0; });
  }
  /// Registers at the offsets `rows` and `columns` in memory order, in groups
  /// of up to `most` that are contiguous in memory.
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>>
  groupFragments(llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> columns,
                 size_t most) const;
  /// The offset of column `c`, or of element `c` of a vector, in a sequence of
  /// fragments.
  int64_t getFragmentOffset(int64_t c) const {
    int64_t pair =
        byRegister ? (c >> 1 & 3) + (c & 1) * 32 : (c >> 1 & 3) * 4 + (c & 1);
    return isVector()
               ? c / kFragmentElements * kFragmentElements + (c >> 3 & 1) * 2 +
                     pair
               : c / kFragmentColumns * kFragmentColumns * kFragmentRows + pair;
  }
  /// The offset of row `r` within its fragments.
  int64_t getFragmentRowOffset(int64_t r) const {
    return byRegister ? (r & 7) * 4 + (r >> 3 & 1) * 64
                      : (r & 7) * 16 + (r >> 3 & 1) * 2;
  }
  bool contains(int64_t dim) const {
    return dim == row || dim == column || dim == fold;
  }
};

/// Suffix of the name of an op that updates a dot's accumulator between two
/// iterations of a loop. Another role than the dot's may own the update.
inline constexpr llvm::StringLiteral kUpdateSuffix = ".update";

/// The first component of a name, which a family of names shares (`dq` for
/// `dq.0` and `dq.1`). Empty if there is no name.
llvm::StringRef getFamily(mlir::StringAttr name);

/// Larger than the register file of any GPU: larger types are errors, and are
/// reported where they are created.
inline constexpr int64_t kMaxTileExtent = 65536;

namespace detail {
llvm::LogicalResult verifyName(mlir::Operation *op);
} // namespace detail

/// Checks the `fold` of a box of `rows` rows, dims being valid.
llvm::LogicalResult verifyFold(mlir::Operation *op, mlir::MemRefType memref,
                               llvm::ArrayRef<int64_t> dims,
                               std::optional<llvm::ArrayRef<int64_t>> fold,
                               int64_t rows);

/// Checks the `groups` of a box of `rows` rows with `numIndices` indices, dims
/// being valid. Without groups, or with a table of their indices, there is one
/// index per dimension.
llvm::LogicalResult verifyGroups(mlir::Operation *op, mlir::MemRefType memref,
                                 llvm::ArrayRef<int64_t> dims,
                                 std::optional<llvm::ArrayRef<int64_t>> fold,
                                 std::optional<llvm::ArrayRef<int64_t>> groups,
                                 mlir::Value table,
                                 mlir::OperandRange tableIndices, int64_t rows,
                                 size_t numIndices);
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
/// Returns `value` as the stream `name` if the plan stages that stream
/// (`isStaged`), else `value` itself. `plan` may be null.
mlir::Value makeStaged(mlir::OpBuilder &b, mlir::Location loc,
                       plan::KernelAttr plan, llvm::StringRef name,
                       mlir::Value value);

/// True if `op` is a load or gather of a kernel argument that the kernel only
/// reads, such as a captured tensor.
bool readsUnwrittenTensor(mlir::Operation *op);

/// True if `op` creates a tile from constants and scalars only. `isTile` tells
/// which types count as tiles.
bool makesTile(mlir::Operation *op,
               llvm::function_ref<bool(mlir::Type)> isTile = isRegisterTile);
/// Clones ops for which `makesTile` holds once per use, so that sharing such an
/// op does not relate its users.
void makeTilesForEachUse(
    mlir::Operation *kernel,
    llvm::function_ref<bool(mlir::Type)> isTile = isRegisterTile);

/// Checks that a dot can use a slice of `a` or `b` that starts at `first` and
/// is as large as `acc`; reports an error otherwise. Both slices are along the
/// columns of the stored operand.
mlir::LogicalResult verifyRows(mlir::Operation *dot, mlir::ShapedType a,
                               mlir::ShapedType acc, bool transposeA,
                               int64_t first);
mlir::LogicalResult verifyColumns(mlir::Operation *dot, mlir::ShapedType b,
                                  mlir::ShapedType acc, bool transposeB,
                                  int64_t first);

/// A tile of `shape` and `elementType` with the encoding of `like`.
mlir::RankedTensorType tileLike(mlir::RankedTensorType like,
                                llvm::ArrayRef<int64_t> shape,
                                mlir::Type elementType);
} // namespace fovea::tile

#endif // FOVEA_DIALECT_TILE_IR_TILE_H
