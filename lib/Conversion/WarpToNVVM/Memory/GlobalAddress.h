//===- GlobalAddress.h - Single accesses to global memory -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of single elements in global memory, with the predicates of their
// accesses, and the instructions that access them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_GLOBALADDRESS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_GLOBALADDRESS_H

#include "WarpToNVVM.h"

namespace fovea {

/// The address of an element, and the predicate under which it may be accessed.
/// A null predicate is always true. Accesses are predicated instructions,
/// without branches.
struct Place {
  mlir::Value address, predicate;
};

/// `place` with `predicate` as an additional condition.
Place restrict(mlir::OpBuilder &b, mlir::Location loc, Place place,
               mlir::Value predicate);

/// The type of a memref's elements in memory. It is i8 for i1, and for 8-bit
/// floats, which LLVM does not have.
mlir::Type getMemoryType(const GlobalView &view);
mlir::Value fromMemory(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value value, mlir::Type element);
mlir::Value toMemory(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);

/// Returns true if the index is a per-lane value, otherwise it is uniform.
bool isOfLane(mlir::Value index);

/// The address of the element at `indices`, with the predicate that they are
/// within the memref. `view` has at least one dimension.
Place locateElement(mlir::OpBuilder &b, mlir::Location loc,
                    const GlobalView &view, mlir::ValueRange indices);

/// Loads an element; 0 if the predicate is false. With `isOrdered` the load
/// does not move across synchronisation.
mlir::Value emitLoad(mlir::OpBuilder &b, mlir::Location loc, Place place,
                     mlir::Type type, bool isOrdered = false);
void emitStore(mlir::OpBuilder &b, mlir::Location loc, Place place,
               mlir::Value value);
/// Loads four words from 16-byte aligned memory, `bytes` after the place; zeros
/// if the predicate is false.
llvm::SmallVector<mlir::Value> emitWideLoad(mlir::OpBuilder &b,
                                            mlir::Location loc, Place place,
                                            int64_t bytes);
/// Stores four words to 16-byte aligned memory, `bytes` after the place.
void emitWideStore(mlir::OpBuilder &b, mlir::Location loc, Place place,
                   int64_t bytes, llvm::ArrayRef<mlir::Value> words);
/// Atomically adds one f32, a vector of two or four consecutive f32, or one
/// i64.
void emitAdd(mlir::OpBuilder &b, mlir::Location loc, Place place,
             mlir::ValueRange values);
/// Adds an f32 to an exact sum (`exactsum`), whose first integer is at `place`.
/// Consecutive integers are `bins` elements apart.
void emitExactAdd(mlir::OpBuilder &b, mlir::Location loc, Place place,
                  mlir::Value number, mlir::Value bins);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_MEMORY_GLOBALADDRESS_H
