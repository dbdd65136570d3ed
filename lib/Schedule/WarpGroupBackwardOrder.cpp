//===- WarpGroupBackwardOrder.cpp - Order of a backward block ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpGroupBackwardOrder.h"

#include "StepList.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::wgmma_backward;

bool wgmma_backward::addsDqAhead(const BackwardProblem &problem,
                                 KeyRoles roles) {
  return roles == KeyRoles::Scores ||
         (roles == KeyRoles::Pairs && !problem.modifies &&
          !problem.sumsByRelativePosition);
}

/// Returns true if registers hold either P in f32 or the operand of dV's dot,
/// not both.
static bool isShortOfRegisters(const BackwardProblem &problem,
                               KeyRoles keyRoles, int64_t queries) {
  return keyRoles == KeyRoles::Joint &&
         (queries != kFewestQueries ||
          problem.getColumns() > kMostColumnsBesideGradients);
}

/// Returns true if the derivative of score_mod is computed with P. If registers
/// hold both factors, keeping their product costs 2 % at head dim 64.
static bool computesSlopesFirst(const BackwardProblem &problem,
                                KeyRoles keyRoles) {
  return keyRoles == KeyRoles::Joint && problem.readsScores &&
         problem.getColumns() > kMostColumnsBesideGradients;
}

/// Adds the entries that determine what a block keeps in registers and how dQ
/// is accumulated.
static plan::KernelAttr addKeysEntries(plan::KernelAttr keys,
                                       const BackwardProblem &problem,
                                       KeyRoles keyRoles,
                                       const JointRegisters &registers) {
  bool isJoint = keyRoles == KeyRoles::Joint;
  keys = keys.changeStore("dq_sum", [&](plan::StorePlan &store) {
    store.accumulates = true;
    store.isOrdered = problem.isDeterministic;
  });
  keys = keys.changeDot("dq", [&](plan::DotPlan &dot) {
    dot.chunkRows = kDqChunkRows;
    dot.chunkColumns = registers.partColumns;
  });
  if (isJoint ? registers.keepsGradients : keyRoles != KeyRoles::Scores)
    keys = keys.changeDot("dk",
                          [](plan::DotPlan &dot) { dot.aInRegisters = true; });
  // dP's accumulator starts from -delta, which saves a subtraction per pair.
  // Dropout multiplies dP first.
  if (isJoint && !problem.hasDropout)
    keys = keys.changeDot("dp",
                          [](plan::DotPlan &dot) { dot.addsToSummand = true; });
  // With a score_mod, registers hold no P in f32.
  if (isShortOfRegisters(problem, keyRoles, keys->tileN) && problem.hasScoreMod)
    for (StringRef name : {"p", "slope"})
      keys = keys.changeStream(
          name, [](plan::StreamPlan &value) { value.isRounded = true; });
  return keys;
}

/// True if sums by relative position are computed while the first chunk's dot
/// is outstanding.
static bool hidesSums(const BackwardProblem &problem, KeyRoles keyRoles) {
  return problem.sumsByRelativePosition &&
         (keyRoles == KeyRoles::Joint || keyRoles == KeyRoles::Pairs);
}

/// The dots and stores of the chunks of dQ, in order. Delayed stores are last.
/// If registers hold two chunks, one is added while the next one is computed.
static SmallVector<std::string> listDqChunks(plan::KernelAttr keys,
                                             const BackwardProblem &problem,
                                             KeyRoles keyRoles) {
  plan::DotPlan dq = keys.getDot("dq");
  int64_t count = keys->tileN / dq.chunkRows *
                  llvm::divideCeil(problem.headDim, dq.chunkColumns);
  SmallVector<int64_t> chunks, late;
  for (int64_t chunk = 0; chunk < count; ++chunk) {
    std::string name = ("dq_sum." + Twine(chunk)).str();
    (keys.getStore(name).isLate ? late : chunks).push_back(chunk);
  }
  llvm::append_range(chunks, late);
  SmallVector<std::string> names;
  size_t ahead = addsDqAhead(problem, keyRoles) ? 1 : 0;
  for (size_t position = 0; position < chunks.size() + ahead; ++position) {
    if (position < chunks.size())
      names.push_back(("dq." + Twine(chunks[position])).str());
    if (position == 0 && hidesSums(problem, keyRoles))
      names.append({"distance_sum", names.front() + ".done"});
    if (position >= ahead)
      names.push_back(("dq_sum." + Twine(chunks[position - ahead])).str());
  }
  return names;
}

namespace {
/// Facts that determine the order of an iteration of a key tile's loop.
struct OrderFacts {
  /// The LSE term and delta are loaded before the adjacent dots if registers
  /// allow it: after them, the loads would wait for the operands of the dots.
  /// With values that a score_mod keeps they would be spilled.
  bool loadsExponents, loadsDelta;
  /// The derivative of score_mod is computed with P.
  bool slopesFirst;
  /// P is rounded for dV only after dS was computed from it.
  bool roundsLate;
  /// The next scores start from values by relative position. They are loaded
  /// before the fence that follows the store of dS, which then waits for both.
  /// With sums by relative position, another role waits for dS, which is stored
  /// first.
  bool loadsDiagonals;
};
} // namespace

/// One iteration after another. Without registers for both P in f32 and the
/// operand of dV's dot, dS is computed first.
static void listInOrder(StepList &steps, const OrderFacts &facts,
                        ArrayRef<std::string> dq) {
  if (facts.loadsExponents)
    steps.add("exponents");
  steps.add("s");
  if (facts.slopesFirst)
    steps.add("slope");
  if (facts.loadsDelta)
    steps.add("delta");
  steps.add("dp");
  steps.add(facts.roundsLate ? "ds" : "dv");
  steps.add(facts.roundsLate ? "dv" : "ds");
  steps.add("dk");
  for (const std::string &name : dq)
    steps.add(name);
}

/// P of the next block is computed while dK of this block is: the scores of the
/// next block are issued before dK's dot, and everything that dK needs before
/// that.
static void listWithNextScores(StepList &steps, const OrderFacts &facts,
                               ArrayRef<std::string> dq) {
  if (facts.slopesFirst)
    steps.add("slope", 1);
  if (facts.loadsDelta)
    steps.add("delta");
  steps.add("dp");
  if (!facts.roundsLate)
    steps.add("dv");
  steps.add("dp.done");
  steps.add("ds");
  if (facts.roundsLate) {
    steps.add("dv.a");
    steps.add("dv");
  }
  if (facts.loadsDiagonals) {
    steps.add("ds.store");
    steps.add("s.acc", 1);
  }
  steps.add("ds.done");
  if (facts.loadsExponents)
    steps.add("exponents", 1);
  steps.add("s", 1);
  steps.add("dk");
  // Dots complete in the order of their issue: with the scores, dV's dot is
  // complete, and the registers of its operand are free.
  if (facts.roundsLate)
    steps.add("dv.done");
  steps.add("s.done", 1);
  if (facts.roundsLate)
    steps.add("dv.wide", 1);
  steps.add("*", 1);
  if (!facts.roundsLate)
    steps.add("dv.done");
  steps.add("dk.done");
  for (const std::string &name : dq)
    steps.add(name);
}

/// The scores of the next block are issued last and stay outstanding until its
/// iteration. Dots of dQ chunks overlap the sums of other chunks.
static void listWithCarriedScores(StepList &steps, const OrderFacts &facts,
                                  ArrayRef<std::string> dq) {
  if (facts.loadsExponents)
    steps.add("exponents");
  steps.add("s.done");
  steps.add("dp");
  steps.add("p.done");
  if (facts.loadsDelta)
    steps.add("delta");
  steps.add("dp.done");
  steps.add("ds.done");
  // The last sums are added while the next scores are computed.
  constexpr size_t kLast = 2;
  size_t first = dq.size();
  while (first != 0 && dq.size() - first < kLast &&
         StringRef(dq[first - 1]).starts_with("dq_sum"))
    --first;
  auto addWait = [&](StringRef sum) {
    steps.add("dq." + sum.split('.').second + ".done");
  };
  for (StringRef name : dq.take_front(first)) {
    if (name.starts_with("dq_sum"))
      addWait(name);
    steps.add(name);
  }
  for (StringRef name : dq.drop_front(first)) {
    if (name == dq.back())
      steps.add("s", 1);
    addWait(name);
  }
  for (StringRef name : dq.drop_front(first))
    steps.add(name);
}

static plan::KernelAttr addOrder(plan::KernelAttr keys,
                                 const BackwardProblem &problem,
                                 KeyRoles keyRoles) {
  OrderFacts facts;
  facts.loadsExponents = !problem.modifies;
  facts.slopesFirst = computesSlopesFirst(problem, keyRoles);
  facts.loadsDelta =
      !problem.modifies || problem.getColumns() <= kMostColumnsBesideGradients;
  facts.roundsLate = isShortOfRegisters(problem, keyRoles, keys->tileN) &&
                     !facts.slopesFirst && !problem.hasScoreMod;
  facts.loadsDiagonals = problem.diagonals > 0 && !problem.modifies &&
                         !problem.sumsByRelativePosition;
  SmallVector<std::string> dq = listDqChunks(keys, problem, keyRoles);
  StepList steps(keys.getContext());
  if (keyRoles == KeyRoles::Scores)
    listWithCarriedScores(steps, facts, dq);
  else if (keyRoles == KeyRoles::Joint && keys->stages > 1)
    listWithNextScores(steps, facts, dq);
  else
    listInOrder(steps, facts, dq);
  return keys.withOrder(steps.get());
}

plan::KernelAttr wgmma_backward::orderKeysBlock(
    plan::KernelAttr keys, const BackwardProblem &problem, KeyRoles keyRoles,
    const JointRegisters &registers) {
  return addOrder(addKeysEntries(keys, problem, keyRoles, registers), problem,
                  keyRoles);
}
