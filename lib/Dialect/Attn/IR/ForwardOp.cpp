//===- ForwardOp.cpp - attn.forward -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::attn;

static LogicalResult verifyOutput(ForwardOp op) {
  if (failed(verifyTensor(op, "output", op.getOutputType())))
    return failure();
  Type element = op.getQueryType().getElementType(),
       output = op.getOutputType().getElementType();
  bool isNarrow = element.getIntOrFloatBitWidth() == 8;
  if (isNarrow && output == element)
    return op.emitOpError()
           << "output must be f16, bf16 or f32, found " << output;
  if (!isNarrow && output != element && !output.isF32())
    return op.emitOpError()
           << "output must be " << element << " or f32, found " << output;
  auto q = op.getQueryType().getShape(), v = op.getValueType().getShape(),
       o = op.getOutputType().getShape();
  if (!agree(q[0], o[0]) || !agree(q[1], o[1]) || !agree(q[2], o[2]))
    return op.emitOpError()
           << "output must have the query's batch, heads and sequence, found "
           << op.getOutputType() << " for " << op.getQueryType();
  if (o[3] != v[3])
    return op.emitOpError()
           << "output and value must have the same head dim, found " << o[3]
           << " and " << v[3];
  return success();
}

static constexpr StringLiteral kScaleNames[] = {"q", "k", "v", "v_mean"};

OpOperand *ForwardOp::getScaleOperand(StringRef name) {
  if (std::optional<ArrayAttr> names = getScaleNames())
    for (auto [index, known] : llvm::enumerate(names->getAsRange<StringAttr>()))
      if (known == name)
        return &getScalesMutable()[index];
  return nullptr;
}

std::string ForwardOp::getScaleOperandName(unsigned index) {
  StringRef name = cast<StringAttr>((*getScaleNames())[index]);
  return name == "v_mean" ? name.str() : (name + "_scale").str();
}

/// Checks the shape of the operand that `scaleNames` calls `name`.
static LogicalResult verifyScale(ForwardOp op, StringRef name, Type found) {
  auto type = cast<RankedTensorType>(found);
  bool isMean = name == "v_mean";
  SequencePlaces places = op.getSequence().getPlaces();
  // Packed or paged sequences are not batch entries of Q or K.
  bool hasEntries = !places.packsQueries() && !places.page;
  int64_t batch =
      hasEntries ? op.getQueryType().getDimSize(0) : type.getDimSize(0);
  int64_t heads = op.getKeyType().getDimSize(op.getHeadDim());
  auto fits = [&](int64_t dim, int64_t size) {
    return type.getDimSize(dim) == 1 || type.getDimSize(dim) == size;
  };
  if (type.getRank() != (isMean ? 3 : 2) || type.getEncoding() ||
      !type.getElementType().isF32() || !fits(0, batch) || !fits(1, heads) ||
      (isMean && !agree(type.getDimSize(2), op.getValueType().getDimSize(3))))
    return op.emitOpError("scale '")
           << name << "' must be an f32 tensor of (B or 1, Hkv or 1"
           << (isMean ? ", Dv" : "") << "), found " << type;
  return success();
}

static LogicalResult verifyScales(ForwardOp op) {
  size_t count = op.getScaleNames() ? op.getScaleNames()->size() : 0;
  if (op.getScales().size() != count)
    return op.emitOpError("expected a name for each of ")
           << op.getScales().size() << " scales, found " << count;
  if (count == 0)
    return success();
  llvm::StringSet<> seen;
  for (auto [attribute, scale] :
       llvm::zip_equal(*op.getScaleNames(), op.getScales())) {
    StringRef name = cast<StringAttr>(attribute);
    if (!llvm::is_contained(kScaleNames, name) || !seen.insert(name).second)
      return op.emitOpError("scales must be different ones of 'q', 'k', 'v' "
                            "and 'v_mean', found '")
             << name << "'" << (seen.contains(name) ? " twice" : "");
    if (!op.getValue() && name.starts_with("v"))
      return op.emitOpError("scale '")
             << name << "' needs values, but they are columns of K";
    if (failed(verifyScale(op, name, scale.getType())))
      return failure();
  }
  if (seen.contains("v_mean") && op.getDropoutAttr())
    return op.emitOpError("scale 'v_mean' is not supported with dropout");
  return success();
}

LogicalResult ForwardOp::verify() {
  if (failed(verifyVariant(*this)) || failed(verifyOutput(*this)) ||
      failed(verifyScales(*this)))
    return failure();
  return getLse() ? verifyRowValues(*this, "lse", getLse().getType())
                  : success();
}

LogicalResult ForwardOp::verifyRegions() { return verifyVariantRegions(*this); }
