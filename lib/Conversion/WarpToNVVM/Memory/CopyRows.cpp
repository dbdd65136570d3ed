//===- CopyRows.cpp - Copies between tensors in global memory -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers tile.copy_rows. The accesses of a slice, of 16 bytes where rows allow,
// are distributed over the threads of the CTA. All loads of an iteration
// precede its stores, so that the loads of all pairs are outstanding together.
//
//===----------------------------------------------------------------------===//

#include "Memory/GlobalAddress.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

using namespace mlir;
using namespace fovea;

/// Accesses of each pair per thread and iteration.
static constexpr int64_t kAccesses = 4;
static constexpr int64_t kWideBytes = 16;

namespace {
/// A slice of a tensor: its first element, and the copied dimensions.
struct Slice {
  Slice(OpBuilder &b, Location loc, const GlobalView &view, ValueRange indices);

  /// The address of access `access` (i32), of `step` consecutive elements.
  Place getPlace(OpBuilder &b, Location loc, Value access, int64_t step) const;

  Place first;
  /// The copied dimensions: static sizes, sizes and strides as i64.
  ArrayRef<int64_t> shape;
  SmallVector<Value> sizes, strides;
  Type element;
};

/// A source and its target.
struct Pair {
  Slice source, target;
  /// Elements of an access.
  int64_t step;
  /// The number of accesses: i32, and as a constant or nullopt.
  Value count;
  std::optional<int64_t> constantCount;

  /// The number of accesses of each thread in one iteration.
  int64_t getUnrolled(int64_t threads) const {
    if (!constantCount)
      return kAccesses;
    return std::min<int64_t>(kAccesses,
                             llvm::divideCeil(*constantCount, threads));
  }
};

struct CopyRowsLowering : OpConversionPattern<tile::CopyRowsOp> {
  CopyRowsLowering(const TypeConverter &converter, MLIRContext *context,
                   launch::AbiOp abi, const Specialization &roles)
      : OpConversionPattern(converter, context), abi(abi), roles(roles) {}

  LogicalResult
  matchAndRewrite(tile::CopyRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  FailureOr<Pair> makePair(OpBuilder &b, tile::CopyRowsOp op,
                           unsigned index) const;

  launch::AbiOp abi;
  const Specialization &roles;
};
} // namespace

Slice::Slice(OpBuilder &b, Location loc, const GlobalView &view,
             ValueRange indices)
    : shape(view.type.getShape().drop_front(indices.size())),
      element(getMemoryType(view)) {
  GlobalView leading = view;
  leading.sizes.truncate(indices.size());
  leading.strides.truncate(indices.size());
  first = locateElement(b, loc, leading, indices);
  sizes.assign(view.sizes.begin() + indices.size(), view.sizes.end());
  strides.assign(view.strides.begin() + indices.size(), view.strides.end());
}

Place Slice::getPlace(OpBuilder &b, Location loc, Value access,
                      int64_t step) const {
  Value distance, left = access;
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    bool isLast = dim == int64_t(shape.size()) - 1;
    Value size = ShapedType::isDynamic(shape[dim])
                     ? emitToI32(b, loc, sizes[dim])
                     : emitI32(b, loc, shape[dim] / (isLast ? step : 1));
    Value index = left;
    if (dim != 0) {
      index = arith::RemUIOp::create(b, loc, left, size);
      left = arith::DivUIOp::create(b, loc, left, size);
    }
    Value offset = arith::MulIOp::create(
        b, loc, arith::ExtUIOp::create(b, loc, b.getI64Type(), index),
        isLast && step != 1 ? emitI64(b, loc, step) : strides[dim]);
    distance = distance
                   ? arith::AddIOp::create(b, loc, distance, offset).getResult()
                   : offset;
  }
  Place place = first;
  place.address =
      LLVM::GEPOp::create(b, loc, first.address.getType(), element,
                          first.address, ArrayRef<LLVM::GEPArg>{distance});
  return place;
}

/// True if rows of the slice are whole accesses of 16 bytes.
static bool hasWideRows(launch::AbiOp abi, const GlobalView &view) {
  int64_t columns = view.type.getShape().back();
  auto [strides, offset] = view.type.getStridesAndOffset();
  return strides.back() == 1 && !ShapedType::isDynamic(columns) &&
         columns * getBytes(getMemoryType(view)) % kWideBytes == 0 &&
         getAlignment(abi, view) % kWideBytes == 0;
}

FailureOr<Pair> CopyRowsLowering::makePair(OpBuilder &b, tile::CopyRowsOp op,
                                           unsigned index) const {
  Location loc = op.getLoc();
  FailureOr<GlobalView> source = getGlobalView(b, loc, op.getSources()[index]),
                        target = getGlobalView(b, loc, op.getTargets()[index]);
  if (failed(source) || failed(target))
    return failure();
  Pair pair{Slice(b, loc, *source, op.getSourceIndices()),
            Slice(b, loc, *target, op.getTargetIndices()),
            /*step=*/1,
            {},
            {}};
  if (hasWideRows(abi, *source) && hasWideRows(abi, *target))
    pair.step = kWideBytes / getBytes(pair.source.element);
  int64_t known = 1;
  pair.count = emitI32(b, loc, 1);
  for (auto [extent, size] : llvm::zip(pair.source.shape, pair.source.sizes)) {
    known = ShapedType::isDynamic(extent) || known < 0 ? -1 : known * extent;
    pair.count =
        arith::MulIOp::create(b, loc, pair.count, emitToI32(b, loc, size));
  }
  pair.count =
      arith::DivUIOp::create(b, loc, pair.count, emitI32(b, loc, pair.step));
  if (known >= 0) {
    pair.constantCount = known / pair.step;
    pair.count = emitI32(b, loc, *pair.constantCount);
  }
  return pair;
}

/// Loads the elements of an access: four words, or one element.
static SmallVector<Value> emitAccess(OpBuilder &b, Location loc,
                                     const Pair &pair, Place place) {
  if (pair.step != 1)
    return emitWideLoad(b, loc, place, 0);
  return {emitLoad(b, loc, place, pair.source.element)};
}

static void emitAccess(OpBuilder &b, Location loc, const Pair &pair,
                       Place place, ArrayRef<Value> words) {
  if (pair.step != 1)
    return emitWideStore(b, loc, place, 0, words);
  emitStore(b, loc, place, words.front());
}

/// Copies the accesses of a thread in one iteration, from `first` (i32) on.
static void emitIteration(OpBuilder &b, Location loc, ArrayRef<Pair> pairs,
                          Value first, int64_t threads) {
  SmallVector<std::function<void()>> stores;
  for (const Pair &pair : pairs)
    for (int64_t n : llvm::seq(pair.getUnrolled(threads))) {
      Value access =
          arith::AddIOp::create(b, loc, first, emitI32(b, loc, n * threads));
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           access, pair.count);
      // Loads do not wait for the target's indices, which may be loaded, too.
      Place from = restrict(b, loc,
                            pair.source.getPlace(b, loc, access, pair.step),
                            exists),
            to = restrict(b, loc,
                          pair.target.getPlace(b, loc, access, pair.step),
                          from.predicate);
      SmallVector<Value> words = emitAccess(b, loc, pair, from);
      stores.push_back(
          [&b, loc, &pair, to, words] { emitAccess(b, loc, pair, to, words); });
    }
  for (const auto &store : stores)
    store();
}

LogicalResult
CopyRowsLowering::matchAndRewrite(tile::CopyRowsOp op, OpAdaptor,
                                  ConversionPatternRewriter &rewriter) const {
  if (roles.hasRoles())
    return op.emitOpError("is not supported in kernels with roles");
  Location loc = op.getLoc();
  SmallVector<Pair, 2> pairs;
  for (unsigned index : llvm::seq(op.getSources().size())) {
    FailureOr<Pair> pair = makePair(rewriter, op, index);
    if (failed(pair))
      return failure();
    pairs.push_back(std::move(*pair));
  }
  int64_t threads = launch::AbiOp(abi).getThreads();
  int64_t step = kAccesses * threads;
  Value thread = emitThread(rewriter, loc), most = emitI32(rewriter, loc, 0);
  for (const Pair &pair : pairs)
    most = arith::MaxUIOp::create(rewriter, loc, most, pair.count);
  if (llvm::all_of(pairs, [&](const Pair &pair) {
        return pair.constantCount && *pair.constantCount <= step;
      })) {
    emitIteration(rewriter, loc, pairs, thread, threads);
    rewriter.eraseOp(op);
    return success();
  }
  auto loop = scf::ForOp::create(rewriter, loc, emitI32(rewriter, loc, 0), most,
                                 emitI32(rewriter, loc, step));
  rewriter.setInsertionPointToStart(loop.getBody());
  emitIteration(
      rewriter, loc, pairs,
      arith::AddIOp::create(rewriter, loc, loop.getInductionVar(), thread),
      threads);
  rewriter.eraseOp(op);
  return success();
}

void fovea::populateCopyRowsPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     launch::AbiOp abi,
                                     const Specialization &roles) {
  patterns.add<CopyRowsLowering>(converter, patterns.getContext(), abi, roles);
}
