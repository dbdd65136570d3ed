//===- WarpAggregatedAdds.h - Warp-aggregated atomics -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp-aggregated atomics for scatters whose elements have an address each:
// lanes with equal addresses are combined before one of them adds to memory.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_WARPAGGREGATEDADDS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_WARPAGGREGATEDADDS_H

#include "Memory/GlobalAddress.h"

namespace fovea {

/// Warp-aggregated atomics. Lanes have an address each, but the addresses are
/// often equal, for example if they derive from relative positions or
/// documents. Elements with equal addresses are summed first, a few registers
/// of all lanes at a time.
class WarpAggregatedAdds {
public:
  /// Registers that are compared together: 16 rows and 8 columns of a warp.
  static constexpr unsigned kTogether = 4;

  WarpAggregatedAdds(mlir::OpBuilder &b, mlir::Location loc,
                     const GlobalView &view,
                     llvm::function_ref<void(Place, mlir::Value)> add)
      : b(b), loc(loc), view(view), addTo(add) {}

  struct Pair {
    llvm::SmallVector<mlir::Value> indices;
    mlir::Value element, mask; // or null
  };
  /// Adds elements of lanes in any order: combined if all have one address,
  /// otherwise each by itself.
  void add(llvm::ArrayRef<Pair> pairs);
  /// Adds elements of ordered lanes: runs of lanes with equal addresses are
  /// combined.
  void addInOrder(llvm::ArrayRef<Pair> pairs);
  /// Adds each element by itself.
  void addEach(llvm::ArrayRef<Pair> pairs);
  /// If all lanes' `pairs`, of which only the indices matter, have one address,
  /// adds all of each lane's `elements` there; otherwise emits `otherwise`.
  void addAll(llvm::ArrayRef<Pair> pairs, mlir::ValueRange elements,
              llvm::function_ref<void()> otherwise);
  /// Returns true if nearly all relative positions have an index each, because
  /// the index counts along them.
  static bool haveDistinctAddresses(mlir::ValueRange indices);

private:
  using Emitter = llvm::function_ref<void(llvm::ArrayRef<Pair>)>;
  void choose(mlir::Value condition, llvm::ArrayRef<Pair> pairs, Emitter yes,
              Emitter no);
  /// i1, true if all lanes' pairs have the indices of the first lane's first
  /// pair.
  mlir::Value emitAreEqual(llvm::ArrayRef<Pair> pairs);
  /// i1, true if the next lane's pair has a different address; arbitrary for
  /// the last lane.
  mlir::Value emitEndsRun(const Pair &pair);
  void addTogether(llvm::ArrayRef<Pair> pairs);
  /// Adds the sum over all lanes at the address that they share.
  void addOfLanes(const Pair &pair, mlir::Value sum);
  Place locate(const Pair &pair, mlir::Value predicate);
  /// The pair's element, or 0 if its mask is false.
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
