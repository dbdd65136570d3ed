//===- ArithHandlers.cpp - Executes arith ops -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of arithmetic: results are rounded or wrapped to the IR type, per
// element for arrays.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>

using namespace mlir;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static LogicalResult executeConstant(Operation *op, Frame &frame) {
  auto constant = cast<arith::ConstantOp>(op);
  Attribute value = constant.getValue();
  Type type = constant.getType();
  if (!getElementKind(getElementTypeOrSelf(type)))
    return frame.fail(op) << "the interpreter has no values of type " << type;
  Storage storage = frame.getStorage(type);
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    int64_t number = integer.getType().isInteger(1)
                         ? integer.getValue().getZExtValue()
                         : integer.getValue().getSExtValue();
    frame.set(constant.getResult(), RuntimeValue::integer(number));
    return success();
  }
  if (auto real = dyn_cast<FloatAttr>(value)) {
    frame.set(constant.getResult(),
              RuntimeValue::real(real.getValueAsDouble()));
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (!elements)
    return frame.fail(op) << "cannot execute a constant of " << type;
  auto array = std::make_shared<Array>(elements.getType().getShape(), storage);
  // A splat is converted once instead of per element.
  auto fill = [&](auto *target, auto values, auto convert) {
    if (elements.isSplat()) {
      std::fill_n(target, array->getNumElements(), convert(*values.begin()));
      return;
    }
    for (auto element : values)
      *target++ = convert(element);
  };
  if (storage == Storage::Int) {
    IntegerWrap wrap = getWrap(type);
    fill(array->data<int64_t>(), elements.getValues<APInt>(),
         [&](const APInt &element) { return wrap(element.getSExtValue()); });
  } else if (storage == Storage::F32) {
    fill(array->data<float>(), elements.getValues<APFloat>(),
         [](const APFloat &element) {
           return float(FloatAttr::getValueAsDouble(element));
         });
  } else {
    fill(array->data<double>(), elements.getValues<APFloat>(),
         [](const APFloat &element) {
           return FloatAttr::getValueAsDouble(element);
         });
  }
  frame.set(constant.getResult(), RuntimeValue::array(std::move(array)));
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Divisions: a zero divisor in an active lane is an error.
template <typename OpTy, typename Fn>
static void addDivision(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](Operation *op, Frame &frame) -> LogicalResult {
    RuntimeValue zero = *mapValues<int64_t, int64_t>(
        [](int64_t b) -> int64_t { return b == 0; },
        frame.get(op->getOperand(1)));
    if (anyActive(frame, zero))
      return frame.fail(op) << "division by zero";
    IntegerWrap wrap = getWrap(op->getResult(0).getType());
    return mapOperation<int64_t, int64_t, int64_t>(
        op, frame, [=](int64_t a, int64_t b) {
          return b == 0 ? int64_t(0) : wrap(fn(wrap, a, b));
        });
  });
}

static int64_t divideTruncating(int64_t a, int64_t b) {
  return b == -1 ? int64_t(0 - uint64_t(a)) : a / b;
}
static int64_t remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

/// Shifts by the width or more are undefined; the interpreter returns 0 or the
/// sign.
static void registerIntegers(InterpreterRegistry &registry) {
  using W = IntegerWrap;
  using I = int64_t;
  using U = uint64_t;
  addIntegerBinary<arith::AddIOp>(registry,
                                  [](W, I a, I b) { return I(U(a) + U(b)); });
  addIntegerBinary<arith::SubIOp>(registry,
                                  [](W, I a, I b) { return I(U(a) - U(b)); });
  addIntegerBinary<arith::MulIOp>(registry,
                                  [](W, I a, I b) { return I(U(a) * U(b)); });
  addIntegerBinary<arith::AndIOp>(registry, [](W, I a, I b) { return a & b; });
  addIntegerBinary<arith::OrIOp>(registry, [](W, I a, I b) { return a | b; });
  addIntegerBinary<arith::XOrIOp>(registry, [](W, I a, I b) { return a ^ b; });
  // A signed i1 is 0 or -1, so its order is the reverse of the unsigned one.
  addIntegerBinary<arith::MaxSIOp>(registry, [](W w, I a, I b) {
    return w.width == 1 ? a & b : std::max(a, b);
  });
  addIntegerBinary<arith::MinSIOp>(registry, [](W w, I a, I b) {
    return w.width == 1 ? a | b : std::min(a, b);
  });
  addIntegerBinary<arith::MaxUIOp>(registry, [](W w, I a, I b) {
    return w.toUnsigned(a) > w.toUnsigned(b) ? a : b;
  });
  addIntegerBinary<arith::MinUIOp>(registry, [](W w, I a, I b) {
    return w.toUnsigned(a) < w.toUnsigned(b) ? a : b;
  });
  addIntegerBinary<arith::ShLIOp>(registry, [](W w, I a, I b) {
    return U(b) < w.width ? I(U(a) << b) : 0;
  });
  addIntegerBinary<arith::ShRSIOp>(registry, [](W w, I a, I b) {
    return w.width == 1 ? a : a >> (U(b) < w.width ? b : 63);
  });
  addIntegerBinary<arith::ShRUIOp>(registry, [](W w, I a, I b) {
    return U(b) < w.width ? I(w.toUnsigned(a) >> b) : 0;
  });
  addDivision<arith::DivSIOp>(
      registry, [](W, I a, I b) { return divideTruncating(a, b); });
  addDivision<arith::RemSIOp>(registry,
                              [](W, I a, I b) { return remainder(a, b); });
  addDivision<arith::DivUIOp>(registry, [](W w, I a, I b) {
    return I(w.toUnsigned(a) / w.toUnsigned(b));
  });
  addDivision<arith::RemUIOp>(registry, [](W w, I a, I b) {
    return I(w.toUnsigned(a) % w.toUnsigned(b));
  });
  addDivision<arith::FloorDivSIOp>(registry, [](W, I a, I b) {
    bool inexact = remainder(a, b) != 0 && (a < 0) != (b < 0);
    return divideTruncating(a, b) - inexact;
  });
  addDivision<arith::CeilDivSIOp>(registry, [](W, I a, I b) {
    bool inexact = remainder(a, b) != 0 && (a < 0) == (b < 0);
    return divideTruncating(a, b) + inexact;
  });
  addDivision<arith::CeilDivUIOp>(registry, [](W w, I a, I b) {
    U x = w.toUnsigned(a), y = w.toUnsigned(b);
    return I(x / y + (x % y != 0));
  });
  addIntegerUnary<arith::TruncIOp>(registry, [](W, I a) { return a; });
}

/// Widening casts, where the operand's width matters.
template <typename OpTy, bool isSigned>
static void addExtension(InterpreterRegistry &registry) {
  registry.add<OpTy>([](Operation *op, Frame &frame) {
    IntegerWrap from = getWrap(op->getOperand(0).getType());
    IntegerWrap to = getWrap(op->getResult(0).getType());
    return mapOperation<int64_t, int64_t>(op, frame, [=](int64_t a) {
      if (isSigned)
        return to(from.width == 1 ? -a : a);
      return to(int64_t(from.toUnsigned(a)));
    });
  });
}

template <typename Fn>
static LogicalResult compareIntegers(Operation *op, Frame &frame, Fn fn) {
  return mapOperation<int64_t, int64_t, int64_t>(op, frame, fn);
}

static LogicalResult executeCmpI(Operation *op, Frame &frame) {
  auto compare = cast<arith::CmpIOp>(op);
  IntegerWrap wrap = getWrap(compare.getLhs().getType());
  // A signed i1 is 0 or -1.
  int64_t sign = wrap.width == 1 ? -1 : 1;
  using I = int64_t;
  auto u = [=](I a) { return wrap.toUnsigned(a); };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return compareIntegers(op, frame, [](I a, I b) -> I { return a == b; });
  case arith::CmpIPredicate::ne:
    return compareIntegers(op, frame, [](I a, I b) -> I { return a != b; });
  case arith::CmpIPredicate::slt:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return a * sign < b * sign; });
  case arith::CmpIPredicate::sle:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return a * sign <= b * sign; });
  case arith::CmpIPredicate::sgt:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return a * sign > b * sign; });
  case arith::CmpIPredicate::sge:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return a * sign >= b * sign; });
  case arith::CmpIPredicate::ult:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return u(a) < u(b); });
  case arith::CmpIPredicate::ule:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return u(a) <= u(b); });
  case arith::CmpIPredicate::ugt:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return u(a) > u(b); });
  case arith::CmpIPredicate::uge:
    return compareIntegers(op, frame,
                           [=](I a, I b) -> I { return u(a) >= u(b); });
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// With `afn` a GPU multiplies with the reciprocal; both are rounded.
static LogicalResult executeDivision(Operation *op, Frame &frame) {
  bool isApproximate = isApproximated<arith::DivFOp>(op);
  return withFloatStorage(frame, op->getResult(0).getType(), [&](auto like) {
    using T = decltype(like);
    if constexpr (std::is_same_v<T, float>)
      if (isApproximate)
        return mapOperation<T, T, T>(op, frame, [](T a, T b) -> T {
          T reciprocal = 1 / b, quotient = a * reciprocal;
          // The product of 0 and infinity, for extreme operands.
          return std::isnan(quotient) ? a / b : quotient;
        });
    return mapOperation<T, T, T>(op, frame,
                                 [](T a, T b) -> T { return a / b; });
  });
}

static void registerFloats(InterpreterRegistry &registry) {
  addFloatBinary<arith::AddFOp>(registry, [](auto a, auto b) { return a + b; });
  addFloatBinary<arith::SubFOp>(registry, [](auto a, auto b) { return a - b; });
  addFloatBinary<arith::MulFOp>(registry, [](auto a, auto b) { return a * b; });
  registry.add<arith::DivFOp>(executeDivision);
  addFloatBinary<arith::RemFOp>(registry,
                                [](auto a, auto b) { return std::fmod(a, b); });
  addFloatUnary<arith::NegFOp>(registry, [](auto a) { return -a; });
  // Propagate NaN.
  addFloatBinary<arith::MaximumFOp>(
      registry, [](auto a, auto b) { return a > b || a != a ? a : b; });
  addFloatBinary<arith::MinimumFOp>(
      registry, [](auto a, auto b) { return a < b || a != a ? a : b; });
  // Ignore NaN if the other operand is a number.
  addFloatBinary<arith::MaxNumFOp>(
      registry, [](auto a, auto b) { return a > b || b != b ? a : b; });
  addFloatBinary<arith::MinNumFOp>(
      registry, [](auto a, auto b) { return a < b || b != b ? a : b; });
}

template <typename Fn>
static LogicalResult compareFloats(Operation *op, Frame &frame, Fn fn) {
  return withFloatStorage(frame, op->getOperand(0).getType(), [&](auto like) {
    using T = decltype(like);
    return mapOperation<int64_t, T, T>(
        op, frame, [=](T a, T b) { return int64_t(fn(a, b)); });
  });
}

static LogicalResult executeCmpF(Operation *op, Frame &frame) {
  using P = arith::CmpFPredicate;
  auto unordered = [](auto a, auto b) { return a != a || b != b; };
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case P::AlwaysFalse:
    return compareFloats(op, frame, [](auto, auto) { return false; });
  case P::AlwaysTrue:
    return compareFloats(op, frame, [](auto, auto) { return true; });
  case P::OEQ:
    return compareFloats(op, frame, [](auto a, auto b) { return a == b; });
  case P::OGT:
    return compareFloats(op, frame, [](auto a, auto b) { return a > b; });
  case P::OGE:
    return compareFloats(op, frame, [](auto a, auto b) { return a >= b; });
  case P::OLT:
    return compareFloats(op, frame, [](auto a, auto b) { return a < b; });
  case P::OLE:
    return compareFloats(op, frame, [](auto a, auto b) { return a <= b; });
  case P::ONE:
    return compareFloats(op, frame,
                         [](auto a, auto b) { return a < b || a > b; });
  case P::ORD:
    return compareFloats(op, frame,
                         [=](auto a, auto b) { return !unordered(a, b); });
  case P::UEQ:
    return compareFloats(op, frame,
                         [](auto a, auto b) { return !(a < b || a > b); });
  case P::UGT:
    return compareFloats(op, frame, [](auto a, auto b) { return !(a <= b); });
  case P::UGE:
    return compareFloats(op, frame, [](auto a, auto b) { return !(a < b); });
  case P::ULT:
    return compareFloats(op, frame, [](auto a, auto b) { return !(a >= b); });
  case P::ULE:
    return compareFloats(op, frame, [](auto a, auto b) { return !(a > b); });
  case P::UNE:
    return compareFloats(op, frame, [](auto a, auto b) { return a != b; });
  case P::UNO:
    return compareFloats(op, frame, unordered);
  }
  llvm_unreachable("unknown predicate");
}

/// extf and truncf: the storage may change; the result is rounded as for any
/// op.
static LogicalResult executeFloatCast(Operation *op, Frame &frame) {
  return withFloatStorage(frame, op->getOperand(0).getType(), [&](auto from) {
    return withFloatStorage(frame, op->getResult(0).getType(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      // A double that becomes narrower than f32 must not be rounded twice.
      if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float>) {
        ElementKind kind =
            *getElementKind(getElementTypeOrSelf(op->getResult(0).getType()));
        return mapOperation<To, From>(
            op, frame, [=](From a) { return To(roundTo(kind, a)); });
      } else {
        return mapOperation<To, From>(op, frame, [](From a) { return To(a); });
      }
    });
  });
}

template <bool isSigned>
static LogicalResult executeIntToFloat(Operation *op, Frame &frame) {
  IntegerWrap wrap = getWrap(op->getOperand(0).getType());
  return withFloatStorage(frame, op->getResult(0).getType(), [&](auto to) {
    using To = decltype(to);
    return mapOperation<To, int64_t>(op, frame, [=](int64_t a) {
      if (isSigned)
        return To(wrap.width == 1 ? -a : a);
      return To(wrap.toUnsigned(a));
    });
  });
}

/// Out-of-range results are undefined; the interpreter saturates, and NaN gives
/// 0, as in PTX.
template <bool isSigned>
static LogicalResult executeFloatToInt(Operation *op, Frame &frame) {
  IntegerWrap wrap = getWrap(op->getResult(0).getType());
  unsigned bits = wrap.width - (isSigned ? 1 : 0);
  double end = std::ldexp(1.0, bits);
  return withFloatStorage(frame, op->getOperand(0).getType(), [&](auto from) {
    using From = decltype(from);
    return mapOperation<int64_t, From>(op, frame, [=](From a) {
      double value = std::trunc(double(a));
      uint64_t largest = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
      if (value != value)
        return int64_t(0);
      if (value >= end)
        return wrap(int64_t(largest));
      if (value < (isSigned ? -end : 0.0))
        return wrap(isSigned ? int64_t(0 - (uint64_t(1) << bits)) : 0);
      return wrap(value < 0 ? int64_t(value) : int64_t(uint64_t(value)));
    });
  });
}

//===----------------------------------------------------------------------===//
// Any type
//===----------------------------------------------------------------------===//

static LogicalResult executeSelect(Operation *op, Frame &frame) {
  auto select = cast<arith::SelectOp>(op);
  const RuntimeValue &condition = frame.get(select.getCondition());
  if (condition.isInteger()) {
    frame.set(select.getResult(),
              frame.get(condition.getInteger() ? select.getTrueValue()
                                               : select.getFalseValue()));
    return success();
  }
  auto pick = [&](auto like) {
    using T = decltype(like);
    return mapOperation<T, int64_t, T, T>(
        op, frame, [](int64_t c, T a, T b) { return c ? a : b; });
  };
  Type type = select.getType();
  if (frame.getStorage(type) == Storage::Int)
    return pick(int64_t());
  return withFloatStorage(frame, type, pick);
}

static LogicalResult executeBitcast(Operation *op, Frame &frame) {
  ElementKind from =
      *getElementKind(getElementTypeOrSelf(op->getOperand(0).getType()));
  ElementKind to =
      *getElementKind(getElementTypeOrSelf(op->getResult(0).getType()));
  Type fromType = op->getOperand(0).getType();
  Type toType = op->getResult(0).getType();
  auto toBits = [=](auto value) -> uint64_t {
    if constexpr (std::is_same_v<decltype(value), int64_t>)
      return IntegerWrap(from).toUnsigned(value);
    else
      return encodeFloat(from, value);
  };
  auto cast = [&](auto source) {
    using From = decltype(source);
    if (frame.getStorage(toType) == Storage::Int)
      return mapOperation<int64_t, From>(op, frame, [=](From a) {
        return IntegerWrap(to)(int64_t(toBits(a)));
      });
    return withFloatStorage(frame, toType, [&](auto target) {
      using To = decltype(target);
      return mapOperation<To, From>(
          op, frame, [=](From a) { return To(decodeFloat(to, toBits(a))); });
    });
  };
  if (frame.getStorage(fromType) == Storage::Int)
    return cast(int64_t());
  return withFloatStorage(frame, fromType, cast);
}

void fovea::interp::registerArithHandlers(InterpreterRegistry &registry) {
  registry.add<arith::ConstantOp>(executeConstant);
  registerIntegers(registry);
  addExtension<arith::ExtSIOp, true>(registry);
  addExtension<arith::ExtUIOp, false>(registry);
  addExtension<arith::IndexCastOp, true>(registry);
  addExtension<arith::IndexCastUIOp, false>(registry);
  registry.add<arith::CmpIOp>(executeCmpI);
  registerFloats(registry);
  registry.add<arith::CmpFOp>(executeCmpF);
  registry.add<arith::ExtFOp>(executeFloatCast);
  registry.add<arith::TruncFOp>(executeFloatCast);
  registry.add<arith::SIToFPOp>(executeIntToFloat<true>);
  registry.add<arith::UIToFPOp>(executeIntToFloat<false>);
  registry.add<arith::FPToSIOp>(executeFloatToInt<true>);
  registry.add<arith::FPToUIOp>(executeFloatToInt<false>);
  registry.add<arith::SelectOp>(executeSelect);
  registry.add<arith::BitcastOp>(executeBitcast);
}
