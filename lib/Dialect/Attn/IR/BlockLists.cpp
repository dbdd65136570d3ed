//===- BlockLists.cpp - Which blocks queries see ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace fovea::attn;

static constexpr StringRef kListNames[] = {"partial_count", "partial_index",
                                           "full_count", "full_index"};
/// Dimension of all lists that blocks of queries are counted along, and that of
/// indices that holds one row's entries.
static constexpr int64_t kBlocksDim = 2, kEntriesDim = 3;

StringRef ForwardOp::getBlockListName(unsigned index) {
  return kListNames[index];
}

SmallVector<std::string> ForwardOp::getBlockListDims(unsigned index) {
  auto type = cast<RankedTensorType>(getBlockLists()[index].getType());
  StringRef name = getBlockListName(index);
  // An extent of 1 stands for all entries, whatever their number.
  auto dimName = [&](int64_t dim, StringRef all) {
    return type.getDimSize(dim) == 1 ? (name + "." + Twine(dim)).str()
                                     : all.str();
  };
  SmallVector<std::string> dims = {dimName(0, "B"), dimName(1, "Hq"),
                                   "Qblocks"};
  if (type.getRank() > kEntriesDim)
    dims.push_back((name + "." + Twine(kEntriesDim)).str());
  return dims;
}

SmallVector<std::string> ForwardOp::getNonEmptyDims() {
  SmallVector<std::string> dims;
  for (unsigned index = 1; index < getBlockLists().size(); index += 2)
    dims.push_back(getBlockListDims(index)[kEntriesDim]);
  return dims;
}

SmallVector<Contents> ForwardOp::getContents() {
  SmallVector<Contents> contents = getSequence().getContents();
  for (unsigned index = 0; index < getBlockLists().size(); index += 2) {
    StringRef counts = getBlockListName(index),
              numbers = getBlockListName(index + 1);
    contents.push_back({counts.str(), getBlockListDims(index + 1)[kEntriesDim],
                        /*ascending=*/false, /*block=*/0, /*entries=*/""});
    contents.push_back({numbers.str(), "Skv", /*ascending=*/false,
                        getKeyBlock(), counts.str()});
  }
  return contents;
}

SmallVector<std::pair<std::string, int64_t>> ForwardOp::getBlockListLimits() {
  SmallVector<std::pair<std::string, int64_t>> limits;
  if (!hasBlocks())
    return limits;
  // Two lists, in tiles of at least 16 keys, can be counted in 32 bits.
  int64_t most = (kMaxSequenceLength / 2) / ((getKeyBlock() + 15) / 16);
  for (const std::string &dim : getNonEmptyDims())
    limits.emplace_back(dim, std::max<int64_t>(most, 1));
  return limits;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks one list by itself; `heads` are those of the query.
static LogicalResult verifyList(ForwardOp op, unsigned index, int64_t batch,
                                int64_t heads) {
  StringRef name = op.getBlockListName(index);
  auto type = cast<RankedTensorType>(op.getBlockLists()[index].getType());
  int64_t rank = index % 2 == 0 ? kEntriesDim : kEntriesDim + 1;
  if (type.getRank() != rank || type.getEncoding() ||
      !type.getElementType().isSignlessInteger(32))
    return op.emitOpError() << "'" << name << "' must be an i32 tensor of rank "
                            << rank << ", found " << type;
  std::pair<StringRef, int64_t> leading[] = {{"batch size", batch},
                                             {"number of query heads", heads}};
  for (auto [dim, expected] : llvm::enumerate(leading)) {
    int64_t found = type.getDimSize(dim);
    if (found == 1 || found == expected.second)
      continue;
    InFlightDiagnostic diag = op.emitOpError();
    diag << "dimension " << dim << " of '" << name << "' must be 1 or the "
         << expected.first << ' ';
    if (ShapedType::isDynamic(expected.second))
      return diag << "'?', found " << found;
    return diag << expected.second << ", found " << type;
  }
  for (int64_t size : type.getShape())
    if (size == 0)
      return op.emitOpError()
             << "'" << name << "' must not be empty, found " << type;
  return success();
}

LogicalResult ForwardOp::verifyBlocks() {
  unsigned count = getBlockLists().size();
  if (count == 0) {
    if (getBlockSize())
      return emitOpError("block size needs lists of blocks, found none");
    return success();
  }
  if (count != 2 && count != 4)
    return emitOpError("blocks must have a count and an index tensor, for "
                       "partial blocks and optionally for full ones, found ")
           << count << " tensors";
  std::optional<ArrayRef<int64_t>> size = getBlockSize();
  if (!size || size->size() != 2)
    return emitOpError("block size must have two numbers, queries and keys, "
                       "found ")
           << (size ? size->size() : 0);
  // So that one past the last block can be counted in 32 bits.
  for (int64_t extent : *size)
    if (extent < 1 || extent > kMaxSequenceLength / 2)
      return emitOpError("block size must be from 1 to 2^29, found [")
             << *size << ']';
  if (KeyPlaces keys = getSequence().getKeyPlaces();
      keys.arePacked || keys.page)
    return emitOpError("blocks need the sequence form 'dense' or 'lengths', "
                       "found '")
           << getSequence().getKeyword() << "'";
  if (!getKvBounds().empty() || !getKvClassify().empty())
    return emitOpError("expected blocks or kv_bounds and kv_classify, found "
                       "both");

  int64_t blocks = ShapedType::kDynamic;
  for (unsigned index = 0; index < count; ++index) {
    if (failed(verifyList(*this, index, getQueryType().getDimSize(0),
                          getQueryType().getDimSize(getHeadDim()))))
      return failure();
    auto type = cast<RankedTensorType>(getBlockLists()[index].getType());
    if (index % 2 == 1) {
      auto counts =
          cast<RankedTensorType>(getBlockLists()[index - 1].getType());
      if (counts.getShape() != type.getShape().drop_back())
        return emitOpError() << "'" << getBlockListName(index - 1) << "' and '"
                             << getBlockListName(index)
                             << "' must agree in their first three dimensions, "
                                "found "
                             << counts << " and " << type;
    }
    int64_t found = type.getDimSize(kBlocksDim);
    if (index > 0 && blocks != found)
      return emitOpError("lists must have one number of blocks of queries, "
                         "found ")
             << getBlockLists().front().getType() << " and " << type;
    blocks = found;
  }
  int64_t queries = getQueryType().getDimSize(getSequenceDim());
  if (!ShapedType::isDynamic(blocks) && !ShapedType::isDynamic(queries) &&
      blocks < int64_t(llvm::divideCeil(queries, getQueryBlock())))
    return emitOpError() << "lists must have a row for each of "
                         << llvm::divideCeil(queries, getQueryBlock())
                         << " blocks of queries, found " << blocks;
  return success();
}
