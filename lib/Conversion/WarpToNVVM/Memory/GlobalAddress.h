//===- GlobalAddress.h - Single accesses to global memory -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_GLOBALADDRESS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_GLOBALADDRESS_H

#include "WarpToNVVM.h"

namespace fovea {

/// One element's place: address, and whether it may be touched. A null
/// predicate is always true. Accesses are predicated instructions, which leave
/// no branch behind.
struct Place {
  mlir::Value address, predicate;
};

/// `place`, where `predicate` holds, too.
Place restrict(mlir::OpBuilder &b, mlir::Location loc, Place place,
               mlir::Value predicate);

/// What a memref's elements are in memory: i1 lives in bytes.
mlir::Type getMemoryType(const GlobalView &view);
mlir::Value fromMemory(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value value, mlir::Type element);
mlir::Value toMemory(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);

/// Whether an index is a lane's own, and not the same for all.
bool isOfLane(mlir::Value index);

/// The place of the element at `indices`; it may be touched if those lie within
/// the memref. `view` has a dimension at least.
Place locateElement(mlir::OpBuilder &b, mlir::Location loc,
                    const GlobalView &view, mlir::ValueRange indices);

/// Reads an element; 0 where the predicate is false.
mlir::Value emitLoad(mlir::OpBuilder &b, mlir::Location loc, Place place,
                     mlir::Type type);
void emitStore(mlir::OpBuilder &b, mlir::Location loc, Place place,
               mlir::Value value);
/// Adds one f32 to memory, or two or four that follow each other, each at once,
/// in any order; or one i64.
void emitAdd(mlir::OpBuilder &b, mlir::Location loc, Place place,
             mlir::ValueRange values);
/// Adds an f32 to an exact sum (`exactsum`), whose first integer is at `place`;
/// from one integer to the next it is `bins` of them.
void emitExactAdd(mlir::OpBuilder &b, mlir::Location loc, Place place,
                  mlir::Value number, mlir::Value bins);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_GLOBALADDRESS_H
