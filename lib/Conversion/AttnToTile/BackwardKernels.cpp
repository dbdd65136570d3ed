//===- BackwardKernels.cpp - Which kernels a backward pass has --*- C++ -*-===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"
#include "PrologueKernels.h"

using namespace mlir;
using namespace fovea;

// Both sums of a tile of keys stay in registers up to so many columns.
static constexpr int64_t kMaxSharedColumns = 256;

/// What has no lowering to kernels yet is said, with what it is.
static LogicalResult checkLowered(KernelBuilder &kb, attn::BackwardOp op) {
  if (failed(checkTensors(kb, op)))
    return failure();
  attn::KeyPlaces keys = op.getSequence().getKeyPlaces();
  if (keys.arePacked || op.hasBlocks())
    return op.emitError("gradients of ")
           << (op.hasBlocks() ? "listed blocks" : "packed sequences")
           << " are not lowered to kernels yet";
  if (op.getNumResults() != unsigned(bool(op.getQueryGradient())) +
                                bool(op.getKeyGradient()) +
                                bool(op.getValueGradient()))
    return op.emitError("only gradients of q, k and v are lowered to kernels, "
                        "found others that are asked for");
  if (!op.getScoreMod().empty() && op.getScoreGradient().empty())
    return op.emitError("score_mod's derivative is not known: run "
                        "attn-differentiate first");
  return success();
}

static int64_t getColumns(attn::BackwardOp op) {
  return llvm::alignTo(op.getQueryType().getDimSize(3), 16) +
         llvm::alignTo(op.getValueType().getDimSize(3), 16);
}

/// The kernels, in the order in which they run; the last one is the main one.
static SmallVector<BackwardPart> findParts(attn::BackwardOp op) {
  bool query(op.getQueryGradient()), key(op.getKeyGradient()),
      value(op.getValueGradient());
  SmallVector<BackwardPart> parts;
  // D comes from the queries' kernel, where there is one.
  if (query || key)
    parts.push_back({query ? "queries" : "delta", query});
  if (key && value && getColumns(op) <= kMaxSharedColumns) {
    parts.push_back({"keys", false, true, true});
    return parts;
  }
  if (value)
    parts.push_back({"values", false, false, true});
  if (key)
    parts.push_back({"keys", false, true, false});
  return parts;
}

/// Tiles whose sums and scores fit the registers of four warps, a block ahead
/// on its way; of that, what the caller says otherwise.
static FailureOr<ScheduleFields> makeFields(const KernelBuilder &kb,
                                            attn::BackwardOp op) {
  ScheduleFields fields;
  fields.tileM = 64;
  fields.tileN = getColumns(op) <= 128 ? 64 : 32;
  fields.warps = 4;
  fields.stages = 2;
  fields.minBlocks = 1;
  auto emitError = [&] { return op.emitError(); };
  for (auto [name, text] : parseFields(kb.scheduleOverrides)) {
    if (name != "tile_n" && name != "stages")
      return op.emitError("schedules of gradients have the fields 'tile_n' and "
                          "'stages', found '")
             << name << "'";
    if (failed(fields.set(name, text, emitError)))
      return failure();
  }
  if (failed(fields.verify(emitError)))
    return failure();
  return fields;
}

FailureOr<plan::KernelAttr> fovea::buildBackward(KernelBuilder &kb,
                                                 attn::BackwardOp op) {
  if (failed(checkLowered(kb, op)))
    return failure();
  std::optional<unsigned> delta;
  if (op.getKeyGradient()) {
    SizeExpressions sizes(kb, /*operand=*/0);
    SmallVector<AffineExpr> extents;
    for (int64_t dim = 0; dim < 3; ++dim)
      extents.push_back(sizes.getSize(dim));
    delta = declareScratch(kb, "delta", sizes.getNames(), extents,
                           kb.builder.getF32Type());
  }
  FailureOr<ScheduleFields> fields = makeFields(kb, op);
  if (failed(fields))
    return failure();
  if (failed(
          BackwardEmitter(kb, op, findParts(op).back(), *fields, delta).emit()))
    return failure();
  return makePlan(op.getContext(), *fields);
}

LogicalResult fovea::buildBackwardPrologue(KernelBuilder &kb,
                                           attn::BackwardOp op,
                                           tile::AbiOp main) {
  std::optional<unsigned> delta;
  if (op.getKeyGradient())
    delta = kb.kernel.getNumArguments() - 1;
  FailureOr<ScheduleFields> fields = makeFields(kb, op);
  if (failed(fields))
    return failure();
  SmallVector<unsigned> arguments =
      llvm::to_vector(llvm::seq(kb.kernel.getNumArguments()));
  SmallVector<BackwardPart> parts = findParts(op);
  for (const BackwardPart &part : ArrayRef(parts).drop_back()) {
    SizeExpressions sizes(kb, /*operand=*/part.hasQueryTiles() ? 0 : 1);
    AffineExpr ctas = sizes.getSize(2).ceilDiv(fields->tileM) *
                      sizes.getSize(1) * sizes.getSize(0);
    KernelBuilder inner = kb;
    inner.kernel = beginPrologueKernel(
        inner.builder, kb, main,
        {part.suffix, arguments, sizes.getNames(), ctas, *fields});
    if (failed(BackwardEmitter(inner, op, part, *fields, delta).emit()))
      return failure();
    gpu::ReturnOp::create(inner.builder, op.getLoc());
    kb.hasWideIndex |= inner.hasWideIndex;
  }
  return success();
}
