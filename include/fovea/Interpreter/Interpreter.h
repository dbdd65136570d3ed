//===- Interpreter.h - Executes IR op by op ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Core of the interpreter: frames execute IR op by op, with one handler per op.
// Frames can be suspended between ops, so that a scheduler can interleave
// several.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_INTERPRETER_H
#define FOVEA_INTERPRETER_INTERPRETER_H

#include "fovea/Interpreter/Values.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "mlir/Support/TypeID.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <optional>

namespace fovea::interp {

class Frame;

/// The next step of an op with regions: execute a region with `values` as its
/// arguments or, without a region, finish with `values` as its results.
struct Next {
  mlir::Region *region = nullptr;
  llvm::SmallVector<RuntimeValue, 4> values;
};

/// An op with regions under execution. It does not execute its regions itself
/// but returns the next one: control stays with the frame, which can be
/// suspended between any two ops.
class Activation {
public:
  virtual ~Activation() = default;

  /// Called when the op is reached, with a null `terminator`, and then after
  /// each region that it requested, with the yielded values.
  virtual llvm::LogicalResult
  resume(Frame &frame, mlir::Operation *terminator,
         llvm::MutableArrayRef<RuntimeValue> yielded, Next &next) = 0;
};

/// Executes one op without regions: reads operands from the frame, sets
/// results.
using OpHandler =
    std::function<llvm::LogicalResult(mlir::Operation *, Frame &)>;

/// Starts the execution of one op with regions.
using RegionOpHandler =
    std::function<std::unique_ptr<Activation>(mlir::Operation *)>;

/// The handlers of all ops. Dialects add theirs; see Handlers.h.
class InterpreterRegistry {
public:
  template <typename OpTy>
  void add(OpHandler handler) {
    handlers[mlir::TypeID::get<OpTy>()] = std::move(handler);
  }
  template <typename OpTy, typename ActivationTy>
  void addRegionOp() {
    regionHandlers[mlir::TypeID::get<OpTy>()] = [](mlir::Operation *op) {
      return std::make_unique<ActivationTy>(mlir::cast<OpTy>(op));
    };
  }
  const OpHandler *lookup(mlir::Operation *op) const;
  const RegionOpHandler *lookupRegionOp(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::TypeID, OpHandler> handlers;
  llvm::DenseMap<mlir::TypeID, RegionOpHandler> regionHandlers;
};

/// A failure whose message is under construction; converts to `failure()`.
class Failure {
public:
  explicit Failure(mlir::Diagnostic &diagnostic) : diagnostic(diagnostic) {}
  template <typename T>
  Failure &operator<<(T &&part) {
    diagnostic << std::forward<T>(part);
    return *this;
  }
  operator llvm::LogicalResult() const { return llvm::failure(); }
  /// Adds a note, at `op` if given, and returns it for its message.
  Failure note(mlir::Operation *op = nullptr) {
    return Failure(op ? diagnostic.attachNote(op->getLoc())
                      : diagnostic.attachNote());
  }

private:
  mlir::Diagnostic &diagnostic;
};

/// One thread of control: SSA values and the stack of ops under execution.
/// Frames of one program may run on several threads.
class Frame {
public:
  enum class Status { Running, Suspended, Finished, Failed };

  explicit Frame(const InterpreterRegistry &registry,
                 Precision precision = Precision::Typed)
      : registry(registry), precision(precision) {}

  /// Executes a region to its end.
  llvm::LogicalResult run(mlir::Region &region,
                          llvm::ArrayRef<RuntimeValue> arguments,
                          llvm::SmallVectorImpl<RuntimeValue> &results);

  /// The same in steps of one op, for a scheduler of several frames.
  llvm::LogicalResult start(mlir::Region &region,
                            llvm::ArrayRef<RuntimeValue> arguments);
  Status step();
  llvm::MutableArrayRef<RuntimeValue> getResults() { return results; }

  /// The op to execute next, if the frame has not finished.
  mlir::Operation *getNextOp() const { return &*stack.back().next; }

  /// For handlers: the op cannot complete now and will be executed again.
  void suspend() { suspended = true; }

  /// Values.
  const RuntimeValue &get(mlir::Value value) const;
  int64_t getInteger(mlir::Value value) const {
    return get(value).getInteger();
  }
  const Array &getArray(mlir::Value value) const {
    return get(value).getArray();
  }
  void set(mlir::Value value, RuntimeValue content) {
    values[value] = std::move(content);
  }

  Precision getPrecision() const { return precision; }
  const InterpreterRegistry &getRegistry() const { return registry; }
  /// The storage of elements of `type`.
  Storage getStorage(mlir::Type type) const;

  /// Facts about the frame's context, such as the block's position in the grid,
  /// by C++ type. The frame does not own them.
  template <typename T>
  void setEnvironment(const T *fact) {
    environment[mlir::TypeID::get<T>()] = fact;
  }
  template <typename T>
  const T *getEnvironment() const {
    return static_cast<const T *>(environment.lookup(mlir::TypeID::get<T>()));
  }

  /// If scalars stand for arrays, lanes may be inactive: their results are
  /// unused, so they must not fail. `condition` holds for the active lanes; an
  /// empty condition means all lanes.
  const RuntimeValue &getActiveLanes() const { return activeLanes; }
  void setActiveLanes(RuntimeValue condition) {
    activeLanes = std::move(condition);
  }

  /// Records the reason of a failure. Only the first record is kept.
  Failure fail(mlir::Operation *op) { return fail(op->getLoc()); }
  Failure fail(mlir::Location loc);
  /// Adds a note to the recorded failure, at `op` if given.
  Failure note(mlir::Operation *op = nullptr) {
    return Failure(*diagnostic).note(op);
  }
  /// Takes over the failure that another frame recorded.
  void adoptFailure(Frame &other) {
    if (!diagnostic)
      diagnostic = std::move(other.diagnostic);
  }
  /// Emits the recorded failure.
  void emitDiagnostic();

  /// Calls `body` for the indices below `count`, each with its own frame, on
  /// the context's threads. Of several failures the one with the lowest index
  /// is recorded, with the note of `describe`, independent of the order of
  /// execution.
  llvm::LogicalResult
  runInParallel(mlir::MLIRContext *context, int64_t count,
                llvm::function_ref<llvm::LogicalResult(int64_t, Frame &)> body,
                llvm::function_ref<std::string(int64_t)> describe = nullptr);

private:
  struct Level {
    mlir::Operation *op;
    std::unique_ptr<Activation> activation; // null for the outermost region
    mlir::Block *block = nullptr;
    mlir::Block::iterator next;
  };

  llvm::LogicalResult enter(Level &level, mlir::Region &region,
                            llvm::ArrayRef<RuntimeValue> arguments);
  llvm::LogicalResult execute(mlir::Operation *op);
  llvm::LogicalResult finishRegion(mlir::Operation *terminator);
  llvm::LogicalResult resume(mlir::Operation *terminator,
                             llvm::MutableArrayRef<RuntimeValue> yielded);

  const InterpreterRegistry &registry;
  Precision precision;
  llvm::DenseMap<mlir::Value, RuntimeValue> values;
  llvm::DenseMap<mlir::TypeID, const void *> environment;
  llvm::SmallVector<Level, 8> stack;
  llvm::SmallVector<RuntimeValue, 4> results;
  RuntimeValue activeLanes;
  std::optional<mlir::Diagnostic> diagnostic;
  bool suspended = false;
};

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_INTERPRETER_H
