//===- Contents.cpp - Checks of integers in inputs --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks constraints on integers in inputs, such as ascending offsets and block
// lists, with the diagnostics of libFoveaRuntime.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Signature.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

static ArrayRef<int32_t> getIntegers(const HostTensor &tensor) {
  return {reinterpret_cast<const int32_t *>(tensor.data()),
          size_t(tensor.getNumElements())};
}

namespace {
/// Checks one tensor; the diagnostics are those of libFoveaRuntime.
struct Checker {
  const attn::Contents &contents;
  const HostTensor &tensor;
  int64_t size;
  function_ref<void(const Twine &)> emitError;

  LogicalResult refuse(int64_t index, const Twine &expected) const {
    SmallVector<int64_t, 4> indices(tensor.getShape().size());
    int64_t rest = index;
    for (int64_t dim = indices.size() - 1; dim >= 0; --dim) {
      indices[dim] = rest % tensor.getShape()[dim];
      rest /= tensor.getShape()[dim];
    }
    std::string place;
    llvm::raw_string_ostream os(place);
    llvm::interleaveComma(indices, os);
    emitError("tensor '" + Twine(contents.tensor) + "' holds " +
              Twine(getIntegers(tensor)[index]) + " at [" + place +
              "], expected " + expected);
    return failure();
  }

  std::string describeSize() const {
    std::string factor =
        contents.times == 1 ? "" : std::to_string(contents.times) + " times ";
    return factor + "'" + contents.of + "'";
  }

  LogicalResult checkRange() const {
    ArrayRef<int32_t> integers = getIntegers(tensor);
    for (auto [index, value] : llvm::enumerate(integers)) {
      if (value < 0 || value > size)
        return refuse(index,
                      "0 to " + Twine(size) + ", which is " + describeSize());
      if (contents.ascending && index > 0 && value < integers[index - 1])
        return refuse(index, "no less than the " + Twine(integers[index - 1]) +
                                 " before it: they must ascend");
    }
    return success();
  }

  LogicalResult checkLists(ArrayRef<int32_t> counts) const {
    ArrayRef<int32_t> integers = getIntegers(tensor);
    int64_t blocks = llvm::divideCeil(size, contents.block),
            width = tensor.getShape().back();
    for (auto [row, count] : llvm::enumerate(counts)) {
      llvm::DenseSet<int32_t> listed;
      for (int64_t entry = 0; entry < std::min<int64_t>(count, width);
           ++entry) {
        int64_t index = row * width + entry;
        if (integers[index] < 0 || integers[index] >= blocks)
          return refuse(index, "a block from 0 to " + Twine(blocks - 1));
        if (!listed.insert(integers[index]).second)
          return refuse(index, "a block that the row does not have yet");
      }
    }
    return success();
  }

  LogicalResult checkPages(ArrayRef<int32_t> keys) const {
    ArrayRef<int32_t> integers = getIntegers(tensor);
    int64_t width = tensor.getShape().back();
    for (auto [row, count] : llvm::enumerate(keys)) {
      int64_t pages = llvm::divideCeil(std::max(count, 0), contents.page);
      for (int64_t entry = 0; entry < std::min(pages, width); ++entry) {
        int64_t index = row * width + entry;
        if (integers[index] < 0 || integers[index] >= size)
          return refuse(index, "a page from 0 to " + Twine(size - 1));
      }
    }
    return success();
  }

  /// `entries` are empty unless the contents name a tensor with entries.
  LogicalResult check(ArrayRef<int32_t> entries) const {
    if (contents.block)
      return checkLists(entries);
    if (contents.page)
      return checkPages(entries);
    return checkRange();
  }
};
} // namespace

LogicalResult fovea::interp::checkContents(
    const Signature &signature, ArrayRef<Argument> arguments,
    const DimSizes &sizes, function_ref<void(const Twine &)> emitError) {
  for (const attn::Contents &contents : signature.contents) {
    int64_t input = signature.findInput(contents.tensor),
            entries = signature.findInput(contents.entries);
    auto size = sizes.find(contents.of);
    // A function may compute the tensor itself.
    bool hasEntries = !contents.entries.empty();
    if (input < 0 || size == sizes.end() || (hasEntries && entries < 0))
      continue;
    Checker checker = {contents, arguments[input].tensor,
                       size->second * contents.times, emitError};
    ArrayRef<int32_t> counts;
    if (hasEntries)
      counts = getIntegers(arguments[entries].tensor);
    if (failed(checker.check(counts)))
      return failure();
  }
  return success();
}
