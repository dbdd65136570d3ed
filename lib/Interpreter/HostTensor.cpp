//===- HostTensor.cpp - Tensors of host programs ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocation of host tensors, and conversions to arrays and views.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/HostTensor.h"

#include "TileSupport.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <functional>
#include <numeric>

using namespace mlir;
using namespace fovea::interp;

HostTensor::HostTensor(ElementKind kind, ArrayRef<int64_t> shape)
    : kind(kind), shape(shape) {
  // Never null, so that a tensor without elements is still a tensor.
  bytes.reset(new char[std::max<int64_t>(getNumBytes(), 1)]());
}

FailureOr<int64_t> HostTensor::getByteSize(ElementKind kind,
                                           ArrayRef<int64_t> shape,
                                           int64_t limit) {
  int64_t bytes = getByteWidth(kind);
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(bytes, size, bytes))
      return failure();
  if (bytes > limit)
    return failure();
  return bytes;
}

int64_t HostTensor::getNumElements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

void HostTensor::poison() { std::memset(bytes.get(), 0xff, getNumBytes()); }

double HostTensor::getFloat(int64_t index) const {
  double value;
  readElements(kind, bytes.get() + index * getByteWidth(kind), 1, 1, &value);
  return value;
}

MemRefView HostTensor::getView(ArrayRef<int64_t> order) const {
  SmallVector<int64_t, 4> strides(shape.size());
  int64_t stride = 1;
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  MemRefView view;
  view.base = bytes.get();
  view.kind = kind;
  for (int64_t dim : order) {
    view.sizes.push_back(shape[dim]);
    view.strides.push_back(strides[dim]);
  }
  return view;
}

std::shared_ptr<const Array> HostTensor::toArray(Precision precision) const {
  auto array = std::make_shared<Array>(shape, getStorage(kind, precision));
  withStorage(array->getStorage(), [&](auto like) {
    readElements(kind, bytes.get(), 1, getNumElements(),
                 array->data<decltype(like)>());
  });
  return array;
}

HostTensor HostTensor::fromArray(const Array &array, ElementKind kind) {
  HostTensor tensor(kind, array.getShape());
  withStorage(array.getStorage(), [&](auto like) {
    writeElements(kind, array.data<decltype(like)>(), array.getNumElements(),
                  tensor.data(), 1);
  });
  return tensor;
}
