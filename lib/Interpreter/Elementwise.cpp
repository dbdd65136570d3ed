//===- Elementwise.cpp - Elementwise ops with broadcasting ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Broadcasting of shapes, masks of active lanes, and rounding.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace fovea::interp;

FailureOr<SmallVector<int64_t, 4>>
fovea::interp::broadcastShapes(ArrayRef<const RuntimeValue *> operands) {
  SmallVector<int64_t, 4> shape;
  bool first = true;
  for (const RuntimeValue *operand : operands) {
    if (!operand->isArray())
      continue;
    ArrayRef<int64_t> other = operand->getArray().getShape();
    if (first) {
      shape.assign(other.begin(), other.end());
      first = false;
      continue;
    }
    if (ArrayRef<int64_t>(shape) == other)
      continue;
    if (shape.size() != 2 || other.size() != 2)
      return failure();
    for (unsigned d = 0; d < 2; ++d) {
      if (shape[d] != other[d] && shape[d] != 1 && other[d] != 1)
        return failure();
      if (shape[d] == 1)
        shape[d] = other[d];
    }
  }
  return shape;
}

RuntimeValue fovea::interp::conjunction(const RuntimeValue &a,
                                        const RuntimeValue &b) {
  if (!a)
    return b;
  if (!b)
    return a;
  auto both = mapValues<int64_t, int64_t, int64_t>(
      [](int64_t x, int64_t y) { return x & y; }, a, b);
  assert(succeeded(both) && "conditions of one region have compatible shapes");
  return *both;
}

RuntimeValue fovea::interp::negation(const RuntimeValue &a) {
  return *mapValues<int64_t, int64_t>([](int64_t x) { return x ^ 1; }, a);
}

bool fovea::interp::anyActive(Frame &frame, const RuntimeValue &condition) {
  RuntimeValue active = conjunction(condition, frame.getActiveLanes());
  if (active.isInteger())
    return active.getInteger() != 0;
  const Array &lanes = active.getArray();
  const int64_t *data = lanes.data<int64_t>();
  return std::any_of(data, data + lanes.getNumElements(),
                     [](int64_t lane) { return lane != 0; });
}

int64_t fovea::interp::getActive(Frame &frame, const RuntimeValue &condition,
                                 const RuntimeValue &value) {
  constexpr int64_t kOther = std::numeric_limits<int64_t>::min();
  FailureOr<RuntimeValue> chosen = mapValues<int64_t, int64_t, int64_t>(
      [](int64_t active, int64_t i) { return active ? i : kOther; },
      conjunction(condition, frame.getActiveLanes()), value);
  if (failed(chosen) || chosen->isInteger())
    return succeeded(chosen) ? chosen->getInteger() : kOther;
  const Array &lanes = chosen->getArray();
  const int64_t *data = lanes.data<int64_t>(),
                *end = data + lanes.getNumElements();
  const int64_t *found =
      std::find_if(data, end, [](int64_t i) { return i != kOther; });
  return found == end ? kOther : *found;
}

void fovea::interp::roundInPlace(Frame &frame, Type type, Array &array) {
  if (frame.getPrecision() == Precision::Exact)
    return;
  ElementKind kind = *getElementKind(getElementTypeOrSelf(type));
  if (array.getStorage() == Storage::F32)
    roundTo(kind, array.data<float>(), array.getNumElements());
  else
    roundTo(kind, array.data<double>(), array.getNumElements());
}

RuntimeValue fovea::interp::roundScalar(Frame &frame, Type type, double value) {
  if (frame.getPrecision() == Precision::Typed)
    value = roundTo(*getElementKind(getElementTypeOrSelf(type)), value);
  return RuntimeValue::real(value);
}
