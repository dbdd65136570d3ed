//===- GPUHandlers.cpp - Executes gpu ops -----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of block and cluster indices.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace fovea::interp;

template <typename OpTy>
static void addGridQuery(InterpreterRegistry &registry,
                         std::array<int64_t, 3> GridPosition::*member) {
  registry.add<OpTy>([member](Operation *op, Frame &frame) -> LogicalResult {
    auto *position = frame.getEnvironment<GridPosition>();
    if (!position)
      return frame.fail(op) << "'" << op->getName().getStringRef()
                            << "' is executed outside a kernel";
    auto query = cast<OpTy>(op);
    auto dimension = static_cast<unsigned>(query.getDimension());
    frame.set(query.getResult(),
              RuntimeValue::integer((position->*member)[dimension]));
    return success();
  });
}

void fovea::interp::registerGPUHandlers(InterpreterRegistry &registry) {
  addGridQuery<gpu::BlockIdOp>(registry, &GridPosition::block);
  addGridQuery<gpu::GridDimOp>(registry, &GridPosition::grid);
  // A kernel that uses cluster indices is executed once per cluster, for all
  // its CTAs.
  addGridQuery<gpu::ClusterIdOp>(registry, &GridPosition::block);
  addGridQuery<gpu::ClusterDimOp>(registry, &GridPosition::grid);
}
