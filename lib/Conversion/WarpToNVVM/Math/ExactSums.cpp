//===- ExactSums.cpp - Additions to exact sums ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits additions to exact sums: sums of f32 in integers, whose result does not
// depend on the order of the additions (fovea/Support/ExactSum.h).
//
//===----------------------------------------------------------------------===//

#include "Memory/GlobalAddress.h"

#include "fovea/Support/ExactSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Emits `exactsum::split` for a runtime value.
class SummandEmitter {
public:
  SummandEmitter(OpBuilder &builder, Location loc, Value number)
      : b(loc, builder) {
    constexpr int64_t kOne = int64_t(1) << exactsum::kFractionBits;
    bits = arith::BitcastOp::create(b, b.getI32Type(), number);
    fraction = arith::AndIOp::create(b, bits, i32(kOne - 1));
    Value high = arith::ShRUIOp::create(b, bits, i32(exactsum::kFractionBits));
    stored = arith::AndIOp::create(b, high, i32(exactsum::kSpecialExponent));
    isNegative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, i32(0));
    isSpecial = is(stored, exactsum::kSpecialExponent);
    exponent = arith::MaxSIOp::create(b, stored, i32(1));
  }

  Value emitBin() {
    Value finite = arith::ShRUIOp::create(b, exponent, i32(exactsum::kBinBits));
    return widen(select(isSpecial, i32(exactsum::kSpecialBin), finite));
  }
  Value emitValue() {
    Value special = select(is(fraction, 0),
                           select(isNegative, i64(exactsum::kNegative), i64(1)),
                           i64(exactsum::kNegative + 1));
    return select(isSpecial, special, emitFinite());
  }

private:
  Value emitFinite() {
    constexpr int64_t kOne = int64_t(1) << exactsum::kFractionBits;
    // Subnormal numbers have no leading one.
    Value mantissa = select(is(stored, 0), fraction,
                            arith::OrIOp::create(b, fraction, i32(kOne)));
    Value shift =
        arith::AndIOp::create(b, exponent, i32((1 << exactsum::kBinBits) - 1));
    Value size = arith::ShLIOp::create(b, widen(mantissa), widen(shift));
    return select(isNegative, arith::SubIOp::create(b, i64(0), size), size);
  }
  Value i32(int64_t value) { return emitI32(b, b.getLoc(), value); }
  Value i64(int64_t value) { return emitI64(b, b.getLoc(), value); }
  Value is(Value x, int64_t y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, i32(y));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value widen(Value x) { return arith::ExtUIOp::create(b, b.getI64Type(), x); }

  ImplicitLocOpBuilder b;
  Value bits, fraction, stored, exponent, isNegative, isSpecial;
};
} // namespace

void fovea::emitExactAdd(OpBuilder &b, Location loc, Place place, Value number,
                         Value bins) {
  SummandEmitter summand(b, loc, number);
  Value distance = arith::MulIOp::create(b, loc, summand.emitBin(), bins);
  place.address =
      LLVM::GEPOp::create(b, loc, place.address.getType(), b.getI64Type(),
                          place.address, ArrayRef<LLVM::GEPArg>{distance});
  emitAdd(b, loc, place, summand.emitValue());
}
