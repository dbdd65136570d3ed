//===- Values.cpp - Runtime values ------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Storage of arrays.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Values.h"

#include <functional>
#include <numeric>

using namespace fovea::interp;

Storage fovea::interp::getStorage(ElementKind kind, Precision precision) {
  if (!isFloat(kind))
    return Storage::Int;
  bool wide = precision == Precision::Exact || kind == ElementKind::F64;
  return wide ? Storage::F64 : Storage::F32;
}

Array::Array(llvm::ArrayRef<int64_t> shape, Storage storage)
    : shape(shape),
      count(std::accumulate(shape.begin(), shape.end(), int64_t(1),
                            std::multiplies<int64_t>())),
      storage(storage) {
  // Allocated in units of 8 bytes; a float takes half a unit.
  int64_t units = storage == Storage::F32 ? (count + 1) / 2 : count;
  bytes.reset(new double[units]);
}
