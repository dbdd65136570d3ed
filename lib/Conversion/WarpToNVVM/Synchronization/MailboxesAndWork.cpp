//===- MailboxesAndWork.cpp - Turns, mailboxes, work numbers --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
// Two counters of i32: numbers given out, CTAs that want no more.
static constexpr int64_t kCounterBytes = 8;

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

namespace {
/// Turns of one role's warp groups: a named barrier for each group, where it
/// meets the group before it.
class TurnLowering {
public:
  TurnLowering(warp::TurnsOp op, int64_t groups, int64_t firstBarrier)
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

LogicalResult TurnLowering::findRole(const Specialization &roles) {
  for (Operation *user : op.getTurns().getUsers()) {
    const Role *found = roles.getRole(user);
    if (!found || (role && found != role))
      return user->emitOpError("turns must be taken in one role");
    role = found;
  }
  if (role && role->warps != groups * kGroupWarps)
    return op.emitOpError("role '")
           << role->name.getValue() << "' has " << role->warps / kGroupWarps
           << " warp groups, found turns of " << groups;
  if (firstBarrier + groups - 1 > kLastBarrier)
    return op.emitOpError("needs a named barrier for each of ")
           << groups << " warp groups, a CTA has " << kLastBarrier << " in all";
  return success();
}

// The two groups of a hand-over.
static constexpr int64_t kTurnThreads = 2 * kGroupThreads;

static void emitArrive(OpBuilder &b, Location loc, Value barrier) {
  // What NVVM's op is, too, after another pass.
  emitAsm(b, loc, "bar.arrive $0, " + std::to_string(kTurnThreads) + ";",
          "r,~{memory}", barrier);
}

/// The first turn is the first group's: the last one hands it over.
void TurnLowering::emitStart() {
  OpBuilder b(op.getContext());
  b.setInsertionPointAfterValue(role->leader);
  Location loc = op.getLoc();
  Value group = role->emitGroup(b, loc);
  mine = arith::AddIOp::create(b, loc, group, emitI32(b, loc, firstBarrier));
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group,
                                       emitI32(b, loc, groups - 1));
  // Without a branch or a choice, so that it stays in a uniform register.
  Value after = arith::AddIOp::create(b, loc, group, emitI32(b, loc, 1));
  Value wrapped =
      arith::RemUIOp::create(b, loc, after, emitI32(b, loc, groups));
  next = arith::AddIOp::create(b, loc, wrapped, emitI32(b, loc, firstBarrier));
  auto start = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false);
  OpBuilder inside = start.getThenBodyBuilder();
  emitArrive(inside, loc, next);
}

LogicalResult TurnLowering::lower(const Specialization &roles) {
  if (failed(findRole(roles)))
    return failure();
  if (role)
    emitStart();
  SmallVector<Operation *> users(op.getTurns().getUsers());
  for (Operation *user : users) {
    OpBuilder b(user);
    if (isa<warp::BeginTurnOp>(user))
      emitNamedBarrier(b, user->getLoc(), mine, kTurnThreads);
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
      return user->emitOpError("must stand in a role");
    OpBuilder b(user);
    Location loc = user->getLoc();
    if (auto send = dyn_cast<warp::SendOp>(user)) {
      if (!role->isSingleWarp)
        return user->emitOpError("role '")
               << role->name.getValue()
               << "' fills a mailbox and must do nothing else";
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

/// The leader counts; all lanes get what the counter was before.
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

/// The first numbers, one for each CTA, are given out without asking.
static void lowerFetch(warp::FetchWorkOp op, Value counters, Value leader) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value number = arith::AddIOp::create(
      b, loc, emitIncrement(b, loc, counters, 0, leader), emitGridSize(b, loc));
  op.replaceAllUsesWith(
      arith::IndexCastOp::create(b, loc, b.getIndexType(), number).getResult());
  op.erase();
}

/// Counts CTAs that finished; the last one leaves both counters zero.
static void lowerFinish(warp::FinishWorkOp op, Value counters, Value leader) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value before = emitIncrement(b, loc, counters, kCounterBytes / 2, leader);
  Value count = arith::AddIOp::create(b, loc, before, emitI32(b, loc, 1));
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, count,
                                       emitGridSize(b, loc));
  auto reset = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false);
  OpBuilder inside = reset.getThenBodyBuilder();
  // Each as the atomics of the other CTAs access it: nothing else orders it
  // with them.
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
      return op->emitOpError("must stand in a role that only fills pipelines");
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
    // CTAs don't wait for each other's turns: no data depends on the order.
    int64_t groups = op.getTurns().getType().getGroups() / roles.clusterSize;
    if (failed(TurnLowering(op, groups, barrier).lower(roles)))
      return failure();
    barrier += groups;
  }
  for (warp::MailboxOp op : mailboxes)
    if (failed(lowerMailbox(op, roles)))
      return failure();
  GroupBarriers barriers(barrier);
  if (failed(lowerZeroRows(kernel, roles, barriers)) ||
      failed(lowerOutputs(kernel, abi, roles, barriers)))
    return failure();
  return lowerWork(kernel, abi, roles);
}
