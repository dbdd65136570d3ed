//===- Semaphores.cpp - CTAs that take turns, as PTX ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A semaphore counts warps: each one that carries out a release adds one, and
// who waits for n releases waits for n times as many. So no barrier is needed
// among the warps of a role, and each of them orders its own stores: its lanes
// meet before the leader's release, which publishes what all of them wrote.
//
// All lanes look at the semaphore, so that each has acquired what was released.
//
//===----------------------------------------------------------------------===//

#include "Memory/GlobalAddress.h"
#include "WarpToNVVM.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

// NVVM dialect has no acquiring load and no releasing reduction of a scope.
static constexpr StringLiteral kWait =
    "{\n\t"
    ".reg .pred enough;\n\t"
    ".reg .b32 count;\n\t"
    "@!$2 bra done;\n\t"
    "look:\n\t"
    "ld.acquire.gpu.global.b32 count, [$0];\n\t"
    "setp.ge.u32 enough, count, $1;\n\t"
    "@!enough bra look;\n\t"
    "done:\n\t"
    "}";
static constexpr StringLiteral kRelease =
    "@$1 red.release.gpu.global.add.u32 [$0], 1;";

namespace {
template <typename OpTy>
struct SemaphoreLowering : OpConversionPattern<OpTy> {
  using OpAdaptor = typename OpTy::Adaptor;

  SemaphoreLowering(const TypeConverter &converter, MLIRContext *context,
                    launch::AbiOp abi, const Specialization &roles)
      : OpConversionPattern<OpTy>(converter, context), abi(abi), roles(roles) {}

  LogicalResult matchAndRewrite(OpTy op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const final {
    FailureOr<GlobalView> view =
        getGlobalView(b, op.getLoc(), op.getSemaphores());
    if (failed(view))
      return failure();
    emit(op, adaptor,
         locateElement(b, op.getLoc(), *view, adaptor.getIndices()), b);
    b.eraseOp(op);
    return success();
  }

protected:
  /// What is done to the semaphore at the place.
  virtual void emit(OpTy op, OpAdaptor adaptor, const Place &place,
                    OpBuilder &b) const = 0;
  /// Whether `holds` and the op's condition, if it has one, i1.
  Value addCondition(OpTy op, OpAdaptor adaptor, Value holds,
                     OpBuilder &b) const {
    Value condition = adaptor.getCondition();
    if (!condition)
      return holds;
    return arith::AndIOp::create(b, op.getLoc(), holds, condition);
  }

  launch::AbiOp abi;
  const Specialization &roles;
};

struct WaitLowering final : SemaphoreLowering<tile::SemaphoreWaitOp> {
  using SemaphoreLowering::SemaphoreLowering;

private:
  void emit(tile::SemaphoreWaitOp op, OpAdaptor adaptor, const Place &place,
            OpBuilder &b) const override {
    Location loc = op.getLoc();
    Value warps = arith::MulIOp::create(b, loc, adaptor.getTurn(),
                                        emitI32(b, loc, countWarps(op)));
    Value waits = addCondition(op, adaptor, place.predicate, b);
    emitAsm(b, loc, kWait, "l,r,b,~{memory}", {place.address, warps, waits},
            {});
    NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
  }
  /// Warps that carry out a release, each by itself.
  int64_t countWarps(tile::SemaphoreWaitOp op) const {
    if (const Role *role = roles.getRole(op))
      return role->isSingleWarp ? 1 : role->warps;
    return launch::AbiOp(abi).getPlan()->warps;
  }
};

struct ReleaseLowering final : SemaphoreLowering<tile::SemaphoreReleaseOp> {
  using SemaphoreLowering::SemaphoreLowering;

private:
  void emit(tile::SemaphoreReleaseOp op, OpAdaptor adaptor, const Place &place,
            OpBuilder &b) const override {
    Location loc = op.getLoc();
    NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
    Value isFirst =
        arith::AndIOp::create(b, loc, emitLeader(op, b), place.predicate);
    Value adds = addCondition(op, adaptor, isFirst, b);
    emitAsm(b, loc, kRelease, "l,b,~{memory}", {place.address, adds}, {});
  }
  /// i1, true in one lane of each warp.
  Value emitLeader(tile::SemaphoreReleaseOp op, OpBuilder &b) const {
    if (const Role *role = roles.getRole(op))
      return role->leader;
    Location loc = op.getLoc();
    Value lane = arith::RemUIOp::create(b, loc, emitThread(b, loc),
                                        emitI32(b, loc, kLanes));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane,
                                 emitI32(b, loc, 0));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Turns that are read from memory
//===----------------------------------------------------------------------===//

/// Whether nothing but turns depends on the value; of `seen` that is known, or
/// being asked.
static bool isTurn(Value value, llvm::SmallDenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  auto isCarriedTurn = [&](scf::ForOp loop, unsigned number) {
    return isTurn(loop.getRegionIterArg(number), seen) &&
           isTurn(loop.getResult(number), seen);
  };
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto wait = dyn_cast<tile::SemaphoreWaitOp>(user))
      return use.get() == wait.getTurn();
    if (auto loop = dyn_cast<scf::ForOp>(user))
      return number >= loop.getNumControlOperands() &&
             isCarriedTurn(loop, number - loop.getNumControlOperands());
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    return isa<scf::YieldOp>(user) && loop && isCarriedTurn(loop, number);
  });
}

TurnReads::TurnReads(gpu::GPUFuncOp kernel) {
  kernel.walk([&](memref::LoadOp load) {
    llvm::SmallDenseSet<Value> seen;
    if (isTurn(load.getResult(), seen))
      reads.insert(load);
  });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void fovea::populateSemaphorePatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter,
                                      launch::AbiOp abi,
                                      const Specialization &roles) {
  patterns.add<WaitLowering, ReleaseLowering>(converter, patterns.getContext(),
                                              abi, roles);
}
