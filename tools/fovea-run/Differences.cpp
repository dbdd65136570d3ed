//===- Differences.cpp - Gradients against finite differences -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loss is the sum of the forward's results times their gradients, `do` and
// `dlse`. Its derivative in a direction is the dot product of the gradient and
// the direction.
//
//===----------------------------------------------------------------------===//

#include "Differences.h"

#include "Backend.h"
#include "ForwardResults.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using namespace fovea::run;

// The number of directions per gradient, the step along them, and the tolerance
// of a directional derivative relative to the sum of the magnitudes of its
// terms.
static constexpr int kDirections = 3;
static constexpr double kStep = 0x1p-18, kTolerance = 1e-5;

namespace {
class DifferenceChecker {
public:
  DifferenceChecker(const Program &backward, const Program &forward,
                    const Workload &workload, const Options &options)
      : backward(backward), forward(forward), inputs(workload),
        options(options), random(options.randomSeed.value_or(0)) {
    // These checks are done once, for the outputs.
    this->options.kvBoundsRows = this->options.kvClassifyRows = 0;
  }

  /// Computes the gradients of the forward's own results in f64.
  bool initialize(ForwardInputs given);
  bool check(unsigned output, DifferenceCheck &check);

private:
  bool run(const Program &program, SmallVectorImpl<RuntimeValue> &results) {
    return evaluate(program, inputs, Precision::Exact, options, results);
  }
  std::optional<double> computeLoss();
  /// Adds `step` times the direction to the input.
  void move(unsigned input, ArrayRef<double> direction, double step);

  const Program &backward, &forward;
  /// Float tensors are f64.
  Workload inputs;
  Options options;
  std::mt19937_64 random;
  SmallVector<RuntimeValue> gradients;
};
} // namespace

static HostTensor widen(const HostTensor &tensor) {
  return HostTensor::fromArray(*tensor.toArray(Precision::Exact),
                               ElementKind::F64);
}

static MutableArrayRef<double> getElements(HostTensor &tensor) {
  return {reinterpret_cast<double *>(tensor.data()),
          size_t(tensor.getNumElements())};
}

bool DifferenceChecker::initialize(ForwardInputs given) {
  for (Argument &input : inputs.inputs)
    if (input.tensor && isFloat(input.tensor.getKind()))
      input.tensor = widen(input.tensor);
  SmallVector<RuntimeValue> results;
  if (!run(forward, results))
    return false;
  unsigned numbers[] = {given.output, given.lse};
  for (auto [number, result] : llvm::zip(numbers, results))
    inputs.inputs[number].tensor =
        HostTensor::fromArray(result.getArray(), ElementKind::F64);
  return run(backward, gradients);
}

std::optional<double> DifferenceChecker::computeLoss() {
  SmallVector<RuntimeValue> results;
  if (!run(forward, results))
    return std::nullopt;
  static constexpr StringLiteral kFactors[] = {"do", "dlse"};
  double loss = 0;
  for (auto [result, name] : llvm::zip(results, kFactors)) {
    int64_t factor = backward.signature.findInput(name);
    if (factor < 0)
      continue;
    const Array &values = result.getArray();
    ArrayRef<double> factors = getElements(inputs.inputs[factor].tensor);
    // The LSE of a row without visible keys does not contribute to the loss.
    for (auto [value, times] : llvm::zip(
             ArrayRef(values.data<double>(), values.getNumElements()), factors))
      loss += std::isfinite(value) ? value * times : 0;
  }
  return loss;
}

void DifferenceChecker::move(unsigned input, ArrayRef<double> direction,
                             double step) {
  Argument &argument = inputs.inputs[input];
  if (!argument.tensor) {
    argument.scalar = RuntimeValue::real(argument.scalar.getReal() +
                                         step * direction.front());
    return;
  }
  // The old tensor may share its storage, so it is copied.
  argument.tensor = widen(argument.tensor);
  for (auto [element, change] :
       llvm::zip(getElements(argument.tensor), direction))
    element += step * change;
}

bool DifferenceChecker::check(unsigned output, DifferenceCheck &check) {
  check.output = backward.signature.outputs[output].name;
  int64_t input =
      backward.signature.findInput(StringRef(check.output).drop_front());
  if (input < 0) {
    reportError("the program has no input for the gradient '" + check.output +
                "'");
    return false;
  }
  const Array &gradient = gradients[output].getArray();
  ArrayRef<double> elements(gradient.data<double>(), gradient.getNumElements());
  for (int n = 0; n < kDirections; ++n) {
    std::normal_distribution<double> normal;
    SmallVector<double, 0> direction(elements.size());
    double wanted = 0, magnitude = 0;
    for (auto [change, element] : llvm::zip(direction, elements)) {
      change = normal(random);
      wanted += change * element;
      magnitude += std::fabs(change * element);
    }
    Argument before = inputs.inputs[input];
    move(input, direction, kStep);
    std::optional<double> above = computeLoss();
    inputs.inputs[input] = before;
    move(input, direction, -kStep);
    std::optional<double> below = computeLoss();
    inputs.inputs[input] = before;
    if (!above || !below)
      return false;
    double found = (*above - *below) / (2 * kStep);
    // Rounding error of the losses in f64, for gradients that are 0.
    double rounding = (std::fabs(*above) + 1) * 0x1p-48 / kStep;
    double ratio =
        std::fabs(found - wanted) / (kTolerance * magnitude + rounding);
    // NaN is an infinite error.
    check.worstRatio = ratio <= check.worstRatio ? check.worstRatio
                       : std::isnan(ratio)       ? INFINITY
                                                 : ratio;
  }
  return true;
}

bool fovea::run::checkDifferences(const Program &program,
                                  const Workload &workload,
                                  const Options &options,
                                  std::vector<DifferenceCheck> &checks) {
  std::optional<ForwardInputs> given = findForwardInputs(program);
  if (!given) {
    reportError("--check=differences requires a function with one "
                "attn.backward and the forward's results as inputs");
    return false;
  }
  std::optional<Program> forward = makeForwardProgram(program);
  if (!forward)
    return false;
  DifferenceChecker checker(program, *forward, workload, options);
  if (!checker.initialize(*given))
    return false;
  for (unsigned output = 0; output < program.signature.outputs.size(); ++output)
    if (!checker.check(output, checks.emplace_back()))
      return false;
  return true;
}
