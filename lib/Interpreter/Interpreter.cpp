//===- Interpreter.cpp - Executes IR op by op -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control flow of frames: a stack of ops under execution, the next op of each
// block, and failures.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/TypeUtilities.h"

#include <atomic>
#include <mutex>

using namespace mlir;
using namespace fovea::interp;

const OpHandler *InterpreterRegistry::lookup(Operation *op) const {
  auto found = handlers.find(op->getName().getTypeID());
  return found == handlers.end() ? nullptr : &found->second;
}

const RegionOpHandler *
InterpreterRegistry::lookupRegionOp(Operation *op) const {
  auto found = regionHandlers.find(op->getName().getTypeID());
  return found == regionHandlers.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Values and failures
//===----------------------------------------------------------------------===//

const RuntimeValue &Frame::get(Value value) const {
  auto found = values.find(value);
  assert(found != values.end() && "value is used before it is computed");
  return found->second;
}

Storage Frame::getStorage(Type type) const {
  return interp::getStorage(*getElementKind(getElementTypeOrSelf(type)),
                            precision);
}

Failure Frame::fail(Location loc) {
  if (!diagnostic)
    diagnostic.emplace(loc, DiagnosticSeverity::Error);
  return Failure(*diagnostic);
}

void Frame::emitDiagnostic() {
  if (!diagnostic)
    return;
  MLIRContext *context = diagnostic->getLocation()->getContext();
  context->getDiagEngine().emit(std::move(*diagnostic));
  diagnostic.reset();
}

LogicalResult
Frame::runInParallel(MLIRContext *context, int64_t count,
                     function_ref<LogicalResult(int64_t, Frame &)> body,
                     function_ref<std::string(int64_t)> describe) {
  // Indices above a failed one may be skipped, those below never are.
  std::atomic<int64_t> firstFailure = count;
  std::optional<Diagnostic> failure;
  std::mutex mutex;
  parallelFor(context, 0, count, [&](size_t position) {
    int64_t index = position;
    if (index > firstFailure)
      return;
    Frame inner(registry, precision);
    inner.environment = environment;
    if (succeeded(body(index, inner)))
      return;
    assert(inner.diagnostic && "a failure must be described");
    std::lock_guard<std::mutex> lock(mutex);
    if (index < firstFailure) {
      firstFailure = index;
      failure = std::move(inner.diagnostic);
    }
  });
  if (firstFailure == count)
    return success();
  if (describe)
    failure->attachNote() << describe(firstFailure);
  if (!diagnostic)
    diagnostic = std::move(failure);
  return mlir::failure();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

LogicalResult Frame::enter(Level &level, Region &region,
                           ArrayRef<RuntimeValue> arguments) {
  Location loc = level.op ? level.op->getLoc() : region.getLoc();
  if (!region.hasOneBlock())
    return fail(loc) << "cannot execute a region with "
                     << int64_t(std::distance(region.begin(), region.end()))
                     << " blocks, expected one";
  Block &block = region.front();
  assert(block.getNumArguments() == arguments.size() &&
         "wrong number of region arguments");
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    set(argument, value);
  level.block = &block;
  level.next = block.begin();
  return success();
}

LogicalResult Frame::start(Region &region, ArrayRef<RuntimeValue> arguments) {
  results.clear();
  stack.clear();
  stack.push_back({nullptr, nullptr, nullptr, {}});
  return enter(stack.back(), region, arguments);
}

LogicalResult Frame::resume(Operation *terminator,
                            MutableArrayRef<RuntimeValue> yielded) {
  Level &level = stack.back();
  Next next;
  if (failed(level.activation->resume(*this, terminator, yielded, next)))
    return failure();
  if (next.region)
    return enter(level, *next.region, next.values);
  Operation *op = level.op;
  assert(op->getNumResults() == next.values.size() &&
         "wrong number of results");
  for (auto [result, value] : llvm::zip(op->getResults(), next.values))
    set(result, std::move(value));
  stack.pop_back();
  return success();
}

LogicalResult Frame::finishRegion(Operation *terminator) {
  SmallVector<RuntimeValue, 4> yielded;
  for (Value operand : terminator->getOperands())
    yielded.push_back(get(operand));
  if (stack.size() == 1) {
    results = std::move(yielded);
    stack.pop_back();
    return success();
  }
  return resume(terminator, yielded);
}

LogicalResult Frame::execute(Operation *op) {
  if (const RegionOpHandler *handler = registry.lookupRegionOp(op)) {
    stack.push_back({op, (*handler)(op), nullptr, {}});
    return resume(nullptr, {});
  }
  if (const OpHandler *handler = registry.lookup(op))
    return (*handler)(op, *this);
  return fail(op) << "the interpreter cannot execute '"
                  << op->getName().getStringRef() << "'";
}

Frame::Status Frame::step() {
  if (stack.empty())
    return Status::Finished;
  Level &level = stack.back();
  Operation *op = &*level.next++;
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    if (failed(finishRegion(op)))
      return Status::Failed;
    return stack.empty() ? Status::Finished : Status::Running;
  }
  if (failed(execute(op)))
    return Status::Failed;
  if (suspended) {
    suspended = false;
    // Only ops without regions suspend, so the level is still the last one.
    --stack.back().next;
    return Status::Suspended;
  }
  return Status::Running;
}

LogicalResult Frame::run(Region &region, ArrayRef<RuntimeValue> arguments,
                         SmallVectorImpl<RuntimeValue> &yielded) {
  if (failed(start(region, arguments)))
    return failure();
  Status status = Status::Running;
  Operation *waiting = nullptr;
  while (status == Status::Running || status == Status::Suspended) {
    status = step();
    if (status == Status::Suspended) {
      // No other frame runs that could wake this one.
      waiting = &*stack.back().next;
      return fail(waiting) << "'" << waiting->getName().getStringRef()
                           << "' waits for an event that never happens";
    }
  }
  if (status == Status::Failed)
    return failure();
  yielded.assign(results.begin(), results.end());
  return success();
}
