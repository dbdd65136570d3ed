//===- TensorMemory.h - Dots into tensor memory -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_TILETOWARP_TENSORMEMORY_H
#define FOVEA_LIB_CONVERSION_TILETOWARP_TENSORMEMORY_H

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

namespace fovea {

/// Gives dots their place: a dot of a tile program becomes one in memory form,
/// whose accumulator stays in tensor memory from round to round of a loop.
class TensorMemoryDots {
public:
  using GetBuffer = std::function<mlir::Value(mlir::Value)>;

  /// `getBuffer` gives the shared buffer of what is loaded or streamed, or
  /// null.
  TensorMemoryDots(mlir::gpu::GPUFuncOp kernel, plan::KernelAttr plan,
                   GetBuffer getBuffer)
      : kernel(kernel), plan(plan), getBuffer(std::move(getBuffer)) {}

  llvm::LogicalResult convert(tile::DotOp dot);

private:
  mlir::FailureOr<mlir::Value> getFirstOperand(tile::DotOp dot);
  /// Where a stream lies over the accumulator of another dot.
  mlir::FailureOr<mlir::Value> putOver(tile::StreamOp stream,
                                       llvm::StringRef family);
  /// Columns for the dot's result.
  mlir::FailureOr<mlir::Value> allocate(tile::DotOp dot);
  /// Whether the dot adds to what its accumulator has; what a loop carried is
  /// in `acc` from then on.
  mlir::FailureOr<mlir::Value> placeAccumulator(tile::DotOp dot,
                                                mlir::Value acc);
  mlir::FailureOr<mlir::Value> keepCarried(tile::DotOp dot, mlir::Value acc,
                                           mlir::scf::ForOp loop,
                                           unsigned index);

  mlir::gpu::GPUFuncOp kernel;
  plan::KernelAttr plan;
  GetBuffer getBuffer;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> accumulators;
  llvm::DenseMap<mlir::Operation *, mlir::Value> views;
  int64_t columns = 0;
};

/// Lets what uses a stream's tile read `buffer`: stores that the plan
/// leaves to the copy engine by a copy, others in registers.
void readBack(tile::StreamOp stream, mlir::Value buffer, plan::KernelAttr plan);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_TILETOWARP_TENSORMEMORY_H
