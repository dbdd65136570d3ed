//===- BlockLists.cpp - Block-sparse lists --------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

using namespace mlir;
using namespace fovea::attn;

static constexpr StringRef kListNames[] = {"partial_count", "partial_index",
                                           "full_count", "full_index"};
/// The dimension of all lists that counts query blocks, and the dimension of
/// the index lists that contains the entries of a row.
static constexpr int64_t kBlocksDim = 2, kEntriesDim = 3;

StringRef fovea::attn::detail::getBlockListName(unsigned index) {
  return kListNames[index];
}

SmallVector<std::string>
fovea::attn::detail::getBlockListDims(AttentionOpInterface op, unsigned index) {
  auto type = cast<RankedTensorType>(op.getBlockLists()[index].getType());
  StringRef name = op.getBlockListName(index);
  // A static extent of 1 is broadcast.
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

SmallVector<std::string>
fovea::attn::getBlockListRows(AttentionOpInterface op) {
  SmallVector<std::string> dims;
  for (unsigned index = 1; index < op.getBlockLists().size(); index += 2)
    dims.push_back(op.getBlockListDims(index)[kEntriesDim]);
  return dims;
}

SmallVector<Contents> fovea::attn::getVariantContents(AttentionOpInterface op) {
  SmallVector<Contents> contents = op.getSequence().getContents();
  for (unsigned index = 0; index < op.getBlockLists().size(); index += 2) {
    StringRef counts = op.getBlockListName(index),
              numbers = op.getBlockListName(index + 1);
    contents.push_back({counts.str(),
                        op.getBlockListDims(index + 1)[kEntriesDim],
                        /*ascending=*/false, /*block=*/0, /*entries=*/""});
    std::optional<int64_t> page = op.getSequence().getKeyPlaces().page;
    contents.push_back({numbers.str(), page ? "P" : "Skv", /*ascending=*/false,
                        op.getKeyBlock(), counts.str(),
                        /*times=*/page.value_or(1)});
  }
  return contents;
}

SmallVector<std::pair<std::string, int64_t>>
fovea::attn::getBlockListLimits(AttentionOpInterface op) {
  SmallVector<std::pair<std::string, int64_t>> limits;
  if (!op.hasBlocks())
    return limits;
  // The entries of two lists, in tiles of at least 16 keys, fit into 32 bits.
  int64_t most = (AttentionOpInterface::kMaxSequenceLength / 2) /
                 ((op.getKeyBlock() + 15) / 16);
  for (const std::string &dim : getBlockListRows(op))
    limits.emplace_back(dim, std::max<int64_t>(most, 1));
  return limits;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks one list; `heads` is the number of query heads.
static LogicalResult verifyList(AttentionOpInterface op, unsigned index,
                                int64_t batch, int64_t heads) {
  StringRef name = op.getBlockListName(index);
  auto type = cast<RankedTensorType>(op.getBlockLists()[index].getType());
  int64_t rank = index % 2 == 0 ? kEntriesDim : kEntriesDim + 1;
  if (type.getRank() != rank || type.getEncoding() ||
      !type.getElementType().isSignlessInteger(32))
    return op->emitOpError()
           << "'" << name << "' must be an i32 tensor of rank " << rank
           << ", found " << type;
  std::pair<StringRef, int64_t> leading[] = {{"batch size", batch},
                                             {"number of query heads", heads}};
  for (auto [dim, expected] : llvm::enumerate(leading)) {
    int64_t found = type.getDimSize(dim);
    if (found == 1 || found == expected.second)
      continue;
    InFlightDiagnostic diag = op->emitOpError();
    diag << "dimension " << dim << " of '" << name << "' must be 1 or the "
         << expected.first << ' ';
    if (ShapedType::isDynamic(expected.second))
      return diag << "'?', found " << found;
    return diag << expected.second << ", found " << type;
  }
  for (int64_t size : type.getShape())
    if (size == 0)
      return op->emitOpError()
             << "'" << name << "' must not be empty, found " << type;
  return success();
}

LogicalResult fovea::attn::verifyBlocks(AttentionOpInterface op) {
  unsigned count = op.getBlockLists().size();
  if (count == 0) {
    if (op.getBlockSize())
      return op->emitOpError("block size needs block lists, found none");
    return success();
  }
  if (count != 2 && count != 4)
    return op->emitOpError(
               "blocks must have a count and an index tensor, for "
               "partial blocks and optionally for full ones, found ")
           << count << " tensors";
  std::optional<ArrayRef<int64_t>> size = op.getBlockSize();
  if (!size || size->size() != 2)
    return op->emitOpError(
               "block size must have two numbers, queries and keys, "
               "found ")
           << (size ? size->size() : 0);
  // The block after the last one must fit into 32 bits.
  for (int64_t extent : *size)
    if (extent < 1 || extent > AttentionOpInterface::kMaxSequenceLength / 2)
      return op->emitOpError("block size must be from 1 to 2^29, found [")
             << *size << ']';
  if (op.getSequence().getKeyPlaces().arePacked)
    return op->emitOpError("blocks need the sequence form 'dense', 'lengths' "
                           "or 'paged', found '")
           << op.getSequence().getKeyword() << "'";
  if (!op.getKvBounds().empty() || !op.getKvClassify().empty())
    return op->emitOpError(
        "expected blocks or kv_bounds and kv_classify, found "
        "both");

  int64_t blocks = ShapedType::kDynamic;
  for (unsigned index = 0; index < count; ++index) {
    if (failed(verifyList(op, index, op.getQueryType().getDimSize(0),
                          op.getQueryType().getDimSize(op.getHeadDim()))))
      return failure();
    auto type = cast<RankedTensorType>(op.getBlockLists()[index].getType());
    if (index % 2 == 1) {
      auto counts =
          cast<RankedTensorType>(op.getBlockLists()[index - 1].getType());
      if (counts.getShape() != type.getShape().drop_back())
        return op->emitOpError()
               << "'" << op.getBlockListName(index - 1) << "' and '"
               << op.getBlockListName(index)
               << "' must agree in their first three dimensions, "
                  "found "
               << counts << " and " << type;
    }
    int64_t found = type.getDimSize(kBlocksDim);
    if (index > 0 && blocks != found)
      return op->emitOpError("block lists must have the same number of query "
                             "blocks, found ")
             << op.getBlockLists().front().getType() << " and " << type;
    blocks = found;
  }
  int64_t queries = op.getQueryType().getDimSize(op.getSequenceDim());
  if (!ShapedType::isDynamic(blocks) && !ShapedType::isDynamic(queries) &&
      blocks < int64_t(llvm::divideCeil(queries, op.getQueryBlock())))
    return op->emitOpError() << "block lists must have a row for each of "
                             << llvm::divideCeil(queries, op.getQueryBlock())
                             << " query blocks, found " << blocks;
  return success();
}
