//===- Roles.cpp - Roles as branches ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `warp.specialize` to branches on the warp index, with the register
// budget of each role. Runs first, because later lowerings need the thread,
// warp and leader values of a role. Also defines the small emitters that all
// parts of warp-to-nvvm share.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Dialect/Warp/IR/LaneOrder.h"

#include "fovea/Support/Target.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

static constexpr int64_t kChunkBytes = 16;

//===----------------------------------------------------------------------===//
// Small emitters
//===----------------------------------------------------------------------===//

// For instructions that have no NVVM op, or whose NVVM op generates different
// code (docs/Dialects/README.md, "From warp to PTX").
SmallVector<Value> fovea::emitAsm(OpBuilder &builder, Location loc,
                                  StringRef text, StringRef constraints,
                                  ValueRange operands, TypeRange results,
                                  bool hasSideEffects) {
  SmallVector<Type> types;
  if (results.size() == 1)
    types.push_back(results.front());
  else if (!results.empty())
    types.push_back(LLVM::LLVMStructType::getLiteral(
        builder.getContext(), SmallVector<Type>(results)));
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, types, operands, text, constraints, hasSideEffects,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> parts;
  for (size_t index = 0; index < results.size(); ++index)
    parts.push_back(LLVM::ExtractValueOp::create(builder, loc, op->getResult(0),
                                                 int64_t(index)));
  return parts;
}

Value fovea::emitSharedAddress(OpBuilder &builder, Location loc,
                               int64_t offset) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  Value base =
      LLVM::AddressOfOp::create(builder, loc, pointer, kSharedMemorySymbol);
  Value address =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base);
  return arith::AddIOp::create(builder, loc, address,
                               emitI32(builder, loc, offset));
}

Value fovea::emitSharedPointer(OpBuilder &builder, Location loc,
                               Value address) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

Value fovea::emitTensorPointer(OpBuilder &builder, Location loc,
                               Value address) {
  Type pointer = LLVM::LLVMPointerType::get(
      builder.getContext(), unsigned(NVVM::NVVMMemorySpace::Tensor));
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

void fovea::emitNamedBarrier(OpBuilder &builder, Location loc, Value barrier,
                             int64_t threads) {
  NVVM::BarrierOp::create(builder, loc, TypeRange(), barrier,
                          emitI32(builder, loc, threads),
                          NVVM::BarrierReductionAttr(), Value());
}

Value fovea::emitAll(OpBuilder &builder, Location loc, Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI1Type(),
                                  emitI32(builder, loc, -1), condition,
                                  NVVM::VoteSyncKind::all);
}

Value fovea::emitUniform(OpBuilder &builder, Location loc, Value value) {
  return NVVM::ShflOp::create(
      builder, loc, value.getType(), emitI32(builder, loc, -1), value,
      emitI32(builder, loc, 0), emitI32(builder, loc, kLanes - 1),
      NVVM::ShflKind::idx, UnitAttr());
}

Value Role::emitGroup(OpBuilder &builder, Location loc) const {
  return arith::DivUIOp::create(builder, loc, warp,
                                emitI32(builder, loc, kGroupWarps));
}

const Role *Specialization::getRole(Operation *op) const {
  for (Block *block = op->getBlock(); block;) {
    for (const Role &role : roles)
      if (role.body == block)
        return &role;
    Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return nullptr;
}

FailureOr<SharedView> fovea::getSharedView(Operation *user, Value memref) {
  SharedView view;
  view.type = dyn_cast<MemRefType>(memref.getType());
  if (auto stage = memref.getDefiningOp<warp::StageOp>()) {
    view.stage = stage.getStage();
    memref = stage.getBuffer();
  }
  view.buffer = memref.getDefiningOp<warp::AllocOp>();
  if (!view.buffer) {
    user->emitOpError("needs a shared buffer or a stage of one");
    return failure();
  }
  if (!view.buffer.getOffset()) {
    view.buffer.emitError("shared buffer has no offset; run "
                          "'warp-allocate-shared-memory' first");
    return failure();
  }
  return view;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {
/// Builds the branches of a kernel's roles.
class RoleBuilder {
public:
  RoleBuilder(warp::SpecializeOp op, launch::AbiOp abi, int64_t launched,
              Specialization &result)
      : b(op), op(op), loc(op.getLoc()), result(result), launched(launched),
        tensorMemory(op->getParentOfType<gpu::GPUFuncOp>(), abi) {}

  void run();

private:
  void emitSetup();
  void emitOnes(warp::OnesOp ones);
  unsigned getGroupEnd(unsigned index);
  void emitBranches(unsigned index, unsigned end, bool inGroup);
  void emitGroup(unsigned index, unsigned end, Block *block, bool inGroup);
  void emitRole(unsigned index, Block *block);
  void emitBudget(int64_t registers);
  bool keepsThread(unsigned index);
  Value emitKeptThread();
  void emitClusterBarrier();

  OpBuilder b;
  warp::SpecializeOp op;
  Location loc;
  Specialization &result;
  int64_t launched; // registers per thread at launch
  TensorMemory tensorMemory;
  Value thread, keptThread, warp;
};
} // namespace

void RoleBuilder::run() {
  thread = emitThread(b, loc);
  Value number =
      arith::DivUIOp::create(b, loc, thread, emitI32(b, loc, kLanes));
  warp = emitUniform(b, loc, number);
  result.clusterSize = op.getCluster();
  if (result.clusterSize > 1)
    result.rank = NVVM::ClusterId::create(b, loc, b.getI32Type());
  emitSetup();
  keptThread = emitKeptThread();
  result.roles.reserve(op.getRoles().size());
  OpBuilder::InsertPoint end = b.saveInsertionPoint();
  unsigned count = op.getRoles().size();
  if (getGroupEnd(0) == count) {
    // A single group of warps needs no condition, but its own block.
    auto all = scf::IfOp::create(
        b, loc, arith::ConstantIntOp::create(b, loc, 1, 1).getResult(),
        /*withElseRegion=*/false);
    emitGroup(0, count, all.thenBlock(), /*inGroup=*/false);
  } else {
    emitBranches(0, count, /*inGroup=*/false);
  }
  b.restoreInsertionPoint(end);
  // Other CTAs may still write to this CTA's memory or arrive at its barriers.
  if (result.clusterSize > 1)
    emitClusterBarrier();
  tensorMemory.emitFree(b, loc, warp, result.tensorMemory);
  op.erase();
}

void RoleBuilder::emitClusterBarrier() {
  NVVM::ClusterArriveOp::create(b, loc, /*aligned=*/UnitAttr());
  NVVM::ClusterWaitOp::create(b, loc, /*aligned=*/UnitAttr());
}

/// Thread 0 initialises the barriers. A CTA barrier or cluster barrier precedes
/// their first use.
void RoleBuilder::emitSetup() {
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, thread,
                                      emitI32(b, loc, 0));
  auto setup = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
  OpBuilder inside = setup.getThenBodyBuilder();
  result.endOfSetup = NVVM::FenceMbarrierInitOp::create(inside, loc);
  op->getParentOfType<gpu::GPUFuncOp>().walk(
      [&](warp::OnesOp ones) { emitOnes(ones); });
  tensorMemory.emitAllocate(b, loc, warp);
  NVVM::Barrier0Op::create(b, loc);
  result.tensorMemory = tensorMemory.emitAddress(b, loc);
  if (result.clusterSize > 1)
    emitClusterBarrier();
}

/// Each of the first threads writes 16 bytes. The proxy fence makes them
/// visible to the tensor cores.
void RoleBuilder::emitOnes(warp::OnesOp ones) {
  MemRefType type = ones.getBuffer().getType();
  int64_t chunks = warp::getStorageBytes(type) / kChunkBytes;
  int64_t threads = kLanes * op.getNumWarps();
  auto value = FloatAttr::get(type.getElementType(), 1.0);
  APInt word = value.getValue().bitcastToAPInt().zext(32);
  word |= word.shl(16);
  auto vector = VectorType::get({kChunkBytes / 4}, b.getI32Type());
  for (int64_t start = 0; start < chunks; start += threads) {
    Value mine = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ult, thread,
        emitI32(b, loc, std::min(threads, chunks - start)));
    auto branch = scf::IfOp::create(b, loc, mine, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    Value filled = arith::ConstantOp::create(
        inside, loc, DenseElementsAttr::get(vector, word));
    Value distance = arith::MulIOp::create(inside, loc, thread,
                                           emitI32(inside, loc, kChunkBytes));
    Value base = LLVM::AddressOfOp::create(
        inside, loc, LLVM::LLVMPointerType::get(b.getContext(), 3),
        kSharedMemorySymbol);
    Value at = LLVM::GEPOp::create(
        inside, loc, base.getType(), b.getI8Type(),
        LLVM::GEPOp::create(inside, loc, base.getType(), b.getI8Type(), base,
                            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(
                                *ones.getOffset() + start * kChunkBytes))}),
        ArrayRef<LLVM::GEPArg>{distance});
    LLVM::StoreOp::create(inside, loc, filled, at, kChunkBytes);
    NVVM::FenceProxyOp::create(
        inside, loc, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
  }
}

/// Returns the index after the last role that shares the warp group of the role
/// `index`.
unsigned RoleBuilder::getGroupEnd(unsigned index) {
  unsigned end = index + 1;
  while (end < op.getRoles().size() && op.getFirstWarp(end) % kGroupWarps != 0)
    ++end;
  return end;
}

/// Branches to the roles from `index` to `end`. Only their warps get here.
void RoleBuilder::emitBranches(unsigned index, unsigned end, bool inGroup) {
  unsigned last = inGroup ? index + 1 : getGroupEnd(index);
  if (last == end)
    return emitGroup(index, end, b.getInsertionBlock(), inGroup);
  int64_t endWarp = op.getFirstWarp(last);
  Value mine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, warp,
                                     emitI32(b, loc, endWarp));
  auto branch = scf::IfOp::create(b, loc, mine, /*withElseRegion=*/true);
  emitGroup(index, last, branch.thenBlock(), inGroup);
  b.setInsertionPointToStart(branch.elseBlock());
  emitBranches(last, end, inGroup);
}

/// Emits one role, or the roles of one warp group. All warps of a group must
/// execute the same `setmaxnreg` (PTX ISA, setmaxnreg), so roles that share a
/// group change their budget before they branch.
void RoleBuilder::emitGroup(unsigned index, unsigned end, Block *block,
                            bool inGroup) {
  b.setInsertionPointToStart(block);
  if (!inGroup)
    emitBudget(op.getRegisters()[index]);
  if (end == index + 1)
    return emitRole(index, block);
  emitBranches(index, end, /*inGroup=*/true);
}

void RoleBuilder::emitBudget(int64_t registers) {
  if (registers == launched)
    return;
  auto action = registers < launched ? NVVM::SetMaxRegisterAction::decrease
                                     : NVVM::SetMaxRegisterAction::increase;
  NVVM::SetMaxRegisterOp::create(b, loc, registers, action);
}

/// Returns true if the role adds tiles to memory.
static bool addsToMemory(Region &role) {
  WalkResult walk = role.walk([](Operation *op) {
    auto store = dyn_cast<tile::AddsToMemoryOpInterface>(op);
    return store && store.isAddition() ? WalkResult::interrupt()
                                       : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Returns true if the role's threads keep their index in a register. Otherwise
/// ptxas may read it again in each iteration of a loop (`S2R`), which waits for
/// the warp's memory queue: hundreds of clocks after atomic additions. A role
/// with an increased register budget has no register left for it.
bool RoleBuilder::keepsThread(unsigned index) {
  return op.getRegisters()[index] <= launched &&
         addsToMemory(op.getRoles()[index]);
}

/// The thread index in the CTA for the roles that keep it: ptxas does not
/// recompute the result of a shuffle.
Value RoleBuilder::emitKeptThread() {
  if (!llvm::any_of(llvm::seq<unsigned>(0, op.getRoles().size()),
                    [&](unsigned index) { return keepsThread(index); }))
    return thread;
  return NVVM::ShflOp::create(b, loc, thread.getType(), emitI32(b, loc, -1),
                              thread, emitI32(b, loc, 0),
                              emitI32(b, loc, kLanes - 1), NVVM::ShflKind::bfly,
                              /*return_value_and_is_valid=*/UnitAttr());
}

void RoleBuilder::emitRole(unsigned index, Block *block) {
  Role role;
  role.name = cast<StringAttr>(op.getNames()[index]);
  role.body = block;
  role.firstWarp = op.getFirstWarp(index);
  role.warps = op.getWarps()[index];
  Region &region = op.getRoles()[index];
  role.isSingleWarp = warp::fitsOneWarp(region);

  role.thread =
      arith::SubIOp::create(b, loc, keepsThread(index) ? keptThread : thread,
                            emitI32(b, loc, kLanes * role.firstWarp));
  // LLVM derives no known zero bits from a difference.
  role.thread = arith::AndIOp::create(
      b, loc, role.thread,
      emitI32(b, loc, llvm::PowerOf2Ceil(kLanes * role.warps) - 1));
  if (result.rank)
    role.thread = arith::AddIOp::create(
        b, loc, role.thread,
        arith::MulIOp::create(b, loc, result.rank,
                              emitI32(b, loc, kLanes * role.warps)));
  role.warp =
      arith::SubIOp::create(b, loc, warp, emitI32(b, loc, role.firstWarp));
  Block *target = block;
  if (role.isSingleWarp) {
    // All lanes take the branch: ptxas keeps values in uniform registers only
    // where control flow is warp-uniform.
    Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        role.warp, emitI32(b, loc, 0));
    target =
        scf::IfOp::create(b, loc, first, /*withElseRegion=*/false).thenBlock();
    b.setInsertionPointToStart(target);
  }
  role.leader = NVVM::ElectSyncOp::create(b, loc, b.getI1Type(),
                                          /*membermask=*/Value());

  Block &body = region.front();
  for (auto [argument, capture] :
       llvm::zip(body.getArguments(), op.getCaptures()))
    argument.replaceAllUsesWith(capture);
  body.getTerminator()->erase();
  target->getOperations().splice(target->getTerminator()->getIterator(),
                                 body.getOperations());
  result.roles.push_back(role);
}

/// Also computes the registers that the launch gives each thread: the same
/// number for all, rounded down. Roles may only redistribute them; a kernel
/// whose budgets exceed the total deadlocks.
static LogicalResult checkSpecialize(warp::SpecializeOp op,
                                     gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                     int64_t &launched) {
  if (op->getParentOp() != kernel)
    return op.emitOpError("must be in the kernel's entry block");
  const TargetInfo *target =
      lookupTarget(abi.getTarget(), [&] { return abi.emitError(); });
  if (!target)
    return failure();
  if (!target->hasRoles()) {
    InFlightDiagnostic diag = op.emitOpError("needs target ");
    llvm::interleave(
        llvm::make_filter_range(
            getTargets(),
            [](const TargetInfo &other) { return other.hasRoles(); }),
        diag,
        [&](const TargetInfo &other) { diag << "'" << other.name << "'"; },
        " or ");
    return diag << ", found '" << abi.getTarget() << "'";
  }
  WalkResult walk = kernel.walk([&](warp::TmemAllocOp alloc) -> WalkResult {
    if (!target->tensorMemoryDots)
      return alloc.emitOpError("needs a target with tensor memory, found '")
             << target->name << "'";
    if (int64_t(abi.getSharedMemory()) < warp::kSpareSharedBytes)
      return alloc.emitOpError("needs ")
             << warp::kSpareSharedBytes
             << " bytes of shared memory for its address, found "
             << int64_t(abi.getSharedMemory())
             << "; run 'warp-allocate-shared-memory' first";
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  int64_t warps = op.getNumWarps();
  int64_t wanted = 0;
  for (auto [count, registers] : llvm::zip(op.getWarps(), op.getRegisters()))
    wanted += count * registers;
  launched = target->registers / (kLanes * warps) / kBudgetStep * kBudgetStep;
  if (wanted > launched * warps)
    return op.emitOpError("roles need ")
           << wanted * kLanes << " registers: a launch of " << warps
           << " warps has " << launched * warps * kLanes;
  if (int64_t(abi.getThreads()) != kLanes * warps)
    return abi.emitError("kernel needs 32 threads for each of ")
           << warps << " warps of its roles, found " << abi.getThreads();
  if (op.getCluster() != abi.getCluster())
    return abi.emitError("roles need clusters of ")
           << int64_t(op.getCluster()) << " CTAs, found "
           << int64_t(abi.getCluster());
  return success();
}

/// Buffers of ones are initialised before the roles start.
static LogicalResult checkOnes(gpu::GPUFuncOp kernel, bool hasRoles) {
  WalkResult walk = kernel.walk([&](warp::OnesOp ones) -> WalkResult {
    if (!hasRoles)
      return ones.emitError("a buffer of ones needs a kernel with roles");
    if (ones.getOffset())
      return WalkResult::advance();
    return ones.emitError("buffer of ones has no offset; run "
                          "'warp-allocate-shared-memory' first");
  });
  return failure(walk.wasInterrupted());
}

FailureOr<Specialization> fovea::openRoles(gpu::GPUFuncOp kernel,
                                           launch::AbiOp abi) {
  Specialization result;
  SmallVector<warp::SpecializeOp> ops;
  kernel.walk([&](warp::SpecializeOp op) { ops.push_back(op); });
  if (failed(checkOnes(kernel, /*hasRoles=*/!ops.empty())))
    return failure();
  if (ops.empty())
    return result;
  if (ops.size() > 1) {
    ops[1].emitOpError("is the second one of the kernel: expected at most one");
    return failure();
  }
  int64_t launched = 0;
  if (failed(checkSpecialize(ops.front(), kernel, abi, launched)))
    return failure();
  result.launchedRegisters = launched;
  RoleBuilder(ops.front(), abi, launched, result).run();
  return result;
}

void fovea::numberThreads(const Specialization &kernel) {
  for (const Role &role : kernel.roles) {
    OpBuilder b(role.body->getParentOp()->getContext());
    b.setInsertionPointAfterValue(role.thread);
    Value number = arith::IndexCastOp::create(b, role.thread.getLoc(),
                                              b.getIndexType(), role.thread);
    SmallVector<gpu::ThreadIdOp> ids;
    role.body->walk([&](gpu::ThreadIdOp id) {
      if (id.getDimension() == gpu::Dimension::x)
        ids.push_back(id);
    });
    for (gpu::ThreadIdOp id : ids) {
      id.replaceAllUsesWith(number);
      id.erase();
    }
  }
}
