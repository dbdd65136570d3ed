//===- SimulatePipelines.cpp - Roles against each other ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs come as traces: what each does, one after the other. Each runs until
// it waits, in the order of the roles. Whether all come to their ends does not
// depend on that order, since what is waited for never goes away; and as copies
// land at once and producers come first, they get as far ahead as they can.
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
// One world
//===----------------------------------------------------------------------===//

namespace {
/// A stage of a buffer, or a slot of a mailbox.
using Place = std::pair<Value, int64_t>;

/// What a place holds.
struct Contents {
  StageUse use;
  Operation *writer = nullptr;
};

/// Who reads a place, or changes what was put there.
struct Access {
  Party party;
  Operation *op;
  /// Not more than the rows that the party's threads hold.
  bool isOfOwnRows;
};

/// A dot in flight.
struct Dot {
  int64_t number;
  Operation *op;
  SmallVector<Place, 2> operands;
  /// The one among them of which only the program's own rows are read.
  std::optional<Place> rowOperand;
};

/// A program on its way through its trace.
struct Program : Participant {
  explicit Program(const ProgramTrace &trace)
      : Participant(trace.party), trace(trace) {}

  const ProgramTrace &trace;
  size_t next = 0;
  std::string waitsFor;
  SmallVector<Dot, 4> dots;
  /// Stages that it filled a part of, the last time each.
  SmallVector<std::pair<Place, StageUse>, 2> filled;
  /// Places with rows that it stored, and those of them that only it sees yet.
  SmallVector<Place, 2> stored;
  SmallVector<std::pair<Place, Operation *>, 2> unfenced;
  /// What copies out may still read.
  SmallVector<std::pair<Place, Operation *>, 2> copiesOut;

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
  Outcome commit(PipelineRounds &pipeline, int64_t stage, int64_t phase,
                 Program &program);
  Outcome release(const TraceEvent &event, PipelineRounds &pipeline,
                  int64_t stage, int64_t phase, Program &program);
  Outcome executeCopy(const TraceEvent &event, Program &program);
  Outcome executeTurn(Operation *op, Program &program);
  Outcome executeSend(const TraceEvent &event, Program &program);
  Outcome issueDot(const TraceEvent &event, Program &program);
  Outcome store(const TraceEvent &event, Program &program);
  Outcome copyOut(const TraceEvent &event, Program &program);
  Outcome checkFenced(const Place &place, const Program &program) const;
  Outcome checkEnds();
  Outcome readAll(const TraceEvent &event, Program &program,
                  SmallVectorImpl<Place> &places);
  Outcome read(OpOperand &operand, const Place &place, const Program &program);
  Outcome change(LocalStoreOp op, const Place &place, const Program &program);
  Outcome write(const Place &place, const StageUse &use, Operation *op,
                const Program *ofRows = nullptr);
  LogicalResult report(const Outcome &outcome, Operation *op,
                       const Program &program);
  LogicalResult reportDeadlock();

  std::optional<Place> getPlace(const TraceEvent &event, OpOperand &operand);
  template <typename T, typename Op>
  T &getObject(Value shared, Op argument) {
    auto [entry, isNew] = index<T>().try_emplace(shared);
    if (isNew)
      entry->second = std::make_unique<T>(argument);
    return *entry->second;
  }
  template <typename T>
  auto &index() {
    if constexpr (std::is_same_v<T, PipelineRounds>)
      return pipelines;
    else
      return turns;
  }

  World &world;
  std::vector<std::vector<ProgramTrace>> parts;
  llvm::MapVector<Value, std::unique_ptr<PipelineRounds>> pipelines;
  llvm::MapVector<Value, std::unique_ptr<TurnOrder>> turns;
  llvm::DenseMap<Place, Contents> memory;
  /// Who read what a place holds, and who changed it since it was filled.
  llvm::DenseMap<Place, SmallVector<Access, 2>> reads, changes;
  /// Buffers that something was written to, nobody knows where.
  llvm::DenseSet<Value> unknown;
  std::vector<Program> programs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The place that an operand stands for, if it is one and known.
std::optional<Place> Simulation::getPlace(const TraceEvent &event,
                                          OpOperand &operand) {
  std::optional<int64_t> slot;
  if (isSharedBuffer(operand.get().getType()))
    slot = event.get(operand);
  else if (auto receive = dyn_cast<ReceiveOp>(event.op);
           receive && operand == receive.getMailboxMutable())
    slot = event.get(receive.getStageMutable());
  if (!slot)
    return std::nullopt;
  return Place(getShared(operand.get()), *slot);
}

/// Views of stages that are none.
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

/// Roles' threads hold rows of one tile alike, the warp groups of one role
/// different ones.
static bool mayMeet(const Access &read, const Access &change) {
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

/// Reads what a pipeline brought. Nothing orders what another one who waited
/// for it stored there in the meantime.
Outcome Simulation::read(OpOperand &operand, const Place &place,
                         const Program &program) {
  auto &[use, writer] = memory[place];
  Outcome outcome = use.pipeline->read(use, program.party, writer);
  if (!outcome.isDone())
    return outcome;
  Access read = {program.party, operand.getOwner(),
                 readsOwnRows(operand, program.party)};
  for (const Access &change : changes[place])
    if (mayMeet(read, change))
      return changesRead(change, read);
  auto isKnown = [&](const Access &other) {
    return other.party == read.party && other.op == read.op &&
           other.isOfOwnRows == read.isOfOwnRows;
  };
  if (llvm::none_of(reads[place], isKnown))
    reads[place].push_back(read);
  return {};
}

/// Stores to a stage that the program waited for: others who hold it must read
/// other rows of it.
Outcome Simulation::change(LocalStoreOp op, const Place &place,
                           const Program &program) {
  auto &[use, writer] = memory[place];
  Outcome outcome = use.pipeline->change(use, program.party, writer);
  if (!outcome.isDone())
    return outcome;
  Access change = {program.party, op, /*isOfOwnRows=*/true};
  StageState &stage = use.pipeline->stages[use.stage];
  for (const Access &read : reads[place])
    if (mayMeet(read, change) &&
        stage.getConsumer(read.party).given <= use.round)
      return changesRead(change, read);
  changes[place].push_back(change);
  return {};
}

/// Reads all places in shared memory that the op has as operands, and lists
/// them.
Outcome Simulation::readAll(const TraceEvent &event, Program &program,
                            SmallVectorImpl<Place> &places) {
  for (OpOperand &operand : event.op->getOpOperands()) {
    std::optional<Place> place = getPlace(event, operand);
    if (!place)
      continue;
    places.push_back(*place);
    auto found = memory.find(*place);
    if (found == memory.end()) {
      if (place->first.getDefiningOp<AllocOp>() &&
          !unknown.contains(place->first))
        return readsUnwritten();
      continue;
    }
    // What was written without a pipeline.
    if (!found->second.use)
      continue;
    auto *filled = llvm::find_if(
        program.filled, [&](auto &entry) { return entry.first == *place; });
    if (readsOwnRows(operand, program.party) &&
        filled != program.filled.end() &&
        filled->second.isFilledBy(program.party))
      continue;
    Outcome outcome = read(operand, *place, program);
    if (!outcome.isDone())
      return outcome;
  }
  return {};
}

/// Nobody may read any more what is overwritten: all of it, or the rows that
/// the program `ofRows` holds.
Outcome Simulation::write(const Place &place, const StageUse &use,
                          Operation *op, const Program *ofRows) {
  for (const Program &program : programs)
    for (const Dot &dot : program.dots)
      if (llvm::is_contained(dot.operands, place) &&
          (!ofRows || ofRows == &program || dot.rowOperand != place))
        return overwritesOperand(dot.op);
  for (Program &program : programs) {
    for (auto &[read, copy] : program.copiesOut)
      if (read == place)
        return overwritesSource(copy);
    llvm::erase(program.stored, place);
  }
  Contents &contents = memory[place];
  if (contents.use && !(contents.use == use)) {
    StageUse &last = contents.use;
    for (auto &[party, state] : last.pipeline->stages[last.stage].consumers)
      if (state.given <= last.round)
        return last.pipeline->overwrites(last, contents.writer);
  }
  contents = {use, op};
  reads.erase(place);
  changes.erase(place);
  return {};
}

Outcome Simulation::executeCopy(const TraceEvent &event, Program &program) {
  auto copy = cast<CopyOp>(event.op);
  std::optional<Place> place = getPlace(event, copy.getTargetMutable());
  if (copy.getCondition()) {
    std::optional<int64_t> condition =
        event.get(*copy.getConditionMutable().begin());
    if (condition && !*condition)
      return {};
    if (!condition)
      place.reset();
  }
  if (!place)
    unknown.insert(getShared(copy.getTarget()));
  if (!copy.getAsync()) {
    if (place)
      memory[*place] = {StageUse(), copy};
    return {};
  }
  Outcome canFill = program.checkCopy();
  if (!canFill.isDone())
    return canFill;
  StageUse use = program.getAcquired();
  StageState &stage = use.pipeline->stages[use.stage];
  stage.copy = copy;
  stage.copiedRound = use.round;
  return place ? write(*place, use, copy) : Outcome();
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
  SmallVector<Place, 2> places;
  Outcome outcome = readAll(event, program, places);
  for (const Place &place : places)
    if (outcome.isDone())
      outcome = checkFenced(place, program);
  if (outcome.isDone() && event.dot >= 0)
    program.dots.push_back({event.dot, event.op, std::move(places),
                            dot.getTransposeA()
                                ? std::nullopt
                                : getPlace(event, dot.getAMutable())});
  return outcome;
}

//===----------------------------------------------------------------------===//
// The way out
//===----------------------------------------------------------------------===//

/// Rows of a place: of a stage that the program fills or holds, or of a buffer
/// that no pipeline fills.
Outcome Simulation::store(const TraceEvent &event, Program &program) {
  auto op = cast<LocalStoreOp>(event.op);
  std::optional<Place> place = getPlace(event, op.getTargetMutable());
  if (!place) {
    unknown.insert(getShared(op.getTarget()));
    return {};
  }
  if (StageUse use = program.getAcquired()) {
    Outcome outcome = write(*place, use, op, &program);
    if (!outcome.isDone())
      return outcome;
    llvm::erase_if(program.filled,
                   [&](auto &entry) { return entry.first == *place; });
    program.filled.push_back({*place, use});
  } else if (auto found = memory.find(*place);
             found != memory.end() && found->second.use) {
    Outcome outcome = change(op, *place, program);
    if (!outcome.isDone())
      return outcome;
  }
  for (const Program &other : programs)
    for (const Dot &dot : other.dots)
      if (llvm::is_contained(dot.operands, *place) &&
          (&other == &program || dot.rowOperand != place))
        return overwritesOperand(dot.op);
  for (auto &[read, copy] : program.copiesOut)
    if (read == *place)
      return overwritesSource(copy);
  if (!llvm::is_contained(program.stored, *place))
    program.stored.push_back(*place);
  program.unfenced.push_back({*place, op});
  return {};
}

Outcome Simulation::checkFenced(const Place &place,
                                const Program &program) const {
  for (auto &[stored, op] : program.unfenced)
    if (stored == place)
      return readsUnfenced(op);
  return {};
}

Outcome Simulation::copyOut(const TraceEvent &event, Program &program) {
  auto copy = cast<CopyOutOp>(event.op);
  std::optional<Place> place = getPlace(event, copy.getSourceMutable());
  if (!place)
    return {};
  // What the program stored for itself needs no pipeline.
  SmallVector<Place, 2> places;
  bool isOwn =
      llvm::is_contained(program.stored, *place) && !memory.lookup(*place).use;
  Outcome outcome = isOwn ? Outcome() : readAll(event, program, places);
  if (outcome.isDone())
    outcome = checkFenced(*place, program);
  if (outcome.isDone() && copy.getAsync())
    program.copiesOut.push_back({*place, copy});
  return outcome;
}

/// Nothing may read a CTA's memory when it has ended.
Outcome Simulation::checkEnds() {
  for (const Program &program : programs)
    for (auto &[place, copy] : program.copiesOut)
      return Outcome::wrong("the CTA may end before its shared memory is read: "
                            "no 'warp.copy_out_wait' follows")
          .at(copy);
  return {};
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

Outcome Simulation::commit(PipelineRounds &pipeline, int64_t stage,
                           int64_t phase, Program &program) {
  StageUse use;
  Outcome outcome = program.commit(pipeline, stage, phase, use);
  if (outcome.isDone()) {
    // What is handed over is shown.
    llvm::erase_if(program.unfenced, [&](auto &entry) {
      return memory.lookup(entry.first).use == use;
    });
    pipeline.announceCommit(program.party, stage);
  }
  return outcome;
}

Outcome Simulation::release(const TraceEvent &event, PipelineRounds &pipeline,
                            int64_t stage, int64_t phase, Program &program) {
  auto findDot = [&](const StageUse &use) -> Operation * {
    if (!isa<ReleaseAfterDotsOp>(event.op))
      for (const Dot &dot : program.dots)
        for (const Place &place : dot.operands)
          if (memory.lookup(place).use == use)
            return dot.op;
    return nullptr;
  };
  auto findCopyOut = [&](const StageUse &use) -> Operation * {
    for (auto &[place, copy] : program.copiesOut)
      if (memory.lookup(place).use == use)
        return copy;
    return nullptr;
  };
  Outcome outcome =
      program.release(pipeline, stage, phase, findDot, findCopyOut);
  if (outcome.isDone())
    pipeline.announceRelease(program.party, stage);
  return outcome;
}

Outcome Simulation::executeVerb(const TraceEvent &event, Program &program) {
  Operation *op = event.op;
  auto make = getShared(op->getOperand(0)).getDefiningOp<PipelineOp>();
  int64_t stage = *event.operands[1], phase = *event.operands[2];
  auto &pipeline = getObject<PipelineRounds>(make.getPipeline(), make);
  int64_t count = pipeline.stages.size();
  if (stage < 0 || stage >= count)
    return Outcome::wrong(
        formatv("stage {0} lies outside [0, {1})", stage, count));
  switch (cast<PipelineVerbOpInterface>(op).getVerb()) {
  case PipelineVerb::Acquire:
    return program.acquire(op, pipeline, stage, phase);
  case PipelineVerb::Commit:
    return commit(pipeline, stage, phase, program);
  case PipelineVerb::Wait:
    return pipeline.wait(op, program.party, stage, phase);
  case PipelineVerb::Release:
    return release(event, pipeline, stage, phase, program);
  }
  llvm_unreachable("unknown verb");
}

Outcome Simulation::executeTurn(Operation *op, Program &program) {
  Value turns = getShared(op->getOperand(0));
  auto &order =
      getObject<TurnOrder>(turns, cast<TurnsType>(turns.getType()).getGroups());
  return isa<BeginTurnOp>(op) ? program.beginTurn(op, order)
                              : program.endTurn(order);
}

Outcome Simulation::execute(const TraceEvent &event, Program &program) {
  Operation *op = event.op;
  Outcome inRange = checkRange(event);
  if (!inRange.isDone())
    return inRange;
  if (isa<PipelineVerbOpInterface>(op))
    return executeVerb(event, program);
  if (isa<CopyOp>(op))
    return executeCopy(event, program);
  if (isa<SendOp>(op))
    return executeSend(event, program);
  if (isa<DotOp>(op))
    return issueDot(event, program);
  if (isa<DotWaitOpInterface>(op)) {
    // Dots are delivered in order.
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
  if (isa<CopyOutWaitOp>(op)) {
    llvm::erase_if(program.copiesOut, isOfBuffer);
    return {};
  }
  SmallVector<Place, 2> places;
  return readAll(event, program, places);
}

//===----------------------------------------------------------------------===//
// Running
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
        if (auto make =
                getShared(event.op->getOperand(0)).getDefiningOp<PipelineOp>())
          getObject<PipelineRounds>(make.getPipeline(), make);
  Program outside(parts.front().front());
  for (auto &[value, pipeline] : pipelines) {
    Outcome outcome = pipeline->findUsers();
    if (!outcome.isDone())
      return report(outcome, pipeline->op, outside);
  }
  for (auto &traces : parts) {
    if (failed(runPart(traces)))
      return failure();
    // Who waits for somebody whose rest is not known may wait for that.
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
// All worlds
//===----------------------------------------------------------------------===//

static bool isPrime(size_t number) {
  for (size_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return false;
  return number > 1;
}

/// What sizes may be: small numbers, and up to so many steps of every loop that
/// all rings turn twice, some with a rest.
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
    // Around once, step by step, and twice.
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
    // Without questions all worlds are the same.
    if (!world.wasAsked())
      break;
  }
  return success();
}
