//===- WarpAggregatedAdds.h - Sums of pairs' elements in memory -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_WARPAGGREGATEDADDS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_WARPAGGREGATEDADDS_H

#include "Memory/GlobalAddress.h"

namespace fovea {

/// What a scatter adds where lanes have places of their own, which are often
/// one even so if they come of distances or documents: then elements are added
/// up first, a few registers of all lanes together.
class WarpAggregatedAdds {
public:
  /// Registers of pairs of which it is asked together: 16 rows and 8 columns of
  /// a warp.
  static constexpr unsigned kTogether = 4;

  WarpAggregatedAdds(mlir::OpBuilder &b, mlir::Location loc, const GlobalView &view,
           llvm::function_ref<void(Place, mlir::Value)> add)
      : b(b), loc(loc), view(view), addTo(add) {}

  struct Pair {
    llvm::SmallVector<mlir::Value> indices;
    mlir::Value element, mask; // or null
  };
  /// Of lanes in any order: where all have one place.
  void add(llvm::ArrayRef<Pair> pairs);
  /// Of lanes that follow each other: neighbours with one place add together.
  void addInOrder(llvm::ArrayRef<Pair> pairs);
  /// Each by itself.
  void addEach(llvm::ArrayRef<Pair> pairs);
  /// Where the pairs, of which places count alone, and all lanes' have one:
  /// all of a lane's `elements` there; else by what `otherwise` emits.
  void addAll(llvm::ArrayRef<Pair> pairs, mlir::ValueRange elements,
              llvm::function_ref<void()> otherwise);
  /// Whether nearly all diagonals have a place each at these indices, as that
  /// is counted along them.
  static bool haveOwnPlaces(mlir::ValueRange indices);

private:
  using Way = llvm::function_ref<void(llvm::ArrayRef<Pair>)>;
  void choose(mlir::Value condition, llvm::ArrayRef<Pair> pairs, Way yes,
              Way no);
  /// Whether all lanes' pairs have the indices of the first lane's first one.
  mlir::Value emitAreOne(llvm::ArrayRef<Pair> pairs);
  /// Whether the next lane's pair has another place: true or false for the last
  /// lane.
  mlir::Value emitEndsRun(const Pair &pair);
  void addTogether(llvm::ArrayRef<Pair> pairs);
  /// Adds a sum over all lanes at a place that they share.
  void addOfLanes(const Pair &pair, mlir::Value sum);
  Place locate(const Pair &pair, mlir::Value predicate);
  /// The pair's element, or 0 where it does not count.
  mlir::Value emitCounted(const Pair &pair);
  mlir::Value emitLane();
  mlir::Value emitZero();

  mlir::OpBuilder &b;
  mlir::Location loc;
  const GlobalView &view;
  llvm::function_ref<void(Place, mlir::Value)> addTo;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_WARPAGGREGATEDADDS_H
