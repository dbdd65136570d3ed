//===- ProgramTrace.cpp - Traces of shared-memory ops ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the tracer: finds the ops that determine the accesses to shared
// state, and executes them with the folders of the ops.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/ProgramTrace.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Enough steps for a few cycles of every ring, in acceptable compile time.
static constexpr int64_t kMostSteps = 512;

static bool isSharedType(Type type) {
  return isa<PipelineType, MailboxType, TurnsType, PendingType>(type) ||
         isSharedBuffer(type);
}

/// True if the op accesses shared state; ops that only create views of it are
/// excluded.
static bool isEvent(Operation *op) {
  if (isa<LaneSyncOpInterface, LaneAccessOpInterface>(op))
    return true;
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isPure(op) && llvm::any_of(op->getOperandTypes(), isSharedType);
}

static bool takesWork(Operation *op) {
  return isa<FetchWorkOp, NextWorkOp>(op);
}

static bool isFollowed(Type type) {
  return type.isIntOrIndex() || isa<PendingType>(type) || isSharedBuffer(type);
}

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

int64_t World::choose(Location loc) {
  size_t index = unknowns.size();
  int64_t value = values[(number * (index + 1) + index) % values.size()];
  unknowns.push_back({loc, value});
  return value;
}

int64_t World::getValue(Operation *op, unsigned result,
                        ArrayRef<std::optional<int64_t>> operands) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << op->getName() << op->getAttrDictionary() << result;
  for (auto [operand, value] : llvm::zip(op->getOperands(), operands)) {
    if (value)
      stream << ',' << *value;
    else
      stream << ',' << getShared(operand).getAsOpaquePointer();
  }
  auto [entry, isNew] = known.try_emplace(key);
  if (isNew)
    entry->second = choose(op->getLoc());
  return entry->second;
}

int64_t World::getValue(BlockArgument argument) {
  auto [entry, isNew] =
      known.try_emplace("argument " + std::to_string(argument.getArgNumber()));
  if (isNew)
    entry->second = choose(argument.getLoc());
  return entry->second;
}

void World::describe(Diagnostic &diagnostic) const {
  for (auto [loc, value] : unknowns)
    diagnostic.attachNote(loc) << "if this is " << value;
}

//===----------------------------------------------------------------------===//
// Relevance
//===----------------------------------------------------------------------===//

namespace {
/// Collects the ops that access shared state, and their backward slices over
/// integers, control flow and pending dots. Tile computations are excluded.
class Relevance {
public:
  explicit Relevance(Operation *kernel) {
    kernel->walk([&](Operation *op) {
      bool touches = isEvent(op);
      if (touches)
        events.insert(op);
      if (touches || takesWork(op) || isa<SpecializeOp>(op))
        add(op);
    });
    while (!worklist.empty())
      expand(worklist.pop_back_val());
  }
  bool contains(Operation *op) const { return ops.contains(op); }
  llvm::DenseSet<Operation *> takeEvents() { return std::move(events); }

private:
  void add(Operation *op);
  void addValue(Value value) {
    if (isFollowed(value.getType()) && seen.insert(value).second)
      worklist.push_back(value);
  }
  void expand(Value value);
  void addFlow(Operation *op, unsigned index);

  llvm::DenseSet<Operation *> ops, events;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist;
};
} // namespace

/// Adds the op, its operands and its enclosing control flow.
void Relevance::add(Operation *op) {
  if (!ops.insert(op).second)
    return;
  llvm::for_each(op->getOperands(), [&](Value operand) {
    // Loop-carried and yielded values are added only if they are used.
    if (op->getNumRegions() == 0)
      addValue(operand);
  });
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addValue(loop.getLowerBound());
    addValue(loop.getUpperBound());
    addValue(loop.getStep());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addValue(branch.getCondition());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addValue(loop.getConditionOp().getCondition());
  }
  Operation *parent = op->getParentOp();
  if (!isa<SpecializeOp, gpu::GPUFuncOp>(parent))
    add(parent);
}

/// Adds the loop-carried or yielded value `index`.
void Relevance::addFlow(Operation *op, unsigned index) {
  add(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addValue(loop.getInitArgs()[index]);
    addValue(loop.getYieldedValues()[index]);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addValue(branch.thenYield().getOperand(index));
    addValue(branch.elseYield().getOperand(index));
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addValue(loop.getConditionOp().getArgs()[index]);
  }
}

void Relevance::expand(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    if (result.getOwner()->getNumRegions() == 0)
      add(result.getOwner());
    else
      addFlow(result.getOwner(), result.getResultNumber());
    return;
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto roles = dyn_cast<SpecializeOp>(parent)) {
    addValue(roles.getCaptures()[index]);
  } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (index > 0)
      addFlow(loop, index - 1);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    add(loop);
    if (argument.getOwner() == loop.getBeforeBody()) {
      addValue(loop.getInits()[index]);
      addValue(loop.getYieldOp().getOperand(index));
    } else {
      addValue(loop.getConditionOp().getArgs()[index]);
    }
  }
}

TracedOps::TracedOps(gpu::GPUFuncOp kernel) {
  Relevance relevance(kernel);
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!relevance.contains(op))
      return;
    ops[op->getBlock()].push_back(op);
    if (!isa<tile::OwnedRowsOp>(op))
      return;
    for (Region *region = op->getParentRegion(); region;
         region = region->getParentRegion())
      withRows.insert(region);
  });
  events = relevance.takeEvents();
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

namespace {
/// Executes one program. The trace ends where control flow depends on an
/// unknown value.
class Tracer {
public:
  Tracer(const TracedOps &ops, Party party, World &world)
      : ops(ops), party(party), world(world) {
    trace.party = party;
  }

  /// Callback for `warp.specialize`.
  llvm::function_ref<void(SpecializeOp, Tracer &)> onRoles;

  void set(Value value, std::optional<int64_t> integer) {
    if (integer)
      values[value] = *integer;
    else
      values.erase(value);
  }
  std::optional<int64_t> get(Value value);
  /// Fails if the trace ends before the end of the block.
  LogicalResult run(Block &block);

  ProgramTrace trace;

private:
  LogicalResult execute(Operation *op);
  LogicalResult runFor(scf::ForOp loop);
  LogicalResult runWhile(scf::WhileOp loop);
  LogicalResult runIf(scf::IfOp branch);
  void evaluate(Operation *op);
  LogicalResult record(Operation *op);
  void setAll(ValueRange targets, ValueRange sources);

  const TracedOps &ops;
  Party party;
  World &world;
  llvm::DenseMap<Value, int64_t> values;
  int64_t steps = 0;
};
} // namespace

std::optional<int64_t> Tracer::get(Value value) {
  auto entry = values.find(value);
  if (entry != values.end())
    return entry->second;
  // A buffer without a stage view is stage 0.
  if (isSharedBuffer(value.getType()) && !value.getDefiningOp<StageOp>())
    return 0;
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && value.getType().isIntOrIndex() &&
      isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()))
    return world.getValue(argument);
  return std::nullopt;
}

/// Assigns in parallel, because targets may be sources.
void Tracer::setAll(ValueRange targets, ValueRange sources) {
  auto known =
      llvm::map_to_vector(sources, [&](Value source) { return get(source); });
  for (auto [target, integer] : llvm::zip(targets, known))
    set(target, integer);
}

LogicalResult Tracer::run(Block &block) {
  for (Operation *op : ops.in(block))
    if (failed(execute(op)))
      return failure();
  return success();
}

LogicalResult Tracer::execute(Operation *op) {
  // Ops that only order the lanes of a warp move no pipeline.
  bool ordersLanes = isa<SyncLanesOp, TmemLoadOp, TmemStoreOp>(op);
  if (!ordersLanes && ++steps > kMostSteps)
    return failure();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return runWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch);
  if (auto roles = dyn_cast<SpecializeOp>(op)) {
    onRoles(roles, *this);
    return success();
  }
  if (op->getNumRegions() != 0)
    return failure();
  if (takesWork(op))
    set(op->getResult(0), world.fetchWork());
  else if (ops.isEvent(op))
    return record(op);
  else
    evaluate(op);
  return success();
}

LogicalResult Tracer::runFor(scf::ForOp loop) {
  std::optional<int64_t> lower = get(loop.getLowerBound()),
                         upper = get(loop.getUpperBound()),
                         step = get(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return failure();
  setAll(loop.getRegionIterArgs(), loop.getInitArgs());
  for (int64_t i = *lower; i < *upper; i += *step) {
    set(loop.getInductionVar(), i);
    if (++steps > kMostSteps || failed(run(*loop.getBody())))
      return failure();
    setAll(loop.getRegionIterArgs(), loop.getYieldedValues());
  }
  setAll(loop.getResults(), loop.getRegionIterArgs());
  return success();
}

LogicalResult Tracer::runWhile(scf::WhileOp loop) {
  setAll(loop.getBeforeArguments(), loop.getInits());
  while (true) {
    if (++steps > kMostSteps || failed(run(*loop.getBeforeBody())))
      return failure();
    std::optional<int64_t> more = get(loop.getConditionOp().getCondition());
    if (!more)
      return failure();
    if (!*more)
      break;
    setAll(loop.getAfterArguments(), loop.getConditionOp().getArgs());
    if (failed(run(*loop.getAfterBody())))
      return failure();
    setAll(loop.getBeforeArguments(), loop.getYieldOp().getOperands());
  }
  setAll(loop.getResults(), loop.getConditionOp().getArgs());
  return success();
}

LogicalResult Tracer::runIf(scf::IfOp branch) {
  std::optional<int64_t> condition = get(branch.getCondition());
  if (!condition)
    return failure();
  Region &taken = *condition ? branch.getThenRegion() : branch.getElseRegion();
  if (taken.empty())
    return success();
  if (failed(run(taken.front())))
    return failure();
  setAll(branch.getResults(), taken.front().getTerminator()->getOperands());
  return success();
}

static Attribute makeConstant(Type type, int64_t value) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return IntegerAttr::get(type, APInt(width, value, /*isSigned=*/true,
                                      /*implicitTrunc=*/true));
}

/// Evaluates arithmetic with the folders of the ops; the world provides other
/// values.
void Tracer::evaluate(Operation *op) {
  if (auto held = dyn_cast<tile::OwnedRowsOp>(op)) {
    OwnedRows rows =
        getOwnedRows(party, cast<RankedTensorType>(held.getTile()));
    set(held.getFirst(), rows.first);
    set(held.getCount(), rows.count);
    return;
  }
  // Accesses to shared state must be correct for either result of a ballot, so
  // all ballots of a world have the same result.
  if (isa<AnyOp>(op)) {
    set(op->getResult(0), world.getValue(op, 0, {}) & 1);
    return;
  }
  auto operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return get(operand); });
  for (Value result : op->getResults())
    set(result, std::nullopt);
  if (auto stage = dyn_cast<StageOp>(op)) {
    // A view of a view is in a buffer with more dimensions than a ring.
    if (!stage.getBuffer().getDefiningOp<StageOp>())
      set(stage.getResult(), operands[1]);
    return;
  }
  // If the folder fails, the result stays unknown (division by zero, for
  // example). The numbers of buffers and pending dots are no operands of
  // arithmetic.
  bool isArithmetic = !operands.empty();
  for (auto [value, integer] : llvm::zip(op->getOperands(), operands))
    isArithmetic &= integer.has_value() && value.getType().isIntOrIndex();
  if (isArithmetic || op->hasTrait<OpTrait::ConstantLike>()) {
    SmallVector<Attribute> constants;
    for (auto [value, integer] : llvm::zip(op->getOperands(), operands))
      constants.push_back(makeConstant(value.getType(), *integer));
    SmallVector<OpFoldResult> folded;
    if (succeeded(op->fold(constants, folded)) && !folded.empty()) {
      for (auto [result, value] : llvm::zip(op->getResults(), folded)) {
        if (auto source = dyn_cast<Value>(value))
          set(result, get(source));
        else if (auto attr = dyn_cast<IntegerAttr>(cast<Attribute>(value)))
          set(result, result.getType().isInteger(1)
                          ? attr.getValue().getZExtValue()
                          : attr.getValue().getSExtValue());
      }
    }
    return;
  }
  // The world provides elements and sizes of memory and the CTA index, but no
  // values that depend on tiles.
  bool isUnknown = !mightHaveEffect<MemoryEffects::Write>(op);
  for (auto [value, integer] : llvm::zip(op->getOperands(), operands))
    isUnknown &= integer || isa<BaseMemRefType>(value.getType());
  if (!isUnknown)
    return;
  for (OpResult result : op->getResults())
    if (result.getType().isIntOrIndex())
      set(result, world.getValue(op, result.getResultNumber(), operands));
}

LogicalResult Tracer::record(Operation *op) {
  TraceEvent event{op, {}, -1};
  for (Value operand : op->getOperands())
    event.operands.push_back(get(operand));
  // The pipeline, the stage and the phase must be known.
  if (isa<PipelineOpInterface>(op) &&
      (!getShared(op->getOperand(0)).getDefiningOp<PipelineOp>() ||
       !event.operands[1] || !event.operands[2]))
    return failure();
  for (Value result : op->getResults())
    set(result, std::nullopt);
  if (auto dot = dyn_cast<DotOp>(op); dot && dot.getAsync()) {
    event.dot = world.makeDot();
    set(dot.getResult(), event.dot);
  } else if (auto send = dyn_cast<SendOp>(op)) {
    if (auto value = event.get(send.getValueMutable()))
      world.sent[getShared(send.getMailbox())].push_back(*value);
  } else if (auto receive = dyn_cast<ReceiveOp>(op)) {
    Value mailbox = getShared(receive.getMailbox());
    auto receiver = std::pair(mailbox, std::pair(party.role, party.group));
    size_t index = world.received[receiver]++;
    ArrayRef<int64_t> sent = world.sent[mailbox];
    if (index < sent.size())
      set(receive.getValue(), sent[index]);
  }
  trace.events.push_back(std::move(event));
  return success();
}

std::vector<std::vector<ProgramTrace>>
warp::traceKernel(gpu::GPUFuncOp kernel, const TracedOps &ops, World &world) {
  std::vector<std::vector<ProgramTrace>> parts;
  Tracer tracer(ops, Party(), world);
  auto onRoles = [&](SpecializeOp op, Tracer &outer) {
    parts.push_back({std::exchange(outer.trace, ProgramTrace())});
    auto &roles = parts.emplace_back();
    for (Region &role : op.getRoles()) {
      for (const Party &party : getParties(role)) {
        // Warp groups differ only in the rows that they own.
        if (party.group > 0 && !ops.hasRows(role)) {
          roles.push_back(roles.back());
          roles.back().party = party;
          continue;
        }
        Tracer inner(ops, party, world);
        for (auto [argument, capture] :
             llvm::zip(role.getArguments(), op.getCaptures()))
          inner.set(argument, outer.get(capture));
        inner.trace.isComplete = succeeded(inner.run(role.front()));
        roles.push_back(std::move(inner.trace));
      }
    }
  };
  tracer.onRoles = onRoles;
  tracer.trace.isComplete = succeeded(tracer.run(kernel.getBody().front()));
  parts.push_back({std::move(tracer.trace)});
  return parts;
}
