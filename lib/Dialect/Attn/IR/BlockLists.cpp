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
static constexpr StringRef kQueryListNames[] = {
    "partial_query_count", "partial_query_index", "full_query_count",
    "full_query_index"};
/// The dimension of all lists that counts blocks of rows, and the dimension of
/// the index lists that contains the entries of a row.
static constexpr int64_t kBlocksDim = 2, kEntriesDim = 3;

namespace {
/// The lists of one clause. Rows are queries in `blocks`, and keys in
/// `query_blocks`.
struct ListGroup {
  OperandRange lists;
  ArrayRef<StringRef> names;
  /// In diagnostics: the lists, and the kind of their rows.
  StringRef subject, rows;
  /// The name of the dimension that counts blocks of rows.
  StringRef blocksDim;
  /// Rows and columns of a block.
  int64_t rowBlock, columnBlock;

  RankedTensorType getType(unsigned index) const {
    return cast<RankedTensorType>(lists[index].getType());
  }
  SmallVector<std::string> getDims(unsigned index) const;
};
} // namespace

/// The lists of `blocks`; requires a block size.
static ListGroup getKeyLists(AttentionOpInterface op) {
  return {op.getBlockLists(), kListNames,         "block lists",   "query",
          "Qblocks",          op.getQueryBlock(), op.getKeyBlock()};
}

/// The lists of `query_blocks`; requires a block size.
static ListGroup getQueryLists(AttentionOpInterface op) {
  return {op.getQueryBlockLists(),
          kQueryListNames,
          "transposed block lists",
          "key",
          "Kblocks",
          op.getKeyBlock(),
          op.getQueryBlock()};
}

SmallVector<std::string> ListGroup::getDims(unsigned index) const {
  RankedTensorType type = getType(index);
  // A static extent of 1 is broadcast.
  auto dimName = [&](int64_t dim, StringRef all) {
    return type.getDimSize(dim) == 1 ? (names[index] + "." + Twine(dim)).str()
                                     : all.str();
  };
  SmallVector<std::string> dims = {dimName(0, "B"), dimName(1, "Hq"),
                                   blocksDim.str()};
  if (type.getRank() > kEntriesDim)
    dims.push_back((names[index] + "." + Twine(kEntriesDim)).str());
  return dims;
}

StringRef fovea::attn::detail::getBlockListName(unsigned index) {
  return kListNames[index];
}

StringRef fovea::attn::detail::getQueryBlockListName(unsigned index) {
  return kQueryListNames[index];
}

SmallVector<std::string>
fovea::attn::detail::getBlockListDims(AttentionOpInterface op, unsigned index) {
  return getKeyLists(op).getDims(index);
}

SmallVector<std::string>
fovea::attn::detail::getQueryBlockListDims(AttentionOpInterface op,
                                           unsigned index) {
  return getQueryLists(op).getDims(index);
}

/// The lists of both clauses.
static SmallVector<ListGroup, 2> getListGroups(AttentionOpInterface op) {
  SmallVector<ListGroup, 2> groups;
  if (op.hasBlocks())
    groups.push_back(getKeyLists(op));
  if (op.hasQueryBlocks())
    groups.push_back(getQueryLists(op));
  return groups;
}

SmallVector<std::string>
fovea::attn::getBlockListRows(AttentionOpInterface op) {
  SmallVector<std::string> dims;
  for (const ListGroup &group : getListGroups(op))
    for (unsigned index = 1; index < group.lists.size(); index += 2)
      dims.push_back(group.getDims(index)[kEntriesDim]);
  return dims;
}

/// Adds the valid contents of lists of blocks of `of`, times `times`. With
/// `transposed`, they are the lists of that group transposed.
static void addContents(const ListGroup &group, StringRef of, int64_t times,
                        SmallVectorImpl<Contents> &contents,
                        const ListGroup *transposed = nullptr) {
  for (unsigned index = 0; index < group.lists.size(); index += 2) {
    std::string counts = group.names[index].str();
    contents.push_back({counts, group.getDims(index + 1)[kEntriesDim],
                        /*ascending=*/false, /*block=*/0, /*entries=*/""});
    contents.push_back({group.names[index + 1].str(), of.str(),
                        /*ascending=*/false, group.columnBlock, counts, times});
    if (transposed)
      contents.back().transposed = transposed->names[index + 1].str();
  }
}

SmallVector<Contents> fovea::attn::getVariantContents(AttentionOpInterface op) {
  SmallVector<Contents> contents = op.getSequence().getContents();
  SequencePlaces places = op.getSequence().getPlaces();
  if (!op.hasBlocks())
    return contents;
  ListGroup keys = getKeyLists(op);
  addContents(keys, places.page ? places.getPagesDim() : "Skv",
              places.page.value_or(1), contents);
  if (op.hasQueryBlocks())
    addContents(getQueryLists(op), "Sq", /*times=*/1, contents, &keys);
  return contents;
}

SmallVector<std::pair<std::string, int64_t>>
fovea::attn::getBlockListLimits(AttentionOpInterface op) {
  SmallVector<std::pair<std::string, int64_t>> limits;
  // The entries of two lists, in tiles of at least 16 columns, fit into 32
  // bits.
  for (const ListGroup &group : getListGroups(op)) {
    int64_t most = (AttentionOpInterface::kMaxSequenceLength / 2) /
                   ((group.columnBlock + 15) / 16);
    for (unsigned index = 1; index < group.lists.size(); index += 2)
      limits.emplace_back(group.getDims(index)[kEntriesDim],
                          std::max<int64_t>(most, 1));
  }
  return limits;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks the type of a list.
static LogicalResult verifyListType(AttentionOpInterface op, StringRef name,
                                    RankedTensorType type, int64_t rank) {
  if (type.getRank() != rank || type.getEncoding() ||
      !type.getElementType().isSignlessInteger(32))
    return op->emitOpError()
           << "'" << name << "' must be an i32 tensor of rank " << rank
           << ", found " << type;
  std::pair<StringRef, int64_t> leading[] = {
      {"batch size", op.getQueryType().getDimSize(0)},
      {"number of query heads", op.getQueryType().getDimSize(op.getHeadDim())}};
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

/// Checks that list `index` of indices has the rows of its counts.
static LogicalResult verifyRowsOfPair(AttentionOpInterface op,
                                      const ListGroup &group, unsigned index) {
  RankedTensorType counts = group.getType(index - 1),
                   type = group.getType(index);
  if (counts.getShape() == type.getShape().drop_back())
    return success();
  return op->emitOpError() << "'" << group.names[index - 1] << "' and '"
                           << group.names[index]
                           << "' must agree in their first three dimensions, "
                              "found "
                           << counts << " and " << type;
}

/// Checks the lists of a clause for sequences of `length` rows.
static LogicalResult verifyGroup(AttentionOpInterface op,
                                 const ListGroup &group, int64_t length) {
  int64_t blocks = ShapedType::kDynamic;
  for (unsigned index = 0; index < group.lists.size(); ++index) {
    RankedTensorType type = group.getType(index);
    bool isIndex = index % 2 == 1;
    if (failed(verifyListType(op, group.names[index], type,
                              isIndex ? kEntriesDim + 1 : kEntriesDim)) ||
        (isIndex && failed(verifyRowsOfPair(op, group, index))))
      return failure();
    int64_t found = type.getDimSize(kBlocksDim);
    if (index > 0 && blocks != found)
      return op->emitOpError()
             << group.subject << " must have the same number of " << group.rows
             << " blocks, found " << group.getType(0) << " and " << type;
    blocks = found;
  }
  if (ShapedType::isDynamic(blocks) || ShapedType::isDynamic(length))
    return success();
  int64_t expected = llvm::divideCeil(length, group.rowBlock);
  if (blocks >= expected)
    return success();
  return op->emitOpError() << group.subject << " must have a row for each of "
                           << expected << ' ' << group.rows << " blocks, found "
                           << blocks;
}

/// Checks the size of a block.
static LogicalResult verifyBlockSize(AttentionOpInterface op) {
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
  return success();
}

/// Checks for lists the clauses that exclude them.
static LogicalResult verifyOtherClauses(AttentionOpInterface op) {
  if (op.getSequence().getPlaces().packsQueries())
    return op->emitOpError("blocks need the sequence form 'dense', 'lengths' "
                           "or 'paged', found '")
           << op.getSequence().getKeyword() << "'";
  if (!op.getKvBounds().empty() || !op.getKvClassify().empty())
    return op->emitOpError(
        "expected blocks or kv_bounds and kv_classify, found "
        "both");
  return success();
}

LogicalResult fovea::attn::verifyBlocks(AttentionOpInterface op) {
  unsigned count = op.getBlockLists().size();
  if (op.hasQueryBlocks() && op.getQueryBlockLists().size() != count)
    return op->emitOpError("query_blocks must have as many tensors as blocks, "
                           "expected ")
           << count << ", found " << op.getQueryBlockLists().size();
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
  if (failed(verifyBlockSize(op)) || failed(verifyOtherClauses(op)) ||
      failed(verifyGroup(op, getKeyLists(op),
                         op.getQueryType().getDimSize(op.getSequenceDim()))))
    return failure();
  if (!op.hasQueryBlocks())
    return success();
  return verifyGroup(op, getQueryLists(op),
                     op.getKeyType().getDimSize(op.getSequenceDim()));
}
