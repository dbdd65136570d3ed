//===- SoftmaxReference.h - Softmax offsets ---------------------*- C++ -*-===//
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

/// Emits the computation of probabilities from scores and a softmax offset,
/// usually the running maximum m of the row.
///
/// A probability is exp2(fma(s, c, -r)) with c = scale * log2(e) and r = m * c.
/// r is rounded, but the product inside the FMA is not. The exponent of the
/// largest score is therefore not 0 but the rounding error of r, up to half a
/// ULP of r. This is negligible for the scores of most programs, but hundreds
/// of octaves for scores that stand for "masked", such as -1e10.
///
/// If scores may be large, a row with a large maximum uses the power of two
/// below c instead of c. Then r is exact and the largest probability is 1. The
/// other scores of such a row are smaller by at least one ULP of m, which is
/// several octaves with either factor.
class SoftmaxReference {
public:
  using Value = mlir::Value;
  using TileType = mlir::RankedTensorType;

  /// Row tiles that are operands of the probabilities.
  struct Exponents {
    Value guarded; // subtracted; 0 before the first key
    Value factor;  // multiplies the scores; null: c in all rows
  };

  /// An offset of the lazy recurrence with the loop-carried values derived from
  /// it. The offset itself is in units of the score.
  struct Served {
    Value m;
    Value exponent;  // addend of the exponents, -c * m
    Value threshold; // bits of the least score that needs another m
    Value factor;    // same as in Exponents

    /// Converts to and from the tiles that a loop carries.
    llvm::SmallVector<Value> getValues() const;
    static Served from(mlir::ValueRange carried);
  };

  /// Offsets have `rowType`, the type of row sums. They are `headroom` octaves
  /// below the maximum, whose probability is 2^headroom. `runtimeScale` is an
  /// f32 that multiplies `scale`, or null; then scores can't be large.
  SoftmaxReference(TileBuilder &b, TileType rowType, double scale,
                   Value runtimeScale, bool mayBeLarge, double headroom);

  /// The offset before the first key.
  Value getNone() { return b.minusInfinity(rowType); }
  /// The offsets for the row maxima of `scores`.
  Value maximumOf(Value scores);
  /// True where `next` exceeds `reference` by more than `tau` octaves.
  Value exceeds(Value next, Value reference, double tau);
  Exponents makeExponents(Value reference);
  /// exp(scale * scores - m), for the m of `exponents`.
  Value weightsOf(Value scores, const Exponents &exponents);
  /// The factor for sums that were computed with offset `old`.
  Value rescaleFrom(Value old, const Exponents &exponents);
  /// The names of the loop-carried values.
  llvm::SmallVector<llvm::StringRef> getServedNames() const;
  /// The state before the first key: every score requests an offset.
  Served getNoneServed();
  /// The offset for a row maximum in units of the score.
  Value below(Value maximum);
  /// The maximum of an offset that `below` returned.
  Value above(Value m);
  /// The largest score that offset `m` covers: tau / c above its maximum, or
  /// the maximum if that is negative. Rows with negative scores have no
  /// threshold: they request an offset in each block, which follows their
  /// maximum.
  Value mostServed(Value m, double tau);
  /// The carried values of offset `m`, which covers scores up to `most`.
  Served makeServed(Value m, Value most);
  Value weightsOf(Value scores, const Served &reference);
  /// The factor for sums with offset `old`, for rows whose offset changes.
  Value rescaleFrom(const Served &old, const Served &next);
  /// The offset in natural units.
  Value toNatural(Value reference);

  /// The constant factor of the scores, in most rows; none if there is a
  /// run-time factor.
  std::optional<double> getConstantFactor() const {
    return runtimeFactor ? std::nullopt : std::optional<double>(factor);
  }
  /// `tile` times the factor of the scores, and times `by`.
  Value scaled(Value tile, double by = 1.0);
  bool mayBeLarge() const { return isByScore; }

private:
  /// The factor of the scores, for an offset in units of the score.
  Value makeFactor(Value m);
  /// The factor as a tile, times `by`.
  Value splatFactor(TileType type, double by = 1.0);
  /// A row tile of so many octaves in units of the score.
  Value octaves(double count);
  TileType getBitsType();

  TileBuilder &b;
  TileType rowType;
  double scale, factor, headroom;
  /// The factor of the scores and its inverse, f32; null if it is constant.
  Value runtimeFactor, runtimeInverse;
  /// Offsets are in units of the score, else in units of the exponent.
  bool isByScore;
};

/// True if `scores`, a tile, may have elements so large that rounding their
/// exponents, `scale` times them, costs octaves. Products of queries and keys
/// are assumed to be ordinary numbers; loaded elements may have any value.
bool mayBeLarge(mlir::Value scores, double scale);

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXREFERENCE_H
