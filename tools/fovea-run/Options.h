//===- Options.h - Command line of fovea-run --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_OPTIONS_H
#define FOVEA_TOOLS_FOVEA_RUN_OPTIONS_H

#include "fovea/Dialect/Tile/Transforms/Passes.h"
#include "fovea/Interpreter/Values.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea::run {

/// Exit codes.
enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,
  kBadInput = 2,
  kNoDriver = 3
};

enum class Level { Attn, Tile, Warp };

/// The parsed command line.
struct Options {
  std::string program, reference, entry;
  std::vector<std::string> inputs, outputs;
  std::optional<Level> level;
  interp::Precision precision = interp::Precision::Typed;
  /// The element type of uint16 arrays.
  std::optional<interp::ElementKind> uint16Is;

  std::optional<uint64_t> randomSeed;
  llvm::StringMap<int64_t> dims;
  llvm::StringMap<std::string> scalars;
  double magnitude = 1;
  int64_t integersLow = 0, integersHigh = 7;
  std::string saveInputs;

  std::string target, schedule, scheduleTable;
  tile::RecurrenceKind recurrence = tile::kScheduleRecurrence;
  bool accurateTanh = false;

  /// Run on a GPU instead of in the interpreter; `emulated`: run PTX on the
  /// CPU.
  bool onDevice = false, emulated = false, benchmark = false;
  /// The emulator's trace file, or empty.
  std::string trace;
  /// Search for the best schedule; `tuneDryRun`: only list the candidates.
  bool tune = false, tuneDryRun = false;
  /// For tuning: parallel compilations, and the assembler.
  unsigned jobs = 0;
  std::string ptxas;
  /// Compiled files to run; empty to compile the program.
  std::string kernel, metadata;

  /// Interleavings to run at levels warp and ptx: `numSeeds` seeds from `seed`.
  uint64_t seed = 0, numSeeds = 1;

  /// `checkDifferences`: also check against finite differences.
  bool check = false, checkDifferences = false, json = false;
  bool checkContents = false;
  int64_t kvBoundsRows = 0;
  int64_t kvClassifyRows = 0, kvClassifyColumns = 0;
  bool kvClassifyExactly = false;
};

/// Parses the command line; exits for --help and for errors of llvm::cl.
/// Returns nullopt after reporting an invalid value.
std::optional<Options> parseOptions(int argc, char **argv);

/// Prints `fovea-run: error: ...`.
void reportError(const llvm::Twine &message);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_OPTIONS_H
