//===- BufferizableOpInterfaceImpl.cpp - Bufferize launches ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/Transforms/BufferizableOpInterfaceImpl.h"

#include "fovea/Dialect/Launch/IR/LaunchCall.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace fovea::launch;

namespace {
struct CallModel : DstBufferizableOpInterfaceExternalModel<CallModel, CallOp> {
  /// The contents of an output are overwritten, unless the kernel accumulates.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto call = cast<CallOp>(op);
    if (!call.isDpsInit(&operand))
      return true;
    std::optional<Signature> signature = getSignature(
        SymbolTable::lookupNearestSymbolFrom(call, call.getKernelAttr()));
    if (!signature)
      return true;
    unsigned index =
        operand.getOperandNumber() - call.getOutputs().getBeginOperandIndex();
    auto name = cast<StringAttr>(call.getOutputNames()[index]);
    TensorAttr tensor = lookupTensor(signature->tensors, name.getValue());
    return !tensor || tensor.getAccess() != Access::Write;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<CallOp>(op);
    auto getBuffers =
        [&](OperandRange values) -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> buffers;
      for (Value value : values) {
        if (!isa<TensorType>(value.getType())) {
          buffers.push_back(value);
          continue;
        }
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        buffers.push_back(*buffer);
      }
      return buffers;
    };
    rewriter.setInsertionPoint(call);
    FailureOr<SmallVector<Value>> inputs = getBuffers(call.getInputs()),
                                  outputs = getBuffers(call.getOutputs());
    if (failed(inputs) || failed(outputs))
      return failure();
    CallOp::create(rewriter, call.getLoc(), TypeRange(), call.getKernelAttr(),
                   call.getInputNamesAttr(), call.getOutputNamesAttr(), *inputs,
                   *outputs, call.getStream());
    replaceOpWithBufferizedValues(rewriter, call, *outputs);
    return success();
  }
};
} // namespace

void fovea::launch::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LaunchDialect *) {
    CallOp::attachInterface<CallModel>(*context);
  });
}
