//===- WarpToNVVM.h - Parts of warp-to-nvvm ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace fovea {

/// Tiles to one vector a thread, shared buffers to pointers.
class ThreadTypeConverter : public mlir::TypeConverter {
public:
  ThreadTypeConverter();
};

/// A memref argument of the kernel: address, sizes and strides, all i64.
struct GlobalView {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> sizes, strides;
  mlir::MemRefType type;
};

/// Replaces memref arguments by pointers, sizes and strides, and scalars of
/// type index by i64; refines the ABI's parameters to match.
mlir::LogicalResult expandArguments(mlir::gpu::GPUFuncOp kernel,
                                    tile::AbiOp abi);
/// The parts of a memref that `expandArguments` made.
mlir::FailureOr<GlobalView>
getGlobalView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memref);
/// Drops arguments that nothing reads, from the kernel and its ABI.
void dropUnusedArguments(mlir::gpu::GPUFuncOp kernel, tile::AbiOp abi);

/// Pipeline verbs to cp.async groups and barriers.
mlir::LogicalResult lowerPipelines(mlir::gpu::GPUFuncOp kernel);

void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateGlobalMemoryPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter);
/// `threads` of a CTA share the work of a copy.
void populateSharedMemoryPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  int64_t threads);
void populateMmaSyncPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
/// Functions of `math` that the chip has no instruction for.
void populateMathPatterns(mlir::RewritePatternSet &patterns);

//===----------------------------------------------------------------------===//
// Small emitters
//===----------------------------------------------------------------------===//

/// The thread's number in its CTA, i32.
mlir::Value emitThread(mlir::OpBuilder &builder, mlir::Location loc);
mlir::Value emitI32(mlir::OpBuilder &builder, mlir::Location loc,
                    int64_t value);
mlir::Value emitI64(mlir::OpBuilder &builder, mlir::Location loc,
                    int64_t value);
/// index or i32 to i64.
mlir::Value emitToI64(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);
/// index or i64 to i32.
mlir::Value emitToI32(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);

/// Byte offset of 16-byte chunk `chunk` of row `row` in one panel, i32.
mlir::Value emitSwizzle(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value row, mlir::Value chunk, int64_t panel);

/// Name of the symbol for the CTA's dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedMemorySymbol = "fovea_shared";

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H
