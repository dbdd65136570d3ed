//===- Trace.cpp - Events of a CTA's warps ----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records events op by op, and writes them as JSON.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Trace.h"

#include "Warp/Agent.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

static int64_t getBytes(ShapedType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Resolves a role's argument to the value that the op captures.
static Value resolveCapture(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return value;
  auto op = dyn_cast<warp::SpecializeOp>(argument.getOwner()->getParentOp());
  return op ? op.getCaptures()[argument.getArgNumber()] : value;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

unsigned WarpTrace::getAgent(Agent &agent) {
  auto [entry, isNew] = agentNumbers.try_emplace(
      {agent.party.role, agent.party.group}, agents.size());
  if (!isNew)
    return entry->second;
  computations.emplace_back();
  llvm::json::Object facts{{"role", nullptr}, {"group", agent.party.group}};
  if (agent.party.role) {
    auto op = cast<warp::SpecializeOp>(agent.party.role->getParentOp());
    unsigned role = agent.party.role->getRegionNumber();
    int64_t groups = agent.party.groups;
    facts["role"] = cast<StringAttr>(op.getNames()[role]).getValue();
    facts["groups"] = groups;
    facts["warps"] = op.getWarps()[role] * op.getCluster() / groups;
    facts["registers"] = op.getRegisters()[role];
  }
  agents.push_back(std::move(facts));
  return entry->second;
}

void WarpTrace::flush(unsigned agent) {
  Computation done = std::exchange(computations[agent], Computation());
  if (done.ordinary || done.special)
    events.push_back(llvm::json::Array{"compute", agent, done.ordinary,
                                       done.special, done.masked});
}

void WarpTrace::add(StringRef kind, Agent &agent, ArrayRef<int64_t> numbers) {
  unsigned number = getAgent(agent);
  flush(number);
  llvm::json::Array event{kind, number};
  for (int64_t value : numbers)
    event.push_back(value);
  events.push_back(std::move(event));
}

void WarpTrace::record(Operation *op, Agent &agent) {
  if (isFull())
    return;
  getAgent(agent);
  if (!recordMove(op, agent) && !recordDot(op, agent))
    recordComputation(op, agent);
}

/// Records ops that move data or synchronise agents; returns false for others.
bool WarpTrace::recordMove(Operation *op, Agent &agent) {
  Frame &frame = agent.frame;
  if (auto pipeline = dyn_cast<warp::PipelineOp>(op)) {
    pipelines.try_emplace(op, pipelines.size());
    return true;
  }
  if (isa<warp::AllocOp, warp::OnesOp>(op)) {
    auto &view = frame.get(op->getResult(0)).getObject<SharedView>();
    buffers.try_emplace(view.buffer.get(), op);
    return true;
  }
  StringRef kind = llvm::TypeSwitch<Operation *, StringRef>(op)
                       .Case([](warp::ProducerAcquireOp) { return "acquire"; })
                       .Case<warp::ProducerCommitOp, warp::CommitAfterDotsOp>(
                           [](auto) { return "commit"; })
                       .Case([](warp::ConsumerWaitOp) { return "wait"; })
                       .Case<warp::ConsumerReleaseOp, warp::ReleaseAfterDotsOp>(
                           [](auto) { return "release"; })
                       .Default([](Operation *) { return ""; });
  if (!kind.empty()) {
    auto &pipeline = frame.get(op->getOperand(0)).getObject<PipelineState>();
    add(kind, agent,
        {pipelines.lookup(pipeline.op), frame.getInteger(op->getOperand(1))});
    return true;
  }
  if (auto copy = dyn_cast<warp::CopyOp>(op)) {
    auto &view = frame.get(copy.getTarget()).getObject<SharedView>();
    auto *buffer = buffers.find(view.buffer.get());
    sources.try_emplace(buffer->second, resolveCapture(copy.getSource()));
    add("copy", agent,
        {int64_t(buffer - buffers.begin()),
         getBytes(copy.getTarget().getType())});
    return true;
  }
  if (auto copy = dyn_cast<warp::CopyOutOp>(op)) {
    auto &view = frame.get(copy.getSource()).getObject<SharedView>();
    auto *buffer = buffers.find(view.buffer.get());
    if (buffer != buffers.end())
      sources.try_emplace(buffer->second, resolveCapture(copy.getTarget()));
    return true;
  }
  if (isa<warp::BeginTurnOp, warp::EndTurnOp>(op)) {
    add(isa<warp::BeginTurnOp>(op) ? "begin_turn" : "end_turn", agent);
    return true;
  }
  if (isa<warp::SendOp>(op)) {
    add("send", agent);
    return true;
  }
  if (isa<warp::FetchWorkOp, warp::NextWorkOp, warp::ReceiveOp>(op)) {
    add("work", agent, frame.getInteger(op->getResult(0)));
    return true;
  }
  if (isa<tile::LoadOp, tile::GatherOp>(op)) {
    add("load", agent,
        getBytes(cast<ShapedType>(op->getResult(0).getType())) /
            agent.party.groups);
    return true;
  }
  if (isa<tile::StoreOp, tile::ScatterOp>(op)) {
    add("store", agent,
        getBytes(cast<ShapedType>(op->getOperand(0).getType())) /
            agent.party.groups);
    return true;
  }
  return false;
}

/// Index of the buffer that a dot reads as `operand`, directly or through
/// registers; -1 for values that come from elsewhere.
int64_t WarpTrace::findBuffer(Value operand, Agent &agent) const {
  if (auto load = operand.getDefiningOp<warp::LocalLoadOp>())
    operand = load->getOperand(0);
  if (!isa<MemRefType>(operand.getType()))
    return -1;
  auto &view = agent.frame.get(operand).getObject<SharedView>();
  const auto *buffer = buffers.find(view.buffer.get());
  return buffer == buffers.end() ? -1 : buffer - buffers.begin();
}

bool WarpTrace::recordDot(Operation *op, Agent &agent) {
  if (auto wait = dyn_cast<warp::DotWaitOpInterface>(op)) {
    auto &pending = agent.frame.get(wait.getPending()).getObject<PendingDot>();
    add("dot_wait", agent, dots.lookup(&pending));
    return true;
  }
  auto addDot = [&](auto dot, ShapedType result, bool async, unsigned inner) {
    bool transposed = dot.getTransposeB();
    if (transposed)
      scores.insert({result.getDimSize(0), result.getDimSize(1)});
    int64_t depth = cast<ShapedType>(dot.getA().getType()).getDimSize(inner);
    add("dot", agent,
        {numDots++, result.getDimSize(0) / agent.party.groups,
         result.getDimSize(1), depth, async, transposed,
         findBuffer(dot.getA(), agent), findBuffer(dot.getB(), agent)});
  };
  if (auto dot = dyn_cast<warp::DotOp>(op)) {
    if (dot.getAsync())
      dots[&agent.frame.get(dot.getResult()).getObject<PendingDot>()] = numDots;
    addDot(dot, dot.getTileType(), dot.getAsync(), dot.getTransposeA() ? 0 : 1);
    return true;
  }
  if (auto dot = dyn_cast<warp::DotIntoOp>(op)) {
    addDot(dot, dot.getAcc().getType(), /*async=*/true, /*inner=*/1);
    return true;
  }
  return false;
}

/// Returns true if an op masks scores: it selects between scores and a
/// constant. The softmax contains selects, too, but of row values.
bool WarpTrace::masksScores(Operation *op) const {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select)
    return false;
  auto type = dyn_cast<RankedTensorType>(select.getType());
  if (!type || !isa<ShapedType>(select.getCondition().getType()) ||
      type.getRank() != 2 ||
      !scores.contains({type.getDimSize(0), type.getDimSize(1)}))
    return false;
  return matchPattern(resolveCapture(select.getTrueValue()), m_Constant()) ||
         matchPattern(resolveCapture(select.getFalseValue()), m_Constant());
}

/// Counts arithmetic on tiles by the unit that executes it. Bookkeeping and
/// uniform values are negligible.
void WarpTrace::recordComputation(Operation *op, Agent &agent) {
  if (auto part = dyn_cast<warp::ExtractColumnsOp>(op)) {
    auto whole = cast<ShapedType>(part.getOperand().getType());
    if (scores.contains({whole.getDimSize(0), whole.getDimSize(1)}))
      scores.insert(
          {part.getType().getDimSize(0), part.getType().getDimSize(1)});
    return;
  }
  if (op->getNumResults() != 1 || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tile::BroadcastOp, tile::IotaOp, arith::BitcastOp,
          warp::ConcatColumnsOp, warp::ConvertLayoutOp>(op))
    return;
  bool isReduction = isa<tile::ReduceOp>(op);
  auto type = dyn_cast<RankedTensorType>(
      isReduction ? op->getOperand(0).getType() : op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return;
  int64_t elements = type.getNumElements() / agent.party.groups;
  bool isMath = isa_and_nonnull<math::MathDialect>(op->getDialect());
  bool isSpecial =
      isa<arith::DivFOp>(op) ||
      (isMath &&
       !isa<math::FmaOp, math::AbsFOp, math::AbsIOp, math::FloorOp,
            math::CeilOp, math::TruncOp, math::RoundOp, math::RoundEvenOp>(op));
  Computation &sum = computations[getAgent(agent)];
  (isSpecial ? sum.special : sum.ordinary) += elements;
  if (masksScores(op))
    sum.masked += elements;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static llvm::json::Value getOffset(Operation *op) {
  auto offset = op->getAttrOfType<IntegerAttr>("offset");
  return offset ? llvm::json::Value(offset.getInt()) : nullptr;
}

/// The name of the tensor that a kernel argument refers to.
static llvm::json::Value getTensorName(launch::AbiOp abi, Value source) {
  auto argument = dyn_cast_if_present<BlockArgument>(source);
  if (!argument || argument.getArgNumber() >= abi.getParameters().size())
    return nullptr;
  auto parameter = dyn_cast<launch::MemRefParameterAttr>(
      abi.getParameters()[argument.getArgNumber()]);
  return parameter ? llvm::json::Value(parameter.getTensor()) : nullptr;
}

llvm::json::Value WarpTrace::toJSON(launch::AbiOp abi) {
  for (unsigned agent = 0; agent < agents.size(); ++agent)
    flush(agent);
  llvm::json::Array bufferFacts, pipelineFacts;
  for (auto &[_, op] : buffers) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    // Each CTA of a cluster may hold a part.
    bufferFacts.push_back(llvm::json::Object{
        {"shape", llvm::json::Array(type.getShape())},
        {"bytes", getBytes(type) /
                      (warp::isSharedBuffer(type) ? warp::getCtas(type) : 1)},
        {"offset", getOffset(op)},
        {"tensor", getTensorName(abi, sources.lookup(op))}});
  }
  for (auto &[op, _] : pipelines)
    pipelineFacts.push_back(llvm::json::Object{
        {"stages",
         cast<warp::PipelineOp>(op).getPipeline().getType().getStages()},
        {"offset", getOffset(op)}});
  return llvm::json::Object{{"agents", std::move(agents)},
                            {"buffers", std::move(bufferFacts)},
                            {"pipelines", std::move(pipelineFacts)},
                            {"complete", !isFull()},
                            {"events", std::move(events)}};
}
