//===- BackwardPlanEntries.cpp - Entries of backward plans ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardPlanEntries.h"

#include "Planner.h"

#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;

static plan::StreamAttr makeStream(Builder &b, StringRef name,
                                   const plan::StreamPlan &said) {
  return plan::StreamAttr::get(b.getContext(), b.getStringAttr(name), said);
}

plan::StreamAttr BackwardPlanEntries::stream(StringRef name, int64_t stages,
                                             StringRef with, bool isStaged) {
  plan::StreamPlan said;
  said.stages = stages;
  said.isStaged = isStaged || !with.empty();
  if (!with.empty())
    said.with = b.getStringAttr(with);
  return makeStream(b, name, said);
}

plan::StreamAttr BackwardPlanEntries::independentStream(StringRef name,
                                                        int64_t stages) {
  plan::StreamPlan said;
  said.stages = stages;
  said.countsAlone = true;
  return makeStream(b, name, said);
}

void BackwardPlanEntries::addRelativePositions(
    SmallVectorImpl<plan::StreamAttr> &streams,
    const BackwardProblem &problem) {
  plan::StreamPlan said;
  said.stages = problem.diagonalStages;
  said.isStaged = true;
  for (int64_t number = 0; number < problem.diagonals; ++number)
    streams.push_back(
        makeStream(b, ("diagonals." + Twine(number)).str(), said));
}

void BackwardPlanEntries::addDsStreams(
    SmallVectorImpl<plan::StreamAttr> &streams, int64_t stages,
    const BackwardProblem &problem) {
  streams.push_back(stream("ds", stages, /*with=*/"",
                           /*isStaged=*/problem.sumsByRelativePosition));
  for (int64_t share = 0; share < problem.relativePositionShares; ++share)
    streams.push_back(stream(("share." + Twine(share)).str(), stages,
                             /*with=*/"", /*isStaged=*/true));
}

plan::DotAttr BackwardPlanEntries::sumDot(StringRef name) {
  plan::DotPlan sum;
  sum.addsToSummand = true;
  return plan::DotAttr::get(b.getContext(), b.getStringAttr(name), sum);
}

plan::DotAttr BackwardPlanEntries::fullOperandDot(StringRef name) {
  plan::DotPlan above;
  above.isEachBeforeWait = true;
  return plan::DotAttr::get(b.getContext(), b.getStringAttr(name), above);
}

plan::StoreAttr BackwardPlanEntries::tmaStore(StringRef name, StringRef over) {
  plan::StorePlan store;
  store.isCopied = true;
  if (!over.empty())
    store.over = b.getStringAttr(over);
  return plan::StoreAttr::get(b.getContext(), b.getStringAttr(name), store);
}

plan::StoreAttr BackwardPlanEntries::delayedStore(StringRef name) {
  plan::StorePlan store;
  store.isLate = true;
  return plan::StoreAttr::get(b.getContext(), b.getStringAttr(name), store);
}

SmallVector<plan::StoreAttr>
BackwardPlanEntries::sums(plan::OutputPath output) {
  if (output == plan::OutputPath::Direct)
    return {};
  return {tmaStore("dq_sum")};
}

plan::RoleAttr BackwardPlanEntries::role(StringRef name, int64_t warps,
                                         int64_t registers,
                                         ArrayRef<StringRef> owns) {
  return plan::RoleAttr::get(b.getContext(), name, warps, registers,
                             b.getStrArrayAttr(owns));
}

SmallVector<plan::RoleAttr>
BackwardPlanEntries::roles(int64_t loadRegisters,
                           const BackwardProblem &problem,
                           ArrayRef<plan::RoleAttr> others) {
  SmallVector<plan::RoleAttr> more;
  if (problem.isDeterministic)
    more = {role("acquire", 1, loadRegisters, {"turn_acquire"}),
            role("release", 1, loadRegisters, {"turn_release"})};
  if (problem.diagonals > 0)
    more.push_back(role("diagonals", 1, loadRegisters, {"diagonals"}));
  SmallVector<plan::RoleAttr> all = {
      role("load", kGroupWarps - more.size(), loadRegisters,
           {"k", "v", "q", "do", "exponents", "delta"})};
  llvm::append_range(all, more);
  llvm::append_range(all, others);
  return all;
}
