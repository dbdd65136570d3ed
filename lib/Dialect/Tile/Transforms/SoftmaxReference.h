//===- SoftmaxReference.h - What weights are relative to --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXREFERENCE_H
#define FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXREFERENCE_H

#include "TileBuilder.h"

namespace fovea::tile {

/// Writes how a row's maximum and its scores become weights.
///
/// A weight is exp2(fma(s, c, -r)) with c = scale * log2(e) and r = m * c for
/// the row's maximum m. As r is rounded and the product in the FMA is not, the
/// largest score's exponent is not 0 but what the rounding left, up to half a
/// unit in r's last place: nothing for the scores of most programs, hundreds
/// of octaves where scores stand for "hidden", as -1e10 does.
///
/// So where scores may be large, a row whose maximum is takes the power of two
/// below c in c's place. Then r is exact and the largest weight 1; and what
/// such a row has besides its maximum is smaller by a unit in m's last place
/// or more, several octaves with either factor.
class SoftmaxReference {
public:
  using Value = mlir::Value;
  using TileType = mlir::RankedTensorType;

  /// Row tiles that the weights by a reference are computed with.
  struct Exponents {
    Value guarded; // subtracted; 0 while nothing is known
    Value factor;  // multiplies scores; null if that is c in all rows
  };

  /// A reference that stays while it serves, and what loops carry of it so that
  /// no block finds it again; the reference itself is in units of the score.
  struct Served {
    Value m;
    Value exponent;  // addend of the weights' exponents, -c * m
    Value threshold; // bits of the least score that calls for another
    Value factor;    // as that of Exponents

    /// As tiles that a loop carries, and back.
    llvm::SmallVector<Value> getValues() const;
    static Served from(mlir::ValueRange carried);
  };

  /// References are of `rowType`, those of sums of exp(scale * scores).
  SoftmaxReference(TileBuilder &b, TileType rowType, double scale,
                   bool mayBeLarge);

  /// What a reference is before anything is known.
  Value getNone() { return b.minusInfinity(rowType); }
  /// The reference that the largest of each row's `scores` is.
  Value maximumOf(Value scores);
  /// Whether `next` is above `reference` by more than `tau` octaves.
  Value exceeds(Value next, Value reference, double tau);
  Exponents makeExponents(Value reference);
  /// exp(scale * scores - m), for the m of `exponents`.
  Value weightsOf(Value scores, const Exponents &exponents);
  /// What is multiplied with that was summed up by `old`.
  Value rescaleFrom(Value old, const Exponents &exponents);
  /// What loops carry, by name.
  llvm::SmallVector<llvm::StringRef> getServedNames() const;
  /// Before anything is known: every score calls for a reference.
  Served getNoneServed();
  /// The largest score that `m` serves: m + tau / c, or m where that is
  /// negative. Rows of negative scores have no threshold and ask for a
  /// reference in each block; it follows their maximum.
  Value mostServed(Value m, double tau);
  /// For `m`, which serves scores up to `most`.
  Served makeServed(Value m, Value most);
  Value weightsOf(Value scores, const Served &reference);
  /// What is multiplied with that was summed up by `old`, for rows that move.
  Value rescaleFrom(const Served &old, const Served &next);
  /// The reference in natural units.
  Value toNatural(Value reference);

  /// Scores are multiplied with, in most rows.
  double getFactor() const { return factor; }
  bool mayBeLarge() const { return isByScore; }

private:
  /// What multiplies scores with, for a reference in units of the score.
  Value makeFactor(Value m);
  TileType getBitsType();

  TileBuilder &b;
  TileType rowType;
  double scale, factor;
  /// References are in units of the score, else in those of the exponent.
  bool isByScore;
};

/// Whether `scores`, a tile, may have elements so large that `scale` times them
/// can't be told from its neighbours by an exponent. Products of queries and
/// keys count as ordinary numbers; what is read from memory may be anything.
bool mayBeLarge(mlir::Value scores, double scale);

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXREFERENCE_H
