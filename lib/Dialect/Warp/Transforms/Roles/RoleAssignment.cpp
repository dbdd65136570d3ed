//===- RoleAssignment.cpp - Which roles run what ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

// What a role owns that owns all names that nobody else does.
static constexpr StringLiteral kRest = "*";

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// The role that owns the name itself, or else its family, its first word; or
/// null.
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
  if (value.getDefiningOp<tile::HeldRowsOp>())
    return false;
  return isWholeInWarps(value.getType());
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

unsigned RoleAssignment::getFiller(ProducerAcquireOp acquire) const {
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

/// What an op fills a stage with.
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

/// Stores into a stage that the role fills, or, with a name, into one that its
/// owner holds.
static bool isStoreToStage(Operation *op) {
  return isa<LocalStoreOp, TmemStoreOp, SendOp>(op);
}

static bool isAcquire(Operation *op) {
  auto verb = dyn_cast<PipelineVerbOpInterface>(op);
  return verb && verb.getVerb() == PipelineVerb::Acquire;
}
static bool isCommit(Operation *op) {
  auto verb = dyn_cast<PipelineVerbOpInterface>(op);
  return verb && verb.getVerb() == PipelineVerb::Commit;
}
static bool isReadersVerb(Operation *op) {
  auto verb = dyn_cast<PipelineVerbOpInterface>(op);
  return verb && !verb.isProducers();
}

//===----------------------------------------------------------------------===//
// By names
//===----------------------------------------------------------------------===//

LogicalResult RoleAssignment::assignNamed() {
  kernel.walk([&](PipelineOp op) {
    Stream &stream = streams.emplace_back();
    stream.pipeline = op;
    stream.filler = getOwner(op.getNameAttr());
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
        return op->emitError("needs a pipeline of the kernel's own");
      owner = stream->filler;
    } else if (onlyReads(op)) {
      // Everybody may read, but for what is somebody's by name.
      Roles named = name ? getOwner(name) : 0;
      owner = named == rest ? 0 : named;
    } else if (!isReadersVerb(op) &&
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
      owner = open.back()->filler;
    // Of the stages that its role fills the last one; a change in place is part
    // of none.
    for (Stream *stream : llvm::reverse(open))
      if (stream->filler == owner) {
        Memory memory = getMemory(filled);
        if (!llvm::is_contained(stream->brought, memory))
          stream->brought.push_back(memory);
        stream->fills.push_back(&op);
        break;
      }
    if (owner == 0)
      owner = getOwner({});
  }
  return success();
}

/// A turn is that of the dots in it.
void RoleAssignment::assignTurns() {
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

/// A wait is that of the dots which may give what it waits for.
LogicalResult RoleAssignment::assignWaits() {
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    auto wait = dyn_cast<DotWaitOpInterface>(op);
    if (!wait)
      return WalkResult::advance();
    FailureOr<SmallVector<DotOp>> dots = findDots(wait.getPending());
    if (failed(dots))
      return op->emitError("waits for a dot that comes through something else "
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
// By who reads
//===----------------------------------------------------------------------===//

RoleAssignment::Roles RoleAssignment::getRunning(Operation *op) const {
  Roles running = owners.lookup(op);
  for (auto [role, slice] : llvm::enumerate(slices))
    if (slice.isLive(op))
      running |= Roles(1) << role;
  return running;
}

/// Lists for each stream who would read it and what readers have to do.
void RoleAssignment::findReaders() {
  kernel.walk([&](Operation *op) {
    if (isa<StageOp, TmemViewOp, FenceStoresOp, CopyOutWaitOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType, MailboxType>(operand.getType()))
        continue;
      Memory memory = getMemory(operand);
      for (Stream &stream : streams)
        if (llvm::is_contained(stream.brought, memory) &&
            !llvm::is_contained(stream.fills, op))
          (isa<ZeroRowsOp>(op) ? stream.verbs : stream.reads).push_back(op);
    }
  });
  for (Stream &stream : streams)
    for (Operation *user : stream.pipeline.getPipeline().getUsers())
      if (isReadersVerb(user))
        stream.verbs.push_back(user);
  for (Stream &stream : streams)
    if (stream.brought.empty())
      findGuarded(stream);
}

/// Whether the op writes to memory that the kernel was given.
static bool writesToArgument(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> writes;
  if (effects)
    effects.getEffects<MemoryEffects::Write>(writes);
  return llvm::any_of(writes, [](const auto &effect) {
    return isa_and_nonnull<BlockArgument>(effect.getValue());
  });
}

/// A pipeline that brings nothing says when its readers may write to the
/// kernel's tensors: from a wait to its release.
void RoleAssignment::findGuarded(Stream &stream) {
  for (Operation *verb : stream.verbs) {
    if (!isa<ConsumerWaitOp>(verb))
      continue;
    for (Operation *op = verb->getNextNode(); op; op = op->getNextNode()) {
      if (isReadersVerb(op) && op->getOperand(0) == verb->getOperand(0))
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
  // What it filled itself, the filler may read back.
  return readers & ~stream.filler;
}

RoleAssignment::Roles RoleAssignment::getOrdered(const Stream &stream) const {
  if (Roles readers = getReaders(stream))
    return readers;
  Roles waiting = 0;
  for (Operation *op : stream.verbs)
    if (isa<ConsumerWaitOp>(op))
      waiting |= getRunning(op);
  return waiting;
}

RoleAssignment::Roles RoleAssignment::getEmptier(const Stream &stream) const {
  if (Roles rest = getOwner({}) & ~stream.filler)
    return rest;
  std::optional<unsigned> most;
  for (auto [role, attr] : llvm::enumerate(roles))
    if (!(stream.filler >> role & 1) &&
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
  // Who runs more may read more, never less.
  auto give = [&](Operation *op, Roles readers) -> LogicalResult {
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
      for (Operation *op : stream.verbs) {
        changed |= (readers & ~owners.lookup(op)) != 0;
        if (failed(give(op, readers)))
          return failure();
      }
    }
  }
  // What nobody needs, as where a mask hides everything, is emptied by whoever
  // has the rest.
  for (Stream &stream : streams)
    for (Operation *op : stream.verbs)
      if (getReaders(stream) == 0 && failed(give(op, getEmptier(stream))))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult RoleAssignment::checkAssigned() {
  // What nobody reads may be due to what nobody runs.
  for (bool ofReaders : {false, true}) {
    WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
      if (op == kernel || isStructural(op) || makesShared(op) ||
          onlyReads(op) || op->hasTrait<OpTrait::IsTerminator>() ||
          isOwned(op) || isReadersVerb(op) != ofReaders)
        return WalkResult::advance();
      if (ofReaders)
        return op->emitError("nobody but its filler reads what the pipeline "
                             "brings");
      return op->emitError("no role runs this: no role owns its name, and none "
                           "owns \"*\"");
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

/// A number for each row, or each column, as it lies in shared memory.
static bool loadsNumbers(Operation *op) {
  auto load = dyn_cast<LocalLoadOp>(op);
  return load && llvm::is_contained(load.getType().getShape(), 1);
}

/// Tiles made of constants and scalars alone, of such numbers, and of tensors
/// that nobody writes, are made by whoever needs them. `known` has what was
/// asked before: operands may be shared.
static bool isMadeAnywhere(Value value, DenseMap<Value, bool> &known) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *def = value.getDefiningOp();
  bool isMade = def && def->getNumRegions() == 0 &&
                (isMemoryEffectFree(def) || loadsNumbers(def) ||
                 tile::readsUnwrittenTensor(def)) &&
                llvm::all_of(def->getOperands(), [&](Value operand) {
                  return isMadeAnywhere(operand, known);
                });
  return known[value] = isMade;
}

LogicalResult RoleAssignment::checkCrossings() {
  DenseMap<Value, bool> made;
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    Roles both = getRunning(op);
    if (llvm::popcount(both) < 2 || isStructural(op))
      return WalkResult::advance();
    for (Value result : op->getResults())
      if (!isOneWarps(result) && isa<RankedTensorType>(result.getType()) &&
          !isMadeAnywhere(result, made))
        return op->emitError("roles ")
               << list(both)
               << " need this tile: it must cross through a stream that one "
                  "role fills and the others read";
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
/// What roles do with one memory.
struct Uses {
  uint64_t write = 0, any = 0;
  /// Whether it is read, or written otherwise than by additions.
  bool isRead = false, isSet = false;
  SmallVector<Operation *> writers, ops;
};
} // namespace

static StringRef getFamily(Operation *op) {
  auto named = dyn_cast<tile::NamedOpInterface>(op);
  return tile::getFamily(named ? named.getNameAttr() : StringAttr());
}

/// Nothing orders what several roles write to a tensor of the host's, so they
/// must write different elements of it. Parts of one family do: each has rows
/// of its own. Of other stores nobody says that.
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
        op->emitError("writes, as ")
        << list(getRunning(op)) << ", a tensor that "
        << list(getRunning(*other))
        << " writes, too: stores of several roles into one tensor must be "
           "parts of one family, as \"out.0\" and \"out.1\" are";
    diag.attachNote((*other)->getLoc()) << "the other one's";
    return diag;
  }
  return success();
}

/// What is added to memory is added there: nobody learns what it was before.
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
      // Semaphores are there for several to use.
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
      // Several may add to one element.
      if (llvm::popcount(uses.write) > 1 && uses.isSet &&
          failed(checkWriters(uses.writers)))
        return failure();
      continue;
    }
    Roles ordered = 0;
    for (const Stream &stream : streams)
      if (llvm::any_of(stream.brought, [&, root = root](const Memory &memory) {
            return memory.root == root;
          }))
        ordered |= stream.filler | getOrdered(stream);
    Roles all = uses.any;
    if (uses.write == 0 || llvm::popcount(all) < 2 || (all & ~ordered) == 0)
      continue;
    Operation *writer = uses.writers.back();
    Roles writing = getRunning(writer);
    Operation **other = llvm::find_if(
        uses.ops, [&](Operation *op) { return getRunning(op) & ~writing; });
    InFlightDiagnostic diag = writer->emitError("writes, as ")
                              << list(writing) << ", memory that "
                              << list(all & ~writing)
                              << " uses, and no stream orders the two";
    if (other != uses.ops.end())
      diag.attachNote((*other)->getLoc()) << "used here";
    return diag;
  }
  return success();
}

/// In a turn, a wait may need a stage that the role's other warp groups must
/// release first, those too whose turn has not come.
LogicalResult RoleAssignment::checkTurns() {
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
      if (!isReadersVerb(op) || !(owners.lookup(op) & owners.lookup(begin)))
        continue;
      auto pipeline = cast<TypedValue<PipelineType>>(op->getOperand(0));
      Count &count = counts[pipeline];
      if (!isa<ConsumerWaitOp>(op)) {
        count.release = op;
        ++count.released;
        // What it did not wait for in the turn it held before.
        count.held = std::max(count.held, count.released - count.waited);
        continue;
      }
      int64_t stages = pipeline.getType().getStages();
      if (count.release && count.waited + count.held >= stages) {
        InFlightDiagnostic diag = op->emitError(
            "waits in a turn for a stage that warp groups must release first "
            "whose turn has not come");
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
// All of it
//===----------------------------------------------------------------------===//

LogicalResult RoleAssignment::compute() {
  // A bit each, and one to count all of them.
  constexpr size_t most = std::numeric_limits<Roles>::digits - 1;
  if (roles.size() > most)
    return kernel.emitError("a kernel has at most ")
           << most << " roles, found " << roles.size();
  if (failed(assignNamed()) ||
      failed(collectFills(kernel.getBody().front(), {})))
    return failure();
  assignTurns();
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
      failed(checkTurns()))
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
