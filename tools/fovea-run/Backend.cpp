//===- Backend.cpp - Execution in the interpreter -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs programs at levels attn, tile and warp in the interpreter, with one or
// more seeds.
//
//===----------------------------------------------------------------------===//

#include "Backend.h"

#include "fovea/Interpreter/Execution.h"

#include "mlir/IR/TypeUtilities.h"

#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using namespace fovea::run;

static const InterpreterRegistry &getRegistry() {
  static const InterpreterRegistry registry = [] {
    InterpreterRegistry result;
    registerAllHandlers(result);
    return result;
  }();
  return registry;
}

bool fovea::run::evaluate(const Program &program, const Workload &workload,
                          Precision precision, const Options &options,
                          SmallVectorImpl<RuntimeValue> &results) {
  AttentionChecks checks;
  checks.kvBoundsRows = options.kvBoundsRows;
  checks.kvClassifyRows = options.kvClassifyRows;
  checks.kvClassifyColumns = options.kvClassifyColumns;
  checks.kvClassifyExactly = options.kvClassifyExactly;
  return succeeded(runFunction(program.function, getRegistry(), workload.inputs,
                               results, precision, checks));
}

namespace {
class AttnBackend : public Backend {
public:
  AttnBackend(const Program &program, const Options &options)
      : program(program), options(options) {}

  ExitCode run(const Workload &workload,
               SmallVectorImpl<HostTensor> &outputs) override {
    SmallVector<RuntimeValue> results;
    if (!evaluate(program, workload, options.precision, options, results))
      return kBadInput;
    for (auto [output, result] :
         llvm::zip(program.signature.outputs, results)) {
      ElementKind kind = *getElementKind(getElementTypeOrSelf(output.type));
      if (result.isArray()) {
        outputs.push_back(HostTensor::fromArray(result.getArray(), kind));
        continue;
      }
      HostTensor scalar(kind, {});
      if (result.isInteger()) {
        int64_t value = result.getInteger();
        writeElements(kind, &value, 1, scalar.data(), 1);
      } else {
        double value = result.getReal();
        writeElements(kind, &value, 1, scalar.data(), 1);
      }
      outputs.push_back(std::move(scalar));
    }
    return kSuccess;
  }

private:
  const Program &program;
  const Options &options;
};

class KernelBackend : public Backend {
public:
  KernelBackend(Level level, const Program &program, const Options &options)
      : level(level), given(program), options(options) {}

  ExitCode run(const Workload &workload,
               SmallVectorImpl<HostTensor> &outputs) override {
    std::optional<Program> lowered;
    if (given.getLevel() != level) {
      lowered = lowerTo(level, given, options);
      if (!lowered)
        return kBadInput;
    }
    const Program &kernel = lowered ? *lowered : given;
    auto match = matchByName(kernel, given);
    if (!match)
      return kBadInput;
    std::vector<Argument> inputs;
    for (int64_t index : match->inputs)
      inputs.push_back(workload.inputs[index]);
    // The kernel may have more named sizes than the program, and bound them.
    DimSizes sizes;
    auto where = [](unsigned) { return std::string("kernel"); };
    if (failed(
            checkInputs(kernel.signature, inputs, where, sizes, reportError)))
      return kBadInput;
    auto tensors = runSeeds(kernel, inputs, sizes);
    if (!tensors)
      return kBadInput;
    for (const Parameter &output : given.signature.outputs) {
      int64_t index = kernel.signature.findOutput(output.name);
      if (index < 0) {
        reportError("the kernel does not write output '" + output.name + "'");
        return kBadInput;
      }
      outputs.push_back((*tensors)[index]);
    }
    return kSuccess;
  }

private:
  /// Runs all seeds and returns the outputs, which must be equal for all seeds.
  std::optional<std::vector<HostTensor>> runSeeds(const Program &kernel,
                                                  ArrayRef<Argument> inputs,
                                                  const DimSizes &sizes) const {
    std::optional<std::vector<HostTensor>> result;
    uint64_t count = level == Level::Warp ? options.numSeeds : 1;
    for (uint64_t seed = options.seed; seed - options.seed < count; ++seed) {
      auto tensors = makeOutputs(kernel.signature, sizes);
      if (!tensors ||
          failed(runKernel(kernel.abi, getRegistry(), inputs, *tensors, sizes,
                           options.precision, seed)))
        return std::nullopt;
      if (!result) {
        result = std::move(tensors);
        continue;
      }
      for (auto [output, first, found] :
           llvm::zip(kernel.signature.outputs, *result, *tensors))
        if (std::memcmp(first.data(), found.data(), found.getNumBytes())) {
          reportError("seeds " + Twine(options.seed) + " and " + Twine(seed) +
                      " give different numbers in output '" + output.name +
                      "'");
          return std::nullopt;
        }
    }
    return result;
  }

  Level level;
  const Program &given;
  const Options &options;
};
} // namespace

std::unique_ptr<Backend>
fovea::run::createInterpreterBackend(const Program &program,
                                     const Options &options) {
  Level level = options.level.value_or(program.getLevel());
  if (level < program.getLevel()) {
    reportError("the program is at " + getName(program.getLevel()) +
                " level; it cannot run at level " + getName(level));
    return nullptr;
  }
  if (level == Level::Attn)
    return std::make_unique<AttnBackend>(program, options);
  return std::make_unique<KernelBackend>(level, program, options);
}
