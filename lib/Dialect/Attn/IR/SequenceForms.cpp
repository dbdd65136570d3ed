//===- SequenceForms.cpp - Memory layouts of sequences --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace fovea::attn;

/// Checks an operand of a form: an i32 tensor of rank `rank` whose first
/// dimension has `size` elements, unless `size` is dynamic.
static LogicalResult
verifyIntegers(function_ref<InFlightDiagnostic()> emitError, StringRef name,
               Type type, int64_t rank, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() != rank || !tensor.getElementType().isInteger(32))
    return emitError() << "'" << name << "' must be an i32 tensor of rank "
                       << rank << ", found " << type;
  if (!ShapedType::isDynamic(size) && !tensor.isDynamicDim(0) &&
      tensor.getDimSize(0) != size)
    return emitError() << "'" << name << "' must have " << size
                       << " entries, one per batch entry, found "
                       << tensor.getDimSize(0);
  return success();
}

static LogicalResult
verifyPackedBatch(function_ref<InFlightDiagnostic()> emitError, int64_t batch) {
  if (!ShapedType::isDynamic(batch) && batch != 1)
    return emitError() << "packed sequences need a batch dimension of 1, found "
                       << batch;
  return success();
}

/// Checks the operand with the offsets of packed sequences.
static LogicalResult verifyOffsets(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef name, Type type) {
  if (failed(verifyIntegers(emitError, name, type, 1, ShapedType::kDynamic)))
    return failure();
  if (cast<RankedTensorType>(type).getDimSize(0) == 0)
    return emitError() << "'" << name
                       << "' must have one entry more than the number of "
                          "sequences, found "
                       << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Dense
//===----------------------------------------------------------------------===//

StringRef DenseAttr::getKeyword() const { return "dense"; }
SmallVector<StringRef> DenseAttr::getOperandNames() const { return {}; }
SmallVector<StringRef> DenseAttr::getOperandDims(unsigned) const { return {}; }
LogicalResult DenseAttr::verifyOperands(function_ref<InFlightDiagnostic()>,
                                        TypeRange, int64_t) const {
  return success();
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

StringRef LengthsAttr::getKeyword() const { return "lengths"; }
SmallVector<StringRef> LengthsAttr::getOperandNames() const {
  return {"lengths"};
}
SmallVector<StringRef> LengthsAttr::getOperandDims(unsigned) const {
  return {"B"};
}
SmallVector<Contents> LengthsAttr::getContents() const {
  return {{"lengths", "Skv", /*ascending=*/false, /*block=*/0, /*entries=*/""}};
}
SequencePlaces LengthsAttr::getPlaces() const {
  SequencePlaces places;
  places.lengths = 0;
  return places;
}
LogicalResult
LengthsAttr::verifyOperands(function_ref<InFlightDiagnostic()> emitError,
                            TypeRange types, int64_t batch) const {
  return verifyIntegers(emitError, "lengths", types[0], 1, batch);
}

//===----------------------------------------------------------------------===//
// Packed
//===----------------------------------------------------------------------===//

StringRef PackedAttr::getKeyword() const { return "packed"; }
SmallVector<StringRef> PackedAttr::getOperandNames() const {
  return {"cu_q", "cu_k"};
}
SmallVector<StringRef> PackedAttr::getOperandDims(unsigned) const {
  return {"N+1"};
}
SmallVector<Contents> PackedAttr::getContents() const {
  return {{"cu_q", "Sq", /*ascending=*/true, /*block=*/0, /*entries=*/""},
          {"cu_k", "Skv", /*ascending=*/true, /*block=*/0, /*entries=*/""}};
}
SequencePlaces PackedAttr::getPlaces() const {
  SequencePlaces places;
  places.queryOffsets = 0;
  places.keyOffsets = 1;
  return places;
}
LogicalResult
PackedAttr::verifyOperands(function_ref<InFlightDiagnostic()> emitError,
                           TypeRange types, int64_t batch) const {
  if (failed(verifyPackedBatch(emitError, batch)) ||
      failed(verifyOffsets(emitError, "cu_q", types[0])) ||
      failed(verifyOffsets(emitError, "cu_k", types[1])))
    return failure();
  if (types[0] != types[1])
    return emitError() << "'cu_q' and 'cu_k' must have the same type, found "
                       << types[0] << " and " << types[1];
  return success();
}

//===----------------------------------------------------------------------===//
// Paged
//===----------------------------------------------------------------------===//

StringRef PagedAttr::getKeyword() const { return "paged"; }
SmallVector<StringRef> PagedAttr::getOperandNames() const {
  if (getListed())
    return {"page_indices", "page_indptr", "lengths"};
  return {"page_table", "lengths"};
}
SmallVector<StringRef> PagedAttr::getOperandDims(unsigned index) const {
  if (index == getOperandNames().size() - 1)
    return {"B"};
  if (!getListed())
    return {"B", "P"};
  return {index == 0 ? StringRef("NP") : StringRef("B+1")};
}
SmallVector<Contents> PagedAttr::getContents() const {
  // Lengths and offsets first: the table's check reads them.
  Contents lengths{"lengths", getListed() ? "NP" : "P"};
  lengths.times = getPage();
  Contents table{getOperandNames().front().str(), "pages"};
  table.entries = "lengths";
  table.page = getPage();
  if (!getListed())
    return {lengths, table};
  table.offsets = "page_indptr";
  return {lengths, {"page_indptr", "NP", /*ascending=*/true}, table};
}
SequencePlaces PagedAttr::getPlaces() const {
  SequencePlaces places;
  places.page = getPage();
  places.pageTable = 0;
  places.lengths = 1;
  if (getListed()) {
    places.pageOffsets = 1;
    places.lengths = 2;
  }
  return places;
}
void PagedAttr::printParameters(OpAsmPrinter &printer) const {
  printer << ", page = " << getPage();
}
LogicalResult
PagedAttr::verifyOperands(function_ref<InFlightDiagnostic()> emitError,
                          TypeRange types, int64_t batch) const {
  if (getPage() <= 0)
    return emitError() << "page must be positive, found " << getPage();
  if (failed(verifyIntegers(emitError, "lengths", types.back(), 1, batch)))
    return failure();
  if (!getListed())
    return verifyIntegers(emitError, "page_table", types[0], 2, batch);
  if (failed(verifyIntegers(emitError, "page_indices", types[0], 1,
                            ShapedType::kDynamic)) ||
      failed(verifyOffsets(emitError, "page_indptr", types[1])))
    return failure();
  int64_t entries = cast<RankedTensorType>(types[1]).getDimSize(0);
  if (ShapedType::isDynamic(batch))
    batch = cast<RankedTensorType>(types.back()).getDimSize(0);
  if (ShapedType::isStatic(entries) && ShapedType::isStatic(batch) &&
      entries != batch + 1)
    return emitError() << "'page_indptr' must have " << batch + 1
                       << " entries, one more than batch entries, found "
                       << entries;
  return success();
}

//===----------------------------------------------------------------------===//
// Packed queries
//===----------------------------------------------------------------------===//

StringRef PackedQueriesAttr::getKeyword() const {
  return PackedAttr::getMnemonic();
}
SmallVector<StringRef> PackedQueriesAttr::getOperandNames() const {
  SmallVector<StringRef> names = {"cu_q"};
  llvm::append_range(names, getKeys().getOperandNames());
  return names;
}
SmallVector<StringRef> PackedQueriesAttr::getOperandDims(unsigned index) const {
  return index == 0 ? SmallVector<StringRef>{"B+1"}
                    : getKeys().getOperandDims(index - 1);
}
SmallVector<Contents> PackedQueriesAttr::getContents() const {
  SmallVector<Contents> contents = {{"cu_q", "Sq", /*ascending=*/true}};
  llvm::append_range(contents, getKeys().getContents());
  return contents;
}
SequencePlaces PackedQueriesAttr::getPlaces() const {
  SequencePlaces places = getKeys().getPlaces();
  places.queryOffsets = 0;
  places.mostQueries = getMost();
  ++places.pageTable;
  for (std::optional<unsigned> *place : {&places.lengths, &places.pageOffsets})
    if (*place)
      ++**place;
  return places;
}
void PackedQueriesAttr::printParameters(OpAsmPrinter &printer) const {
  if (getMost() != 0)
    printer << ", most = " << getMost();
}
LogicalResult
PackedQueriesAttr::verifyOperands(function_ref<InFlightDiagnostic()> emitError,
                                  TypeRange types, int64_t batch) const {
  if (failed(verifyPackedBatch(emitError, batch)) ||
      failed(verifyOffsets(emitError, "cu_q", types[0])))
    return failure();
  int64_t entries = cast<RankedTensorType>(types[0]).getDimSize(0);
  return getKeys().verifyOperands(emitError, types.drop_front(),
                                  ShapedType::isDynamic(entries) ? entries
                                                                 : entries - 1);
}
LogicalResult
PackedQueriesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          SequenceFormAttrInterface keys, int64_t most) {
  constexpr int64_t kMost = AttentionOpInterface::kMaxSequenceLength;
  if (most < 0 || most > kMost)
    return emitError() << "most must be from 0 to " << kMost << ", found "
                       << most;
  if (keys.getPlaces().packsQueries())
    return emitError() << "expected 'dense', 'lengths' or 'paged' keys with "
                          "packed queries, found '"
                       << keys.getKeyword() << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> fovea::attn::detail::getSequenceKeywords() {
  static constexpr StringRef keywords[] = {LengthsAttr::getMnemonic(),
                                           PackedAttr::getMnemonic(),
                                           PagedAttr::getMnemonic()};
  return keywords;
}

FailureOr<SequenceFormAttrInterface>
fovea::attn::detail::parseSequenceParameters(OpAsmParser &parser,
                                             StringRef keyword,
                                             size_t operands) {
  MLIRContext *context = parser.getContext();
  if (keyword == LengthsAttr::getMnemonic())
    return SequenceFormAttrInterface(LengthsAttr::get(context));
  if (keyword == PackedAttr::getMnemonic())
    return SequenceFormAttrInterface(PackedAttr::get(context));
  int64_t page;
  if (parser.parseComma() || parser.parseKeyword("page") ||
      parser.parseEqual() || parser.parseInteger(page))
    return failure();
  constexpr size_t kWithOffsets = 3;
  return SequenceFormAttrInterface(
      PagedAttr::get(context, page, operands == kWithOffsets));
}
