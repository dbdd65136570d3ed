//===- SCFHandlers.cpp - Executes scf ops -----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of loops and branches. Branches on per-lane conditions execute both
// regions and merge the results.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea::interp;

namespace {
class ForActivation : public Activation {
public:
  explicit ForActivation(scf::ForOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (!terminator) {
      for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()})
        if (!frame.get(bound).isInteger())
          return frame.fail(op) << "loop bounds must not depend on the element";
      index = frame.getInteger(op.getLowerBound());
      upper = frame.getInteger(op.getUpperBound());
      step = frame.getInteger(op.getStep());
      if (step <= 0)
        return frame.fail(op) << "loop step must be positive, found " << step;
      for (Value init : op.getInitArgs())
        next.values.push_back(frame.get(init));
    } else {
      next.values.assign(std::make_move_iterator(yielded.begin()),
                         std::make_move_iterator(yielded.end()));
      if (llvm::AddOverflow(index, step, index))
        return success();
    }
    if (index >= upper)
      return success();
    next.region = &op.getRegion();
    next.values.insert(next.values.begin(), RuntimeValue::integer(index));
    return success();
  }

private:
  scf::ForOp op;
  int64_t index = 0, upper = 0, step = 1;
};

/// If the condition differs between lanes, both regions are executed, each for
/// its lanes, and their results are merged.
class IfActivation : public Activation {
public:
  explicit IfActivation(scf::IfOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    const RuntimeValue &condition = frame.get(op.getCondition());
    if (condition.isInteger()) {
      Region &chosen =
          condition.getInteger() ? op.getThenRegion() : op.getElseRegion();
      if (!terminator && !chosen.empty())
        next.region = &chosen;
      else
        next.values.assign(yielded.begin(), yielded.end());
      return success();
    }
    if (!terminator) {
      outerLanes = frame.getActiveLanes();
      frame.setActiveLanes(conjunction(outerLanes, condition));
      next.region = &op.getThenRegion();
      return success();
    }
    if (terminator->getParentRegion() == &op.getThenRegion() &&
        !op.getElseRegion().empty()) {
      thenResults.assign(yielded.begin(), yielded.end());
      frame.setActiveLanes(conjunction(outerLanes, negation(condition)));
      next.region = &op.getElseRegion();
      return success();
    }
    frame.setActiveLanes(outerLanes);
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      FailureOr<RuntimeValue> merged =
          merge(frame, result.getType(), condition, thenResults[index],
                yielded[index]);
      if (failed(merged))
        return frame.fail(op)
               << "cannot merge the two values of result #" << int64_t(index);
      next.values.push_back(std::move(*merged));
    }
    return success();
  }

private:
  static FailureOr<RuntimeValue> merge(Frame &frame, Type type,
                                       const RuntimeValue &condition,
                                       const RuntimeValue &a,
                                       const RuntimeValue &b) {
    if (!getElementKind(type))
      return failure();
    auto pick = [&](auto like) {
      using T = decltype(like);
      return mapValues<T, int64_t, T, T>(
          [](int64_t c, T x, T y) { return c ? x : y; }, condition, a, b);
    };
    if (frame.getStorage(type) == Storage::Int)
      return pick(int64_t());
    return withFloatStorage(frame, type, pick);
  }

  scf::IfOp op;
  RuntimeValue outerLanes;
  SmallVector<RuntimeValue> thenResults;
};

class WhileActivation : public Activation {
public:
  explicit WhileActivation(scf::WhileOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (!terminator) {
      for (Value init : op.getInits())
        next.values.push_back(frame.get(init));
      next.region = &op.getBefore();
      return success();
    }
    if (!isa<scf::ConditionOp>(terminator)) {
      next.values.assign(yielded.begin(), yielded.end());
      next.region = &op.getBefore();
      return success();
    }
    if (!yielded.front().isInteger())
      return frame.fail(terminator)
             << "loop condition must not depend on the element";
    next.values.assign(yielded.begin() + 1, yielded.end());
    if (yielded.front().getInteger())
      next.region = &op.getAfter();
    return success();
  }

private:
  scf::WhileOp op;
};

class IndexSwitchActivation : public Activation {
public:
  explicit IndexSwitchActivation(scf::IndexSwitchOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (terminator) {
      next.values.assign(yielded.begin(), yielded.end());
      return success();
    }
    const RuntimeValue &argument = frame.get(op.getArg());
    if (!argument.isInteger())
      return frame.fail(op) << "a switch must not depend on the element";
    next.region = &op.getDefaultRegion();
    for (auto [value, region] : llvm::zip(op.getCases(), op.getCaseRegions()))
      if (value == argument.getInteger())
        next.region = &region;
    return success();
  }

private:
  scf::IndexSwitchOp op;
};
} // namespace

void fovea::interp::registerSCFHandlers(InterpreterRegistry &registry) {
  registry.addRegionOp<scf::ForOp, ForActivation>();
  registry.addRegionOp<scf::IfOp, IfActivation>();
  registry.addRegionOp<scf::WhileOp, WhileActivation>();
  registry.addRegionOp<scf::IndexSwitchOp, IndexSwitchActivation>();
}
