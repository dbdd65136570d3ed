//===- KernelOptions.cpp - Target and pass options ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelOptions.h"

#include "fovea/Schedule/Schedule.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;

int64_t KernelOptions::padHeadDim(RankedTensorType tensor) const {
  return llvm::alignTo(tensor.getDimSize(3),
                       getSumStep(tensor.getContext(), *target,
                                  tensor.getElementTypeBitWidth()));
}

StringRef fovea::getFunctionName(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

LogicalResult fovea::checkTensors(const KernelOptions &options,
                                  attn::AttentionOpInterface op) {
  if (op.getSequence().getPlaces().page &&
      op.getKeyType().isDynamicDim(op.getSequenceDim()))
    return op->emitError("pages must have their number of rows in the type of "
                         "key and value, found ")
           << op.getKeyType();
  for (auto [name, type] :
       {std::pair("query", op.getQueryType()), {"value", op.getValueType()}}) {
    int64_t size = type.getDimSize(3);
    if (size % 8 != 0 || size < 8 || size > 256)
      return op->emitError("head dims must be multiples of 8 up to 256 on '")
             << options.target->name << "', found " << size << " for the "
             << name;
  }
  return success();
}
