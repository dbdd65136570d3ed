//===- TensorMemory.h - Lower dots to tensor memory -------------*- C++ -*-===//
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

/// Lowers dots to `warp.dot_into`, whose accumulators stay in tensor memory
/// across iterations of a loop.
class TensorMemoryDots {
public:
  using GetBuffer = std::function<mlir::Value(mlir::Value)>;

  /// `getBuffer` returns the shared buffer of a load or stream, or null.
  TensorMemoryDots(mlir::gpu::GPUFuncOp kernel, plan::KernelAttr plan,
                   GetBuffer getBuffer)
      : kernel(kernel), plan(plan), getBuffer(std::move(getBuffer)) {}

  llvm::LogicalResult convert(tile::DotOp dot);

private:
  mlir::FailureOr<mlir::Value> getFirstOperand(tile::DotOp dot);
  /// The view of another dot's accumulator that a stream overlays.
  mlir::FailureOr<mlir::Value> putOver(tile::StreamOp stream,
                                       llvm::StringRef family);
  /// Allocates columns for the dot's result.
  mlir::FailureOr<mlir::Value> allocate(tile::DotOp dot);
  /// Returns the condition under which the dot accumulates. From then on, `acc`
  /// contains a loop-carried value.
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

/// Makes the users of a stream's tile read `buffer`: stores that the plan
/// assigns to TMA become copies, other users load the tile into registers.
void readBack(tile::StreamOp stream, mlir::Value buffer, plan::KernelAttr plan);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_TILETOWARP_TENSORMEMORY_H
