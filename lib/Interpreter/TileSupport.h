//===- TileSupport.h - Helpers for ops on tiles -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_TILESUPPORT_H
#define FOVEA_LIB_INTERPRETER_TILESUPPORT_H

#include "fovea/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

namespace fovea::interp {

/// A tile whose elements are not set yet.
inline std::shared_ptr<Array> makeTile(Frame &frame,
                                       mlir::RankedTensorType type) {
  return std::make_shared<Array>(type.getShape(), frame.getStorage(type));
}

/// Calls `fn` with a value of the C++ type that elements are held as.
template <typename Fn>
auto withStorage(Storage storage, Fn fn) {
  switch (storage) {
  case Storage::Int:
    return fn(int64_t());
  case Storage::F32:
    return fn(float());
  case Storage::F64:
    return fn(double());
  }
  llvm_unreachable("unknown storage");
}

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_TILESUPPORT_H
