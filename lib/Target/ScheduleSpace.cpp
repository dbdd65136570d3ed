//===- ScheduleSpace.cpp - Which schedules to try ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/ScheduleSpace.h"

#include "Planner.h"

#include "llvm/Support/FormatVariadic.h"

using namespace fovea;
using llvm::formatv;

/// One program for all warps: each warp holds 16 or 32 rows.
static std::vector<std::vector<std::string>> getMmaSyncShapes() {
  std::vector<std::vector<std::string>> shapes;
  for (int64_t warps : {4, 8})
    for (int64_t rows : {16, 32})
      for (int64_t tileN : {32, 48, 64, 96, 128})
        for (int64_t inRegisters : {0, 1})
          for (int64_t blocks : {1, 2}) {
            auto &list = shapes.emplace_back();
            for (int64_t stages : {3, 2})
              list.push_back(formatv(
                  "warps={0},tile_m={1},tile_n={2},stages={3},"
                  "query_in_registers={4},min_blocks={5}",
                  warps, warps * rows, tileN, stages, inRegisters, blocks));
          }
  return shapes;
}

static std::vector<std::vector<std::string>> getWarpGroupShapes() {
  std::vector<std::vector<std::string>> shapes;
  for (int64_t groups = 1; groups <= 4; ++groups)
    for (int64_t tileN = 48; tileN <= 192; tileN += 16)
      for (int64_t chain : {0, 1, 2}) {
        auto &list = shapes.emplace_back();
        for (auto [keyStages, stages] :
             {std::pair(4, 4), {4, 3}, {3, 3}, {3, 2}, {2, 2}})
          list.push_back(formatv("{0},tile_n={1},chain={2},query_stages={3},"
                                 "key_stages={4},stages={5}",
                                 getWarpGroupOverrides(groups), tileN, chain,
                                 chain == 1 ? 2 : 1, keyStages, stages));
      }
  return shapes;
}

std::vector<std::vector<std::string>>
fovea::getScheduleShapes(const TargetInfo &target) {
  auto shapes =
      target.warpGroupDots ? getWarpGroupShapes() : getMmaSyncShapes();
  shapes.insert(shapes.begin(), {"auto"});
  return shapes;
}

std::vector<std::string>
fovea::getScheduleVariations(const TargetInfo &target) {
  std::vector<std::string> variations = {"recurrence=deferred",
                                         "recurrence=conditional",
                                         "longest_first=0", "longest_first=1"};
  if (!target.warpGroupDots) {
    variations.push_back("recurrence=lazy");
    return variations;
  }
  llvm::append_range(
      variations, std::initializer_list<const char *>{
                      "work=static", "work=dynamic", "work=single,chain=0",
                      "ping_pong=0", "ping_pong=1", "softmax_part=25",
                      "softmax_part=50", "softmax_part=100", "sum_by_dot=1",
                      "cluster=2,work=static", "exp2_by_fma=25", "add_by_dot=0",
                      "add_by_dot=1", "output=direct", "output=tma"});
  return variations;
}
