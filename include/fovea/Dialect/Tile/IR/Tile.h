//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILE_H
#define FOVEA_DIALECT_TILE_IR_TILE_H

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
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/JSON.h"

namespace fovea::tile {
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

  BoxDims(llvm::ArrayRef<int64_t> dims,
          std::optional<llvm::ArrayRef<int64_t>> folded)
      : row(dims[0]), column(dims[1]) {
    if (!folded)
      return;
    fold = (*folded)[0];
    foldExtent = (*folded)[1];
  }

  bool isFolded() const { return fold != -1; }
  bool contains(int64_t dim) const {
    return dim == row || dim == column || dim == fold;
  }
};

/// What multiplies tiles: a warp's `mma.sync`, done when it returns; a warp
/// group's `wgmma`, which runs on its own and reads shared memory; or a unit
/// that one thread tells what to do and that accumulates in tensor memory.
enum class MatrixUnit { Warp, WarpGroup, TensorMemory };

/// What a schedule says of a stream: boxes that come from memory one after the
/// other.
struct StreamPlan {
  /// Buffers of a ring that roles share.
  int64_t stages = 1;
  /// Whether it comes through memory on chip even if no dot reads it there.
  bool isStaged = false;
  /// The dot in whose accumulator, once that is read, it lies; empty: a buffer
  /// in shared memory. Parts of a family lie in those of the part alike.
  llvm::StringRef over;
};

/// What a schedule says of a dot.
struct DotPlan {
  /// A first operand that is loaded is kept in registers.
  bool aInRegisters = false;
  /// Blocks by which its loop issues it early.
  int64_t ahead = 0;
  /// The matrix units add what its result is added to.
  bool addsToSummand = false;
  /// Its loop issues it before the last round's is done.
  bool inFlight = false;
  /// Per cent of a register operand's columns that are computed before the wait
  /// for the dot that reads the one before it.
  int64_t operandAbove = 100;
  /// Per cent of the exponentials in a register operand that are polynomials.
  int64_t operandByFma = 0;
};

/// What a schedule says of a store.
struct StorePlan {
  /// Through shared memory, by the copy engine.
  bool isCopied = false;
  /// The stream whose buffer it goes through; empty: one of its own.
  llvm::StringRef over;
};

namespace detail {
llvm::LogicalResult verifyName(mlir::Operation *op);
llvm::LogicalResult
verifyRoles(mlir::ArrayAttr roles,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
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
/// The tensor with that name among #tile.tensor attributes, or null.
TensorAttr lookupTensor(mlir::ArrayAttr tensors, llvm::StringRef name);

/// The abi op of `kernel`, which stands beside it; null if there is none.
AbiOp lookupAbi(mlir::Operation *kernel);
/// The same; without one an error of the kernel.
AbiOp requireAbi(mlir::Operation *kernel);

/// The kernels that run before the one of `abi`, in order.
llvm::SmallVector<AbiOp> getPrologueKernels(AbiOp abi);

/// The kernels in `root` that hosts ask for: all but those of prologues.
llvm::SmallVector<AbiOp> getEntryKernels(mlir::Operation *root);

/// `value` as the stream `name`, if the schedule has it come through memory on
/// chip (`isStaged`); else the value itself. `schedule` may be null.
mlir::Value makeStaged(mlir::OpBuilder &b, mlir::Location loc,
                       ScheduleAttr schedule, llvm::StringRef name,
                       mlir::Value value);

/// An expression in sizes, by their names, as launch metadata has it.
llvm::json::Value toJSON(mlir::AffineExpr expr, mlir::ArrayAttr sizes);

/// Checks what holds for all of a kernel's values: tensors are register tiles,
/// constant tiles are splats.
llvm::LogicalResult verifyTiles(mlir::Operation *kernel);

/// A tile of `shape` and element type with the encoding of `like`.
mlir::RankedTensorType tileLike(mlir::RankedTensorType like,
                                llvm::ArrayRef<int64_t> shape,
                                mlir::Type elementType);
} // namespace fovea::tile

#endif // FOVEA_DIALECT_TILE_IR_TILE_H
