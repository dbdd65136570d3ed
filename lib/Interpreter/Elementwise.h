//===- Elementwise.h - Elementwise ops with broadcasting --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One implementation of all elementwise ops on scalars and arrays, with
// broadcasting and rounding to the result's type.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ELEMENTWISE_H
#define FOVEA_LIB_INTERPRETER_ELEMENTWISE_H

#include "fovea/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <array>

namespace fovea::interp {

/// The shape that operands are broadcast to: extents of 1 widen. Fails if the
/// shapes are incompatible. Scalars have no shape.
llvm::FailureOr<llvm::SmallVector<int64_t, 4>>
broadcastShapes(llvm::ArrayRef<const RuntimeValue *> operands);

/// Returns true if the condition holds in any active lane.
bool anyActive(Frame &frame, const RuntimeValue &condition);

/// The integer in `value` of an active lane for which `condition` holds; there
/// must be one.
int64_t getActive(Frame &frame, const RuntimeValue &condition,
                  const RuntimeValue &value);

/// The lanes for which both conditions hold; an empty condition holds
/// everywhere.
RuntimeValue conjunction(const RuntimeValue &a, const RuntimeValue &b);

/// The lanes for which the condition does not hold.
RuntimeValue negation(const RuntimeValue &a);

/// Reads a scalar or an array by rows and columns.
template <typename T>
struct Lanes {
  Lanes(const RuntimeValue &value, llvm::ArrayRef<int64_t> shape) {
    if (!value.isArray()) {
      scalar = value.getScalar<T>();
      return;
    }
    const Array &array = value.getArray();
    base = array.data<T>();
    if (array.getShape() == shape) {
      rowStride = shape.empty() ? 0 : shape.back();
      columnStride = 1;
    } else {
      assert(shape.size() == 2 && "only rank 2 broadcasts");
      columnStride = array.getShape()[1] == 1 ? 0 : 1;
      rowStride = array.getShape()[0] == 1 ? 0 : array.getShape()[1];
    }
  }
  const T *row(int64_t r) const {
    return base ? base + r * rowStride : &scalar;
  }

  const T *base = nullptr;
  T scalar = T();
  int64_t rowStride = 0, columnStride = 0;
};

namespace detail {
template <typename R, typename Fn, typename... Ts, size_t... I>
void mapLanes(R *result, int64_t rows, int64_t columns, Fn fn,
              std::index_sequence<I...>, const Lanes<Ts> &...lanes) {
  bool contiguous = ((lanes.columnStride == 1) && ...);
  for (int64_t r = 0; r < rows; ++r, result += columns) {
    std::tuple<const Ts *...> row(lanes.row(r)...);
    if (contiguous) {
      for (int64_t c = 0; c < columns; ++c)
        result[c] = fn(std::get<I>(row)[c]...);
      continue;
    }
    std::array<int64_t, sizeof...(Ts)> stride = {lanes.columnStride...};
    for (int64_t c = 0; c < columns; ++c)
      result[c] = fn(std::get<I>(row)[c * stride[I]]...);
  }
}
} // namespace detail

/// Applies `fn` to the operands' elements, which are broadcast to each other;
/// the results are elements of R, the operands hold elements of Ts. The shapes
/// must be compatible.
template <typename R, typename... Ts, typename Fn, typename... Values>
llvm::FailureOr<RuntimeValue> mapValues(Fn fn, const Values &...operands) {
  static_assert(sizeof...(Ts) == sizeof...(Values));
  if ((operands.isScalar() && ...))
    return RuntimeValue::scalar<R>(fn(operands.template getScalar<Ts>()...));
  auto shape = broadcastShapes({&operands...});
  if (failed(shape))
    return llvm::failure();
  auto result = std::make_shared<Array>(*shape, getStorage<R>());
  int64_t columns = shape->empty() ? 1 : shape->back();
  int64_t rows = columns == 0 ? 0 : result->getNumElements() / columns;
  detail::mapLanes<R>(result->template data<R>(), rows, columns, fn,
                      std::index_sequence_for<Ts...>(),
                      Lanes<Ts>(operands, *shape)...);
  return RuntimeValue::array(std::move(result));
}

/// Rounds or wraps to the range of `type`. A no-op for floats with exact
/// precision.
void roundInPlace(Frame &frame, mlir::Type type, Array &array);
RuntimeValue roundScalar(Frame &frame, mlir::Type type, double value);

namespace detail {
template <typename R, typename... Ts, typename Fn, size_t... I>
llvm::LogicalResult mapOperation(mlir::Operation *op, Frame &frame, Fn fn,
                                 std::index_sequence<I...>) {
  llvm::FailureOr<RuntimeValue> result =
      mapValues<R, Ts...>(fn, frame.get(op->getOperand(I))...);
  if (failed(result))
    return frame.fail(op) << "operands of '" << op->getName().getStringRef()
                          << "' have incompatible shapes";
  mlir::Type type = op->getResult(0).getType();
  if constexpr (!std::is_same_v<R, int64_t>) {
    if (result->isReal())
      *result = roundScalar(frame, type, result->getReal());
    else
      roundInPlace(frame, type, const_cast<Array &>(result->getArray()));
  }
  frame.set(op->getResult(0), std::move(*result));
  return llvm::success();
}
} // namespace detail

/// Executes an elementwise op with one result: `fn` maps the operands' elements
/// (Ts) to the result's (R). Float results are rounded to the result's type.
template <typename R, typename... Ts, typename Fn>
llvm::LogicalResult mapOperation(mlir::Operation *op, Frame &frame, Fn fn) {
  return detail::mapOperation<R, Ts...>(op, frame, fn,
                                        std::index_sequence_for<Ts...>());
}

/// Calls `fn` with a float or a double, depending on the storage of `type`.
template <typename Fn>
auto withFloatStorage(Frame &frame, mlir::Type type, Fn fn) {
  if (frame.getStorage(type) == Storage::F32)
    return fn(float());
  return fn(double());
}

/// Returns true if an op is marked `afn`: GPUs execute it with an approximate
/// instruction, which handlers model for f32. With exact precision results are
/// exact.
template <typename OpTy>
bool isApproximated(mlir::Operation *op) {
  return bitEnumContainsAll(mlir::cast<OpTy>(op).getFastmath(),
                            mlir::arith::FastMathFlags::afn);
}

/// Registers elementwise ops whose operands and result are floats of one type;
/// `fn` is generic over float and double.
template <typename OpTy, typename Fn>
void addFloatUnary(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](mlir::Operation *op, Frame &frame) {
    return withFloatStorage(frame, op->getResult(0).getType(), [&](auto like) {
      using T = decltype(like);
      return mapOperation<T, T>(op, frame, [fn](T a) -> T { return fn(a); });
    });
  });
}
/// The same, with `model` for the result of an f32 op marked `afn`.
template <typename OpTy, typename Fn, typename Model>
void addFloatUnary(InterpreterRegistry &registry, Fn fn, Model model) {
  registry.add<OpTy>([fn, model](mlir::Operation *op, Frame &frame) {
    bool isModelled = isApproximated<OpTy>(op);
    return withFloatStorage(frame, op->getResult(0).getType(), [&](auto like) {
      using T = decltype(like);
      if constexpr (std::is_same_v<T, float>)
        if (isModelled)
          return mapOperation<T, T>(op, frame, model);
      return mapOperation<T, T>(op, frame, [fn](T a) -> T { return fn(a); });
    });
  });
}
template <typename OpTy, typename Fn>
void addFloatBinary(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](mlir::Operation *op, Frame &frame) {
    return withFloatStorage(frame, op->getResult(0).getType(), [&](auto like) {
      using T = decltype(like);
      return mapOperation<T, T, T>(op, frame,
                                   [fn](T a, T b) -> T { return fn(a, b); });
    });
  });
}
template <typename OpTy, typename Fn>
void addFloatTernary(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](mlir::Operation *op, Frame &frame) {
    return withFloatStorage(frame, op->getResult(0).getType(), [&](auto like) {
      using T = decltype(like);
      return mapOperation<T, T, T, T>(
          op, frame, [fn](T a, T b, T c) -> T { return fn(a, b, c); });
    });
  });
}

inline IntegerWrap getWrap(mlir::Type type) {
  return IntegerWrap(*getElementKind(mlir::getElementTypeOrSelf(type)));
}

/// The same for integers; `fn` receives sign-extended operands and the result's
/// IntegerWrap, which is applied to its return value.
template <typename OpTy, typename Fn>
void addIntegerUnary(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](mlir::Operation *op, Frame &frame) {
    IntegerWrap wrap = getWrap(op->getResult(0).getType());
    return mapOperation<int64_t, int64_t>(
        op, frame, [=](int64_t a) { return wrap(fn(wrap, a)); });
  });
}
template <typename OpTy, typename Fn>
void addIntegerBinary(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](mlir::Operation *op, Frame &frame) {
    IntegerWrap wrap = getWrap(op->getResult(0).getType());
    return mapOperation<int64_t, int64_t, int64_t>(
        op, frame, [=](int64_t a, int64_t b) { return wrap(fn(wrap, a, b)); });
  });
}

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ELEMENTWISE_H
