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

//===----------------------------------------------------------------------===//
// Transposed lists
//===----------------------------------------------------------------------===//

ArrayRef<int32_t> HostBlockLists::getRow(int64_t batch, int64_t head,
                                         int64_t row) const {
  ArrayRef<int64_t> shape = getShape();
  int64_t place = shape[0] == 1 ? 0 : batch;
  place = place * shape[1] + (shape[1] == 1 ? 0 : head);
  place = place * shape[2] + row;
  int64_t width = shape[3];
  int64_t count = std::clamp<int64_t>(getIntegers(counts)[place], 0, width);
  return getIntegers(indices).slice(place * width, count);
}

/// The contents of a tensor with entries, or null.
static const attn::Contents *findLists(const Signature &signature,
                                       StringRef tensor) {
  for (const attn::Contents &contents : signature.contents)
    if (contents.tensor == tensor && !contents.entries.empty())
      return &contents;
  return nullptr;
}

std::optional<HostBlockLists>
fovea::interp::findTransposed(const Signature &signature,
                              ArrayRef<Argument> arguments,
                              const attn::Contents &contents) {
  const attn::Contents *lists = contents.transposed.empty()
                                    ? nullptr
                                    : findLists(signature, contents.transposed);
  if (!lists)
    return std::nullopt;
  int64_t counts = signature.findInput(lists->entries),
          indices = signature.findInput(lists->tensor);
  if (counts < 0 || indices < 0)
    return std::nullopt;
  return HostBlockLists(arguments[counts].tensor, arguments[indices].tensor);
}

/// A block of queries and a block of keys.
using BlockPair = std::pair<int64_t, int64_t>;

/// The pairs of `blocks` that lists of a batch entry and head have. Rows are
/// keys in transposed lists.
static llvm::DenseSet<BlockPair> collectPairs(const HostBlockLists &lists,
                                              int64_t batch, int64_t head,
                                              BlockPair blocks,
                                              bool areTransposed) {
  auto [rows, columns] =
      areTransposed ? BlockPair(blocks.second, blocks.first) : blocks;
  llvm::DenseSet<BlockPair> pairs;
  for (int64_t row = 0; row < std::min(lists.getShape()[2], rows); ++row)
    for (int64_t entry : lists.getRow(batch, head, row))
      if (entry >= 0 && entry < columns)
        pairs.insert(areTransposed ? BlockPair(entry, row)
                                   : BlockPair(row, entry));
  return pairs;
}

/// The smallest pair that one set has and the other does not have.
static std::optional<BlockPair>
findMissing(const llvm::DenseSet<BlockPair> &of,
            const llvm::DenseSet<BlockPair> &in) {
  std::optional<BlockPair> found;
  for (BlockPair pair : of)
    if (!in.contains(pair) && (!found || pair < *found))
      found = pair;
  return found;
}

/// Checks that lists from keys to queries are the `given` ones transposed, for
/// that many blocks.
static LogicalResult
checkTransposed(const attn::Contents &contents, const HostBlockLists &given,
                const HostBlockLists &transposed, BlockPair blocks,
                function_ref<void(const Twine &)> emitError) {
  ArrayRef<int64_t> x = given.getShape(), y = transposed.getShape();
  for (int64_t batch = 0; batch < std::max(x[0], y[0]); ++batch)
    for (int64_t head = 0; head < std::max(x[1], y[1]); ++head) {
      auto of = collectPairs(given, batch, head, blocks,
                             /*areTransposed=*/false);
      auto in = collectPairs(transposed, batch, head, blocks,
                             /*areTransposed=*/true);
      auto missing = findMissing(of, in), extra = findMissing(in, of);
      if (!missing && !extra)
        continue;
      auto [query, key] = missing ? *missing : *extra;
      emitError("tensor '" + Twine(contents.tensor) + "' must be '" +
                contents.transposed + "' transposed: batch entry " +
                Twine(batch) + ", head " + Twine(head) +
                " has block of queries " + Twine(query) +
                " and block of keys " + Twine(key) + " only in '" +
                (missing ? contents.transposed : contents.tensor) + "'");
      return failure();
    }
  return success();
}

/// The number of blocks that lists may contain.
static int64_t countBlocks(const attn::Contents &contents,
                           const DimSizes &sizes) {
  return llvm::divideCeil(sizes.lookup(contents.of), contents.block);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

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

  /// With `offsets`, rows are parts of one list. An ABI may lack a check of
  /// offsets.
  LogicalResult checkPages(ArrayRef<int32_t> keys,
                           ArrayRef<int32_t> offsets) const {
    ArrayRef<int32_t> integers = getIntegers(tensor);
    for (auto [row, count] : llvm::enumerate(keys)) {
      int64_t pages = llvm::divideCeil(std::max(count, 0), contents.page);
      int64_t width = tensor.getShape().back(), first = row * width;
      if (!offsets.empty()) {
        if (row + 1 >= offsets.size())
          break;
        first = offsets[row];
        width = int64_t(offsets[row + 1]) - first;
        if (first < 0 || width < 0 ||
            first + width > int64_t(integers.size())) {
          emitError("tensor '" + Twine(contents.offsets) + "' holds " +
                    Twine(first) + " at [" + Twine(row) +
                    "], expected offsets that ascend from 0 to " +
                    Twine(integers.size()));
          return failure();
        }
        if (pages > width)
          return refuseTable(row, width, pages);
      }
      for (int64_t entry = 0; entry < std::min(pages, width); ++entry) {
        int64_t index = first + entry;
        if (integers[index] < 0 || integers[index] >= size)
          return refuse(index, "a page from 0 to " + Twine(size - 1));
      }
    }
    return success();
  }

  LogicalResult refuseTable(int64_t row, int64_t width, int64_t pages) const {
    emitError("tensor '" + Twine(contents.offsets) + "' gives " + Twine(width) +
              " pages to sequence " + Twine(row) + ", expected at least the " +
              Twine(pages) + " of its keys");
    return failure();
  }

  /// `entries` and `offsets` are empty unless the contents name such tensors.
  LogicalResult check(ArrayRef<int32_t> entries,
                      ArrayRef<int32_t> offsets) const {
    if (contents.block)
      return checkLists(entries);
    if (contents.page)
      return checkPages(entries, offsets);
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
    ArrayRef<int32_t> counts, starts;
    if (hasEntries)
      counts = getIntegers(arguments[entries].tensor);
    if (!contents.offsets.empty()) {
      int64_t offsets = signature.findInput(contents.offsets);
      if (offsets < 0)
        continue;
      starts = getIntegers(arguments[offsets].tensor);
    }
    if (failed(checker.check(counts, starts)))
      return failure();
    auto given = findTransposed(signature, arguments, contents);
    if (!given)
      continue;
    HostBlockLists transposed(arguments[entries].tensor,
                              arguments[input].tensor);
    BlockPair blocks = {
        countBlocks(contents, sizes),
        countBlocks(*findLists(signature, contents.transposed), sizes)};
    if (failed(
            checkTransposed(contents, *given, transposed, blocks, emitError)))
      return failure();
  }
  return success();
}
