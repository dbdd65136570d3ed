//===- VariantOp.cpp - Verification of attention ops ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

#include "CapturedSizes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace fovea::attn;

RankedTensorType fovea::attn::detail::getValueType(AttentionOpInterface op) {
  if (Value value = op.getValue())
    return cast<RankedTensorType>(value.getType());
  RankedTensorType key = op.getKeyType();
  SmallVector<int64_t> shape(key.getShape());
  shape.back() = (*op.getValueColumns())[1];
  return key.clone(shape);
}

std::optional<double>
fovea::attn::detail::getConstantScale(AttentionOpInterface op) {
  if (op.getScaleValue())
    return std::nullopt;
  if (FloatAttr scale = op.getScaleAttr())
    return scale.getValueAsDouble();
  return 1.0 / std::sqrt(double(op.getQueryType().getDimSize(3)));
}

int64_t fovea::attn::detail::getDroppedShare(AttentionOpInterface op) {
  FloatAttr dropout = op.getDropoutAttr();
  return dropout ? std::lround(dropout.getValueAsDouble() *
                               AttentionOpInterface::kDropoutSteps)
                 : 0;
}

bool fovea::attn::detail::isSparse(AttentionOpInterface op) {
  if (op.hasBlocks() || !op.getKvClassify().empty())
    return true;
  Region &bounds = op.getKvBounds();
  return !bounds.empty() &&
         !matchPattern(bounds.front().getTerminator()->getOperand(0), m_Zero());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool isAttentionFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

static bool isCaptureType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getRank() <= 4 && !tensor.getEncoding() &&
           (isAttentionFloat(tensor.getElementType()) ||
            tensor.getElementType().isSignlessInteger(1) ||
            tensor.getElementType().isSignlessInteger(8) ||
            tensor.getElementType().isSignlessInteger(16) ||
            tensor.getElementType().isSignlessInteger(32) ||
            tensor.getElementType().isSignlessInteger(64));
  return type.isIndex() || type.isF32() || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

/// Checks sinks and dropout.
static LogicalResult verifyWeights(AttentionOpInterface op) {
  if (Value sinks = op.getSinks()) {
    auto type = cast<RankedTensorType>(sinks.getType());
    int64_t heads = op.getQueryType().getDimSize(op.getHeadDim());
    if (type.getRank() != 1 || type.getEncoding() ||
        !type.getElementType().isF32() || !agree(type.getDimSize(0), heads))
      return op->emitOpError(
                 "sinks must be an f32 tensor of the query's heads, "
                 "found ")
             << type;
  }
  bool hasSeed(op.getDropoutSeed()), hasOffset(op.getDropoutOffset()),
      hasProbability(op.getDropoutAttr());
  if (hasSeed != hasProbability || hasOffset != hasProbability)
    return op->emitOpError("dropout takes a probability, a seed and an offset");
  int64_t version = op.getDropoutGenerator();
  if (version != fovea::generator::kVersion)
    return op->emitOpError("dropout's generator ")
           << version << " is not known, expected "
           << fovea::generator::kVersion;
  if (!hasProbability)
    return success();
  double p = op.getDropoutAttr().getValueAsDouble();
  constexpr double kMost = 1.0 - 1.0 / AttentionOpInterface::kDropoutSteps;
  if (!(p >= 0.0 && p <= kMost))
    return op->emitOpError(
               "dropout must be at least 0 and at most 65535/65536, "
               "found ")
           << p;
  return success();
}

LogicalResult fovea::attn::verifyTensor(Operation *op, StringRef name,
                                        RankedTensorType type) {
  if (type.getRank() != 4)
    return op->emitOpError() << name << " must have rank 4, found " << type;
  if (type.getEncoding())
    return op->emitOpError()
           << name << " must have no encoding, found " << type;
  bool allowsEightBits = isa<ForwardOp>(op);
  if (!isAttentionFloat(type.getElementType()) &&
      !(allowsEightBits && isa<Float8E4M3FNType>(type.getElementType())))
    return op->emitOpError()
           << name << " must be " << (allowsEightBits ? "f8E4M3FN, " : "")
           << "f16, bf16 or f32, found " << type.getElementType();
  if (type.isDynamicDim(3))
    return op->emitOpError()
           << "head dim of the " << name << " must be static, found " << type;
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    if (size == 0)
      return op->emitOpError() << name << " must not be empty, found " << type;
    if (!ShapedType::isDynamic(size) &&
        llvm::MulOverflow(elements, size, elements))
      return op->emitOpError()
             << name << " has more than 2^63 elements: " << type;
  }
  return success();
}

static LogicalResult verifyElements(AttentionOpInterface op) {
  Type element = op.getQueryType().getElementType();
  if (op.getKeyType().getElementType() != element ||
      op.getValueType().getElementType() != element)
    return op->emitOpError()
           << "query, key and value must have the same element type, found "
           << element << ", " << op.getKeyType().getElementType() << " and "
           << op.getValueType().getElementType();
  if (op.getTf32() && !element.isF32())
    return op->emitOpError("'tf32' needs query, key and value of f32, found ")
           << element;
  return success();
}

/// Checks that packed queries have as many sequences as the keys.
static LogicalResult verifySequences(AttentionOpInterface op) {
  SequencePlaces places = op.getSequence().getPlaces();
  if (!places.packsQueries() || places.packsKeys() || places.page)
    return success();
  auto offsets = cast<RankedTensorType>(
      op.getSequenceOperands()[*places.queryOffsets].getType());
  int64_t entries = offsets.getDimSize(0),
          batch = op.getKeyType().getDimSize(0);
  if (!ShapedType::isDynamic(entries) && !agree(entries - 1, batch))
    return op->emitOpError() << "'cu_q' must have one entry more than the "
                                "batch entries of key and value, found "
                             << entries << " and " << batch;
  return success();
}

static LogicalResult verifyShapes(AttentionOpInterface op) {
  int64_t h = op.getHeadDim(), s = op.getSequenceDim();
  auto q = op.getQueryType().getShape(), k = op.getKeyType().getShape(),
       v = op.getValueType().getShape();
  if (op.getSequence().getPlaces().sharesBatch() && !agree(q[0], k[0]))
    return op->emitOpError()
           << "query and key must have the same batch size, found " << q[0]
           << " and " << k[0];
  if (!agree(k[0], v[0]) || !agree(k[h], v[h]) || !agree(k[s], v[s]))
    return op->emitOpError()
           << "key and value must agree in all but the head dim, found "
           << op.getKeyType() << " and " << op.getValueType();
  if (std::optional<int64_t> page = op.getSequence().getPlaces().page;
      page && *page > 0 && !agree(k[s], *page))
    return op->emitOpError() << "pages of key and value must have " << *page
                             << " rows as in 'page', found " << op.getKeyType();
  if (q[3] != k[3])
    return op->emitOpError()
           << "query and key must have the same head dim, found " << q[3]
           << " and " << k[3];
  if (!ShapedType::isDynamic(q[h]) && !ShapedType::isDynamic(k[h]) &&
      q[h] % k[h] != 0)
    return op->emitOpError()
           << "the number of query heads must be a multiple of the number of "
              "key heads, found "
           << q[h] << " and " << k[h];
  for (auto [name, type] :
       {std::pair<StringRef, RankedTensorType>("query", op.getQueryType()),
        {"key", op.getKeyType()}}) {
    int64_t length = type.getDimSize(s);
    if (length > AttentionOpInterface::kMaxSequenceLength)
      return op->emitOpError()
             << name << " sequence must be at most 2^30 long, "
             << "found " << length;
  }
  return success();
}

LogicalResult fovea::attn::verifyRowValues(AttentionOpInterface op,
                                           StringRef name, Type type) {
  auto q = op.getQueryType().getShape();
  auto rows = cast<RankedTensorType>(type);
  if (rows.getRank() != 3 || rows.getEncoding() ||
      !rows.getElementType().isF32() || !agree(rows.getDimSize(0), q[0]) ||
      !agree(rows.getDimSize(1), q[op.getHeadDim()]) ||
      !agree(rows.getDimSize(2), q[op.getSequenceDim()]))
    return op->emitOpError() << name
                             << " must be an f32 tensor of the query's batch, "
                                "heads and sequence, found "
                             << rows;
  return success();
}

static LogicalResult verifyScale(AttentionOpInterface op) {
  if (op.getScaleValue() && op.getScaleAttr())
    return op->emitOpError(
        "expected one scale, found a constant and an operand");
  if (op.getScaleAttr() && !op.getScaleAttr().getValue().isFinite())
    return op->emitOpError("scale must be finite, found ")
           << op.getScaleAttr().getValueAsDouble();
  if (op.getScaleAttr() &&
      !std::isfinite(float(op.getScaleAttr().getValueAsDouble())))
    return op->emitOpError("scale must be finite as an f32, found ")
           << op.getScaleAttr().getValueAsDouble();
  return success();
}

bool fovea::attn::isReservedName(AttentionOpInterface op, StringRef name) {
  static const llvm::StringSet<> forward = {"q",           "k",
                                            "v",           "o",
                                            "lse",         "scale",
                                            "sinks",       "partial_count",
                                            "full_count",  "partial_index",
                                            "full_index",  "dropout_seed",
                                            "lengths",     "cu_q",
                                            "cu_k",        "dropout_offset",
                                            "page_table",  "page_indices",
                                            "page_indptr", "q_scale",
                                            "k_scale",     "v_scale",
                                            "v_mean"};
  static const llvm::StringSet<> backward = {"do",
                                             "dlse",
                                             "dq",
                                             "dk",
                                             "dv",
                                             "dsinks",
                                             "dscale",
                                             "partial_query_count",
                                             "partial_query_index",
                                             "full_query_count",
                                             "full_query_index"};
  return forward.contains(name) ||
         llvm::is_contained(op.getSequence().getOperandNames(), name) ||
         (isa<BackwardOp>(op) && backward.contains(name));
}

bool fovea::attn::hasCaptureNamed(AttentionOpInterface op, StringRef name) {
  return llvm::any_of(
      llvm::seq<unsigned>(0, op.getCaptures().size()),
      [&](unsigned index) { return op.getCaptureName(index) == name; });
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static LogicalResult verifyCaptureNames(AttentionOpInterface op,
                                        ArrayAttr names) {
  if (op.getCaptureNumbers())
    return op->emitOpError(
        "captured values must have names or numbers, found both");
  if (names.size() != op.getCaptures().size())
    return op->emitOpError()
           << "expected a name for each of " << op.getCaptures().size()
           << " captured values, found " << names.size();
  llvm::StringSet<> seen;
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    if (!isIdentifier(name))
      return op->emitOpError()
             << "the name of a captured value must be an identifier, found "
             << name;
    if (isReservedName(op, name))
      return op->emitOpError() << "a captured value cannot be named " << name
                               << ", which is the name of an operand or result";
    if (!seen.insert(name).second)
      return op->emitOpError() << "two captured values have the name " << name;
  }
  return success();
}

static LogicalResult verifyCaptures(AttentionOpInterface op) {
  // Names first: the messages of the other checks use them.
  if (std::optional<ArrayAttr> names = op.getCaptureNames())
    if (failed(verifyCaptureNames(op, *names)))
      return failure();
  for (auto [index, capture] : llvm::enumerate(op.getCaptures()))
    if (!isCaptureType(capture.getType()))
      return op->emitOpError()
             << op.describeCapture(index)
             << " must be an index, f32, i32 or i64, or a tensor of rank at "
                "most 4 of f16, bf16, f32, i1, i8, i16, i32 or i64, found "
             << capture.getType();

  if (std::optional<ArrayRef<int64_t>> numbers = op.getCaptureNumbers()) {
    if (numbers->size() != op.getCaptures().size())
      return op->emitOpError()
             << "expected a number for each of " << op.getCaptures().size()
             << " captured values, found " << numbers->size();
    int64_t least = 0;
    for (int64_t number : *numbers) {
      if (number < least || number > AttentionOpInterface::kMaxCaptureNumber)
        return op->emitOpError()
               << "numbers of captured values must ascend, from "
                  "0 to "
               << AttentionOpInterface::kMaxCaptureNumber << ", found ["
               << *numbers << ']';
      least = number + 1;
    }
  }
  return success();
}

/// Checks that the values are either an operand or columns of the keys.
static LogicalResult verifyValueColumns(AttentionOpInterface op) {
  std::optional<ArrayRef<int64_t>> columns = op.getValueColumns();
  if (bool(op.getValue()) == columns.has_value())
    return op->emitOpError("expected either a value or 'value_columns', found ")
           << (columns ? "both" : "neither");
  if (!columns)
    return success();
  if (columns->size() != 2)
    return op->emitOpError("value_columns must be the first column and the "
                           "number of columns, found ")
           << columns->size() << " numbers";
  int64_t first = columns->front(), count = columns->back(),
          all = op.getKeyType().getShape().back();
  if (first < 0 || count < 1 || first > all || count > all - first)
    return op->emitOpError("value_columns must be within the key's head dim ")
           << all << ", found " << count << " columns from " << first;
  return success();
}

LogicalResult fovea::attn::verifyVariant(AttentionOpInterface op) {
  std::pair<StringRef, RankedTensorType> tensors[] = {
      {"query", op.getQueryType()}, {"key", op.getKeyType()}};
  for (auto [name, type] : tensors)
    if (failed(verifyTensor(op, name, type)))
      return failure();
  if (failed(verifyValueColumns(op)) ||
      failed(verifyTensor(op, "value", op.getValueType())))
    return failure();
  if (failed(verifyElements(op)) || failed(verifyShapes(op)) ||
      failed(verifyScale(op)) || failed(verifyCaptures(op)) ||
      failed(verifyWeights(op)))
    return failure();
  SequenceFormAttrInterface form = op.getSequence();
  SmallVector<StringRef> names = form.getOperandNames();
  if (names.size() != op.getSequenceOperands().size())
    return op->emitOpError()
           << "sequence form '" << form.getKeyword() << "' takes "
           << names.size() << " operands, found "
           << op.getSequenceOperands().size();
  if (failed(form.verifyOperands([&] { return op->emitOpError(); },
                                 op.getSequenceOperands().getTypes(),
                                 op.getQueryType().getDimSize(0))))
    return failure();
  if (failed(verifySequences(op)))
    return failure();
  return verifyBlocks(op);
}

LogicalResult
fovea::attn::verifyModRegion(AttentionOpInterface op, StringRef name,
                             Region &region, ArrayRef<Type> leading,
                             ArrayRef<Type> results,
                             function_ref<bool(Operation *)> isAllowed) {
  if (region.empty())
    return success();
  SmallVector<Type> expected(leading);
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (!llvm::equal(region.getArgumentTypes(), expected)) {
    InFlightDiagnostic diag = op->emitOpError();
    diag << name << " must have arguments (" << expected << "), found (";
    diag << region.getArgumentTypes() << ")";
    return diag;
  }
  Block &block = region.front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError() << name << " must end with 'attn.yield'";
  if (!llvm::equal(yield.getOperandTypes(), results)) {
    InFlightDiagnostic diag = yield.emitOpError();
    diag << "in " << name << " must yield (" << results << "), found (";
    diag << yield.getOperandTypes() << ")";
    return diag;
  }
  WalkResult walk = region.walk([&](Operation *inner) -> WalkResult {
    if (isMemoryEffectFree(inner) || (isAllowed && isAllowed(inner)))
      return WalkResult::advance();
    return inner->emitOpError()
           << "is not allowed in " << name
           << ": it may have side effects, and the regions of '"
           << op->getName() << "' are pure";
  });
  return failure(walk.wasInterrupted());
}

/// Limits the size of a region. A kernel contains each op once per score of a
/// thread, several times. At this limit it compiles in seconds, or in a minute
/// if most ops are remainders. Also, analyses recurse along operands.
static LogicalResult verifySize(AttentionOpInterface op, StringRef name,
                                Region &region) {
  constexpr int64_t kMostOps = 2048;
  int64_t count = 0;
  region.walk([&](Operation *) { ++count; });
  if (count <= kMostOps)
    return success();
  InFlightDiagnostic diag = op->emitOpError();
  diag << name << " has " << count << " ops, expected at most " << kMostOps;
  diag.attachNote() << "kernels execute each op for every score; constants "
                       "can be in a captured tensor";
  return diag;
}

LogicalResult fovea::attn::verifyVariantRegions(AttentionOpInterface op) {
  MLIRContext *context = op->getContext();
  Type index = IndexType::get(context), f32 = Float32Type::get(context),
       i1 = IntegerType::get(context, 1);
  if (failed(verifyModRegion(op, "score_mod", op.getScoreMod(),
                             {f32, index, index, index, index}, {f32})) ||
      failed(verifyModRegion(op, "mask_mod", op.getMaskMod(),
                             {index, index, index, index}, {i1})) ||
      failed(verifyModRegion(op, "kv_bounds", op.getKvBounds(),
                             {index, index, index, index},
                             {index, index, index, index})))
    return failure();
  if (failed(verifySize(op, "score_mod", op.getScoreMod())) ||
      failed(verifySize(op, "mask_mod", op.getMaskMod())))
    return failure();
  SmallVector<Type> block(AttentionOpInterface::kKVClassifyArguments, index);
  if (failed(verifyModRegion(op, "kv_classify", op.getKvClassify(), block,
                             {i1, i1})))
    return failure();
  return verifyCapturedSizes(op);
}
