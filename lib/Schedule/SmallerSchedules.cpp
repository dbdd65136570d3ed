//===- SmallerSchedules.cpp - Schedules with fewer registers ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/SmallerSchedules.h"

#include "fovea/Support/Untrusted.h"

#include <algorithm>

using namespace llvm;

// MMA instructions take keys in steps of this size.
static constexpr int64_t kKeyStep = 16;

static bool sumsQueryGradient(const json::Object &facts) {
  const json::Array *parameters = facts.getArray("parameters");
  return parameters && any_of(*parameters, [](const json::Value &parameter) {
           const json::Object *fields = parameter.getAsObject();
           return fields && fields->getString("name") == "dq_sum";
         });
}

std::optional<std::vector<std::string>>
fovea::getSmallerSchedules(StringRef metadata) {
  Expected<json::Value> parsed = parseJSON(metadata);
  if (!parsed) {
    consumeError(parsed.takeError());
    return std::nullopt;
  }
  const json::Object *facts = parsed->getAsObject();
  const json::Object *schedule = facts ? facts->getObject("schedule") : nullptr;
  if (!schedule)
    return std::nullopt;
  std::optional<int64_t> tileN = schedule->getInteger("tile_n"),
                         warps = schedule->getInteger("warps");
  if (!tileN || !warps)
    return std::nullopt;
  bool hasRoles = schedule->getInteger("producer_registers").value_or(0) != 0;
  // In backward kernels that accumulate dQ in memory, registers already
  // determine the tile sizes. Two kernels without spills are slower than one
  // with a few.
  if (sumsQueryGradient(*facts))
    return std::vector<std::string>();
  int64_t width = *tileN;
  std::string groups;
  if (hasRoles && *warps > 8) {
    groups = "warps=8,";
    width = 256;
  }
  std::vector<std::string> smaller;
  while (width > kKeyStep) {
    width = std::max(kKeyStep, width / 2 / kKeyStep * kKeyStep);
    smaller.push_back(groups + "tile_n=" + std::to_string(width));
  }
  return smaller;
}
