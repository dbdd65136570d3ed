//===- Workload.cpp - The tensors of a run --------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates the outputs of a run, and placeholders for its inputs.
//
//===----------------------------------------------------------------------===//

#include "Workload.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using namespace fovea::run;

/// Maximum size of a tensor; larger values are assumed to be mistakes.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 36;

ElementKind fovea::run::getKind(const Parameter &parameter) {
  return *getElementKind(getElementTypeOrSelf(parameter.type));
}

bool fovea::run::fits(const Parameter &parameter, ArrayRef<int64_t> shape) {
  if (succeeded(
          HostTensor::getByteSize(getKind(parameter), shape, kMaxTensorBytes)))
    return true;
  reportError("'" + parameter.name + "' would take more than 64 GiB");
  return false;
}

std::optional<Argument>
fovea::run::makePlaceholder(const Parameter &parameter) {
  ElementKind kind = getKind(parameter);
  if (!parameter.isTensor())
    return Argument{HostTensor(), interp::isFloat(kind)
                                      ? RuntimeValue::real(0)
                                      : RuntimeValue::integer(0)};
  SmallVector<int64_t, 4> shape(parameter.getTensorType().getShape());
  llvm::replace(shape, ShapedType::kDynamic, int64_t(1));
  if (!fits(parameter, shape))
    return std::nullopt;
  return Argument{HostTensor(kind, shape), {}};
}

std::optional<std::vector<HostTensor>>
fovea::run::makeOutputs(const Signature &signature, const DimSizes &sizes) {
  std::vector<HostTensor> outputs;
  for (const Parameter &output : signature.outputs) {
    std::string missing;
    auto shape = resolveShape(output, sizes, missing);
    if (failed(shape)) {
      reportError("no input has the size of dimension " + missing +
                  " of output '" + output.name + "'");
      return std::nullopt;
    }
    if (!fits(output, *shape))
      return std::nullopt;
    HostTensor &tensor = outputs.emplace_back(getKind(output), *shape);
    // Outputs that are accumulated into start at zero.
    if (!output.isAccumulated)
      tensor.poison();
  }
  return outputs;
}
