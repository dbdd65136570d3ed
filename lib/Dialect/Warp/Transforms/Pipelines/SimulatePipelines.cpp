//===- SimulatePipelines.cpp - Static simulation of roles -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the traces of all programs against each other. Each program runs until
// it blocks, in the order of the roles. The order does not affect whether all
// programs terminate, because a condition that a program waits for stays true.
//
// Copies complete at once and producers run first, so producers get as far
// ahead as the stages allow.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/SimulatePipelines.h"

#include "Pipelines/ProgramTrace.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Simulation of one world
//===----------------------------------------------------------------------===//

namespace {
/// A stage of a buffer, or a slot of a mailbox.
using BufferStage = std::pair<Value, int64_t>;

/// The last write to a buffer stage.
struct Contents {
  StageUse use;
  Operation *writer = nullptr;
};

/// A read or an in-place change of a buffer stage.
struct Access {
  Party party;
  Operation *op;
  /// True if it accesses only rows that the agent's threads own.
  bool isOfOwnRows;
};

/// An outstanding dot.
struct Dot {
  int64_t number;
  Operation *op;
  SmallVector<BufferStage, 2> operands;
  /// The operand of which the dot reads only the program's own rows.
  std::optional<BufferStage> rowOperand;
};

/// The state of a program during the simulation.
struct Program : AgentState {
  explicit Program(const ProgramTrace &trace)
      : AgentState(trace.party), trace(trace) {}

  const ProgramTrace &trace;
  size_t next = 0;
  std::string waitsFor;
  SmallVector<Dot, 4> dots;
  /// Stages that it wrote a part of, with the last use of each.
  SmallVector<std::pair<BufferStage, StageUse>, 2> filled;
  /// Places that it stored rows to, and those of them without a fence since.
  SmallVector<BufferStage, 2> stored;
  SmallVector<std::pair<BufferStage, Operation *>, 2> unfenced;
  /// Places that outstanding copies to global memory may still read.
  SmallVector<std::pair<BufferStage, Operation *>, 2> copiesOut;

  bool isDone() const { return next == trace.events.size(); }
};

class Simulation {
public:
  Simulation(gpu::GPUFuncOp kernel, const TracedOps &ops, World &world)
      : world(world), parts(traceKernel(kernel, ops, world)) {}
  LogicalResult run();

private:
  LogicalResult runPart(ArrayRef<ProgramTrace> traces);
  Outcome execute(const TraceEvent &event, Program &program);
  Outcome executeVerb(const TraceEvent &event, Program &program);
  Outcome commit(PipelineUses &pipeline, int64_t stage, int64_t phase,
                 Program &program);
  Outcome release(const TraceEvent &event, PipelineUses &pipeline,
                  int64_t stage, int64_t phase, Program &program);
  Outcome executeCopy(const TraceEvent &event, Program &program);
  Outcome executeTurn(Operation *op, Program &program);
  Outcome executeSend(const TraceEvent &event, Program &program);
  Outcome issueDot(const TraceEvent &event, Program &program);
  Outcome store(const TraceEvent &event, Program &program);
  Outcome copyOut(const TraceEvent &event, Program &program);
  Outcome checkFenced(const BufferStage &bufferStage, const Program &reader,
                      bool readsOwnRows) const;
  void synchronizeLanes(Operation *op, Program &program);
  Outcome checkEnds();
  Outcome readAll(const TraceEvent &event, Program &program,
                  SmallVectorImpl<BufferStage> &bufferStages);
  Outcome read(OpOperand &operand, const BufferStage &bufferStage,
               const Program &program);
  Outcome change(LocalStoreOp op, const BufferStage &bufferStage,
                 const Program &program);
  Outcome write(const BufferStage &bufferStage, const StageUse &use,
                Operation *op, const Program *rowOwner = nullptr);
  LogicalResult report(const Outcome &outcome, Operation *op,
                       const Program &program);
  LogicalResult reportDeadlock();

  std::optional<BufferStage> getBufferStage(const TraceEvent &event,
                                            OpOperand &operand);
  template <typename T, typename Op>
  T &getObject(Value shared, Op argument) {
    auto [entry, isNew] = index<T>().try_emplace(shared);
    if (isNew)
      entry->second = std::make_unique<T>(argument);
    return *entry->second;
  }
  template <typename T>
  auto &index() {
    if constexpr (std::is_same_v<T, PipelineUses>)
      return pipelines;
    else
      return turns;
  }

  World &world;
  std::vector<std::vector<ProgramTrace>> parts;
  llvm::MapVector<Value, std::unique_ptr<PipelineUses>> pipelines;
  llvm::MapVector<Value, std::unique_ptr<PingPongOrder>> turns;
  llvm::DenseMap<BufferStage, Contents> memory;
  /// Reads and in-place changes of each buffer stage since it was filled.
  llvm::DenseMap<BufferStage, SmallVector<Access, 2>> reads, changes;
  /// Buffers that were written at an unknown stage.
  llvm::DenseSet<Value> unknown;
  std::vector<Program> programs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The buffer stage that an operand refers to, if it is known.
std::optional<BufferStage> Simulation::getBufferStage(const TraceEvent &event,
                                                      OpOperand &operand) {
  std::optional<int64_t> slot;
  if (isSharedBuffer(operand.get().getType()))
    slot = event.get(operand);
  else if (auto receive = dyn_cast<ReceiveOp>(event.op);
           receive && operand == receive.getMailboxMutable())
    slot = event.get(receive.getStageMutable());
  if (!slot)
    return std::nullopt;
  return BufferStage(getShared(operand.get()), *slot);
}

/// Reports views of stages that do not exist.
static Outcome checkRange(const TraceEvent &event) {
  for (OpOperand &operand : event.op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(getShared(operand.get()).getType());
    std::optional<int64_t> slot = event.get(operand);
    if (!type || !isSharedBuffer(type) || !slot ||
        !operand.get().getDefiningOp<StageOp>())
      continue;
    if (*slot < 0 || *slot >= type.getDimSize(0))
      return Outcome::wrong(formatv("stage {0} lies outside [0, {1})", *slot,
                                    type.getDimSize(0)))
          .at(operand.get().getDefiningOp());
  }
  return {};
}

/// True if a read and a change may access the same rows. Different roles own
/// the same rows of a tile, the warp groups of one role different rows.
static bool mayConflict(const Access &read, const Access &change) {
  if (read.party == change.party)
    return false;
  return read.party.role != change.party.role ||
         (isa<DotOp>(read.op) && !read.isOfOwnRows);
}

static Outcome changesRead(const Access &change, const Access &read) {
  return Outcome::wrong("stores to a stage that " + read.party.describe() +
                        " may still read")
      .at(change.op)
      .note(read.op, "read here");
}

/// Reads data of a pipeline. An in-place change by another consumer of the same
/// stage is a race.
Outcome Simulation::read(OpOperand &operand, const BufferStage &bufferStage,
                         const Program &program) {
  auto &[use, writer] = memory[bufferStage];
  Outcome outcome = use.pipeline->read(use, program.party, writer);
  if (!outcome.isDone())
    return outcome;
  Access read = {program.party, operand.getOwner(),
                 readsOwnRows(operand, program.party)};
  for (const Access &change : changes[bufferStage])
    if (mayConflict(read, change))
      return changesRead(change, read);
  auto isKnown = [&](const Access &other) {
    return other.party == read.party && other.op == read.op &&
           other.isOfOwnRows == read.isOfOwnRows;
  };
  if (llvm::none_of(reads[bufferStage], isKnown))
    reads[bufferStage].push_back(read);
  return {};
}

/// Stores to a stage that the program waited for. Other consumers that have not
/// released the stage must read other rows.
Outcome Simulation::change(LocalStoreOp op, const BufferStage &bufferStage,
                           const Program &program) {
  auto &[use, writer] = memory[bufferStage];
  Outcome outcome = use.pipeline->change(use, program.party, writer);
  if (!outcome.isDone())
    return outcome;
  Access change = {program.party, op, /*isOfOwnRows=*/true};
  StageState &stage = use.pipeline->stages[use.stage];
  for (const Access &read : reads[bufferStage])
    if (mayConflict(read, change) &&
        stage.getConsumer(read.party).given <= use.round)
      return changesRead(change, read);
  changes[bufferStage].push_back(change);
  return {};
}

/// Reads all operands in shared memory, and appends them to `bufferStages`.
Outcome Simulation::readAll(const TraceEvent &event, Program &program,
                            SmallVectorImpl<BufferStage> &bufferStages) {
  for (OpOperand &operand : event.op->getOpOperands()) {
    std::optional<BufferStage> bufferStage = getBufferStage(event, operand);
    if (!bufferStage)
      continue;
    bufferStages.push_back(*bufferStage);
    auto found = memory.find(*bufferStage);
    if (found == memory.end()) {
      if (bufferStage->first.getDefiningOp<AllocOp>() &&
          !unknown.contains(bufferStage->first))
        return readsUnwritten();
      continue;
    }
    // Skip data that was written without a pipeline.
    if (!found->second.use)
      continue;
    if (auto access = dyn_cast<LaneAccessOpInterface>(event.op))
      program.accessByLanes(access, found->second.use);
    auto *filled = llvm::find_if(program.filled, [&](auto &entry) {
      return entry.first == *bufferStage;
    });
    if (readsOwnRows(operand, program.party) &&
        filled != program.filled.end() &&
        filled->second.isFilledBy(program.party))
      continue;
    Outcome outcome = read(operand, *bufferStage, program);
    if (!outcome.isDone())
      return outcome;
  }
  return {};
}

/// Overwrites a buffer stage, or the rows that `rowOwner` owns. No outstanding
/// op and no consumer may still read them.
Outcome Simulation::write(const BufferStage &bufferStage, const StageUse &use,
                          Operation *op, const Program *rowOwner) {
  for (const Program &program : programs)
    for (const Dot &dot : program.dots)
      if (llvm::is_contained(dot.operands, bufferStage) &&
          (!rowOwner || rowOwner == &program || dot.rowOperand != bufferStage))
        return overwritesOperand(dot.op);
  for (Program &program : programs) {
    for (auto &[read, copy] : program.copiesOut)
      if (read == bufferStage)
        return overwritesSource(copy);
    llvm::erase(program.stored, bufferStage);
  }
  Contents &contents = memory[bufferStage];
  if (contents.use && !(contents.use == use)) {
    StageUse &last = contents.use;
    for (auto &[party, state] : last.pipeline->stages[last.stage].consumers)
      if (state.given <= last.round)
        return last.pipeline->overwrites(last, contents.writer);
  }
  contents = {use, op};
  reads.erase(bufferStage);
  changes.erase(bufferStage);
  return {};
}

Outcome Simulation::executeCopy(const TraceEvent &event, Program &program) {
  auto copy = cast<CopyOp>(event.op);
  std::optional<BufferStage> bufferStage =
      getBufferStage(event, copy.getTargetMutable());
  if (copy.getCondition()) {
    std::optional<int64_t> condition =
        event.get(*copy.getConditionMutable().begin());
    if (condition && !*condition)
      return {};
    if (!condition)
      bufferStage.reset();
  }
  if (!bufferStage)
    unknown.insert(getShared(copy.getTarget()));
  if (!copy.getAsync()) {
    if (bufferStage)
      memory[*bufferStage] = {StageUse(), copy};
    return {};
  }
  Outcome canFill = program.checkCopy();
  if (!canFill.isDone())
    return canFill;
  StageUse use = program.getAcquired();
  StageState &stage = use.pipeline->stages[use.stage];
  stage.copy = copy;
  stage.copiedUse = use.round;
  return bufferStage ? write(*bufferStage, use, copy) : Outcome();
}

Outcome Simulation::executeSend(const TraceEvent &event, Program &program) {
  auto send = cast<SendOp>(event.op);
  std::optional<int64_t> slot = event.get(send.getStageMutable());
  if (!slot)
    return {};
  Outcome outcome = program.checkSend(*slot);
  if (!outcome.isDone())
    return outcome;
  return write({getShared(send.getMailbox()), *slot}, program.getAcquired(),
               send);
}

Outcome Simulation::issueDot(const TraceEvent &event, Program &program) {
  auto dot = cast<DotOp>(event.op);
  SmallVector<BufferStage, 2> bufferStages;
  Outcome outcome = readAll(event, program, bufferStages);
  for (OpOperand &operand : event.op->getOpOperands())
    if (auto bufferStage = getBufferStage(event, operand);
        bufferStage && outcome.isDone())
      outcome = checkFenced(*bufferStage, program,
                            readsOwnRows(operand, program.party));
  if (outcome.isDone() && event.dot >= 0)
    program.dots.push_back({event.dot, event.op, std::move(bufferStages),
                            dot.getTransposeA()
                                ? std::nullopt
                                : getBufferStage(event, dot.getAMutable())});
  return outcome;
}

//===----------------------------------------------------------------------===//
// Copies to global memory
//===----------------------------------------------------------------------===//

/// Stores rows to a stage that the program has acquired or waited for, or to a
/// buffer without a pipeline.
Outcome Simulation::store(const TraceEvent &event, Program &program) {
  auto op = cast<LocalStoreOp>(event.op);
  std::optional<BufferStage> bufferStage =
      getBufferStage(event, op.getTargetMutable());
  if (!bufferStage) {
    unknown.insert(getShared(op.getTarget()));
    return {};
  }
  if (StageUse use = program.getAcquired()) {
    Outcome outcome = write(*bufferStage, use, op, &program);
    if (!outcome.isDone())
      return outcome;
    program.accessByLanes(op, use);
    llvm::erase_if(program.filled,
                   [&](auto &entry) { return entry.first == *bufferStage; });
    program.filled.push_back({*bufferStage, use});
  } else if (auto found = memory.find(*bufferStage);
             found != memory.end() && found->second.use) {
    Outcome outcome = change(op, *bufferStage, program);
    if (!outcome.isDone())
      return outcome;
    program.accessByLanes(op, found->second.use);
  }
  for (const Program &other : programs)
    for (const Dot &dot : other.dots)
      if (llvm::is_contained(dot.operands, *bufferStage) &&
          (&other == &program || dot.rowOperand != bufferStage))
        return overwritesOperand(dot.op);
  for (auto &[read, copy] : program.copiesOut)
    if (read == *bufferStage)
      return overwritesSource(copy);
  if (!llvm::is_contained(program.stored, *bufferStage))
    program.stored.push_back(*bufferStage);
  program.unfenced.push_back({*bufferStage, op});
  return {};
}

/// Checks that TMA or an MMA unit sees the stores of the rows that it reads.
Outcome Simulation::checkFenced(const BufferStage &bufferStage,
                                const Program &reader,
                                bool readsOwnRows) const {
  bool isStage(memory.lookup(bufferStage).use);
  for (const Program &program : programs) {
    bool isOtherRole = program.party.role != reader.party.role;
    if (!(program.party == reader.party) &&
        !(isStage && (isOtherRole || !readsOwnRows)))
      continue;
    for (auto &[stored, op] : program.unfenced)
      if (stored == bufferStage)
        return readsUnfenced(op);
  }
  return {};
}

Outcome Simulation::copyOut(const TraceEvent &event, Program &program) {
  auto copy = cast<CopyOutOp>(event.op);
  std::optional<BufferStage> bufferStage =
      getBufferStage(event, copy.getSourceMutable());
  if (!bufferStage)
    return {};
  // Data that the program itself stored needs no pipeline.
  SmallVector<BufferStage, 2> bufferStages;
  bool isOwn = llvm::is_contained(program.stored, *bufferStage) &&
               !memory.lookup(*bufferStage).use;
  Outcome outcome = isOwn ? Outcome() : readAll(event, program, bufferStages);
  if (outcome.isDone())
    outcome = checkFenced(*bufferStage, program, /*readsOwnRows=*/true);
  if (outcome.isDone() && copy.getAsync())
    program.copiesOut.push_back({*bufferStage, copy});
  return outcome;
}

/// No copy may read the CTA's shared memory after the CTA has ended.
Outcome Simulation::checkEnds() {
  for (const Program &program : programs)
    for (auto &[bufferStage, copy] : program.copiesOut)
      return Outcome::wrong("the CTA may end before its shared memory is read: "
                            "no 'warp.copy_out_wait' follows")
          .at(copy);
  return {};
}

//===----------------------------------------------------------------------===//
// Pipeline ops
//===----------------------------------------------------------------------===//

Outcome Simulation::commit(PipelineUses &pipeline, int64_t stage, int64_t phase,
                           Program &program) {
  StageUse use;
  Outcome outcome = program.commit(pipeline, stage, phase, use);
  if (outcome.isDone())
    pipeline.signalCommit(program.party, stage);
  // Outside of roles, neither TMA nor the async proxy of MMA units reads
  // stages.
  if (!program.party.role)
    program.unfenced.clear();
  return outcome;
}

Outcome Simulation::release(const TraceEvent &event, PipelineUses &pipeline,
                            int64_t stage, int64_t phase, Program &program) {
  auto findDot = [&](const StageUse &use) -> Operation * {
    if (!isa<ReleaseAfterDotsOp>(event.op))
      for (const Dot &dot : program.dots)
        for (const BufferStage &bufferStage : dot.operands)
          if (memory.lookup(bufferStage).use == use)
            return dot.op;
    return nullptr;
  };
  auto findCopyOut = [&](const StageUse &use) -> Operation * {
    for (auto &[bufferStage, copy] : program.copiesOut)
      if (memory.lookup(bufferStage).use == use)
        return copy;
    return nullptr;
  };
  Outcome outcome =
      program.release(pipeline, stage, phase, findDot, findCopyOut);
  if (outcome.isDone())
    pipeline.signalRelease(program.party, stage);
  return outcome;
}

Outcome Simulation::executeVerb(const TraceEvent &event, Program &program) {
  Operation *op = event.op;
  auto make = getShared(op->getOperand(0)).getDefiningOp<PipelineOp>();
  int64_t stage = *event.operands[1], phase = *event.operands[2];
  auto &pipeline = getObject<PipelineUses>(make.getPipeline(), make);
  int64_t count = pipeline.stages.size();
  if (stage < 0 || stage >= count)
    return Outcome::wrong(
        formatv("stage {0} lies outside [0, {1})", stage, count));
  switch (cast<PipelineOpInterface>(op).getOpKind()) {
  case PipelineOpKind::Acquire:
    return program.acquire(op, pipeline, stage, phase);
  case PipelineOpKind::Commit:
    return commit(pipeline, stage, phase, program);
  case PipelineOpKind::Wait:
    return pipeline.wait(op, program.party, stage, phase);
  case PipelineOpKind::Release:
    return release(event, pipeline, stage, phase, program);
  }
  llvm_unreachable("unknown pipeline op");
}

Outcome Simulation::executeTurn(Operation *op, Program &program) {
  Value turns = getShared(op->getOperand(0));
  auto &order = getObject<PingPongOrder>(
      turns, cast<TurnsType>(turns.getType()).getGroups());
  return isa<BeginTurnOp>(op) ? program.beginSection(op, order)
                              : program.endSection(order);
}

void Simulation::synchronizeLanes(Operation *op, Program &program) {
  program.synchronizeLanes(op);
  auto sync = dyn_cast<LaneSyncOpInterface>(op);
  if (sync && !sync.getFencedBuffer() &&
      containsAll(sync.getFences(), LaneFence::AsyncProxy))
    program.unfenced.clear();
}

Outcome Simulation::execute(const TraceEvent &event, Program &program) {
  Operation *op = event.op;
  synchronizeLanes(op, program);
  if (auto access = dyn_cast<LaneAccessOpInterface>(op);
      access && isTmemBuffer(access.getAccessedBuffer().getType()))
    program.accessByLanes(access, StageUse());
  Outcome inRange = checkRange(event);
  if (!inRange.isDone())
    return inRange;
  if (isa<PipelineOpInterface>(op))
    return executeVerb(event, program);
  if (isa<CopyOp>(op))
    return executeCopy(event, program);
  if (isa<SendOp>(op))
    return executeSend(event, program);
  if (isa<DotOp>(op))
    return issueDot(event, program);
  if (isa<DotWaitOpInterface>(op)) {
    // Dots complete in issue order.
    auto *found = llvm::find_if(program.dots, [&](const Dot &dot) {
      return dot.number == event.operands[0];
    });
    if (found != program.dots.end())
      program.dots.erase(program.dots.begin(), std::next(found));
    return {};
  }
  if (isa<BeginTurnOp, EndTurnOp>(op))
    return executeTurn(op, program);
  if (isa<LocalStoreOp>(op))
    return store(event, program);
  if (isa<CopyOutOp>(op))
    return copyOut(event, program);
  auto isOfBuffer = [&](auto &entry) {
    return entry.first.first == getShared(op->getOperand(0));
  };
  if (isa<FenceStoresOp>(op)) {
    llvm::erase_if(program.unfenced, isOfBuffer);
    return {};
  }
  if (isa<SyncLanesOp>(op))
    return {};
  if (isa<CopyOutWaitOp>(op)) {
    llvm::erase_if(program.copiesOut, isOfBuffer);
    return {};
  }
  SmallVector<BufferStage, 2> bufferStages;
  return readAll(event, program, bufferStages);
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

LogicalResult Simulation::report(const Outcome &outcome, Operation *op,
                                 const Program &program) {
  InFlightDiagnostic error =
      (outcome.where ? outcome.where : op)->emitError(outcome.text);
  for (auto &[where, text] : outcome.notes)
    error.attachNote(where->getLoc()) << text;
  if (program.party.role)
    error.attachNote(op->getLoc()) << "in " << program.party.describe();
  world.describe(*error.getUnderlyingDiagnostic());
  return error;
}

LogicalResult Simulation::reportDeadlock() {
  std::optional<InFlightDiagnostic> error;
  for (const Program &program : programs) {
    if (program.isDone())
      continue;
    Operation *op = program.trace.events[program.next].op;
    if (!error) {
      error.emplace(op->emitError("deadlock: "));
      *error << program.party.describe() << " waits " << program.waitsFor
             << ", which never happens";
      continue;
    }
    error->attachNote(op->getLoc())
        << program.party.describe() << " waits " << program.waitsFor;
  }
  world.describe(*error->getUnderlyingDiagnostic());
  return *error;
}

LogicalResult Simulation::runPart(ArrayRef<ProgramTrace> traces) {
  programs.clear();
  for (const ProgramTrace &trace : traces)
    programs.emplace_back(trace);
  bool moved = true;
  while (moved) {
    moved = false;
    for (Program &program : programs)
      while (!program.isDone()) {
        const TraceEvent &event = program.trace.events[program.next];
        Outcome outcome = execute(event, program);
        if (outcome.kind == Outcome::Wrong)
          return report(outcome, event.op, program);
        if (outcome.kind == Outcome::Waits) {
          program.waitsFor = outcome.text;
          break;
        }
        ++program.next;
        moved = true;
      }
  }
  return success();
}

LogicalResult Simulation::run() {
  for (auto &traces : parts)
    for (const ProgramTrace &trace : traces)
      for (const TraceEvent &event : trace.events)
        if (auto verb = dyn_cast<PipelineOpInterface>(event.op)) {
          auto make = getShared(verb.getPipeline()).getDefiningOp<PipelineOp>();
          getObject<PipelineUses>(make.getPipeline(), make);
        }
  Program outside(parts.front().front());
  for (auto &[value, pipeline] : pipelines) {
    Outcome outcome = pipeline->findUsers();
    if (!outcome.isDone())
      return report(outcome, pipeline->op, outside);
  }
  for (auto &traces : parts) {
    if (failed(runPart(traces)))
      return failure();
    // A program may wait for an event after the end of an incomplete trace.
    if (!llvm::all_of(traces, [](auto &trace) { return trace.isComplete; }))
      return success();
    if (!llvm::all_of(programs, [](auto &program) { return program.isDone(); }))
      return reportDeadlock();
    Outcome outcome = checkEnds();
    if (!outcome.isDone())
      return report(outcome, outcome.where, programs.front());
  }
  if (parts.size() > 1)
    for (auto &[value, pipeline] : pipelines) {
      Outcome outcome = pipeline->finish();
      if (!outcome.isDone())
        return report(outcome, pipeline->op, outside);
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Simulation of all worlds
//===----------------------------------------------------------------------===//

static bool isPrime(size_t number) {
  for (size_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return false;
  return number > 1;
}

/// Candidate sizes: small numbers, and multiples of the loop steps that cycle
/// all rings up to twice, some with a remainder.
static SmallVector<int64_t> getValues(gpu::GPUFuncOp kernel) {
  int64_t depth = 1;
  llvm::SmallSetVector<int64_t, 4> units;
  units.insert(1);
  if (launch::AbiOp abi = launch::lookupAbi(kernel)) {
    units.insert(abi.getPlan()->tileN);
    units.insert(abi.getPlan().getClusterRows());
  }
  kernel.walk([&](Operation *op) {
    APInt step;
    if (auto make = dyn_cast<PipelineOp>(op))
      depth = std::max(depth, make.getPipeline().getType().getStages());
    else if (auto loop = dyn_cast<scf::ForOp>(op);
             loop && matchPattern(loop.getStep(), m_ConstantInt(&step)))
      units.insert(step.getSExtValue());
  });
  SmallVector<int64_t> values;
  for (int64_t count = 0; count <= 2 * depth + 1; ++count) {
    // One cycle in single steps, then two cycles.
    if (count > depth + 1 && count < 2 * depth + 1)
      continue;
    for (int64_t unit : units)
      values.push_back(count * unit + (unit > 1 ? count % 3 : 0));
    values.push_back(1 + count % 2);
  }
  while (!isPrime(values.size()))
    values.push_back(values.size() % 3);
  return values;
}

LogicalResult warp::simulatePipelines(gpu::GPUFuncOp kernel) {
  TracedOps ops(kernel);
  SmallVector<int64_t> values = getValues(kernel);
  for (unsigned number = 0; number < values.size(); ++number) {
    World world(values, number);
    if (failed(Simulation(kernel, ops, world).run()))
      return failure();
    // Without unknown values all worlds are the same.
    if (!world.hasUnknowns())
      break;
  }
  return success();
}
