//===- AppendOp.cpp - attn.append -----------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace fovea::attn;

/// Dimensions of one row, (Hkv, D), and of a cache with pages.
static constexpr int64_t kRowRank = 2, kPagedRank = 4;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

void AppendOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getKeys(), "k_cache");
  if (getValues())
    setName(getValues(), "v_cache");
}

LogicalResult
AppendOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  AppendOp::Adaptor adaptor(operands, attributes, properties, regions);
  types.push_back(adaptor.getKeyCache().getType());
  if (Value cache = adaptor.getValueCache())
    types.push_back(cache.getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Checks the new rows and the cache of the keys or the values, called `name`.
static LogicalResult verifyCache(AppendOp op, StringRef name, Value rows,
                                 Value cache) {
  RankedTensorType given = typeOf(rows), kept = typeOf(cache);
  auto fail = [&](const Twine &what) {
    return op.emitOpError() << what << ", found " << given << " and " << kept;
  };
  for (RankedTensorType type : {given, kept})
    if (type.getRank() != kRowRank + 1 && type.getRank() != kRowRank + 2)
      return fail("new " + name + " and their cache must have rank 3 or 4");
  if (given.getEncoding() || kept.getEncoding())
    return fail("new " + name + " and their cache must have no encoding");
  if (!isa<Float8E4M3FNType, Float16Type, BFloat16Type, Float32Type>(
          kept.getElementType()) ||
      given.getElementType() != kept.getElementType())
    return fail("new " + name +
                " and their cache must have one element type: f8E4M3FN, f16, "
                "bf16 or f32");
  ArrayRef<int64_t> row = given.getShape().take_back(kRowRank);
  if (ShapedType::isDynamic(row.back()) ||
      ShapedType::isDynamic(kept.getShape().back()))
    return fail("head dim of " + name + " must be static");
  if (failed(verifyCompatibleShape(row, kept.getShape().take_back(kRowRank))))
    return fail("new " + name +
                " and their cache must have the same heads and head dim");
  return success();
}

/// Checks that keys and values, or their caches, differ in the head dim only.
static LogicalResult verifyPair(AppendOp op, StringRef name, Value key,
                                Value value) {
  RankedTensorType keys = typeOf(key), values = typeOf(value);
  if (keys.getElementType() == values.getElementType() &&
      succeeded(verifyCompatibleShape(keys.getShape().drop_back(),
                                      values.getShape().drop_back())))
    return success();
  return op.emitOpError() << name << " must agree except in the head dim, "
                          << "found " << keys << " and " << values;
}

/// Checks an integer operand, unless null, against the expected shape.
static LogicalResult verifyIntegers(AppendOp op, StringRef name, Value value,
                                    ArrayRef<int64_t> shape,
                                    bool canBeWide = false) {
  if (!value)
    return success();
  RankedTensorType type = typeOf(value);
  Type element = type.getElementType();
  if (!element.isSignlessInteger(32) &&
      !(canBeWide && element.isSignlessInteger(64)))
    return op.emitOpError()
           << name << " must be i32" << (canBeWide ? " or i64" : "")
           << ", found " << type;
  if (type.getEncoding() ||
      failed(verifyCompatibleShape(type.getShape(), shape))) {
    std::string expected;
    for (int64_t size : shape)
      expected += (expected.empty() ? "" : "x") +
                  (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
    return op.emitOpError()
           << name << " must have the shape " << expected << ", found " << type;
  }
  return success();
}

/// Checks which operands give the positions.
static LogicalResult verifyForm(AppendOp op) {
  if (bool(op.getSlots()) == bool(op.getLengths()))
    return op.emitOpError("positions must be given by slots or lengths, found ")
           << (op.getSlots() ? "both" : "neither");
  for (auto [name, operand] : {std::pair("page_table", op.getPageTable()),
                               std::pair("offsets", op.getOffsets())})
    if (operand && !op.getLengths())
      return op.emitOpError() << name << " needs lengths";
  if (op.getLengths() && typeOf(op.getKeyCache()).getRank() != kPagedRank)
    return op.emitOpError("with lengths the cache must have pages: rank 4, "
                          "found ")
           << typeOf(op.getKeyCache());
  int64_t rank = typeOf(op.getKey()).getRank();
  if (op.getLengths() && (rank == kRowRank + 1) != bool(op.getOffsets()))
    return op.emitOpError("with lengths new keys must have rank 4, or 3 with "
                          "offsets, found ")
           << typeOf(op.getKey());
  return success();
}

LogicalResult AppendOp::verify() {
  if (bool(getValue()) != bool(getValueCache()))
    return emitOpError("new values and a cache of values must be given "
                       "together, found one of them");
  if (failed(verifyCache(*this, "keys", getKey(), getKeyCache())) ||
      (getValue() &&
       (failed(verifyCache(*this, "values", getValue(), getValueCache())) ||
        failed(
            verifyPair(*this, "new keys and values", getKey(), getValue())) ||
        failed(verifyPair(*this, "caches of keys and values", getKeyCache(),
                          getValueCache())))) ||
      failed(verifyForm(*this)))
    return failure();
  ArrayRef<int64_t> rows = typeOf(getKey()).getShape().drop_back(kRowRank);
  constexpr int64_t kAny = ShapedType::kDynamic;
  int64_t batch = getOffsets() ? kAny : rows.front(), ends = kAny;
  if (getLengths()) {
    if (failed(verifyIntegers(*this, "lengths", getLengths(), {batch})))
      return failure();
    batch = typeOf(getLengths()).getDimSize(0);
    ends = ShapedType::isDynamic(batch) ? kAny : batch + 1;
  }
  return failure(
      failed(verifyIntegers(*this, "slots", getSlots(), rows,
                            /*canBeWide=*/true)) ||
      failed(
          verifyIntegers(*this, "page_table", getPageTable(), {batch, kAny})) ||
      failed(verifyIntegers(*this, "offsets", getOffsets(), {ends})));
}

//===----------------------------------------------------------------------===//
// Kernel interface
//===----------------------------------------------------------------------===//

/// The names of the operands that the op has, in order.
static SmallVector<StringRef> getNames(AppendOp op) {
  SmallVector<StringRef> names;
  for (auto [name, operand] :
       {std::pair("k", op.getKey()), std::pair("v", op.getValue()),
        std::pair("k_cache", op.getKeyCache()),
        std::pair("v_cache", op.getValueCache()),
        std::pair("slots", op.getSlots()),
        std::pair("page_table", op.getPageTable()),
        std::pair("lengths", op.getLengths()),
        std::pair("cu_seq", op.getOffsets())})
    if (operand)
      names.push_back(name);
  return names;
}

/// Names of the leading dimensions of the new rows: one row, or one of a
/// sequence.
static SmallVector<std::string> getRowDims(AppendOp op) {
  if (typeOf(op.getKey()).getRank() == kRowRank + 1)
    return {"T"};
  return {"B", "S"};
}

static SmallVector<int64_t> getIdentity(Value value) {
  return llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
}

std::string AppendOp::getOperandName(unsigned index) {
  return getNames(*this)[index].str();
}
std::string AppendOp::getResultName(unsigned index) {
  return index == 0 ? "k_cache" : "v_cache";
}

SmallVector<std::string> AppendOp::getOperandDimNames(unsigned index) {
  StringRef name = getNames(*this)[index];
  if (name == "lengths")
    return {"B"};
  if (name == "page_table")
    return {"B", "P"};
  if (name == "cu_seq")
    return {"B+1"};
  SmallVector<std::string> dims = getRowDims(*this);
  if (name == "slots")
    return dims;
  if (name.ends_with("cache"))
    return getResultDimNames(name == "v_cache");
  llvm::append_values(dims, "Hkv", name == "v" ? "Dv" : "D");
  return dims;
}

SmallVector<std::string> AppendOp::getResultDimNames(unsigned index) {
  std::string columns = index == 0 ? "D" : "Dv";
  if (typeOf(getKeyCache()).getRank() == kPagedRank)
    return {"pages", "page", "Hkv", columns};
  return {"rows", "Hkv", columns};
}

SmallVector<int64_t> AppendOp::getOperandMemoryOrder(unsigned index) {
  return getIdentity(getOperand(index));
}
SmallVector<int64_t> AppendOp::getResultMemoryOrder(unsigned index) {
  return getIdentity(getResult(index));
}

std::optional<unsigned> AppendOp::getUpdatedOperand(unsigned result) {
  OpOperand &cache =
      result == 0 ? getKeyCacheMutable() : *getValueCacheMutable().begin();
  return cache.getOperandNumber();
}

bool AppendOp::isOperandCopied(unsigned index) {
  return index < getNumOperands() - (getSlots() ? 1 : 0) -
                     (getPageTable() ? 1 : 0) - (getLengths() ? 1 : 0) -
                     (getOffsets() ? 1 : 0);
}
bool AppendOp::isResultCopied(unsigned) { return true; }

WorkDims AppendOp::getWorkDims() {
  SmallVector<std::string> dims = getRowDims(*this);
  return {dims.size() == 1 ? "" : dims.front(), "", dims.back(), "", ""};
}

SmallVector<std::pair<std::string, int64_t>> AppendOp::getDimLimits() {
  constexpr int64_t kMost = AttentionOpInterface::kMaxSequenceLength;
  SmallVector<std::pair<std::string, int64_t>> limits = {
      {getRowDims(*this).back(), kMost},
      {getResultDimNames(0).front(), kMost},
      {"Hkv", int64_t(1) << 16}};
  if (typeOf(getKeyCache()).getRank() == kPagedRank)
    limits.emplace_back("page", kMost);
  if (getPageTable())
    limits.emplace_back("P", kMost);
  return limits;
}
