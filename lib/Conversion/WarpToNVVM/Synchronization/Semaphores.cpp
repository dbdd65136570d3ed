//===- Semaphores.cpp - Semaphores of CTAs as PTX ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.semaphore_wait` and `tile.semaphore_release`, which order the
// accumulations of CTAs.
//
// A semaphore counts warps. Each warp that executes a release adds one, so a
// wait for n releases compares with n times the number of releasing warps. No
// barrier among the warps of a role is needed: each warp orders its own stores.
// A `__syncwarp` precedes the leader's release, which publishes the stores of
// all lanes.
//
// All lanes poll the semaphore, so that each lane acquires the released stores.
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

// NVVM has no acquire load and no release reduction with a scope.
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
  /// Emits the access to the semaphore at `place`.
  virtual void emit(OpTy op, OpAdaptor adaptor, const Place &place,
                    OpBuilder &b) const = 0;
  /// The conjunction of `holds` and the op's condition, if any; i1.
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
  /// Number of warps that execute each release.
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
// Semaphore slots that are loaded from memory
//===----------------------------------------------------------------------===//

/// Returns true if the value is used only as the slot of semaphore waits.
/// Values in `seen` are known to be, or are being checked.
static bool isSemaphoreSlot(Value value, llvm::SmallDenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  auto isCarriedSlot = [&](scf::ForOp loop, unsigned number) {
    return isSemaphoreSlot(loop.getRegionIterArg(number), seen) &&
           isSemaphoreSlot(loop.getResult(number), seen);
  };
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto wait = dyn_cast<tile::SemaphoreWaitOp>(user))
      return use.get() == wait.getTurn();
    if (auto loop = dyn_cast<scf::ForOp>(user))
      return number >= loop.getNumControlOperands() &&
             isCarriedSlot(loop, number - loop.getNumControlOperands());
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    return isa<scf::YieldOp>(user) && loop && isCarriedSlot(loop, number);
  });
}

SemaphoreSlotReads::SemaphoreSlotReads(gpu::GPUFuncOp kernel) {
  kernel.walk([&](memref::LoadOp load) {
    llvm::SmallDenseSet<Value> seen;
    if (isSemaphoreSlot(load.getResult(), seen))
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
