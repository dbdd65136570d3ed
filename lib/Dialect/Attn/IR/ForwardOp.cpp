//===- ForwardOp.cpp - attn.forward -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CapturedSizes.h"

#include <cmath>

using namespace mlir;
using namespace fovea::attn;

std::optional<double> ForwardOp::getConstantScale() {
  if (getScaleValue())
    return std::nullopt;
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(double(getQueryType().getDimSize(3)));
}

int64_t ForwardOp::getDroppedShare() {
  return getDropoutAttr()
             ? std::lround(getDropoutAttr().getValueAsDouble() * kDropoutSteps)
             : 0;
}

int64_t ForwardOp::getCaptureNumber(unsigned index) {
  std::optional<ArrayRef<int64_t>> numbers = getCaptureNumbers();
  return numbers ? (*numbers)[index] : index;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool isAttentionFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

/// Two extents agree unless both are static and differ.
static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
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

/// Checks what joins or leaves the softmax besides the scores.
static LogicalResult verifyWeights(ForwardOp op) {
  if (Value sinks = op.getSinks()) {
    auto type = cast<RankedTensorType>(sinks.getType());
    int64_t heads = op.getQueryType().getDimSize(op.getHeadDim());
    if (type.getRank() != 1 || type.getEncoding() ||
        !type.getElementType().isF32() || !agree(type.getDimSize(0), heads))
      return op.emitOpError("sinks must be an f32 tensor of the query's heads, "
                            "found ")
             << type;
  }
  bool hasSeed(op.getDropoutSeed()), hasOffset(op.getDropoutOffset()),
      hasProbability(op.getDropoutAttr());
  if (hasSeed != hasProbability || hasOffset != hasProbability)
    return op.emitOpError("dropout takes a probability, a seed and an offset");
  int64_t version = op.getDropoutGenerator();
  if (version != fovea::generator::kVersion)
    return op.emitOpError("dropout's generator ")
           << version << " is not known, expected "
           << fovea::generator::kVersion;
  if (!hasProbability)
    return success();
  double p = op.getDropoutAttr().getValueAsDouble();
  constexpr double kMost = 1.0 - 1.0 / ForwardOp::kDropoutSteps;
  if (!(p >= 0.0 && p <= kMost))
    return op.emitOpError("dropout must be at least 0 and at most 65535/65536, "
                          "found ")
           << p;
  return success();
}

static LogicalResult verifyTensor(ForwardOp op, StringRef name,
                                  RankedTensorType type) {
  if (type.getRank() != 4)
    return op.emitOpError() << name << " must have rank 4, found " << type;
  if (type.getEncoding())
    return op.emitOpError() << name << " must have no encoding, found " << type;
  if (!isAttentionFloat(type.getElementType()))
    return op.emitOpError() << name << " must be f16, bf16 or f32, found "
                            << type.getElementType();
  if (type.isDynamicDim(3))
    return op.emitOpError()
           << "head dim of the " << name << " must be static, found " << type;
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    if (size == 0)
      return op.emitOpError() << name << " must not be empty, found " << type;
    if (!ShapedType::isDynamic(size) &&
        llvm::MulOverflow(elements, size, elements))
      return op.emitOpError()
             << name << " has more than 2^63 elements: " << type;
  }
  return success();
}

static LogicalResult verifyElements(ForwardOp op) {
  Type element = op.getQueryType().getElementType();
  if (op.getKeyType().getElementType() != element ||
      op.getValueType().getElementType() != element)
    return op.emitOpError()
           << "query, key and value must have one element type, found "
           << element << ", " << op.getKeyType().getElementType() << " and "
           << op.getValueType().getElementType();
  if (op.getOutputType().getElementType() != element &&
      !op.getOutputType().getElementType().isF32())
    return op.emitOpError() << "output must be " << element << " or f32, found "
                            << op.getOutputType().getElementType();
  return success();
}

static LogicalResult verifyShapes(ForwardOp op) {
  int64_t h = op.getHeadDim(), s = op.getSequenceDim();
  auto q = op.getQueryType().getShape(), k = op.getKeyType().getShape(),
       v = op.getValueType().getShape(), o = op.getOutputType().getShape();
  if (!op.getSequence().getKeyPlaces().page && !agree(q[0], k[0]))
    return op.emitOpError() << "query and key must have one batch size, found "
                            << q[0] << " and " << k[0];
  if (!agree(k[0], v[0]) || !agree(k[h], v[h]) || !agree(k[s], v[s]))
    return op.emitOpError()
           << "key and value must agree in all but the head dim, found "
           << op.getKeyType() << " and " << op.getValueType();
  if (q[3] != k[3])
    return op.emitOpError() << "query and key must have one head dim, found "
                            << q[3] << " and " << k[3];
  if (!ShapedType::isDynamic(q[h]) && !ShapedType::isDynamic(k[h]) &&
      q[h] % k[h] != 0)
    return op.emitOpError()
           << "the number of query heads must be a multiple of the number of "
              "key heads, found "
           << q[h] << " and " << k[h];
  if (!agree(q[0], o[0]) || !agree(q[1], o[1]) || !agree(q[2], o[2]))
    return op.emitOpError()
           << "output must have the query's batch, heads and sequence, found "
           << op.getOutputType() << " for " << op.getQueryType();
  if (o[3] != v[3])
    return op.emitOpError() << "output and value must have one head dim, found "
                            << o[3] << " and " << v[3];
  for (auto [name, type] :
       {std::pair<StringRef, RankedTensorType>("query", op.getQueryType()),
        {"key", op.getKeyType()}}) {
    int64_t length = type.getDimSize(s);
    if (length > ForwardOp::kMaxSequenceLength)
      return op.emitOpError() << name << " sequence must be at most 2^30 long, "
                              << "found " << length;
  }
  return success();
}

static LogicalResult verifyLse(ForwardOp op) {
  if (!op.getLse())
    return success();
  auto q = op.getQueryType().getShape();
  auto lse = cast<RankedTensorType>(op.getLse().getType());
  if (lse.getRank() != 3 || lse.getEncoding() ||
      !lse.getElementType().isF32() || !agree(lse.getDimSize(0), q[0]) ||
      !agree(lse.getDimSize(1), q[op.getHeadDim()]) ||
      !agree(lse.getDimSize(2), q[op.getSequenceDim()]))
    return op.emitOpError()
           << "lse must be an f32 tensor of the query's batch, "
              "heads and sequence, found "
           << lse;
  return success();
}

static LogicalResult verifyScale(ForwardOp op) {
  if (op.getScaleValue() && op.getScaleAttr())
    return op.emitOpError(
        "expected one scale, found a constant and an operand");
  if (op.getScaleAttr() && !op.getScaleAttr().getValue().isFinite())
    return op.emitOpError("scale must be finite, found ")
           << op.getScaleAttr().getValueAsDouble();
  if (op.getScaleAttr() &&
      !std::isfinite(float(op.getScaleAttr().getValueAsDouble())))
    return op.emitOpError("scale must be finite as an f32, found ")
           << op.getScaleAttr().getValueAsDouble();
  return success();
}

static LogicalResult verifyCaptures(ForwardOp op) {
  for (auto [index, capture] : llvm::enumerate(op.getCaptures()))
    if (!isCaptureType(capture.getType()))
      return op.emitOpError()
             << "captured value #" << index
             << " must be an index, f32, i32 or i64, or a tensor of rank at "
                "most 4 of f16, bf16, f32, i1, i8, i16, i32 or i64, found "
             << capture.getType();

  if (std::optional<ArrayRef<int64_t>> numbers = op.getCaptureNumbers()) {
    if (numbers->size() != op.getCaptures().size())
      return op.emitOpError()
             << "expected a number for each of " << op.getCaptures().size()
             << " captured values, found " << numbers->size();
    int64_t least = 0;
    for (int64_t number : *numbers) {
      if (number < least || number > ForwardOp::kMaxCaptureNumber)
        return op.emitOpError()
               << "numbers of captured values must ascend, from "
                  "0 to "
               << ForwardOp::kMaxCaptureNumber << ", found [" << *numbers
               << ']';
      least = number + 1;
    }
  }
  return success();
}

LogicalResult ForwardOp::verify() {
  std::pair<StringRef, RankedTensorType> tensors[] = {
      {"query", getQueryType()},
      {"key", getKeyType()},
      {"value", getValueType()},
      {"output", getOutputType()}};
  for (auto [name, type] : tensors)
    if (failed(verifyTensor(*this, name, type)))
      return failure();
  if (failed(verifyElements(*this)) || failed(verifyShapes(*this)) ||
      failed(verifyLse(*this)) || failed(verifyScale(*this)) ||
      failed(verifyCaptures(*this)) || failed(verifyWeights(*this)))
    return failure();
  SmallVector<StringRef> names = getSequence().getOperandNames();
  if (names.size() != getSequenceOperands().size())
    return emitOpError() << "sequence form '" << getSequence().getKeyword()
                         << "' takes " << names.size() << " operands, found "
                         << getSequenceOperands().size();
  if (failed(getSequence().verifyOperands([&] { return emitOpError(); },
                                          getSequenceOperands().getTypes(),
                                          getQueryType().getDimSize(0))))
    return failure();
  return verifyBlocks();
}

/// Checks arguments, results and purity of one region.
static LogicalResult verifyModRegion(ForwardOp op, StringRef name,
                                     Region &region, ArrayRef<Type> leading,
                                     ArrayRef<Type> results) {
  if (region.empty())
    return success();
  SmallVector<Type> expected(leading);
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (!llvm::equal(region.getArgumentTypes(), expected)) {
    InFlightDiagnostic diag = op.emitOpError();
    diag << name << " must have arguments (" << expected << "), found (";
    diag << region.getArgumentTypes() << ")";
    return diag;
  }
  Block &block = region.front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError() << name << " must end with 'attn.yield'";
  if (!llvm::equal(yield.getOperandTypes(), results)) {
    InFlightDiagnostic diag = yield.emitOpError();
    diag << "in " << name << " must yield (" << results << "), found (";
    diag << yield.getOperandTypes() << ")";
    return diag;
  }
  WalkResult walk = region.walk([&](Operation *inner) -> WalkResult {
    if (isMemoryEffectFree(inner))
      return WalkResult::advance();
    return inner->emitOpError()
           << "is not allowed in " << name
           << ": it may have side effects, and the regions of 'attn.forward' "
              "are pure";
  });
  return failure(walk.wasInterrupted());
}

/// Analyses follow operands to their ends: a bound on what a caller writes
/// keeps them from exhausting the stack of a host.
static LogicalResult verifySize(ForwardOp op, StringRef name, Region &region) {
  constexpr int64_t kMostOps = 4096;
  int64_t count = 0;
  region.walk([&](Operation *) { ++count; });
  if (count <= kMostOps)
    return success();
  return op.emitOpError() << name << " holds " << count << " ops, at most "
                          << kMostOps << " are allowed";
}

LogicalResult ForwardOp::verifyRegions() {
  MLIRContext *context = getContext();
  Type index = IndexType::get(context), f32 = Float32Type::get(context),
       i1 = IntegerType::get(context, 1);
  if (failed(verifyModRegion(*this, "score_mod", getScoreMod(),
                             {f32, index, index, index, index}, {f32})) ||
      failed(verifyModRegion(*this, "mask_mod", getMaskMod(),
                             {index, index, index, index}, {i1})) ||
      failed(verifyModRegion(*this, "kv_bounds", getKvBounds(),
                             {index, index, index, index},
                             {index, index, index, index})))
    return failure();
  if (failed(verifySize(*this, "score_mod", getScoreMod())) ||
      failed(verifySize(*this, "mask_mod", getMaskMod())))
    return failure();
  SmallVector<Type> block(kKVClassifyArguments, index);
  if (failed(verifyModRegion(*this, "kv_classify", getKvClassify(), block,
                             {i1, i1})))
    return failure();
  return verifyCapturedSizes(*this);
}
