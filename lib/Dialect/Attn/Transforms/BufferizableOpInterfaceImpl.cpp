//===- BufferizableOpInterfaceImpl.cpp - Attention has no buffers -*- C++ -*-=//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attn ops have tensor semantics only; they are lowered to kernels, whose
// launches (`launch.call`) are bufferized. This model makes upstream's
// bufferization report which passes to run instead of a generic error.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/BufferizableOpInterfaceImpl.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace fovea::attn;

namespace {
template <typename Op>
struct NeedsKernel
    : BufferizableOpInterface::ExternalModel<NeedsKernel<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &,
                          const BufferizationOptions &options,
                          BufferizationState &) const {
    if (options.allowUnknownOps)
      return success();
    // Not emitOpError, which would print the whole op in a note.
    return emitError(op->getLoc())
           << "'" << op->getName()
           << "' op can't be bufferized: run 'fovea-to-host' in place of "
              "bufferization, or 'attn-outline' and "
              "'attn-to-tile{launch-calls}' before it";
  }
};
} // namespace

void fovea::attn::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    AppendOp::attachInterface<NeedsKernel<AppendOp>>(*context);
    ForwardOp::attachInterface<NeedsKernel<ForwardOp>>(*context);
    BackwardOp::attachInterface<NeedsKernel<BackwardOp>>(*context);
    MergeOp::attachInterface<NeedsKernel<MergeOp>>(*context);
  });
}
