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

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea;

// Both sums of a tile of keys stay in registers up to so many columns.
static constexpr int64_t kMaxSharedColumns = 256;
// So do those of a warp group, beside scores, up to so wide heads.
static constexpr int64_t kMostColumnsOfRoles = 128;
// The schedule's field that is 0 where all warps run one program.
static constexpr StringRef kRolesWord = "producer_registers";

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

/// Whether one kernel finds all gradients, in roles, and adds up dQ in memory:
/// the caller asks for it.
static bool isSummedInMemory(const KernelBuilder &kb) {
  return llvm::any_of(parseFields(kb.scheduleOverrides), [](auto field) {
    return field.first == kRolesWord && field.second != "0";
  });
}

static LogicalResult checkRoles(const KernelBuilder &kb, attn::BackwardOp op) {
  if (!isSummedInMemory(kb))
    return success();
  auto emitError = [&] {
    return op.emitError("schedule has roles ('") << kRolesWord << "'), which ";
  };
  if (!kb.target->warpGroupDots)
    return emitError() << "'" << kb.target->name << "' does not support";
  if (!op.getQueryGradient() || !op.getKeyGradient() || !op.getValueGradient())
    return emitError() << "find all of the gradients by q, k and v";
  int64_t widest = std::max(op.getQueryType().getDimSize(3),
                            op.getValueType().getDimSize(3));
  if (widest > kMostColumnsOfRoles)
    return emitError() << "have registers for head dims up to "
                       << kMostColumnsOfRoles << ", found " << widest;
  return success();
}

/// The kernels, in the order in which they run; the last one is the main one.
static SmallVector<BackwardPart> findParts(const KernelBuilder &kb,
                                           attn::BackwardOp op) {
  bool query(op.getQueryGradient()), key(op.getKeyGradient()),
      value(op.getValueGradient());
  if (isSummedInMemory(kb))
    return {{BackwardPart::Delta, "delta", false, false, /*addsQuery=*/true},
            {BackwardPart::Keys, "keys", true, true, /*addsQuery=*/true},
            {BackwardPart::Round, "queries"}};
  SmallVector<BackwardPart> parts;
  // D comes from the queries' kernel, where there is one.
  if (query)
    parts.push_back({BackwardPart::Queries, "queries"});
  else if (key)
    parts.push_back({BackwardPart::Delta, "delta"});
  if (key && value && getColumns(op) <= kMaxSharedColumns) {
    parts.push_back({BackwardPart::Keys, "keys", true, true});
    return parts;
  }
  if (value)
    parts.push_back({BackwardPart::Keys, "values", false, true});
  if (key)
    parts.push_back({BackwardPart::Keys, "keys", true, false});
  return parts;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Tiles whose sums and scores fit the registers of four warps, a block ahead
/// on its way.
static plan::KernelAttr makeWarpPlan(attn::BackwardOp op) {
  ScheduleFields fields;
  fields.tileM = 64;
  fields.tileN = getColumns(op) <= 128 ? 64 : 32;
  fields.warps = 4;
  fields.stages = 2;
  fields.minBlocks = 1;
  return makePlan(op.getContext(), fields);
}

/// Roles for a kernel of keys: one copies, two warp groups with 64 keys each
/// find dK and dV, one dQ's share of a block.
static plan::KernelAttr makeRolesPlan(attn::BackwardOp op,
                                      int64_t loadRegisters) {
  MLIRContext *context = op.getContext();
  Builder b(context);
  plan::KernelPlan kernel;
  kernel.tileM = 128;
  kernel.tileN = 64;
  kernel.warps = 8;
  kernel.stages = 2;
  auto stream = [&](StringRef name, int64_t stages) {
    plan::StreamPlan said;
    said.stages = stages;
    return plan::StreamAttr::get(context, b.getStringAttr(name), said);
  };
  auto role = [&](StringRef name, int64_t warps, int64_t registers,
                  ArrayRef<StringRef> owns) {
    return plan::RoleAttr::get(context, name, warps, registers,
                               b.getStrArrayAttr(owns));
  };
  return plan::KernelAttr::get(
      context, warp::WgmmaUnitAttr::get(context), kernel,
      {stream("k", 1), stream("v", 1), stream("kq", 1)},
      /*dots=*/{}, /*stores=*/{},
      {role("load", 4, loadRegisters, {"k", "kq", "v", "q", "do"}),
       role("compute", 8, 208,
            {"s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"}),
       role("reduce", 4, 72, {"dq", "dq_sum"})},
      /*asked=*/{});
}

/// The plan of a kernel, with what the caller says of it.
static FailureOr<plan::KernelAttr>
planPart(const KernelBuilder &kb, attn::BackwardOp op, BackwardPart part) {
  auto emitError = [&] { return op.emitError(); };
  ScheduleFields asked;
  asked.tileN = asked.stages = 0;
  for (auto [name, text] : parseFields(kb.scheduleOverrides)) {
    if (name != "tile_n" && name != "stages" && name != kRolesWord)
      return op.emitError("schedules of gradients have the fields 'tile_n', "
                          "'stages' and '")
             << kRolesWord << "', found '" << name << "'";
    if (failed(asked.set(name, text, emitError)))
      return failure();
  }
  bool hasRoles = part.addsQuery && part.kind == BackwardPart::Keys;
  if (asked.producerRegisters % 8 != 0)
    return op.emitError("schedule's '")
           << kRolesWord << "' must be a multiple of 8, found "
           << asked.producerRegisters;
  plan::KernelAttr plan =
      hasRoles ? makeRolesPlan(op, asked.producerRegisters) : makeWarpPlan(op);
  if (hasRoles && asked.tileN && asked.tileN != plan->tileN)
    return op.emitError("schedule's 'tile_n' is ")
           << plan->tileN << " where roles share the work, found "
           << asked.tileN;
  ScheduleFields fields;
  fields.tileN = asked.tileN ? asked.tileN : plan->tileN;
  fields.stages = asked.stages ? asked.stages : plan->stages;
  if (failed(fields.verify(emitError)))
    return failure();
  return plan.change([&](plan::KernelPlan &kernel) {
    kernel.tileN = fields.tileN;
    kernel.stages = fields.stages;
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// A value of each query, or rows of them, as the kernel's next argument.
static unsigned declareOfQueries(KernelBuilder &kb, StringRef name,
                                 int64_t columns) {
  SizeExpressions sizes(kb, /*operand=*/0);
  SmallVector<AffineExpr> extents;
  for (int64_t dim = 0; dim < 3; ++dim)
    extents.push_back(sizes.getSize(dim));
  if (columns)
    extents.push_back(kb.builder.getAffineConstantExpr(columns));
  return declareScratch(kb, name, sizes.getNames(), extents,
                        kb.builder.getF32Type());
}

/// The scratch memory of the kernels: their last arguments.
static BackwardScratch findScratch(const KernelBuilder &kb,
                                   attn::BackwardOp op) {
  BackwardScratch scratch;
  unsigned next = op->getNumOperands() + op->getNumResults();
  if (op.getKeyGradient())
    scratch.delta = next++;
  if (isSummedInMemory(kb))
    scratch.querySums = next;
  return scratch;
}

FailureOr<plan::KernelAttr> fovea::buildBackward(KernelBuilder &kb,
                                                 attn::BackwardOp op) {
  if (failed(checkLowered(kb, op)) || failed(checkRoles(kb, op)))
    return failure();
  BackwardScratch scratch = findScratch(kb, op);
  if (scratch.delta)
    declareOfQueries(kb, "delta", /*columns=*/0);
  if (scratch.querySums) {
    declareOfQueries(kb, "dq_sum", op.getQueryType().getDimSize(3));
    kb.workDims = attn::WorkDims{"B", "Hq", "Sq", "", ""};
  }
  BackwardPart part = findParts(kb, op).back();
  FailureOr<plan::KernelAttr> plan = planPart(kb, op, part);
  if (failed(plan) ||
      failed(BackwardEmitter(kb, op, part, *plan, scratch).emit()))
    return failure();
  return plan;
}

LogicalResult fovea::buildBackwardPrologue(KernelBuilder &kb,
                                           attn::BackwardOp op,
                                           tile::AbiOp main) {
  SmallVector<unsigned> arguments =
      llvm::to_vector(llvm::seq(kb.kernel.getNumArguments()));
  SmallVector<BackwardPart> parts = findParts(kb, op);
  for (const BackwardPart &part : ArrayRef(parts).drop_back()) {
    FailureOr<plan::KernelAttr> plan = planPart(kb, op, part);
    if (failed(plan))
      return failure();
    SizeExpressions sizes(kb, /*operand=*/part.hasQueryTiles() ? 0 : 1);
    AffineExpr ctas = sizes.getSize(2).ceilDiv((*plan)->tileM) *
                      sizes.getSize(1) * sizes.getSize(0);
    KernelBuilder inner = kb;
    inner.kernel = beginPrologueKernel(
        inner.builder, kb, main,
        {part.suffix, arguments, sizes.getNames(), ctas, *plan});
    if (failed(BackwardEmitter(inner, op, part, *plan, findScratch(kb, op))
                   .emit()))
      return failure();
    gpu::ReturnOp::create(inner.builder, op.getLoc());
    kb.hasWideIndex |= inner.hasWideIndex;
  }
  return success();
}
