//===- SoftmaxHandlers.cpp - Executes softmax and block loops ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of the online softmax and of loops over blocks. They check the
// contracts of masks: empty and invisible blocks must have scores of -inf.
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

/// exp(x - offset), where an offset of -inf means that there were no keys yet.
template <typename T>
static T expOrZero(T x, T offset) {
  if (offset == -std::numeric_limits<T>::infinity())
    return x != x ? x : T(0);
  return std::exp(x - offset);
}

template <typename T>
static T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}

using Tiles = SmallVector<std::shared_ptr<Array>>;

static Tiles makeTiles(Frame &frame, TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) {
    return makeTile(frame, cast<RankedTensorType>(type));
  });
}

//===----------------------------------------------------------------------===//
// SoftmaxSumOp
//===----------------------------------------------------------------------===//

namespace {
/// Executes one key block at a time: scores, weights if present, values, then
/// the update of the state. The softmax offset is the running maximum.
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
                             "the range of blocks is empty, but the block that "
                             "always executes has scores other than -inf")))
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
    takeValues(frame, yielded);
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
    accs = makeTiles(frame, op.getAccs().getTypes());
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      std::fill_n(m->data<T>(), m->getNumElements(),
                  -std::numeric_limits<T>::infinity());
      std::fill_n(l->data<T>(), l->getNumElements(), T(0));
      for (auto &acc : accs)
        std::fill_n(acc->data<T>(), acc->getNumElements(), T(0));
    });
  }

  LogicalResult finish(Next &next) {
    next.values = {RuntimeValue::array(m), RuntimeValue::array(l)};
    for (const auto &acc : accs)
      next.values.push_back(RuntimeValue::array(acc));
    return success();
  }

  bool isVisible(Frame &frame) {
    return op.getVisible().empty() ||
           (at.getBlock() + int64_t(op.getStep()) >
                frame.getInteger(op.getVisible()[0]) &&
            at.getBlock() < frame.getInteger(op.getVisible()[1]));
  }

  /// Checks that all scores of a hidden block are -inf.
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
      if (op.getRuntimeScale())
        scale *= frame.get(op.getRuntimeScale()).template getScalar<T>();
      // 8-bit types have few exponents below 1: the largest weight is 2^8.
      bool isNarrow = op.getValueElementType().getWidth() == 8;
      T headroom = isNarrow ? T(8 * std::log(2.0)) : T(0);
      const T *s = scores.data<T>();
      T *p = weights->data<T>();
      for (int64_t r = 0; r < rows; ++r, s += columns, p += columns) {
        T &offset = m->data<T>()[r], &sum = l->data<T>()[r];
        T newOffset = offset;
        for (int64_t c = 0; c < columns; ++c)
          newOffset = maximum(newOffset, scale * s[c] - headroom);
        T factor = expOrZero(offset, newOffset);
        T blockSum = 0;
        for (int64_t c = 0; c < columns; ++c) {
          p[c] = expOrZero(scale * s[c], newOffset);
          blockSum += p[c];
        }
        sum = sum * factor + blockSum;
        for (auto &acc : accs) {
          int64_t width = acc->getShape()[1];
          T *o = acc->data<T>() + r * width;
          std::for_each_n(o, width, [&](T &element) { element *= factor; });
        }
        offset = newOffset;
      }
    });
  }

  void takeValues(Frame &frame, ArrayRef<RuntimeValue> tiles) {
    RankedTensorType scores = tile::tileLike(
        op.getM().getType(), weights->getShape(), op.getValueElementType());
    withFloats(frame, [&](auto like) {
      using T = decltype(like);
      // The weights region's argument may still be in use: copy it before
      // rounding.
      auto rounded =
          std::make_shared<Array>(weights->getShape(), weights->getStorage());
      std::copy_n(weights->data<T>(), weights->getNumElements(),
                  rounded->data<T>());
      roundInPlace(frame, scores, *rounded);
      for (auto [part, acc] : llvm::enumerate(accs)) {
        auto [number, first, isWhole] = op.getValueColumns(part);
        const Array *values = &tiles[number].getArray();
        std::shared_ptr<Array> columns;
        if (!isWhole) {
          columns = takeColumns(*values, first, acc->getShape()[1]);
          values = columns.get();
        }
        multiplyAdd(rounded->data<T>(), values->data<T>(), acc->data<T>(),
                    acc->getShape()[0], acc->getShape()[1],
                    values->getShape()[0]);
      }
    });
  }

  tile::SoftmaxSumOp op;
  BlockCursor<tile::SoftmaxSumOp> at;
  std::shared_ptr<Array> m, l, weights;
  Tiles accs;
};

//===----------------------------------------------------------------------===//
// IsPartialOp
//===----------------------------------------------------------------------===//

LogicalResult executeIsPartial(Operation *op, Frame &frame) {
  auto partial = cast<tile::IsPartialOp>(op);
  int64_t block = frame.get(partial.getBlock()).getInteger();
  auto get = [&](Value bound) { return frame.get(bound).getInteger(); };
  bool isBelow = partial.getFirst() && block < get(partial.getFirst());
  bool isPast = partial.getEnd() && block >= get(partial.getEnd());
  frame.set(partial.getResult(), RuntimeValue::integer(isBelow || isPast));
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
  Tiles accs = makeTiles(frame, merge.getAccs().getTypes());
  withFloatStorage(frame, merge.getM().getType(), [&](auto like) {
    using T = decltype(like);
    auto data = [&](Value value) { return frame.getArray(value).data<T>(); };
    for (int64_t r = 0; r < m->getShape()[0]; ++r) {
      T a = data(merge.getMA())[r], b = data(merge.getMB())[r];
      T offset = maximum(a, b);
      T factorA = expOrZero(a, offset), factorB = expOrZero(b, offset);
      m->data<T>()[r] = offset;
      l->data<T>()[r] =
          data(merge.getLA())[r] * factorA + data(merge.getLB())[r] * factorB;
      for (auto [acc, accA, accB] :
           llvm::zip_equal(accs, merge.getAccsA(), merge.getAccsB())) {
        int64_t width = acc->getShape()[1];
        for (int64_t c = r * width; c < (r + 1) * width; ++c)
          acc->data<T>()[c] = data(accA)[c] * factorA + data(accB)[c] * factorB;
      }
    }
  });
  frame.set(merge.getM(), RuntimeValue::array(std::move(m)));
  frame.set(merge.getL(), RuntimeValue::array(std::move(l)));
  for (auto [result, acc] : llvm::zip_equal(merge.getAccs(), accs))
    frame.set(result, RuntimeValue::array(std::move(acc)));
  return success();
}

static LogicalResult executeFinish(Operation *op, Frame &frame) {
  auto finish = cast<tile::SoftmaxFinishOp>(op);
  Tiles outputs = makeTiles(frame, finish.getOutputs().getTypes());
  auto lse = makeTile(frame, finish.getLse().getType());
  withFloatStorage(frame, finish.getM().getType(), [&](auto like) {
    using T = decltype(like);
    const T *m = frame.getArray(finish.getM()).data<T>();
    const T *l = frame.getArray(finish.getL()).data<T>();
    const T *sinks =
        finish.getSink() ? frame.getArray(finish.getSink()).data<T>() : nullptr;
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    for (int64_t r = 0; r < lse->getShape()[0]; ++r) {
      T sink = sinks ? sinks[r] : kNone, offset = maximum(m[r], sink);
      T share = sinks ? expOrZero(m[r], offset) : T(1);
      T sum = l[r] * share + expOrZero(sink, offset);
      lse->data<T>()[r] = sum == 0 ? kNone : offset + std::log(sum);
      for (auto [output, from] : llvm::zip_equal(outputs, finish.getAccs())) {
        const T *acc = frame.getArray(from).data<T>();
        int64_t width = output->getShape()[1];
        for (int64_t c = r * width; c < (r + 1) * width; ++c)
          output->data<T>()[c] = l[r] == 0 ? T(0) : acc[c] * share / sum;
      }
    }
  });
  for (auto [result, output] : llvm::zip_equal(finish.getOutputs(), outputs))
    frame.set(result, RuntimeValue::array(std::move(output)));
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
