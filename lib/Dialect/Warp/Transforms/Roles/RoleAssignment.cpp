//===- RoleAssignment.cpp - Assign ops to roles ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements RoleAssignment: assigns named ops first, then the ops that follow
// them, then waits and releases by a fixpoint over the slices of the roles.
// Checks the result for data races and deadlocks.
//
//===----------------------------------------------------------------------===//

#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// The name that a role owns if it owns all names without another owner.
static constexpr StringLiteral kRest = "*";

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// The role that owns the name itself, or else its family (the part before the
/// first dot); or null.
static plan::RoleAttr lookupListed(ArrayRef<plan::RoleAttr> roles,
                                   StringAttr name) {
  if (!name)
    return {};
  StringRef family = name.strref().split('.').first;
  for (StringAttr listed : {name, StringAttr::get(name.getContext(), family)})
    for (plan::RoleAttr role : roles)
      if (role.ownsName(listed))
        return role;
  return {};
}

SmallVector<plan::RoleAttr> warp::getRoles(gpu::GPUFuncOp kernel,
                                           launch::AbiOp abi) {
  SmallVector<plan::RoleAttr> roles(abi.getPlan().getRoles());
  auto *copier = llvm::find_if(
      roles, [](plan::RoleAttr role) { return role.getCopies(); });
  if (copier == roles.end())
    return roles;
  llvm::SetVector<Attribute> copied;
  kernel.walk([&](CopyOp copy) {
    if (copy.getNameAttr() && !lookupListed(roles, copy.getNameAttr()))
      copied.insert(copy.getNameAttr());
  });
  *copier = plan::RoleAttr::get(
      kernel.getContext(), copier->getName(), copier->getWarps(),
      copier->getRegisters(),
      ArrayAttr::get(kernel.getContext(), copied.getArrayRef()));
  return roles;
}

plan::RoleAttr warp::lookupOwner(ArrayRef<plan::RoleAttr> roles,
                                 StringAttr name) {
  if (plan::RoleAttr role = lookupListed(roles, name))
    return role;
  if (roles.empty())
    return {};
  return lookupListed(roles,
                      StringAttr::get(roles.front().getContext(), kRest));
}

bool warp::runsInEachRole(Operation *op) {
  return isa<NextWorkOp, launch::AwaitPreviousOp>(op);
}

bool warp::makesShared(Operation *op) {
  return isa<AllocOp, OnesOp, TmemAllocOp, PipelineOp, MailboxOp, TurnsOp>(op);
}

bool warp::isSharedValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  return makesShared(value.getDefiningOp());
}

bool warp::isOneWarps(Value value) {
  if (value.getDefiningOp<tile::OwnedRowsOp>())
    return false;
  return isReplicatedPerWarp(value.getType());
}

std::string RoleAssignment::list(Roles set) const {
  std::string text;
  for (auto [index, role] : llvm::enumerate(roles))
    if (set >> index & 1)
      text += (text.empty() ? "@" : ", @") + role.getName().str();
  return text;
}

RoleAssignment::Roles RoleAssignment::getOwner(StringAttr name) const {
  plan::RoleAttr owner = lookupOwner(roles, name);
  return owner ? Roles(1) << std::distance(roles.begin(),
                                           llvm::find(roles, owner))
               : 0;
}

unsigned RoleAssignment::getProducer(ProducerAcquireOp acquire) const {
  return llvm::countr_zero(owners.lookup(acquire));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

RoleAssignment::Memory RoleAssignment::getMemory(Value value) {
  Memory memory;
  if (auto type = dyn_cast<MemRefType>(value.getType()))
    memory.element = type.getElementType();
  while (true) {
    if (auto stage = value.getDefiningOp<StageOp>()) {
      value = stage.getBuffer();
    } else if (auto view = value.getDefiningOp<TmemViewOp>()) {
      memory.from += view.getFrom();
      value = view.getSource();
    } else {
      memory.root = value;
      return memory;
    }
  }
}

RoleAssignment::Stream *RoleAssignment::findStream(Value pipeline) {
  for (Stream &stream : streams)
    if (stream.pipeline.getPipeline() == pipeline)
      return &stream;
  return nullptr;
}

/// The buffer, accumulator or mailbox that an op fills, or null.
static Value getFilled(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getTarget();
  if (auto store = dyn_cast<LocalStoreOp>(op))
    return store.getTarget();
  if (auto store = dyn_cast<TmemStoreOp>(op))
    return store.getTarget();
  if (auto dot = dyn_cast<DotIntoOp>(op))
    return dot.getAcc();
  if (auto send = dyn_cast<SendOp>(op))
    return send.getMailbox();
  return {};
}

/// True for stores to a stage. Without a name, the producer of the stage runs
/// the store; with a name, the owner does.
static bool isStoreToStage(Operation *op) {
  return isa<LocalStoreOp, TmemStoreOp, SendOp>(op);
}

static bool isAcquire(Operation *op) {
  auto pipelineOp = dyn_cast<PipelineOpInterface>(op);
  return pipelineOp && pipelineOp.getOpKind() == PipelineOpKind::Acquire;
}
static bool isCommit(Operation *op) {
  auto pipelineOp = dyn_cast<PipelineOpInterface>(op);
  return pipelineOp && pipelineOp.getOpKind() == PipelineOpKind::Commit;
}
static bool isConsumerOp(Operation *op) {
  auto pipelineOp = dyn_cast<PipelineOpInterface>(op);
  return pipelineOp && !pipelineOp.isProducerOp();
}

//===----------------------------------------------------------------------===//
// Assignment by name
//===----------------------------------------------------------------------===//

LogicalResult RoleAssignment::assignNamed() {
  kernel.walk([&](PipelineOp op) {
    Stream &stream = streams.emplace_back();
    stream.pipeline = op;
    stream.producer = getOwner(op.getNameAttr());
  });
  Roles all = (Roles(1) << roles.size()) - 1, rest = getOwner({});
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    if (op == kernel || isStructural(op) || makesShared(op) ||
        op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    auto named = dyn_cast<tile::NamedOpInterface>(op);
    StringAttr name = named ? named.getNameAttr() : StringAttr();
    Roles &owner = owners[op];
    if (runsInEachRole(op)) {
      owner = all;
    } else if (isAcquire(op) || isCommit(op)) {
      Stream *stream = findStream(op->getOperand(0));
      if (!stream)
        return op->emitError("expected a pipeline that the kernel creates");
      owner = stream->producer;
    } else if (onlyReads(op)) {
      // Every role may run a read, unless a role owns its name.
      Roles named = name ? getOwner(name) : 0;
      owner = named == rest ? 0 : named;
    } else if (!isConsumerOp(op) &&
               !isa<ZeroRowsOp, FenceStoresOp, CopyOutWaitOp, BeginTurnOp,
                    EndTurnOp, DotWaitOpInterface>(op) &&
               (name || !isStoreToStage(op))) {
      owner = getOwner(name);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult RoleAssignment::collectFills(Block &block,
                                           SmallVector<Stream *, 2> open) {
  for (Operation &op : block) {
    if (isAcquire(&op))
      open.push_back(findStream(op.getOperand(0)));
    else if (isCommit(&op))
      llvm::erase(open, findStream(op.getOperand(0)));
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(collectFills(inner, open)))
          return failure();
    Value filled = getFilled(&op);
    if (!filled || (isa<CopyOp>(op) && !cast<CopyOp>(op).getAsync()))
      continue;
    Roles &owner = owners[&op];
    if (owner == 0 && isStoreToStage(&op) && !open.empty())
      owner = open.back()->producer;
    // The op fills the last acquired stage of its role. In-place changes fill
    // no stage.
    for (Stream *stream : llvm::reverse(open))
      if (stream->producer == owner) {
        Memory memory = getMemory(filled);
        if (!llvm::is_contained(stream->memories, memory))
          stream->memories.push_back(memory);
        stream->fills.push_back(&op);
        break;
      }
    if (owner == 0)
      owner = getOwner({});
  }
  return success();
}

/// Assigns the begin and the end of a ping-pong section to the role of its
/// dots.
void RoleAssignment::assignPingPongSections() {
  kernel.walk([&](Operation *op) {
    if (!isa<BeginTurnOp, EndTurnOp>(op))
      return;
    bool isBegin = isa<BeginTurnOp>(op);
    Operation *dot = op;
    while (dot && !isa<DotOp, DotIntoOp>(dot))
      dot = isBegin ? dot->getNextNode() : dot->getPrevNode();
    owners[op] = dot ? owners.lookup(dot) : getOwner({});
  });
}

/// Assigns a wait to the roles of the dots that it may wait for.
LogicalResult RoleAssignment::assignWaits() {
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    auto wait = dyn_cast<DotWaitOpInterface>(op);
    if (!wait)
      return WalkResult::advance();
    FailureOr<SmallVector<DotOp>> dots = findDots(wait.getPending());
    if (failed(dots))
      return op->emitError("waits for a dot that is passed through an op other "
                           "than loops and branches");
    Roles &owner = owners[op];
    for (DotOp dot : *dots)
      owner |= owners.lookup(dot);
    if (dots->empty())
      owner = getOwner({});
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static Value getAccessed(LocalStoreOp op) { return op.getTarget(); }
static Value getAccessed(CopyOutOp op) { return op.getSource(); }

template <typename Op, typename Of>
void RoleAssignment::assignAs() {
  kernel.walk([&](Op op) {
    Value root = getMemory(op.getBuffer()).root;
    Roles set = 0;
    kernel.walk([&](Of of) {
      if (getMemory(getAccessed(of)).root == root)
        set |= owners.lookup(of);
    });
    owners[op] = set ? set : getOwner({});
  });
}

//===----------------------------------------------------------------------===//
// Assignment of consumers
//===----------------------------------------------------------------------===//

RoleAssignment::Roles RoleAssignment::getRunning(Operation *op) const {
  Roles running = owners.lookup(op);
  for (auto [role, slice] : llvm::enumerate(slices))
    if (slice.isLive(op))
      running |= Roles(1) << role;
  return running;
}

/// Collects the reads of each stream, and the ops that its consumers must run.
void RoleAssignment::findReaders() {
  kernel.walk([&](Operation *op) {
    if (isa<StageOp, TmemViewOp, FenceStoresOp, CopyOutWaitOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType, MailboxType>(operand.getType()))
        continue;
      Memory memory = getMemory(operand);
      for (Stream &stream : streams)
        if (llvm::is_contained(stream.memories, memory) &&
            !llvm::is_contained(stream.fills, op))
          (isa<ZeroRowsOp>(op) ? stream.consumerOps : stream.reads)
              .push_back(op);
    }
  });
  for (Stream &stream : streams)
    for (Operation *user : stream.pipeline.getPipeline().getUsers())
      if (isConsumerOp(user))
        stream.consumerOps.push_back(user);
  for (Stream &stream : streams)
    if (stream.memories.empty())
      findGuarded(stream);
}

/// True if the op writes to a memref argument of the kernel.
static bool writesToArgument(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> writes;
  if (effects)
    effects.getEffects<MemoryEffects::Write>(writes);
  return llvm::any_of(writes, [](const auto &effect) {
    return isa_and_nonnull<BlockArgument>(effect.getValue());
  });
}

/// A pipeline without data acts as a lock: its consumers may write to the
/// kernel's tensors between wait and release.
void RoleAssignment::findGuarded(Stream &stream) {
  for (Operation *pipelineOp : stream.consumerOps) {
    if (!isa<ConsumerWaitOp>(pipelineOp))
      continue;
    for (Operation *op = pipelineOp->getNextNode(); op;
         op = op->getNextNode()) {
      if (isConsumerOp(op) && op->getOperand(0) == pipelineOp->getOperand(0))
        break;
      if (writesToArgument(op))
        stream.reads.push_back(op);
    }
  }
}

RoleAssignment::Roles RoleAssignment::getReaders(const Stream &stream) const {
  Roles readers = 0;
  for (Operation *op : stream.reads)
    readers |= getRunning(op);
  // The producer may read back its own data.
  return readers & ~stream.producer;
}

RoleAssignment::Roles RoleAssignment::getOrdered(const Stream &stream) const {
  if (Roles readers = getReaders(stream))
    return readers;
  Roles waiting = 0;
  for (Operation *op : stream.consumerOps)
    if (isa<ConsumerWaitOp>(op))
      waiting |= getRunning(op);
  return waiting;
}

RoleAssignment::Roles
RoleAssignment::getFallbackConsumer(const Stream &stream) const {
  if (Roles rest = getOwner({}) & ~stream.producer)
    return rest;
  std::optional<unsigned> most;
  for (auto [role, attr] : llvm::enumerate(roles))
    if (!(stream.producer >> role & 1) &&
        (!most || attr.getWarps() > roles[*most].getWarps()))
      most = role;
  return most ? Roles(1) << *most : 0;
}

LogicalResult RoleAssignment::assignReaders() {
  findReaders();
  for (unsigned role = 0; role < roles.size(); ++role) {
    slices.emplace_back(getOwns(role), isSharedValue,
                        [this](Operation *op) { return isOwned(op); });
    if (failed(slices.back().analyze(kernel.getBody().front(),
                                     [](Operation *) { return false; })))
      return failure();
  }
  // Roles are only ever added, so the iteration terminates.
  auto assign = [&](Operation *op, Roles readers) -> LogicalResult {
    Roles added = readers & ~owners.lookup(op);
    owners[op] |= added;
    for (auto [role, slice] : llvm::enumerate(slices))
      if ((added >> role & 1) && failed(slice.add(op)))
        return failure();
    return success();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Stream &stream : streams) {
      Roles readers = getReaders(stream);
      for (Operation *op : stream.consumerOps) {
        changed |= (readers & ~owners.lookup(op)) != 0;
        if (failed(assign(op, readers)))
          return failure();
      }
    }
  }
  // A stream without readers still needs a consumer, for example if a mask
  // hides all blocks.
  for (Stream &stream : streams)
    for (Operation *op : stream.consumerOps)
      if (getReaders(stream) == 0 &&
          failed(assign(op, getFallbackConsumer(stream))))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult RoleAssignment::checkAssigned() {
  // Report ops without an owner first: they cause pipelines without a consumer.
  for (bool ofReaders : {false, true}) {
    WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
      if (op == kernel || isStructural(op) || makesShared(op) ||
          onlyReads(op) || op->hasTrait<OpTrait::IsTerminator>() ||
          isOwned(op) || isConsumerOp(op) != ofReaders)
        return WalkResult::advance();
      if (ofReaders)
        return op->emitError("pipeline has no consumer: expected a reader "
                             "outside its producer role");
      return op->emitError("no role runs this: no role owns its name, and none "
                           "owns \"*\"");
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

/// True for a load of a row or column vector from shared memory.
static bool loadsVector(Operation *op) {
  auto load = dyn_cast<LocalLoadOp>(op);
  return load && llvm::is_contained(load.getType().getShape(), 1);
}

/// True for tiles computed from constants, scalars, such vectors and unwritten
/// tensors: every role that needs them may compute them. `known` caches
/// results, because operands may be shared.
static bool isRematerializable(Value value, DenseMap<Value, bool> &known) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *def = value.getDefiningOp();
  bool isRecomputable = def && def->getNumRegions() == 0 &&
                        (isMemoryEffectFree(def) || loadsVector(def) ||
                         tile::readsUnwrittenTensor(def)) &&
                        llvm::all_of(def->getOperands(), [&](Value operand) {
                          return isRematerializable(operand, known);
                        });
  return known[value] = isRecomputable;
}

LogicalResult RoleAssignment::checkCrossings() {
  DenseMap<Value, bool> made;
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    Roles both = getRunning(op);
    if (llvm::popcount(both) < 2 || isStructural(op))
      return WalkResult::advance();
    for (Value result : op->getResults())
      if (!isOneWarps(result) && isa<RankedTensorType>(result.getType()) &&
          !isRematerializable(result, made))
        return op->emitError("roles ")
               << list(both)
               << " need this tile: it must pass through a stream that one "
                  "role fills and the others read";
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
/// The accesses of all roles to one memory.
struct Uses {
  uint64_t write = 0, any = 0;
  /// True if it is read; true if it is written by other ops than additions.
  bool isRead = false, isSet = false;
  SmallVector<Operation *> writers, ops;
};
} // namespace

static StringRef getFamily(Operation *op) {
  auto named = dyn_cast<tile::NamedOpInterface>(op);
  return tile::getFamily(named ? named.getNameAttr() : StringAttr());
}

/// No pipeline orders writes of several roles to a host tensor, so they must
/// write different elements. Stores of one family do, because each has its own
/// rows; other stores may not.
LogicalResult RoleAssignment::checkWriters(ArrayRef<Operation *> writers) {
  Operation *first = writers.front();
  StringRef family = getFamily(first);
  for (Operation *op : writers) {
    if (!family.empty() && getFamily(op) == family)
      continue;
    const auto *other = llvm::find_if(writers, [&](Operation *other) {
      return getRunning(other) != getRunning(op);
    });
    if (other == writers.end())
      continue;
    InFlightDiagnostic diag =
        op->emitError("this op of ")
        << list(getRunning(op)) << " writes a tensor that "
        << list(getRunning(*other))
        << " also writes: stores of several roles into one tensor must be "
           "parts of one family, as \"out.0\" and \"out.1\" are";
    diag.attachNote((*other)->getLoc()) << "the other store";
    return diag;
  }
  return success();
}

/// True for atomic additions to `memory`, which do not return the old value.
static bool isAddition(Operation *op, Value memory) {
  auto store = dyn_cast<tile::AddsToMemoryOpInterface>(op);
  return store && store.isAddition() && store.getTarget() == memory;
}

LogicalResult RoleAssignment::checkMemory() {
  llvm::MapVector<Value, Uses> memories;
  kernel.walk([&](MemoryEffectOpInterface op) {
    Roles running = getRunning(op);
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const auto &effect : effects) {
      Value value = effect.getValue();
      // Several roles may use a semaphore.
      if (!running || !value || !isa<MemRefType>(value.getType()) ||
          isa<FenceStoresOp, CopyOutWaitOp, tile::SemaphoreWaitOp,
              tile::SemaphoreReleaseOp>(op.getOperation()))
        continue;
      Uses &uses = memories[getMemory(value).root];
      uses.any |= running;
      uses.ops.push_back(op);
      if (!isa<MemoryEffects::Write>(effect.getEffect())) {
        uses.isRead |= !isAddition(op, value);
        continue;
      }
      uses.write |= running;
      uses.isSet |= !isAddition(op, value);
      uses.writers.push_back(op);
    }
  });
  for (auto &[root, uses] : memories) {
    if (isa<BlockArgument>(root) && !uses.isRead) {
      // Several roles may add to the same element.
      if (llvm::popcount(uses.write) > 1 && uses.isSet &&
          failed(checkWriters(uses.writers)))
        return failure();
      continue;
    }
    Roles ordered = 0;
    for (const Stream &stream : streams)
      if (llvm::any_of(stream.memories, [&, root = root](const Memory &memory) {
            return memory.root == root;
          }))
        ordered |= stream.producer | getOrdered(stream);
    Roles all = uses.any;
    if (uses.write == 0 || llvm::popcount(all) < 2 || (all & ~ordered) == 0)
      continue;
    Operation *writer = uses.writers.back();
    Roles writing = getRunning(writer);
    Operation **other = llvm::find_if(
        uses.ops, [&](Operation *op) { return getRunning(op) & ~writing; });
    InFlightDiagnostic diag = writer->emitError("this op of ")
                              << list(writing) << " writes memory that "
                              << list(all & ~writing)
                              << " uses, but no stream orders the two accesses";
    if (other != uses.ops.end())
      diag.attachNote((*other)->getLoc()) << "used here";
    return diag;
  }
  return success();
}

/// Checks for deadlocks: in a ping-pong section, a warp group must not wait for
/// a stage that another group of the role releases in its own, later section.
LogicalResult RoleAssignment::checkPingPongSections() {
  WalkResult walk = kernel.walk([&](BeginTurnOp begin) -> WalkResult {
    struct Count {
      int64_t waited = 0, released = 0, held = 0;
      Operation *release = nullptr;
    };
    llvm::MapVector<Value, Count> counts;
    if (begin.getTurns().getType().getGroups() < 2)
      return WalkResult::advance();
    for (Operation *op = begin->getNextNode(); op && !isa<EndTurnOp>(op);
         op = op->getNextNode()) {
      if (!isConsumerOp(op) || !(owners.lookup(op) & owners.lookup(begin)))
        continue;
      auto pipeline = cast<TypedValue<PipelineType>>(op->getOperand(0));
      Count &count = counts[pipeline];
      if (!isa<ConsumerWaitOp>(op)) {
        count.release = op;
        ++count.released;
        // Stages released here that were waited for before the section.
        count.held = std::max(count.held, count.released - count.waited);
        continue;
      }
      int64_t stages = pipeline.getType().getStages();
      if (count.release && count.waited + count.held >= stages) {
        InFlightDiagnostic diag =
            op->emitError("deadlock: waits inside a ping-pong section for a "
                          "stage released in another group's section");
        diag.attachNote(count.release->getLoc()) << "released here";
        return diag;
      }
      ++count.waited;
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// RoleAssignment
//===----------------------------------------------------------------------===//

LogicalResult RoleAssignment::compute() {
  // One bit per role; the last bit is needed to compute the mask of all roles.
  constexpr size_t most = std::numeric_limits<Roles>::digits - 1;
  if (roles.size() > most)
    return kernel.emitError("a kernel must have at most ")
           << most << " roles, found " << roles.size();
  if (failed(assignNamed()) ||
      failed(collectFills(kernel.getBody().front(), {})))
    return failure();
  assignPingPongSections();
  assignAs<FenceStoresOp, LocalStoreOp>();
  assignAs<CopyOutWaitOp, CopyOutOp>();
  if (failed(assignWaits()) || failed(assignReaders()))
    return failure();
  for (unsigned role = 0; role < roles.size(); ++role)
    if (kernel
            .walk([&](CopyOp copy) {
              return owns(role, copy) ? WalkResult::interrupt()
                                      : WalkResult::advance();
            })
            .wasInterrupted()) {
      fetcher = role;
      break;
    }
  if (failed(checkAssigned()) || failed(checkCrossings()) ||
      failed(checkPingPongSections()))
    return failure();
  return checkMemory();
}

void RoleAssignment::print(raw_ostream &os) {
  os << "roles of @" << kernel.getName() << "\n";
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isOwned(op))
      return;
    os << "  " << op->getName();
    auto named = dyn_cast<tile::NamedOpInterface>(op);
    if (named && named.getNameAttr())
      os << " " << named.getNameAttr();
    Stream *stream =
        op->getNumOperands() ? findStream(op->getOperand(0)) : nullptr;
    if (stream && stream->pipeline.getNameAttr())
      os << " of " << stream->pipeline.getNameAttr();
    os << ": " << list(owners.lookup(op)) << "\n";
  });
}
