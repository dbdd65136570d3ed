//===- Values.h - Runtime values --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runtime representations of SSA values: numbers, arrays, views of memory and
// objects.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_VALUES_H
#define FOVEA_INTERPRETER_VALUES_H

#include "fovea/Interpreter/Numeric.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <type_traits>
#include <variant>

namespace fovea::interp {

/// Float evaluation: each op's result rounded to its IR type, or everything in
/// f64 regardless of the types (the exact meaning of a program).
enum class Precision { Typed, Exact };

/// Storage type of an array's elements.
enum class Storage : uint8_t { Int, F32, F64 };

template <typename T>
constexpr Storage getStorage() {
  if constexpr (std::is_same_v<T, int64_t>)
    return Storage::Int;
  else if constexpr (std::is_same_v<T, float>)
    return Storage::F32;
  else {
    static_assert(std::is_same_v<T, double>, "no storage for this type");
    return Storage::F64;
  }
}

/// The storage of elements of `kind`: integers as int64_t, floats as float if
/// that is exact, otherwise as double.
Storage getStorage(ElementKind kind, Precision precision);

/// A dense, row-major tensor or tile. Immutable once it is a value.
class Array {
public:
  /// Elements are not initialised.
  Array(llvm::ArrayRef<int64_t> shape, Storage storage);

  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getNumElements() const { return count; }
  Storage getStorage() const { return storage; }

  template <typename T>
  T *data() {
    assert(storage == interp::getStorage<T>() && "wrong element storage");
    return reinterpret_cast<T *>(bytes.get());
  }
  template <typename T>
  const T *data() const {
    assert(storage == interp::getStorage<T>() && "wrong element storage");
    return reinterpret_cast<const T *>(bytes.get());
  }

private:
  llvm::SmallVector<int64_t, 4> shape;
  int64_t count;
  Storage storage;
  std::unique_ptr<double[]> bytes;
};

/// A view of a buffer that it does not own.
struct MemRefView {
  char *base = nullptr;
  ElementKind kind = ElementKind::F32;
  llvm::SmallVector<int64_t, 4> sizes, strides; // in elements

  char *at(int64_t offset) const {
    return base + offset * int64_t(getByteWidth(kind));
  }
};

/// A stateful object that values refer to, such as a pipeline.
class Object {
public:
  virtual ~Object() = default;
};

/// The runtime value of an SSA value: a number, an array, memory or an object.
/// A value of scalar type may stand for an array, too: the regions of attn ops
/// are executed for many coordinates at once.
class RuntimeValue {
public:
  RuntimeValue() = default;
  static RuntimeValue integer(int64_t v) { return RuntimeValue(Content(v)); }
  static RuntimeValue real(double v) { return RuntimeValue(Content(v)); }
  static RuntimeValue array(std::shared_ptr<const Array> v) {
    return RuntimeValue(Content(std::move(v)));
  }
  static RuntimeValue memref(MemRefView v) {
    return RuntimeValue(
        Content(std::make_shared<const MemRefView>(std::move(v))));
  }
  static RuntimeValue object(std::shared_ptr<Object> v) {
    return RuntimeValue(Content(std::move(v)));
  }
  /// A scalar of the storage type of arrays.
  template <typename T>
  static RuntimeValue scalar(T v) {
    if constexpr (std::is_same_v<T, int64_t>)
      return integer(v);
    else
      return real(double(v));
  }

  explicit operator bool() const {
    return !std::holds_alternative<std::monostate>(content);
  }
  bool isInteger() const { return std::holds_alternative<int64_t>(content); }
  bool isReal() const { return std::holds_alternative<double>(content); }
  bool isScalar() const { return isInteger() || isReal(); }
  bool isArray() const { return std::holds_alternative<ArrayPtr>(content); }
  bool isMemRef() const { return std::holds_alternative<MemRefPtr>(content); }

  int64_t getInteger() const { return *std::get_if<int64_t>(&content); }
  double getReal() const { return *std::get_if<double>(&content); }
  const Array &getArray() const { return **std::get_if<ArrayPtr>(&content); }
  std::shared_ptr<const Array> shareArray() const {
    return *std::get_if<ArrayPtr>(&content);
  }
  const MemRefView &getMemRef() const {
    return **std::get_if<MemRefPtr>(&content);
  }
  /// The object, whose class follows from the value's IR type.
  template <typename T>
  T &getObject() const {
    return static_cast<T &>(**std::get_if<ObjectPtr>(&content));
  }
  template <typename T>
  T getScalar() const {
    if constexpr (std::is_same_v<T, int64_t>)
      return getInteger();
    else
      return T(getReal());
  }

private:
  using ArrayPtr = std::shared_ptr<const Array>;
  using MemRefPtr = std::shared_ptr<const MemRefView>;
  using ObjectPtr = std::shared_ptr<Object>;
  using Content = std::variant<std::monostate, int64_t, double, ArrayPtr,
                               MemRefPtr, ObjectPtr>;
  explicit RuntimeValue(Content content) : content(std::move(content)) {}
  Content content;
};

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_VALUES_H
