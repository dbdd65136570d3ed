//===- Inputs.cpp - Inputs and outputs of a run ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads inputs from .npy files or draws random ones, and writes outputs.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "ForwardResults.h"

#include "fovea/Interpreter/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using namespace fovea::run;

//===----------------------------------------------------------------------===//
// Given inputs
//===----------------------------------------------------------------------===//

static bool parseScalar(const Parameter &parameter, StringRef text,
                        RuntimeValue &result) {
  ElementKind kind = getKind(parameter);
  if (interp::isFloat(kind)) {
    double value;
    if (!text.getAsDouble(value, /*AllowInexact=*/true)) {
      result = RuntimeValue::real(roundTo(kind, value));
      return true;
    }
  } else {
    int64_t value;
    if (!text.getAsInteger(0, value)) {
      result = RuntimeValue::integer(IntegerWrap(kind)(value));
      return true;
    }
  }
  reportError("'" + parameter.name + "' must be a number of type " +
              interp::getName(kind) + ", found '" + text + "'");
  return false;
}

static bool readInput(const Parameter &parameter, StringRef source,
                      const Options &options, Argument &argument) {
  bool isFile = source.ends_with(".npy");
  if (!parameter.isTensor() && !isFile)
    return parseScalar(parameter, source, argument.scalar);
  std::string error;
  auto tensor = readNpy(source, getKind(parameter), options.uint16Is, error);
  if (failed(tensor)) {
    reportError(error);
    return false;
  }
  if (parameter.isTensor()) {
    argument.tensor = std::move(*tensor);
    return true;
  }
  if (tensor->getNumElements() != 1) {
    reportError(source + ": '" + parameter.name + "' is a scalar, found " +
                Twine(tensor->getNumElements()) + " elements");
    return false;
  }
  auto array = tensor->toArray(Precision::Exact);
  argument.scalar = array->getStorage() == Storage::Int
                        ? RuntimeValue::integer(*array->data<int64_t>())
                        : RuntimeValue::real(*array->data<double>());
  return true;
}

//===----------------------------------------------------------------------===//
// Random inputs
//===----------------------------------------------------------------------===//

namespace {
/// Random numbers that depend only on the seed and the input's name.
class Generator {
public:
  Generator(uint64_t seed, StringRef name)
      : engine(seed * 0x9e3779b97f4a7c15u + llvm::xxh3_64bits(name)) {}

  /// In (0, 1].
  double uniform() { return (double(engine() >> 11) + 1) * 0x1p-53; }
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }
  /// In [low, high].
  int64_t integer(int64_t low, int64_t high) {
    uint64_t range = uint64_t(high) - uint64_t(low) + 1;
    return range == 0 ? int64_t(engine())
                      : int64_t(uint64_t(low) + engine() % range);
  }

private:
  std::mt19937_64 engine;
};
} // namespace

/// True if the input is the `part` of a block list (counts or indices).
static bool isBlockList(const Parameter &parameter, StringRef part) {
  StringRef name = parameter.name;
  return (name.consume_front("partial_") || name.consume_front("full_")) &&
         name == part;
}

/// The range of an integer input: lengths are bounded by the sequence, page
/// tables by the number of pages.
static std::pair<int64_t, int64_t> getIntegerRange(const Parameter &parameter,
                                                   const DimSizes &sizes,
                                                   const Options &options) {
  auto size = [&](StringRef name) {
    auto found = sizes.find(name);
    return found == sizes.end() ? int64_t(0) : found->second;
  };
  if (parameter.name == "lengths")
    return {0, size("Skv") ? size("Skv") : size("P") * size("page")};
  if (parameter.name == "page_table")
    return {0, std::max<int64_t>(size("pages") - 1, 0)};
  for (StringRef list : {"partial", "full"})
    if (isBlockList(parameter, "count") &&
        StringRef(parameter.name).starts_with(list))
      return {0, size((list + "_index.3").str())};
  return {options.integersLow, options.integersHigh};
}

/// Draws offsets of packed sequences: ascending, from 0 to the total length.
static void drawOffsets(const Parameter &parameter, const DimSizes &sizes,
                        Generator &generator, MutableArrayRef<int64_t> values) {
  auto total = sizes.find(parameter.name == "cu_q" ? "Sq" : "Skv");
  int64_t end = total == sizes.end() ? 0 : total->second;
  for (int64_t &value : values)
    value = generator.integer(0, end);
  llvm::sort(values);
  if (!values.empty()) {
    values.front() = 0;
    values.back() = end;
  }
}

/// Draws rows with different numbers of blocks in any order. Even blocks are
/// partial and odd ones full, so that no block is in both lists. If rows are as
/// long as a sequence has blocks, half of the indices are out of range.
static void drawBlocks(const Parameter &parameter, int64_t width,
                       Generator &generator, MutableArrayRef<int64_t> values) {
  bool isFull = StringRef(parameter.name).starts_with("full");
  for (int64_t first = 0; first < int64_t(values.size()); first += width) {
    MutableArrayRef<int64_t> row = values.slice(first, width);
    for (auto [index, value] : llvm::enumerate(row)) {
      value = 2 * int64_t(index) + isFull;
      std::swap(value, row[generator.integer(0, index)]);
    }
  }
}

/// Draws a row of transposed lists with `listed` blocks out of `blocks`: in any
/// order, and, if there is space, with a block out of range. Returns the count.
static int64_t drawTransposedRow(ArrayRef<int32_t> listed, int64_t blocks,
                                 Generator &generator,
                                 MutableArrayRef<int32_t> row) {
  llvm::fill(row, -7);
  int64_t count = std::min(listed.size(), row.size());
  llvm::copy(listed.take_front(count), row.begin());
  if (count < int64_t(row.size()) && generator.integer(0, 1))
    row[count++] = blocks + 3;
  for (int64_t index = 0; index < count; ++index)
    std::swap(row[index], row[generator.integer(0, index)]);
  return count;
}

/// Draws lists that are `given` transposed.
static void drawTransposed(const interp::HostBlockLists &given,
                           Generator &generator, HostTensor &counts,
                           HostTensor &indices) {
  ArrayRef<int64_t> shape = indices.getShape();
  int64_t blocks = given.getShape()[2], width = shape[3], place = 0;
  auto *countData = reinterpret_cast<int32_t *>(counts.data()),
       *indexData = reinterpret_cast<int32_t *>(indices.data());
  for (int64_t batch = 0; batch < shape[0]; ++batch)
    for (int64_t head = 0; head < shape[1]; ++head)
      for (int64_t key = 0; key < shape[2]; ++key, ++place) {
        SmallVector<int32_t> listed;
        for (int64_t query = 0; query < blocks; ++query)
          if (llvm::is_contained(given.getRow(batch, head, query), key))
            listed.push_back(query);
        countData[place] = drawTransposedRow(
            listed, blocks, generator,
            MutableArrayRef(indexData + place * width, width));
      }
}

/// Replaces transposed lists by those of the other lists.
static void drawAllTransposed(const Signature &signature,
                              const Options &options, Workload &workload) {
  for (const attn::Contents &contents : signature.contents) {
    auto given = interp::findTransposed(signature, workload.inputs, contents);
    int64_t counts = signature.findInput(contents.entries),
            indices = signature.findInput(contents.tensor);
    if (!given || counts < 0 || indices < 0)
      continue;
    Generator generator(*options.randomSeed, contents.tensor);
    drawTransposed(*given, generator, workload.inputs[counts].tensor,
                   workload.inputs[indices].tensor);
  }
}

/// Fills a float tensor in chunks, since it may be large.
static void drawFloats(HostTensor &tensor, double factor,
                       Generator &generator) {
  constexpr int64_t kPiece = 1 << 16;
  int64_t count = tensor.getNumElements();
  std::vector<double> values(std::min(count, kPiece));
  for (int64_t first = 0; first < count; first += kPiece) {
    int64_t piece = std::min(count - first, kPiece);
    for (int64_t index = 0; index < piece; ++index)
      values[index] = factor * generator.normal();
    writeElements(tensor.getKind(), values.data(), piece,
                  tensor.data() + first * getByteWidth(tensor.getKind()), 1);
  }
}

/// Maps normal numbers to scales near 1, which must be positive.
static void makePositive(HostTensor &tensor) {
  std::vector<double> values(tensor.getNumElements());
  readElements(tensor.getKind(), tensor.data(), /*stride=*/1, values.size(),
               values.data());
  for (double &value : values)
    value = std::exp2(value / 4);
  writeElements(tensor.getKind(), values.data(), values.size(), tensor.data(),
                1);
}

static HostTensor drawTensor(const Parameter &parameter,
                             ArrayRef<int64_t> shape, const DimSizes &sizes,
                             const Options &options) {
  ElementKind kind = getKind(parameter);
  HostTensor tensor(kind, shape);
  Generator generator(*options.randomSeed, parameter.name);
  int64_t count = tensor.getNumElements();
  if (interp::isFloat(kind)) {
    drawFloats(tensor, parameter.name == "q" ? options.magnitude : 1.0,
               generator);
    if (llvm::is_contained({"q_scale", "k_scale", "v_scale"}, parameter.name))
      makePositive(tensor);
    return tensor;
  }
  std::vector<int64_t> values(count);
  auto [low, high] = getIntegerRange(parameter, sizes, options);
  if (kind == ElementKind::I1)
    low = 0, high = 1;
  if (parameter.name == "cu_q" || parameter.name == "cu_k")
    drawOffsets(parameter, sizes, generator, values);
  else if (isBlockList(parameter, "index"))
    drawBlocks(parameter, shape.back(), generator, values);
  else
    for (int64_t &value : values)
      value = generator.integer(low, high);
  writeElements(kind, values.data(), count, tensor.data(), 1);
  return tensor;
}

static bool drawScalar(const Parameter &parameter, const DimSizes &sizes,
                       const Options &options, RuntimeValue &result) {
  auto given = options.scalars.find(parameter.name);
  if (given != options.scalars.end())
    return parseScalar(parameter, given->second, result);
  Generator generator(*options.randomSeed, parameter.name);
  ElementKind kind = getKind(parameter);
  if (!interp::isFloat(kind)) {
    auto [low, high] = getIntegerRange(parameter, sizes, options);
    result =
        RuntimeValue::integer(IntegerWrap(kind)(generator.integer(low, high)));
    return true;
  }
  auto depth = sizes.find("D");
  double value = parameter.name == "scale" && depth != sizes.end()
                     ? 1 / std::sqrt(double(depth->second))
                     : generator.normal();
  result = RuntimeValue::real(roundTo(kind, value));
  return true;
}

/// The smallest legal sizes of dimensions that depend on `sizes`.
static DimSizes findLeastSizes(const Signature &signature,
                               const DimSizes &sizes) {
  DimSizes least;
  for (const auto &[name, than] : signature.successors)
    if (auto smaller = sizes.find(than); smaller != sizes.end())
      least[name] = smaller->second + 1;
  for (const attn::DimCover &cover : signature.covers)
    if (auto of = sizes.find(cover.of); of != sizes.end()) {
      int64_t &size = least[cover.dim];
      size = std::max<int64_t>(size, llvm::divideCeil(of->second, cover.block));
    }
  // Rows of transposed lists have space for all blocks.
  for (const attn::Contents &contents : signature.contents) {
    int64_t input = signature.findInput(contents.tensor);
    auto of = sizes.find(contents.of);
    if (!contents.transposed.empty() && input >= 0 && of != sizes.end())
      least[signature.inputs[input].dims.back()] =
          std::max<int64_t>(llvm::divideCeil(of->second, contents.block), 1);
  }
  return least;
}

/// Collects sizes by name from static types and --dims. Reports missing sizes
/// and unknown names.
static bool collectSizes(const Signature &signature, const Options &options,
                         DimSizes &sizes) {
  llvm::StringMap<bool> known;
  for (const Parameter &input : signature.inputs)
    for (auto [dim, name] : llvm::enumerate(input.dims)) {
      known[name] = true;
      int64_t size = input.getTensorType().getDimSize(dim);
      if (!ShapedType::isDynamic(size))
        sizes.try_emplace(name, size);
    }
  std::string names;
  for (const Parameter &input : signature.inputs)
    for (const std::string &name : input.dims)
      if (known.lookup(name)) {
        names += (names.empty() ? "" : ", ") + name;
        known[name] = false;
      }
  for (auto &entry : options.dims) {
    if (!known.count(entry.getKey())) {
      reportError("no dimension is named '" + entry.getKey() +
                  "'; the inputs have " + names);
      return false;
    }
    auto [size, isNew] = sizes.try_emplace(entry.getKey(), entry.getValue());
    if (size->second != entry.getValue()) {
      reportError("dimension " + entry.getKey() + " is " + Twine(size->second) +
                  " in the program, found " + Twine(entry.getValue()) +
                  " in --dims");
      return false;
    }
  }
  DimSizes least = findLeastSizes(signature, sizes);
  for (auto &entry : least)
    sizes.try_emplace(entry.getKey(), entry.getValue());
  std::string missing;
  for (const Parameter &input : signature.inputs)
    for (const std::string &name : input.dims)
      if (!sizes.count(name) && known.count(name)) {
        missing += (missing.empty() ? "" : ", ") + name;
        known.erase(name);
      }
  if (missing.empty())
    return true;
  reportError("--dims must give the sizes of the dynamic dimensions " +
              missing);
  return false;
}

static bool drawInputs(const Signature &signature, const Options &options,
                       Workload &workload) {
  DimSizes sizes;
  if (!collectSizes(signature, options, sizes))
    return false;
  for (auto &entry : options.scalars)
    if (int64_t index = signature.findInput(entry.getKey());
        index < 0 || signature.inputs[index].isTensor()) {
      reportError("no scalar is named '" + entry.getKey() + "'");
      return false;
    }
  for (const Parameter &input : signature.inputs) {
    Argument &argument = workload.inputs.emplace_back();
    if (!input.isTensor()) {
      if (!drawScalar(input, sizes, options, argument.scalar))
        return false;
      continue;
    }
    std::string missing;
    auto shape = resolveShape(input, sizes, missing);
    assert(succeeded(shape) && "all sizes are known");
    if (!fits(input, *shape))
      return false;
    argument.tensor = drawTensor(input, *shape, sizes, options);
  }
  drawAllTransposed(signature, options, workload);
  return true;
}

//===----------------------------------------------------------------------===//
// All inputs
//===----------------------------------------------------------------------===//

std::optional<Workload> fovea::run::makeInputs(const Program &program,
                                               const Options &options) {
  const Signature &signature = program.signature;
  Workload workload;
  if (options.randomSeed) {
    if (!drawInputs(signature, options, workload))
      return std::nullopt;
  } else {
    if (options.inputs.size() != signature.inputs.size()) {
      std::string names;
      for (const Parameter &input : signature.inputs)
        names += (names.empty() ? "" : ", ") + input.name;
      reportError("the program takes " + Twine(signature.inputs.size()) +
                  " inputs (" + names + "), found " +
                  Twine(options.inputs.size()) +
                  "; or draw them with --random=SEED");
      return std::nullopt;
    }
    workload.inputs.resize(signature.inputs.size());
    for (auto [index, input] : llvm::enumerate(signature.inputs))
      if (!readInput(input, options.inputs[index], options,
                     workload.inputs[index]))
        return std::nullopt;
  }
  auto where = [&](unsigned index) {
    return options.randomSeed ? std::string("--random") : options.inputs[index];
  };
  if (failed(checkInputs(signature, workload.inputs, where, workload.sizes,
                         reportError)))
    return std::nullopt;
  if (options.checkContents &&
      failed(checkContents(signature, workload.inputs, workload.sizes,
                           reportError)))
    return std::nullopt;
  if (options.randomSeed && !fillForwardResults(program, options, workload))
    return std::nullopt;
  if (options.saveInputs.empty())
    return workload;
  if (std::error_code code =
          llvm::sys::fs::create_directories(options.saveInputs)) {
    reportError(options.saveInputs + ": cannot create: " + code.message());
    return std::nullopt;
  }
  for (auto [input, argument] : llvm::zip(signature.inputs, workload.inputs))
    if (input.isTensor() &&
        !writeTensor(options.saveInputs + "/" + input.name + ".npy",
                     argument.tensor, options))
      return std::nullopt;
  return workload;
}

bool fovea::run::writeTensor(StringRef path, const HostTensor &tensor,
                             const Options &options) {
  std::string error;
  if (succeeded(writeNpy(path, tensor, options.uint16Is, error)))
    return true;
  reportError(error);
  return false;
}
