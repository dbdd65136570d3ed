//===- PairSums.h - Sums of pairs' elements in memory -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_PAIRSUMS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_PAIRSUMS_H

#include "Places.h"

namespace fovea {

/// What a scatter adds where each pair has a place of its own. Places that come
/// of distances or documents are often one even so: few registers at a time, of
/// all lanes, which are added up first if they have one place.
class PairSums {
public:
  /// Registers of which it is asked together: 16 rows and 8 columns of a warp.
  static constexpr unsigned kTogether = 4;

  PairSums(mlir::OpBuilder &b, mlir::Location loc, const GlobalView &view,
           llvm::function_ref<void(Place, mlir::Value)> add)
      : b(b), loc(loc), view(view), addTo(add) {}

  struct Pair {
    llvm::SmallVector<mlir::Value> indices;
    mlir::Value element, mask; // or null
  };
  void add(llvm::ArrayRef<Pair> pairs);

private:
  /// Whether all lanes' pairs have the indices of the first lane's first one.
  mlir::Value emitAreOne(llvm::ArrayRef<Pair> pairs);
  void addTogether(llvm::ArrayRef<Pair> pairs);
  void addEach(llvm::ArrayRef<Pair> pairs);
  Place locate(const Pair &pair, mlir::Value predicate);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const GlobalView &view;
  llvm::function_ref<void(Place, mlir::Value)> addTo;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_PAIRSUMS_H
