//===- MailboxesAndWork.cpp - Ping-pong, mailboxes, dynamic work ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the ping-pong order of a role's warp groups (`warp.turns`) to named
// barriers, mailboxes to shared memory, and the dynamic work counter to global
// atomics. Mailboxes are ordered by the mbarriers of the pipeline that they
// belong to.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

static constexpr int64_t kSlotBytes = 4;
// Two i32 counters: work items fetched, CTAs that have finished.
static constexpr int64_t kCounterBytes = 8;

//===----------------------------------------------------------------------===//
// Ping-pong order of warp groups
//===----------------------------------------------------------------------===//

namespace {
/// The ping-pong order of one role's warp groups. Each group has a named
/// barrier, at which it waits for the arrival of the group before it.
class PingPongLowering {
public:
  PingPongLowering(warp::TurnsOp op, int64_t groups, int64_t firstBarrier)
      : op(op), groups(groups), firstBarrier(firstBarrier) {}

  LogicalResult lower(const Specialization &roles);

private:
  LogicalResult findRole(const Specialization &roles);
  void emitStart();

  warp::TurnsOp op;
  int64_t groups, firstBarrier;
  const Role *role = nullptr;
  Value mine, next;
};
} // namespace

LogicalResult PingPongLowering::findRole(const Specialization &roles) {
  for (Operation *user : op.getTurns().getUsers()) {
    const Role *found = roles.getRole(user);
    if (!found || (role && found != role))
      return user->emitOpError("must be in the same role as all other uses");
    role = found;
  }
  if (role && role->warps != groups * kGroupWarps)
    return op.emitOpError("role '")
           << role->name.getValue() << "' has " << role->warps / kGroupWarps
           << " warp groups, found turns for " << groups;
  if (firstBarrier + groups - 1 > kLastBarrier)
    return op.emitOpError("needs a named barrier for each of ")
           << groups << " warp groups, but a CTA has " << kLastBarrier
           << " in all";
  return success();
}

// The signalling group and the waiting one.
static constexpr int64_t kPingPongThreads = 2 * kGroupThreads;

static void emitArrive(OpBuilder &b, Location loc, Value barrier) {
  // NVVM's op is lowered to the same instruction, by another pass.
  emitAsm(b, loc, "bar.arrive $0, " + std::to_string(kPingPongThreads) + ";",
          "r,~{memory}", barrier);
}

/// The last group signals the first one before the role starts, so that the
/// first group begins.
void PingPongLowering::emitStart() {
  OpBuilder b(op.getContext());
  b.setInsertionPointAfterValue(role->leader);
  Location loc = op.getLoc();
  Value group = role->emitGroup(b, loc);
  mine = arith::AddIOp::create(b, loc, group, emitI32(b, loc, firstBarrier));
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group,
                                       emitI32(b, loc, groups - 1));
  // Without a branch or select, so that the value stays in a uniform register.
  Value after = arith::AddIOp::create(b, loc, group, emitI32(b, loc, 1));
  Value wrapped =
      arith::RemUIOp::create(b, loc, after, emitI32(b, loc, groups));
  next = arith::AddIOp::create(b, loc, wrapped, emitI32(b, loc, firstBarrier));
  auto start = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false);
  OpBuilder inside = start.getThenBodyBuilder();
  emitArrive(inside, loc, next);
}

LogicalResult PingPongLowering::lower(const Specialization &roles) {
  if (failed(findRole(roles)))
    return failure();
  if (role)
    emitStart();
  SmallVector<Operation *> users(op.getTurns().getUsers());
  for (Operation *user : users) {
    OpBuilder b(user);
    if (isa<warp::BeginTurnOp>(user))
      emitNamedBarrier(b, user->getLoc(), mine, kPingPongThreads);
    else
      emitArrive(b, user->getLoc(), next);
    user->erase();
  }
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Mailboxes
//===----------------------------------------------------------------------===//

static Value emitSlot(OpBuilder &b, Location loc, warp::MailboxOp mailbox,
                      Value stage) {
  Value address = emitSharedAddress(b, loc, *mailbox.getOffset());
  Value distance =
      arith::MulIOp::create(b, loc, stage, emitI32(b, loc, kSlotBytes));
  return arith::AddIOp::create(b, loc, address, distance);
}

static LogicalResult lowerMailbox(warp::MailboxOp op,
                                  const Specialization &roles) {
  if (!op.getOffset())
    return op.emitError("mailbox has no offset; run "
                        "'warp-allocate-shared-memory' first");
  SmallVector<Operation *> users(op.getMailbox().getUsers());
  for (Operation *user : users) {
    const Role *role = roles.getRole(user);
    if (!role)
      return user->emitOpError("must be in a role");
    OpBuilder b(user);
    Location loc = user->getLoc();
    if (auto send = dyn_cast<warp::SendOp>(user)) {
      if (!role->isSingleWarp)
        return user->emitOpError("role '")
               << role->name.getValue()
               << "' fills a mailbox: expected a role that only fills "
                  "pipelines";
      Value slot = emitSlot(b, loc, op, send.getStage());
      emitAsm(b, loc, "@$2 st.volatile.shared.b32 [$0], $1;", "r,r,b,~{memory}",
              {slot, emitToI32(b, loc, send.getValue()), role->leader});
    } else if (auto receive = dyn_cast<warp::ReceiveOp>(user)) {
      Value slot = emitSlot(b, loc, op, receive.getStage());
      Value raw = emitAsm(b, loc, "ld.volatile.shared.b32 $0, [$1];",
                          "=r,r,~{memory}", slot, b.getI32Type())
                      .front();
      receive.replaceAllUsesWith(
          arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                     emitUniform(b, loc, raw))
              .getResult());
    }
    user->erase();
  }
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// The leader increments the counter; all lanes get its previous value.
static Value emitIncrement(OpBuilder &b, Location loc, Value counters,
                           int64_t offset, Value leader) {
  Value address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), counters);
  std::string text = "mov.b32 $0, 0;\n\t@$2 atom.global.add.u32 $0, [$1+" +
                     std::to_string(offset) + "], 1;";
  Value mine = emitAsm(b, loc, text, "=&r,l,b,~{memory}", {address, leader},
                       b.getI32Type())
                   .front();
  return NVVM::ReduxOp::create(b, loc, b.getI32Type(), mine,
                               NVVM::ReduxKind::OR, emitI32(b, loc, -1));
}

static Value emitGridSize(OpBuilder &b, Location loc) {
  Value size = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), size);
}

/// The first work items, one per CTA, need no fetch.
static void lowerFetch(warp::FetchWorkOp op, Value counters, Value leader) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value number = arith::AddIOp::create(
      b, loc, emitIncrement(b, loc, counters, 0, leader), emitGridSize(b, loc));
  op.replaceAllUsesWith(
      arith::IndexCastOp::create(b, loc, b.getIndexType(), number).getResult());
  op.erase();
}

/// Counts the CTAs that have finished; the last one resets both counters.
static void lowerFinish(warp::FinishWorkOp op, Value counters, Value leader) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value before = emitIncrement(b, loc, counters, kCounterBytes / 2, leader);
  Value count = arith::AddIOp::create(b, loc, before, emitI32(b, loc, 1));
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, count,
                                       emitGridSize(b, loc));
  auto reset = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false);
  OpBuilder inside = reset.getThenBodyBuilder();
  // Atomic stores, because nothing else orders them with the atomics of other
  // CTAs.
  constexpr int64_t bytes = kCounterBytes / 2;
  for (int32_t n : {0, 1})
    LLVM::StoreOp::create(
        inside, loc, emitI32(inside, loc, 0),
        LLVM::GEPOp::create(inside, loc, counters.getType(),
                            inside.getI32Type(), counters,
                            ArrayRef<LLVM::GEPArg>{n}),
        /*alignment=*/bytes, /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic,
        /*syncscope=*/"device");
  op.erase();
}

static LogicalResult lowerWork(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                               const Specialization &roles) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<warp::FetchWorkOp, warp::FinishWorkOp>(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return success();
  MLIRContext *context = kernel.getContext();
  Value counters = appendArgument(
      kernel, abi, LLVM::LLVMPointerType::get(context, 1),
      launch::WorkspaceParameterAttr::get(context, kCounterBytes));
  for (Operation *op : ops) {
    const Role *role = roles.getRole(op);
    if (!role || !role->isSingleWarp)
      return op->emitOpError("must be in a role that only fills pipelines");
    if (roles.clusterSize > 1)
      return op->emitOpError("is not supported for clusters");
    if (auto fetch = dyn_cast<warp::FetchWorkOp>(op))
      lowerFetch(fetch, counters, role->leader);
    else
      lowerFinish(cast<warp::FinishWorkOp>(op), counters, role->leader);
  }
  return success();
}

LogicalResult fovea::lowerRoleMessages(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                       const Specialization &roles) {
  SmallVector<warp::TurnsOp> turns;
  SmallVector<warp::MailboxOp> mailboxes;
  kernel.walk([&](Operation *op) {
    if (auto found = dyn_cast<warp::TurnsOp>(op))
      turns.push_back(found);
    else if (auto found = dyn_cast<warp::MailboxOp>(op))
      mailboxes.push_back(found);
  });
  int64_t barrier = kFirstBarrier;
  for (warp::TurnsOp op : turns) {
    // The order does not extend over the CTAs of a cluster: no data depends on
    // it.
    int64_t groups = op.getTurns().getType().getGroups() / roles.clusterSize;
    if (failed(PingPongLowering(op, groups, barrier).lower(roles)))
      return failure();
    barrier += groups;
  }
  for (warp::MailboxOp op : mailboxes)
    if (failed(lowerMailbox(op, roles)))
      return failure();
  if (failed(lowerArrivals(kernel, abi, roles, barrier)))
    return failure();
  GroupBarriers barriers(barrier);
  if (failed(lowerZeroRows(kernel, roles, barriers)) ||
      failed(lowerOutputs(kernel, abi, roles, barriers)))
    return failure();
  return lowerWork(kernel, abi, roles);
}
