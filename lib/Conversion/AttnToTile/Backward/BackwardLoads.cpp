//===- BackwardLoads.cpp - Loads of queries and keys ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardLoads.h"

#include "Backward/PreprocessTerms.h"
#include "KeyBlocks/BlockTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Values per query
//===----------------------------------------------------------------------===//

Value fovea::splatLike(KernelBuilder &kb, Value tile, double value) {
  return kb.make<arith::ConstantOp>(
      DenseElementsAttr::get(cast<ShapedType>(tile.getType()), float(value)));
}

Value fovea::emitSeesNothing(KernelBuilder &kb, Value lse) {
  return kb.make<arith::CmpFOp>(arith::CmpFPredicate::OGE,
                                kb.make<math::AbsFOp>(lse),
                                splatLike(kb, lse, attn::kLargestLse));
}

Value fovea::emitQueriesExist(const BackwardKernel &kernel,
                              const QueryPlace &place) {
  KernelBuilder &kb = kernel.kb;
  RegionContext context =
      kernel.makeContext(place.head, place.first, /*key=*/Value());
  Value places = BlockTiles(kb.builder, context).getQueryTile(kb.getLoc());
  Value count =
      kb.make<arith::IndexCastOp>(kb.builder.getI32Type(), kernel.tile.queries);
  return kb.make<arith::CmpIOp>(
      arith::CmpIPredicate::slt, places,
      kb.make<tile::BroadcastOp>(places.getType(), count));
}

/// Loads one value per query of the block that begins at `row` of `memref`.
static tile::LoadOp loadFrom(const BackwardKernel &kernel, Value memref,
                             Value head, Value row) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  bool areRows = part.hasQueryTiles();
  Type f32 = kb.builder.getF32Type();
  RankedTensorType type = areRows ? kb.tileType(part.getRows(), 1, f32)
                                  : kb.tileType(1, part.getColumns(), f32);
  int64_t dims[] = {areRows ? 2 : -1, areRows ? -1 : 2};
  return tile::LoadOp::create(kb.builder, kb.getLoc(), type, memref,
                              ValueRange{kernel.tile.memoryBatch, head, row},
                              /*limit=*/Value(), dims);
}

Value fovea::loadOfQueries(const BackwardKernel &kernel, Value memref,
                           const QueryPlace &place) {
  return loadFrom(kernel, memref, place.head, kernel.toQueryRow(place.first));
}

Value fovea::loadScratch(const BackwardKernel &kernel,
                         std::optional<unsigned> number,
                         const QueryPlace &place, StringRef name) {
  bool areFragments = kernel.part.addsQuery;
  tile::LoadOp load =
      loadFrom(kernel, kernel.getScratch(number), place.head, place.scratchRow);
  load.setFragments(areFragments);
  if (areFragments)
    load.setName(name);
  return load;
}

/// Rows past the end belong to the next sequence, or are uninitialized.
Value fovea::loadDelta(const BackwardKernel &kernel, const QueryPlace &place) {
  KernelBuilder &kb = kernel.kb;
  Value delta =
      loadScratch(kernel, kernel.memory.scratch.delta, place, "delta");
  if (!kernel.tile.queryLimit)
    return delta;
  return kb.make<arith::SelectOp>(emitQueriesExist(kernel, place), delta,
                                  splatLike(kb, delta, 0.0));
}

/// Stores one value per query to scratch memory.
static void storeScratch(const BackwardKernel &kernel, Value value,
                         std::optional<unsigned> number,
                         const QueryPlace &place, StringRef name) {
  KernelBuilder &kb = kernel.kb;
  const BackwardTile &tile = kernel.tile;
  bool areFragments = kernel.part.addsQuery;
  auto store = tile::StoreOp::create(
      kb.builder, kb.getLoc(), value, kernel.getScratch(number),
      ValueRange{tile.memoryBatch, place.head, place.scratchRow},
      ArrayRef<int64_t>{2, -1}, kb.builder.getStringAttr(name));
  store.setFragments(areFragments);
  if (tile.queryLimit && !areFragments)
    store.getLimitMutable().assign(tile.queryLimit);
}

/// The constant c of a row in P = exp2(log2(e) * s + c), where s excludes
/// `terms` (may be null). It is -inf for rows without a visible key, so that P
/// is 0.
static Value emitExponents(KernelBuilder &kb, Value lse, Value terms = {}) {
  Value none = splatLike(kb, lse, -std::numeric_limits<double>::infinity());
  // LSE includes the terms: their difference is small.
  Value offset =
      terms ? kb.make<arith::MulFOp>(kb.make<arith::SubFOp>(terms, lse),
                                     splatLike(kb, lse, llvm::numbers::log2e))
            : kb.make<arith::MulFOp>(lse,
                                     splatLike(kb, lse, -llvm::numbers::log2e));
  return kb.make<arith::SelectOp>(emitSeesNothing(kb, lse), none, offset);
}

//===----------------------------------------------------------------------===//
// Blocks of queries and keys
//===----------------------------------------------------------------------===//

QueryRows fovea::loadQueries(const BackwardKernel &kernel,
                             const QueryPlace &place) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  const BackwardArguments &arguments = kernel.arguments;
  auto load = [&](Value memref, int64_t columns, StringRef name) -> Value {
    return kb.loadHead(memref, kernel.tile.memoryBatch, place.head,
                       kernel.toQueryRow(place.first), 0, part.countQueries(),
                       columns, kernel.tile.queryLimit, name);
  };
  QueryRows rows;
  rows.place = place;
  rows.queries = load(arguments.q, part.headDim, "q");
  rows.outputGradients =
      load(arguments.outputGradient, part.valueHeadDim, "do");
  if (!part.addsQuery)
    rows.exponents =
        emitExponents(kb, loadOfQueries(kernel, arguments.lse, place));
  return rows;
}

KeyRows fovea::loadKeys(const BackwardKernel &kernel, Value first,
                        int64_t strip) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  int64_t count = part.countKeys();
  if (strip != 0)
    first = kb.make<arith::AddIOp>(first, kb.constant(strip * count));
  // Missing keys are loaded as zeros: their pairs are masked, but 0 * NaN is
  // NaN.
  auto load = [&](Value memref, int64_t columns, StringRef name) -> Value {
    return kb.loadHead(memref, kernel.tile.memoryBatch, kernel.tile.keyHead,
                       kernel.toKeyRow(first), 0, count, columns,
                       kernel.tile.keyLimit, part.getStripName(name, strip));
  };
  KeyRows rows;
  rows.first = first;
  rows.keys = load(kernel.arguments.k, part.headDim, "k");
  rows.values = load(kernel.arguments.v, part.valueHeadDim, "v");
  rows.strip = strip;
  return rows;
}

//===----------------------------------------------------------------------===//
// Delta
//===----------------------------------------------------------------------===//

Value fovea::loadWide(const BackwardKernel &kernel, Value memref,
                      int64_t columns, const QueryPlace &place) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  Value tile = kb.loadHead(memref, kernel.tile.memoryBatch, place.head,
                           kernel.toQueryRow(place.first), 0, part.getRows(),
                           columns, /*limit=*/Value(), "");
  RankedTensorType wide =
      kb.tileType(part.getRows(), columns, kb.builder.getF32Type());
  return tile.getType() == wide ? tile : kb.make<arith::ExtFOp>(wide, tile);
}

FailureOr<Value> fovea::emitDelta(const BackwardKernel &kernel,
                                  const QueryPlace &place) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  const ScratchArguments &scratch = kernel.memory.scratch;
  const BackwardArguments &arguments = kernel.arguments;
  auto load = [&](Value memref) {
    return loadWide(kernel, memref, part.valueHeadDim, place);
  };
  Value products =
      kb.make<arith::MulFOp>(load(arguments.o), load(arguments.outputGradient));
  Value sum = kb.make<tile::ReduceOp>(
      kb.tileType(part.getRows(), 1, kb.builder.getF32Type()),
      tile::ReduceKind::Add, 1, products);
  if (arguments.lseGradient)
    sum = kb.make<arith::SubFOp>(
        sum, loadOfQueries(kernel, arguments.lseGradient, place));
  // Rows without a visible key have no gradient, whatever LSE's gradient is.
  Value lse = loadOfQueries(kernel, arguments.lse, place);
  sum = kb.make<arith::SelectOp>(emitSeesNothing(kb, lse),
                                 splatLike(kb, sum, 0.0), sum);
  Value exponents;
  if (part.storesDelta && scratch.exponents) {
    FailureOr<Value> terms = emitQueryTerms(kernel, place);
    if (failed(terms))
      return failure();
    exponents = emitExponents(kb, lse, *terms);
  }
  if (exponents && kernel.tile.queryLimit) {
    // Rows past the end of the sequence count as rows without a visible key.
    Value exist = emitQueriesExist(kernel, place);
    sum = kb.make<arith::SelectOp>(exist, sum, splatLike(kb, sum, 0.0));
    exponents = kb.make<arith::SelectOp>(
        exist, exponents,
        splatLike(kb, exponents, -std::numeric_limits<double>::infinity()));
  }
  Value minusDelta = kb.make<arith::NegFOp>(sum);
  if (part.storesDelta)
    storeScratch(kernel, minusDelta, scratch.delta, place, "delta");
  if (exponents)
    storeScratch(kernel, exponents, scratch.exponents, place, "exponents");
  return minusDelta;
}
