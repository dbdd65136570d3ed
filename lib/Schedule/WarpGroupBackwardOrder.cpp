//===- WarpGroupBackwardOrder.cpp - Order of a backward block ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpGroupBackwardOrder.h"

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
    if (position >= ahead)
      names.push_back(("dq_sum." + Twine(chunks[position - ahead])).str());
  }
  return names;
}

/// Orders an iteration. The LSE term and delta are loaded before the adjacent
/// dots if registers allow it: after them, the loads would wait for the
/// operands of the dots. With values that a score_mod keeps they would be
/// spilled.
static plan::KernelAttr addOrder(plan::KernelAttr keys,
                                 const BackwardProblem &problem,
                                 KeyRoles keyRoles) {
  SmallVector<std::string> order;
  if (!problem.modifies)
    order.push_back("exponents");
  order.push_back("s");
  bool slopesFirst = computesSlopesFirst(problem, keyRoles);
  if (slopesFirst)
    order.push_back("slope");
  if (!problem.modifies || problem.getColumns() <= kMostColumnsBesideGradients)
    order.push_back("delta");
  order.push_back("dp");
  bool isShort = isShortOfRegisters(problem, keyRoles, keys->tileN);
  if (isShort && !slopesFirst && !problem.hasScoreMod)
    order.append({"ds", "dv"});
  else
    order.append({"dv", "ds"});
  order.push_back("dk");
  llvm::append_range(order, listDqChunks(keys, problem, keyRoles));
  return keys.withOrder(order);
}

plan::KernelAttr wgmma_backward::orderKeysBlock(
    plan::KernelAttr keys, const BackwardProblem &problem, KeyRoles keyRoles,
    const JointRegisters &registers) {
  return addOrder(addKeysEntries(keys, problem, keyRoles, registers), problem,
                  keyRoles);
}
