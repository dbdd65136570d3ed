//===- Report.cpp - Checking and printing results -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares outputs with those of a reference and prints the results as text or
// JSON.
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using namespace fovea::run;

bool Report::passed() const {
  return llvm::all_of(checks,
                      [](const OutputCheck &check) { return check.passed; }) &&
         llvm::all_of(differences, [](const DifferenceCheck &check) {
           return check.passed();
         });
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

namespace {
/// Finds output elements that may be NaN because V is not finite. A hidden key
/// may be in a block that the kernel processes; its probability is 0, but 0 *
/// NaN is NaN. So an output element may be NaN if its column of V has a
/// non-finite element.
class NonFiniteValues {
public:
  NonFiniteValues(const Signature &signature, const Workload &workload) {
    int64_t index = signature.findInput("v");
    if (index < 0 || !signature.inputs[index].isTensor())
      return;
    dims = signature.inputs[index].dims;
    const HostTensor &v = workload.inputs[index].tensor;
    if (!interp::isFloat(v.getKind()))
      return;
    shape.assign(v.getShape().begin(), v.getShape().end());
    SmallVector<double, 0> values(v.getNumElements());
    readElements(v.getKind(), v.data(), 1, values.size(), values.data());
    for (auto [position, value] : llvm::enumerate(values)) {
      if (std::isfinite(value))
        continue;
      columns.insert(getColumn(shape, dims, position, 1));
    }
    // Without their own names, key heads are the query heads (see aliases).
    queryHeads = workload.sizes.lookup("Hq");
    keyHeads =
        workload.sizes.count("Hkv") ? workload.sizes.lookup("Hkv") : queryHeads;
  }

  bool mayBeNaN(ArrayRef<int64_t> outputShape, ArrayRef<std::string> outputDims,
                int64_t position) const {
    if (columns.empty() || queryHeads == 0 || keyHeads == 0)
      return false;
    return columns.contains(
        getColumn(outputShape, outputDims, position, queryHeads / keyHeads));
  }

private:
  using Column = std::tuple<int64_t, int64_t, int64_t>;

  /// Batch entry, key head and column of an element. Pages have no batch entry.
  Column getColumn(ArrayRef<int64_t> shape, ArrayRef<std::string> names,
                   int64_t position, int64_t headsPerKeyHead) const {
    int64_t batch = 0, head = 0, column = 0;
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
      int64_t coordinate = position % shape[dim];
      position /= shape[dim];
      if (names[dim] == "B" && llvm::is_contained(dims, "B"))
        batch = coordinate;
      else if (names[dim] == "Hq" || names[dim] == "Hkv")
        head = coordinate / headsPerKeyHead;
      else if (names[dim] == "Dv" || names[dim] == "D")
        column = coordinate;
    }
    return {batch, head, column};
  }

  SmallVector<std::string> dims;
  SmallVector<int64_t, 4> shape;
  llvm::DenseSet<Column> columns;
  int64_t queryHeads = 0, keyHeads = 0;
};
} // namespace

/// The largest L2 norm of the finite rows.
static double getLongestRow(const HostTensor &tensor) {
  int64_t columns = tensor.getShape().empty() ? 1 : tensor.getShape().back();
  SmallVector<double, 0> values(tensor.getNumElements());
  readElements(tensor.getKind(), tensor.data(), 1, values.size(),
               values.data());
  double longest = 0;
  for (ArrayRef<double> rest = values; columns > 0 && !rest.empty();
       rest = rest.drop_front(columns)) {
    double squares = 0;
    for (double value : rest.take_front(columns))
      squares += value * value;
    if (std::isfinite(squares))
      longest = std::max(longest, std::sqrt(squares));
  }
  return longest;
}

namespace {
/// The absolute error allowed in a row, however small its values. P and dS are
/// rounded to a type with a smallest step, and f32 sums that cancel leave a
/// residual error.
class Allowance {
public:
  Allowance(const Program &program, const Workload &inputs)
      : function(program.function), signature(program.signature),
        inputs(inputs) {
    if (const HostTensor *v = find("v"))
      weights = v->getKind();
  }

  /// The type of P, which is V's.
  std::optional<ElementKind> getWeights() const { return weights; }
  bool isGradient() const { return signature.findInput("do") >= 0; }

  double get(StringRef output) {
    if (!weights)
      return 0;
    // The operand that P or dS is multiplied with.
    StringRef factor = !isGradient()    ? "v"
                       : output == "dq" ? "k"
                       : output == "dk" ? "q"
                                        : "do";
    double least = (getLeastStep(*weights) + countWeights(output) * kFlushed) *
                   getLongest(factor);
    if (output != "dq" && output != "dk")
      return least;
    // P (dP - delta) where dP is close to delta: the f32 rounding error of the
    // dot product of dO and V. Errors of queries with all probability on one
    // key accumulate like random variables.
    double rows =
        output == "dk" ? std::max<int64_t>(1, inputs.sizes.lookup("Sq")) : 1;
    return least + kCancelled * getLongest("do") * getLongest("v") *
                       getLongest(factor) * std::fabs(getScale()) *
                       std::sqrt(rows);
  }

private:
  static constexpr double kCancelled = 0x1p-21;
  // Kernels flush probabilities below the smallest normal f32 to 0.
  static constexpr double kFlushed = 0x1p-126;

  /// The number of terms of P or dS in a row of the output.
  double countWeights(StringRef output) const {
    auto size = [&](StringRef name) {
      return double(std::max<int64_t>(1, inputs.sizes.lookup(name)));
    };
    if (output != "dv" && output != "dk")
      return size("Skv");
    return size("Sq") * std::max(1.0, size("Hq") / size("Hkv"));
  }

  const HostTensor *find(StringRef name) const {
    int64_t index = signature.findInput(name);
    if (index < 0 || !signature.inputs[index].isTensor())
      return nullptr;
    const HostTensor &tensor = inputs.inputs[index].tensor;
    return interp::isFloat(tensor.getKind()) ? &tensor : nullptr;
  }
  double getLongest(StringRef name) const {
    const HostTensor *tensor = find(name);
    return tensor ? getLongestRow(*tensor) : 0;
  }
  /// The scale given at run time or by the op, or the default.
  double getScale() {
    if (function)
      for (auto backward : function.getBody().getOps<attn::BackwardOp>())
        if (std::optional<APFloat> scale = backward.getScale())
          return scale->convertToDouble();
    int64_t index = signature.findInput("scale");
    if (index >= 0 && !signature.inputs[index].isTensor())
      return inputs.inputs[index].scalar.getReal();
    return 1 /
           std::sqrt(double(std::max<int64_t>(1, inputs.sizes.lookup("D"))));
  }

  func::FuncOp function;
  const Signature &signature;
  const Workload &inputs;
  std::optional<ElementKind> weights;
};
} // namespace

/// The inputs of the reference.
static std::optional<Workload> matchInputs(const Program &program,
                                           const Program &reference,
                                           const Workload &workload) {
  auto match = matchByName(reference, program);
  if (!match)
    return std::nullopt;
  Workload inputs;
  for (auto [parameter, index] :
       llvm::zip(reference.signature.inputs, match->inputs)) {
    if (index >= 0) {
      inputs.inputs.push_back(workload.inputs[index]);
      continue;
    }
    std::optional<Argument> placeholder = makePlaceholder(parameter);
    if (!placeholder)
      return std::nullopt;
    inputs.inputs.push_back(std::move(*placeholder));
  }
  auto where = [](unsigned) { return std::string("--reference"); };
  if (failed(checkInputs(reference.signature, inputs.inputs, where,
                         inputs.sizes, reportError)))
    return std::nullopt;
  return inputs;
}

bool fovea::run::checkOutputs(const Program &program, const Program &reference,
                              const Workload &workload, const Options &options,
                              Report &report) {
  std::optional<Workload> matched = matchInputs(program, reference, workload);
  if (!matched)
    return false;
  const Workload &inputs = *matched;
  if (options.checkDifferences &&
      !checkDifferences(reference, inputs, options, report.differences))
    return false;
  SmallVector<RuntimeValue> meaning, straightforward;
  Options once = options;
  if (!evaluate(reference, inputs, Precision::Exact, once, meaning))
    return false;
  once.kvBoundsRows = once.kvClassifyRows = 0; // checked already
  if (!evaluate(reference, inputs, Precision::Typed, once, straightforward))
    return false;
  NonFiniteValues values(reference.signature, inputs);
  Allowance allowance(reference, inputs);
  for (auto [index, output] : llvm::enumerate(program.signature.outputs)) {
    int64_t found = reference.signature.findOutput(output.name);
    if (found < 0) {
      reportError("the reference has no output '" + output.name + "'");
      return false;
    }
    const Parameter &expected = reference.signature.outputs[found];
    const HostTensor &tensor = report.outputs[index];
    if (!expected.isTensor() || !isFloat(tensor.getKind())) {
      reportError("cannot check output '" + output.name +
                  "', which is not a tensor of floats");
      return false;
    }
    const Array &means = meaning[found].getArray();
    if (means.getShape() != tensor.getShape()) {
      reportError("output '" + output.name +
                  "' does not have the reference's shape");
      return false;
    }
    auto mayBeNaN = [&](int64_t position) {
      return values.mayBeNaN(tensor.getShape(), expected.dims, position);
    };
    report.checks.push_back(
        expected.isLogSumExp
            ? checkLogSumExp(tensor, means)
            : interp::checkRows(
                  tensor, means, straightforward[found].getArray(),
                  allowance.getWeights().value_or(tensor.getKind()),
                  allowance.get(output.name), mayBeNaN));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string getShapeText(const HostTensor &tensor) {
  std::string text;
  for (int64_t size : tensor.getShape())
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

static void printJSON(const Program &program, const Report &report) {
  llvm::json::OStream json(llvm::outs(), 2);
  json.object([&] {
    json.attribute("seconds", report.seconds);
    if (!report.checks.empty())
      json.attribute("passed", report.passed());
    json.attributeArray("outputs", [&] {
      for (auto [index, output] : llvm::enumerate(program.signature.outputs))
        json.object([&, index = index, &output = output] {
          json.attribute("name", output.name);
          json.attributeArray("shape", [&] {
            for (int64_t size : report.outputs[index].getShape())
              json.value(size);
          });
          if (report.checks.empty())
            return;
          const OutputCheck &check = report.checks[index];
          json.attribute("passed", check.passed);
          json.attribute("max_absolute", check.maxAbsolute);
          json.attribute("max_relative", check.maxRelative);
          json.attribute("worst_ratio", check.worstRatio);
          json.attribute("worst_row", check.worstRow);
          json.attribute("mean_ratio", check.meanRatio);
          json.attribute("mean_acceptable", check.isMeanAcceptable);
          json.attribute("rows", check.rows);
          json.attribute("skipped_rows", check.skippedRows);
          json.attribute("misplaced", check.misplaced);
        });
    });
    if (report.differences.empty())
      return;
    json.attributeArray("differences", [&] {
      for (const DifferenceCheck &check : report.differences)
        json.object([&] {
          json.attribute("name", check.output);
          json.attribute("passed", check.passed());
          json.attribute("worst_ratio", check.worstRatio);
        });
    });
  });
  llvm::outs() << "\n";
}

void fovea::run::printReport(const Program &program, const Report &report,
                             const Options &options) {
  if (options.json)
    return printJSON(program, report);
  llvm::raw_ostream &out = llvm::outs();
  for (auto [index, output] : llvm::enumerate(program.signature.outputs)) {
    out << output.name << " " << getShapeText(report.outputs[index]);
    if (report.checks.empty()) {
      out << "\n";
      continue;
    }
    const OutputCheck &check = report.checks[index];
    out << ": max absolute error " << llvm::format("%.3g", check.maxAbsolute)
        << ", max relative error " << llvm::format("%.3g", check.maxRelative)
        << ", worst row at " << llvm::format("%.3g", check.worstRatio)
        << " of its tolerance";
    if (check.worstRatio > 1)
      out << " (row " << check.worstRow << ")";
    if (!check.isMeanAcceptable)
      out << ", rows' mean error at " << llvm::format("%.3g", check.meanRatio)
          << " of the straightforward evaluation's";
    if (check.misplaced)
      out << ", " << check.misplaced << " NaN or infinite elements misplaced";
    if (check.skippedRows)
      out << ", " << check.skippedRows << " rows overflow and were skipped";
    out << (check.passed ? ": passed\n" : ": FAILED\n");
  }
  for (const DifferenceCheck &check : report.differences)
    out << check.output << " against finite differences: "
        << llvm::format("%.3g", check.worstRatio) << " of the tolerance"
        << (check.passed() ? ": passed\n" : ": FAILED\n");
  out << "ran in " << llvm::format("%.2f", report.seconds) << " s\n";
}
