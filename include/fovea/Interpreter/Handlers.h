//===- Handlers.h - Handlers of the dialects' ops ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration of the handlers that execute the ops of each dialect, and the
// environments that handlers read.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_HANDLERS_H
#define FOVEA_INTERPRETER_HANDLERS_H

#include "fovea/Interpreter/Interpreter.h"

#include <array>

namespace fovea::interp {

void registerArithHandlers(InterpreterRegistry &registry);
void registerMathHandlers(InterpreterRegistry &registry);
void registerSCFHandlers(InterpreterRegistry &registry);
void registerMemRefHandlers(InterpreterRegistry &registry);
void registerTensorHandlers(InterpreterRegistry &registry);
void registerLinalgHandlers(InterpreterRegistry &registry);
void registerGPUHandlers(InterpreterRegistry &registry);
void registerTileHandlers(InterpreterRegistry &registry);
void registerSoftmaxHandlers(InterpreterRegistry &registry);
void registerAttnHandlers(InterpreterRegistry &registry);
void registerCacheHandlers(InterpreterRegistry &registry);
void registerWarpHandlers(InterpreterRegistry &registry);
void registerSemaphoreHandlers(InterpreterRegistry &registry);
void registerWorkHandlers(InterpreterRegistry &registry);

/// All of the above.
void registerAllHandlers(InterpreterRegistry &registry);

/// The address of one element; fails with a diagnostic at `op` if it is out of
/// bounds.
llvm::FailureOr<char *> locateElement(mlir::Operation *op, Frame &frame,
                                      const MemRefView &memref,
                                      mlir::OperandRange indices);

/// Environment of a kernel's frame: the position of its CTA in the grid.
struct GridPosition {
  std::array<int64_t, 3> block, grid;
};

/// Environment of frames that execute regions of attn ops.
struct SequenceLengths {
  int64_t queries, keys;
};

/// Environment of functions with attn ops: additional checks.
struct AttentionChecks {
  /// Query rows of a block for which `kv_bounds` is checked; 0 disables the
  /// check.
  int64_t kvBoundsRows = 0;
  /// Query rows and key columns of a block for which `kv_classify` is checked.
  int64_t kvClassifyRows = 0, kvClassifyColumns = 0;
  /// True if it must also claim everything that holds.
  bool kvClassifyExactly = false;
};

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_HANDLERS_H
