//===- SoftmaxHandlers.cpp - Executes softmax ops of tile -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/BlockCursor.h"
#include "Elementwise.h"
#include "MatMul.h"
#include "TileSupport.h"
#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Interpreter/Handlers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// exp(x - reference), where a reference of -inf stands for no keys yet.
template <typename T>
static T weightOf(T x, T reference) {
  if (reference == -std::numeric_limits<T>::infinity())
    return x != x ? x : T(0);
  return std::exp(x - reference);
}

template <typename T>
static T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}

//===----------------------------------------------------------------------===//
// SoftmaxSumOp
//===----------------------------------------------------------------------===//

namespace {
/// One block of keys after the other: scores, then weights if there are such,
/// then values, then the state takes them in. The reference point is the
/// maximum so far.
class SoftmaxSumActivation : public Activation {
public:
  explicit SoftmaxSumActivation(tile::SoftmaxSumOp op) : op(op), at(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (!terminator) {
      start(frame);
      return startBlock(frame, next);
    }
    Region *ended = terminator->getParentRegion();
    if (ended == &op.getVisit()) {
      at.takeVisit(yielded);
      next.region = &op.getScores();
      return at.get(frame, next.values);
    }
    if (ended == &op.getScores()) {
      if (at.isEmpty(frame) &&
          failed(checkHidden(frame, yielded[0].getArray(),
                             "no block lies below upper, but not all scores of "
                             "the one visited are -inf")))
        return failure();
      if (!isVisible(frame) &&
          failed(checkHidden(frame, yielded[0].getArray(),
                             "the block is not visible, but not all of its "
                             "scores are -inf")))
        return failure();
      takeScores(frame, yielded[0].getArray());
      next.values.push_back(RuntimeValue::integer(at.getBlock()));
      if (op.getWeights().empty()) {
        next.region = &op.getValues();
      } else {
        next.region = &op.getWeights();
        next.values.push_back(RuntimeValue::array(weights));
      }
      return success();
    }
    if (ended == &op.getWeights()) {
      weights =
          std::make_shared<Array>(weights->getShape(), weights->getStorage());
      copyElements(frame, yielded[0].getArray(), *weights);
      next.region = &op.getValues();
      next.values.push_back(RuntimeValue::integer(at.getBlock()));
      return success();
    }
    takeValues(frame, yielded[0].getArray());
    at.advance();
    return startBlock(frame, next);
  }

private:
  template <typename Fn>
  void withFloats(Frame &frame, Fn fn) {
    withFloatStorage(frame, op.getM().getType(), fn);
  }

  void copyElements(Frame &frame, const Array &from, Array &to) {
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      std::copy_n(from.data<T>(), from.getNumElements(), to.data<T>());
    });
  }

  void start(Frame &frame) {
    at.start(frame);
    m = makeTile(frame, op.getM().getType());
    l = makeTile(frame, op.getL().getType());
    acc = makeTile(frame, op.getAcc().getType());
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      std::fill_n(m->data<T>(), m->getNumElements(),
                  -std::numeric_limits<T>::infinity());
      std::fill_n(l->data<T>(), l->getNumElements(), T(0));
      std::fill_n(acc->data<T>(), acc->getNumElements(), T(0));
    });
  }

  LogicalResult finish(Next &next) {
    next.values = {RuntimeValue::array(m), RuntimeValue::array(l),
                   RuntimeValue::array(acc)};
    return success();
  }

  bool isVisible(Frame &frame) {
    return op.getVisible().empty() ||
           (at.getBlock() + int64_t(op.getStep()) >
                frame.getInteger(op.getVisible()[0]) &&
            at.getBlock() < frame.getInteger(op.getVisible()[1]));
  }

  /// Where nothing is to be seen, a mask must say so.
  LogicalResult checkHidden(Frame &frame, const Array &scores,
                            StringRef message) {
    bool isHidden = false;
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      isHidden = llvm::all_of(
          ArrayRef(scores.data<T>(), scores.getNumElements()),
          [](T score) { return score == -std::numeric_limits<T>::infinity(); });
    });
    if (isHidden)
      return success();
    return frame.fail(op) << message;
  }

  LogicalResult startBlock(Frame &frame, Next &next) {
    if (at.isDone(frame))
      return finish(next);
    if (op.isVisiting()) {
      next.region = &op.getVisit();
      next.values = at.getVisit();
      return success();
    }
    next.region = &op.getScores();
    return at.get(frame, next.values);
  }

  void takeScores(Frame &frame, const Array &scores) {
    weights = std::make_shared<Array>(scores.getShape(), scores.getStorage());
    int64_t rows = scores.getShape()[0], columns = scores.getShape()[1];
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      T scale = T(op.getScale().convertToDouble());
      const T *s = scores.data<T>();
      T *p = weights->data<T>(), *o = acc->data<T>();
      int64_t width = acc->getShape()[1];
      for (int64_t r = 0; r < rows; ++r, s += columns, p += columns) {
        T &reference = m->data<T>()[r], &sum = l->data<T>()[r];
        T newReference = reference;
        for (int64_t c = 0; c < columns; ++c)
          newReference = maximum(newReference, scale * s[c]);
        T factor = weightOf(reference, newReference);
        T blockSum = 0;
        for (int64_t c = 0; c < columns; ++c) {
          p[c] = weightOf(scale * s[c], newReference);
          blockSum += p[c];
        }
        sum = sum * factor + blockSum;
        for (int64_t c = 0; c < width; ++c)
          o[r * width + c] *= factor;
        reference = newReference;
      }
    });
  }

  void takeValues(Frame &frame, const Array &values) {
    auto type = cast<RankedTensorType>(
        op.getValues().front().getTerminator()->getOperand(0).getType());
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      // The weights region's argument may still be held: copy before rounding.
      auto rounded =
          std::make_shared<Array>(weights->getShape(), weights->getStorage());
      std::copy_n(weights->data<T>(), weights->getNumElements(),
                  rounded->data<T>());
      roundInPlace(frame, type, *rounded);
      multiplyAdd(rounded->data<T>(), values.data<T>(), acc->data<T>(),
                  acc->getShape()[0], acc->getShape()[1], values.getShape()[0]);
    });
  }

  tile::SoftmaxSumOp op;
  BlockCursor<tile::SoftmaxSumOp> at;
  std::shared_ptr<Array> m, l, acc, weights;
};

//===----------------------------------------------------------------------===//
// IsPartialOp
//===----------------------------------------------------------------------===//

LogicalResult executeIsPartial(Operation *op, Frame &frame) {
  auto partial = cast<tile::IsPartialOp>(op);
  int64_t block = frame.get(partial.getBlock()).getInteger();
  auto get = [&](Value bound) { return frame.get(bound).getInteger(); };
  bool isBelow = partial.getFirst() && block < get(partial.getFirst());
  bool isBehind = partial.getEnd() && block >= get(partial.getEnd());
  frame.set(partial.getResult(), RuntimeValue::integer(isBelow || isBehind));
  return success();
}

//===----------------------------------------------------------------------===//
// ForBlocksOp
//===----------------------------------------------------------------------===//

class ForBlocksActivation : public Activation {
public:
  explicit ForBlocksActivation(tile::ForBlocksOp op) : op(op), at(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (terminator && terminator->getParentRegion() == &op.getVisit()) {
      at.takeVisit(yielded);
      return runBody(frame, next);
    }
    if (!terminator) {
      at.start(frame);
      for (Value value : op.getCarried())
        carried.push_back(frame.get(value));
    } else {
      at.advance();
      carried.assign(yielded.begin(), yielded.end());
    }
    if (at.isDone(frame)) {
      llvm::append_range(next.values, carried);
      return success();
    }
    if (!op.isVisiting())
      return runBody(frame, next);
    next.region = &op.getVisit();
    next.values = at.getVisit();
    return success();
  }

private:
  LogicalResult runBody(Frame &frame, Next &next) {
    next.region = &op.getBody();
    if (failed(at.get(frame, next.values)))
      return failure();
    llvm::append_range(next.values, carried);
    return success();
  }

  tile::ForBlocksOp op;
  BlockCursor<tile::ForBlocksOp> at;
  SmallVector<RuntimeValue> carried;
};
} // namespace

//===----------------------------------------------------------------------===//
// SoftmaxMergeOp, SoftmaxFinishOp
//===----------------------------------------------------------------------===//

static LogicalResult executeMerge(Operation *op, Frame &frame) {
  auto merge = cast<tile::SoftmaxMergeOp>(op);
  auto m = makeTile(frame, merge.getM().getType());
  auto l = makeTile(frame, merge.getL().getType());
  auto acc = makeTile(frame, merge.getAcc().getType());
  withFloatStorage(frame, merge.getM().getType(), [&](auto like) {
    using T = decltype(like);
    auto data = [&](Value value) { return frame.getArray(value).data<T>(); };
    int64_t width = acc->getShape()[1];
    for (int64_t r = 0; r < acc->getShape()[0]; ++r) {
      T a = data(merge.getMA())[r], b = data(merge.getMB())[r];
      T reference = maximum(a, b);
      T factorA = weightOf(a, reference), factorB = weightOf(b, reference);
      m->data<T>()[r] = reference;
      l->data<T>()[r] =
          data(merge.getLA())[r] * factorA + data(merge.getLB())[r] * factorB;
      for (int64_t c = r * width; c < (r + 1) * width; ++c)
        acc->data<T>()[c] = data(merge.getAccA())[c] * factorA +
                            data(merge.getAccB())[c] * factorB;
    }
  });
  frame.set(merge.getM(), RuntimeValue::array(std::move(m)));
  frame.set(merge.getL(), RuntimeValue::array(std::move(l)));
  frame.set(merge.getAcc(), RuntimeValue::array(std::move(acc)));
  return success();
}

static LogicalResult executeFinish(Operation *op, Frame &frame) {
  auto finish = cast<tile::SoftmaxFinishOp>(op);
  auto output = makeTile(frame, finish.getOutput().getType());
  auto lse = makeTile(frame, finish.getLse().getType());
  withFloatStorage(frame, finish.getM().getType(), [&](auto like) {
    using T = decltype(like);
    const T *m = frame.getArray(finish.getM()).data<T>();
    const T *l = frame.getArray(finish.getL()).data<T>();
    const T *acc = frame.getArray(finish.getAcc()).data<T>();
    const T *sinks =
        finish.getSink() ? frame.getArray(finish.getSink()).data<T>() : nullptr;
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    int64_t width = output->getShape()[1];
    for (int64_t r = 0; r < output->getShape()[0]; ++r) {
      T sink = sinks ? sinks[r] : kNone, reference = maximum(m[r], sink);
      T share = sinks ? weightOf(m[r], reference) : T(1);
      T sum = l[r] * share + weightOf(sink, reference);
      lse->data<T>()[r] = sum == 0 ? kNone : reference + std::log(sum);
      for (int64_t c = r * width; c < (r + 1) * width; ++c)
        output->data<T>()[c] = l[r] == 0 ? T(0) : acc[c] * share / sum;
    }
  });
  frame.set(finish.getOutput(), RuntimeValue::array(std::move(output)));
  frame.set(finish.getLse(), RuntimeValue::array(std::move(lse)));
  return success();
}

void fovea::interp::registerSoftmaxHandlers(InterpreterRegistry &registry) {
  registry.addRegionOp<tile::SoftmaxSumOp, SoftmaxSumActivation>();
  registry.addRegionOp<tile::ForBlocksOp, ForBlocksActivation>();
  registry.add<tile::IsPartialOp>(executeIsPartial);
  registry.add<tile::SoftmaxMergeOp>(executeMerge);
  registry.add<tile::SoftmaxFinishOp>(executeFinish);
}
