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

// Queries of a block, in all kernels but those that ask for fewer; columns that
// a product takes at a time.
static constexpr int64_t kBlockQueries = 64, kStep = 16;
// Both sums of a tile of keys stay in registers up to so many columns.
static constexpr int64_t kMaxSharedColumns = 256;
// So do those of a warp group, beside scores, up to so wide heads.
static constexpr int64_t kMostColumnsOfRoles = 128;
// Beside so many columns of sums a group has registers for derivatives, too.
static constexpr int64_t kMostColumnsBesideGradients = 128;
// What who copies needs.
static constexpr int64_t kLoadRegisters = 24;
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
  return llvm::alignTo(op.getQueryType().getDimSize(3), kStep) +
         llvm::alignTo(op.getValueType().getDimSize(3), kStep);
}

/// What the caller says of a field of the schedule, if anything.
static std::optional<StringRef> findField(const KernelBuilder &kb,
                                          StringRef name) {
  for (auto [field, text] : parseFields(kb.scheduleOverrides))
    if (field == name)
      return text;
  return std::nullopt;
}

static bool findsAll(attn::BackwardOp op) {
  return op.getQueryGradient() && op.getKeyGradient() && op.getValueGradient();
}

static int64_t getWidestHead(attn::BackwardOp op) {
  return std::max(op.getQueryType().getDimSize(3),
                  op.getValueType().getDimSize(3));
}

/// Whether one kernel finds all gradients, in roles, and adds up dQ in memory:
/// where that can be done, unless the caller says otherwise.
static bool isSummedInMemory(const KernelBuilder &kb, attn::BackwardOp op) {
  if (std::optional<StringRef> registers = findField(kb, kRolesWord))
    return *registers != "0";
  return kb.target->warpGroupDots && findsAll(op) && !op.getDeterministic() &&
         getWidestHead(op) <= kMostColumnsOfRoles;
}

static LogicalResult checkRoles(const KernelBuilder &kb, attn::BackwardOp op) {
  if (!isSummedInMemory(kb, op))
    return success();
  auto emitError = [&] {
    return op.emitError("schedule has roles ('") << kRolesWord << "'), which ";
  };
  if (!kb.target->warpGroupDots)
    return emitError() << "'" << kb.target->name << "' does not support";
  if (op.getDeterministic())
    return emitError() << "add up dq in any order, where it is to be "
                          "deterministic";
  if (!findsAll(op))
    return emitError() << "find all of the gradients by q, k and v";
  if (getWidestHead(op) > kMostColumnsOfRoles)
    return emitError() << "have registers for head dims up to "
                       << kMostColumnsOfRoles << ", found "
                       << getWidestHead(op);
  return success();
}

/// The kernels, in the order in which they run; the last one is the main one.
static SmallVector<BackwardPart> findParts(const KernelBuilder &kb,
                                           attn::BackwardOp op) {
  bool query(op.getQueryGradient()), key(op.getKeyGradient()),
      value(op.getValueGradient());
  if (isSummedInMemory(kb, op))
    return {{BackwardPart::Delta, "delta", false, false, /*addsQuery=*/true},
            {BackwardPart::Keys, "keys", true, true, /*addsQuery=*/true,
             /*keepsGradients=*/getColumns(op) <= kMostColumnsBesideGradients},
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
  fields.tileM = kBlockQueries;
  fields.tileN = getColumns(op) <= 128 ? 64 : 32;
  fields.warps = 4;
  fields.stages = 2;
  fields.minBlocks = 1;
  return makePlan(op.getContext(), fields);
}

/// The same rows for a kernel beside one in roles, whose fragments it has.
static plan::KernelAttr makeRowsPlan(attn::BackwardOp op) {
  plan::KernelPlan kernel;
  kernel.tileM = kernel.tileN = kBlockQueries;
  kernel.warps = 4;
  MLIRContext *context = op.getContext();
  return plan::KernelAttr::get(context, warp::WgmmaUnitAttr::get(context),
                               kernel, {}, {}, {}, {}, {});
}

/// Roles for a kernel of keys: one copies, two warp groups with 64 keys each
/// find dK and dV, one dQ's share of a block.
static plan::KernelAttr makeRolesPlan(attn::BackwardOp op,
                                      int64_t loadRegisters) {
  MLIRContext *context = op.getContext();
  Builder b(context);
  plan::KernelPlan kernel;
  kernel.tileM = 128;
  kernel.tileN = kBlockQueries;
  kernel.warps = 8;
  kernel.stages = 2;
  kernel.classify = !op.getKvClassify().empty();
  auto stream = [&](StringRef name, int64_t stages, StringRef with = "") {
    plan::StreamPlan said;
    said.stages = stages;
    if (!with.empty()) {
      said.isStaged = true;
      said.with = b.getStringAttr(with);
    }
    return plan::StreamAttr::get(context, b.getStringAttr(name), said);
  };
  auto role = [&](StringRef name, int64_t warps, int64_t registers,
                  ArrayRef<StringRef> owns) {
    return plan::RoleAttr::get(context, name, warps, registers,
                               b.getStrArrayAttr(owns));
  };
  // The next block's weights are computed while dK of this one is.
  plan::DotPlan early;
  early.ahead = 1;
  auto ahead = plan::DotAttr::get(context, b.getStringAttr("s"), early);
  return plan::KernelAttr::get(
      context, warp::WgmmaUnitAttr::get(context), kernel,
      {stream("k", 1), stream("v", 1), stream("kq", 1),
       stream("exponents", kernel.stages, "q"),
       stream("delta", kernel.stages, "do")},
      {ahead}, /*stores=*/{},
      {role("load", 4, loadRegisters,
            {"k", "kq", "v", "q", "do", "exponents", "delta"}),
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
  asked.producerRegisters = kLoadRegisters;
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
  bool isBeside = isSummedInMemory(kb, op) && !hasRoles;
  plan::KernelAttr plan = hasRoles ? makeRolesPlan(op, asked.producerRegisters)
                          : isBeside ? makeRowsPlan(op)
                                     : makeWarpPlan(op);
  if (hasRoles && asked.tileN && asked.tileN != plan->tileN)
    return op.emitError("schedule's 'tile_n' is ")
           << plan->tileN << " where roles share the work ('" << kRolesWord
           << "=0': none do), found " << asked.tileN;
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

/// Blocks of queries that memory in fragments has: one even if there are no
/// queries, since roles visit a block in any case.
static AffineExpr countBlocks(AffineExpr queries) {
  AffineExpr one = getAffineConstantExpr(1, queries.getContext());
  return queries.ceilDiv(kBlockQueries) + one.floorDiv(queries + 1);
}

/// A value of each query, or rows of them, as the kernel's next argument; in
/// fragments for all queries of a block.
static unsigned declareOfQueries(KernelBuilder &kb, StringRef name,
                                 int64_t columns, bool inFragments) {
  SizeExpressions sizes(kb, /*operand=*/0);
  SmallVector<AffineExpr> extents;
  for (int64_t dim = 0; dim < 3; ++dim)
    extents.push_back(sizes.getSize(dim));
  if (inFragments)
    extents.back() = countBlocks(extents.back()) * kBlockQueries;
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
  if (isSummedInMemory(kb, op)) {
    scratch.exponents = next++;
    scratch.querySums = next++;
  }
  return scratch;
}

/// The extremes that a kernel before the main one asks for: what they share is
/// the main one's.
static LogicalResult declareSummaries(KernelBuilder &kb, attn::BackwardOp op,
                                      BackwardPart part) {
  FailureOr<plan::KernelAttr> plan = planPart(kb, op, part);
  if (failed(plan))
    return failure();
  if ((*plan)->classify)
    BlockSummaries(kb, op.getKvClassify(), getFirstCapture(op),
                   /*queries=*/(*plan)->tileN, /*keys=*/(*plan)->tileM);
  return success();
}

FailureOr<plan::KernelAttr> fovea::buildBackward(KernelBuilder &kb,
                                                 attn::BackwardOp op) {
  if (failed(checkLowered(kb, op)) || failed(checkRoles(kb, op)))
    return failure();
  BackwardScratch scratch = findScratch(kb, op);
  bool inFragments = scratch.querySums.has_value();
  if (scratch.delta)
    declareOfQueries(kb, "delta", /*columns=*/0, inFragments);
  if (inFragments) {
    declareOfQueries(kb, "exponents", /*columns=*/0, inFragments);
    declareOfQueries(kb, "dq_sum",
                     llvm::alignTo(op.getQueryType().getDimSize(3), kStep),
                     inFragments);
    kb.workDims = attn::WorkDims{"B", "Hq", "Sq", "", ""};
  }
  SmallVector<BackwardPart> parts = findParts(kb, op);
  for (const BackwardPart &before : ArrayRef(parts).drop_back())
    if (failed(declareSummaries(kb, op, before)))
      return failure();
  BackwardPart part = parts.back();
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
    AffineExpr rows = sizes.getSize(2);
    AffineExpr tiles = part.fillsFragments() ? countBlocks(rows)
                                             : rows.ceilDiv((*plan)->tileM);
    AffineExpr ctas = tiles * sizes.getSize(1) * sizes.getSize(0);
    KernelBuilder inner = kb;
    inner.kernel = beginPrologueKernel(
        inner.builder, kb, main,
        {part.suffix, arguments, sizes.getNames(), ctas, *plan});
    if (failed(BackwardEmitter(inner, op, part, *plan, findScratch(kb, op))
                   .emit()))
      return failure();
    gpu::ReturnOp::create(inner.builder, op.getLoc());
    kb.hasWideIndex |= inner.hasWideIndex;
    // The host asks the main kernel which numbers are drawn.
    if (inner.generator) {
      tile::lookupAbi(inner.kernel).setGeneratorAttr(inner.generator);
      main.setGeneratorAttr(inner.generator);
    }
  }
  return success();
}
