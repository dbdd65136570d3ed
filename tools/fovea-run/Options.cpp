//===- Options.cpp - Command line of fovea-run ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines, parses and checks the options of fovea-run.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "fovea/Support/DefaultTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

#include <cmath>

using namespace fovea::run;
namespace cl = llvm::cl;
using llvm::StringRef;

void fovea::run::reportError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fovea-run") << message << "\n";
}

namespace {
cl::OptionCategory category("fovea-run options");

cl::opt<std::string> program(cl::Positional, cl::Required,
                             cl::desc("<program.mlir>"), cl::cat(category));
cl::list<std::string>
    inputs("inputs", cl::CommaSeparated, cl::value_desc("files"),
           cl::desc("Inputs in order: .npy files, or numbers for scalars; all "
                    "values up to the next option"),
           cl::cat(category));
cl::list<std::string> outputs("outputs", cl::CommaSeparated,
                              cl::value_desc("files"),
                              cl::desc("Files for the outputs, in order"),
                              cl::cat(category));
/// Program levels, and PTX as the output of the last one.
enum class LevelOption { Attn, Tile, Warp, PTX };
cl::opt<LevelOption> level(
    "level", cl::desc("Level to execute; the program's own by default"),
    cl::values(clEnumValN(LevelOption::Attn, "attn", "what the attn ops mean"),
               clEnumValN(LevelOption::Tile, "tile", "the tile program"),
               clEnumValN(LevelOption::Warp, "warp", "the warp program"),
               clEnumValN(LevelOption::PTX, "ptx",
                          "the PTX, as --device=ptx does")),
    cl::cat(category));
cl::opt<fovea::interp::Precision> precision(
    "precision", cl::desc("How floats are evaluated"),
    cl::values(clEnumValN(fovea::interp::Precision::Typed, "typed",
                          "rounded to their types after each op (default)"),
               clEnumValN(fovea::interp::Precision::Exact, "exact",
                          "everything in f64")),
    cl::init(fovea::interp::Precision::Typed), cl::cat(category));
cl::opt<std::string> entry("entry", cl::value_desc("name"),
                           cl::desc("Function or kernel to run; the only one "
                                    "by default"),
                           cl::cat(category));
cl::opt<std::string>
    dtype("dtype", cl::value_desc("type"),
          cl::desc("Element type of uint16 arrays, 'bf16' or 'f16'"),
          cl::cat(category));
cl::opt<uint64_t>
    randomSeed("random", cl::value_desc("seed"),
               cl::desc("Draw the inputs instead of reading them"),
               cl::cat(category));
cl::list<std::string>
    dims("dims", cl::CommaSeparated, cl::value_desc("name=size"),
         cl::desc("Sizes of dynamic dimensions for --random, for example "
                  "B=2,Sq=300"),
         cl::cat(category));
cl::list<std::string> scalars("scalars", cl::CommaSeparated,
                              cl::value_desc("name=value"),
                              cl::desc("Values of scalars for --random"),
                              cl::cat(category));
cl::opt<double> magnitude("magnitude", cl::value_desc("factor"), cl::init(1),
                          cl::desc("Factor of q for --random"),
                          cl::cat(category));
cl::opt<std::string> integers(
    "integers", cl::value_desc("low:high"), cl::init("0:7"),
    cl::desc("Range of captured integers for --random, both ends included"),
    cl::cat(category));
cl::opt<std::string> saveInputs("save-inputs", cl::value_desc("folder"),
                                cl::desc("Write the inputs as NAME.npy"),
                                cl::cat(category));
cl::opt<uint64_t>
    seed("seed", cl::value_desc("seed"), cl::init(0),
         cl::desc("Seed of the interleaving of warps, roles and copies, at "
                  "levels warp and ptx"),
         cl::cat(category));
cl::opt<uint64_t> numSeeds(
    "seeds", cl::value_desc("count"), cl::init(1),
    cl::desc("Number of seeds to run at level warp or ptx, starting at "
             "--seed; all must give the same numbers"),
    cl::cat(category));
enum class Check { No, Meaning, Differences };
cl::opt<Check> check(
    "check", cl::ValueOptional, cl::init(Check::No),
    cl::desc("Compare the outputs with what they should be; exit with 1 beyond "
             "the tolerance"),
    cl::values(clEnumValN(Check::Meaning, "", "the attn-level meaning in f64"),
               clEnumValN(Check::Differences, "differences",
                          "of gradients, the same, and that with finite "
                          "differences of the forward in f64")),
    cl::cat(category));
cl::opt<std::string> reference(
    "reference", cl::value_desc("file"),
    cl::desc("attn-level program that says what a tile-level one means"),
    cl::cat(category));
cl::opt<bool> json("json", cl::desc("Print the result as one JSON object"),
                   cl::cat(category));
cl::opt<int64_t> kvBoundsRows(
    "check-kv-bounds", cl::value_desc("rows"), cl::init(0),
    cl::desc("Check what kv_bounds regions claim for blocks of so many "
             "queries"),
    cl::cat(category));
cl::opt<std::string> kvClassifyBlock(
    "check-kv-classify", cl::value_desc("rowsxcolumns[,exact]"),
    cl::desc("Check what kv_classify regions claim for blocks of so many "
             "queries and keys; with ',exact' also that they claim all "
             "that is true"),
    cl::cat(category));
cl::opt<bool> contents(
    "check-contents", cl::cat(category),
    cl::desc("Refuse lengths, offsets and lists of blocks that make no sense; "
             "programs run with any"));
cl::opt<std::string> target("target", cl::init(fovea::kDefaultTarget),
                            cl::desc("GPU to lower for (default sm_90a)"),
                            cl::cat(category));
cl::opt<std::string> schedule("schedule", cl::init("auto"),
                              cl::desc("'auto', or fields to override, or the "
                                       "\"plans\" of launch metadata"),
                              cl::cat(category));
cl::opt<std::string> scheduleTable(
    "schedule-table", cl::value_desc("file"),
    cl::desc("Schedules that were measured; fields of --schedule go first. "
             "--tune adds to it"),
    cl::cat(category));
cl::opt<fovea::tile::RecurrenceKind>
    recurrence("recurrence", cl::desc("Algorithm of the softmax loop"),
               cl::init(fovea::tile::kScheduleRecurrence),
               fovea::tile::recurrenceValues(), cl::cat(category));
cl::opt<bool> accurateTanh("accurate-tanh", cl::cat(category),
                           cl::desc("tanh within 1e-6 instead of the GPU's "
                                    "approximation (off by up to 2^-16.5)"));
enum class Device { CPU, CUDA, PTX };
cl::opt<Device> device(
    "device", cl::desc("Where to run"),
    cl::values(clEnumValN(Device::CPU, "cpu", "in the interpreter (default)"),
               clEnumValN(Device::CUDA, "cuda",
                          "compiled for --target, on a GPU; exit code 3 "
                          "where there is no driver or device"),
               clEnumValN(Device::PTX, "ptx",
                          "compiled for --target, its PTX executed on the "
                          "CPU; needs no driver")),
    cl::init(Device::CPU), cl::cat(category));
cl::opt<std::string>
    kernel("kernel", cl::value_desc("file"),
           cl::desc("With --device=cuda or ptx: PTX (or cubin, on a GPU) to "
                    "run instead of compiling the program; needs --metadata"),
           cl::cat(category));
cl::opt<std::string> metadata("metadata", cl::value_desc("file"),
                              cl::desc("The launch metadata of --kernel"),
                              cl::cat(category));
cl::opt<std::string> trace("trace", cl::value_desc("file"),
                           cl::desc("With --device=ptx: write a Chrome trace"),
                           cl::cat(category));
cl::opt<bool> benchmark(
    "benchmark",
    cl::desc("With --device=cuda: time the kernel and print the median of 51 "
             "runs after 30 ms of warm-up, and TFLOP/s"),
    cl::cat(category));
enum class Tune { No, DryRun, Yes };
cl::opt<Tune> tune(
    "tune", cl::ValueOptional, cl::init(Tune::No),
    cl::desc("Search for the program's best schedule on these inputs"),
    cl::values(clEnumValN(Tune::Yes, "",
                          "with --device=cuda: time all that compile without "
                          "spills, and write the best to --schedule-table"),
               clEnumValN(Tune::DryRun, "dry-run",
                          "list the candidates, and why others are refused")),
    cl::cat(category));
cl::opt<unsigned> jobs("jobs", cl::init(0), cl::value_desc("count"),
                       cl::desc("With --tune: candidates to compile at a time; "
                                "all processors by default"),
                       cl::cat(category));
cl::opt<std::string> ptxas("ptxas", cl::value_desc("file"),
                           cl::desc("With --tune: the ptxas to use (default: "
                                    "the one on the PATH)"),
                           cl::cat(category));
} // namespace

/// llvm::cl accepts one value per option: rewrites `--inputs a b c` to
/// `--inputs=a --inputs=b --inputs=c`. A program name ends the list.
static std::vector<std::string> expandLists(int argc, char **argv) {
  std::vector<std::string> result;
  StringRef list;
  for (int i = 0; i < argc; ++i) {
    StringRef argument = argv[i];
    StringRef name = argument;
    name.consume_front("-");
    name.consume_front("-");
    bool startsList =
        argument.starts_with("-") && (name == "inputs" || name == "outputs");
    double number;
    bool isOption = argument.starts_with("-") && argument.size() > 1 &&
                    argument.getAsDouble(number);
    if (startsList) {
      list = argument;
    } else if (!list.empty() && !isOption && !argument.ends_with(".mlir") &&
               !argument.ends_with(".mlirbc") && argument != "-") {
      result.push_back((list + "=" + argument).str());
    } else {
      list = "";
      result.push_back(argument.str());
    }
  }
  return result;
}

/// Splits `name=value`.
static bool splitAssignment(StringRef option, StringRef text, StringRef &name,
                            StringRef &value) {
  std::tie(name, value) = text.split('=');
  name = name.trim();
  value = value.trim();
  if (!name.empty() && !value.empty())
    return true;
  reportError("--" + option + " expects name=value, found '" + text + "'");
  return false;
}

/// Parses sizes of dimensions and values of scalars.
static bool readAssignments(Options &options) {
  for (const std::string &text : dims) {
    StringRef name, value;
    int64_t size;
    if (!splitAssignment("dims", text, name, value))
      return false;
    if (value.getAsInteger(10, size) || size < 0) {
      reportError("size of dimension " + name +
                  " must be a nonnegative integer, found '" + value + "'");
      return false;
    }
    if (!options.dims.try_emplace(name, size).second) {
      reportError("dimension " + name + " is given twice");
      return false;
    }
  }
  for (const std::string &text : scalars) {
    StringRef name, value;
    if (!splitAssignment("scalars", text, name, value))
      return false;
    options.scalars[name] = value.str();
  }
  return true;
}

/// Parses the options for the contents of tensors.
static bool readContents(Options &options) {
  options.inputs.assign(inputs.begin(), inputs.end());
  options.outputs.assign(outputs.begin(), outputs.end());
  options.saveInputs = saveInputs;
  if (dtype == "bf16" || dtype == "f16") {
    options.uint16Is = dtype == "bf16" ? fovea::interp::ElementKind::BF16
                                       : fovea::interp::ElementKind::F16;
  } else if (dtype.getNumOccurrences()) {
    reportError("--dtype must be 'bf16' or 'f16', found '" + dtype + "'");
    return false;
  }
  if (randomSeed.getNumOccurrences())
    options.randomSeed = randomSeed;
  if (!readAssignments(options))
    return false;
  if (!std::isfinite(magnitude)) {
    reportError("--magnitude must be finite");
    return false;
  }
  options.magnitude = magnitude;
  auto [low, high] = StringRef(integers).split(':');
  if (low.getAsInteger(10, options.integersLow) ||
      high.getAsInteger(10, options.integersHigh) ||
      options.integersLow > options.integersHigh) {
    reportError("--integers expects low:high, found '" + integers + "'");
    return false;
  }
  if (!options.randomSeed &&
      (!options.dims.empty() || !options.scalars.empty())) {
    reportError("--dims and --scalars require --random");
    return false;
  }
  if (options.randomSeed && !options.inputs.empty()) {
    reportError("--random and --inputs are mutually exclusive");
    return false;
  }
  return true;
}

static bool readChecks(Options &options) {
  options.check = check != Check::No;
  options.checkDifferences = check == Check::Differences;
  options.checkContents = contents;
  if (kvBoundsRows < 0) {
    reportError("--check-kv-bounds must not be negative");
    return false;
  }
  options.kvBoundsRows = kvBoundsRows;
  if (kvClassifyBlock.empty())
    return true;
  StringRef block = kvClassifyBlock;
  options.kvClassifyExactly = block.consume_back(",exact");
  auto [rows, columns] = block.split('x');
  if (!rows.getAsInteger(10, options.kvClassifyRows) &&
      !columns.getAsInteger(10, options.kvClassifyColumns) &&
      options.kvClassifyRows >= 1 && options.kvClassifyColumns >= 1)
    return true;
  reportError("--check-kv-classify expects two positive numbers such as "
              "64x32, optionally with ',exact', found '" +
              kvClassifyBlock + "'");
  return false;
}

/// Parses the options that select the backend.
static bool readDevice(Options &options) {
  options.emulated = device == Device::PTX || level == LevelOption::PTX;
  options.onDevice = options.emulated || device == Device::CUDA;
  if (level.getNumOccurrences() && level != LevelOption::PTX)
    options.level = Level(level.getValue());
  options.kernel = kernel;
  options.metadata = metadata;
  options.benchmark = benchmark;
  options.trace = trace;
  const char *mistake = nullptr;
  if (!options.onDevice && (options.benchmark || !options.kernel.empty() ||
                            !options.metadata.empty()))
    mistake = "--benchmark, --kernel and --metadata require --device=cuda";
  else if (!options.emulated && !options.trace.empty())
    mistake = "--trace requires --device=ptx";
  else if (device == Device::CUDA && options.emulated)
    mistake = "--level=ptx is incompatible with --device=cuda";
  else if (options.emulated && options.benchmark)
    mistake = "--benchmark requires --device=cuda: times of PTX on the CPU "
              "are meaningless";
  else if (options.kernel.empty() != options.metadata.empty())
    mistake = "--kernel and --metadata must be given together";
  else if (options.onDevice && options.level)
    mistake =
        "--level is for the interpreter; it is incompatible with --device";
  if (mistake)
    reportError(mistake);
  return !mistake;
}

/// Parses the options for compilation and tuning.
static bool readSchedules(Options &options) {
  options.target = target;
  options.schedule = schedule;
  options.scheduleTable = scheduleTable;
  options.recurrence = recurrence;
  options.accurateTanh = accurateTanh;
  options.tune = tune != Tune::No;
  options.tuneDryRun = tune == Tune::DryRun;
  options.jobs = jobs;
  options.ptxas = ptxas;
  if (tune == Tune::Yes &&
      (!options.onDevice || options.emulated || scheduleTable.empty())) {
    reportError("--tune requires --device=cuda and --schedule-table; "
                "--tune=dry-run needs neither");
    return false;
  }
  if (options.tune &&
      (!options.kernel.empty() || options.check || options.benchmark)) {
    reportError("--tune is incompatible with --kernel, --check and "
                "--benchmark");
    return false;
  }
  return true;
}

std::optional<Options> fovea::run::parseOptions(int argc, char **argv) {
  std::vector<std::string> arguments = expandLists(argc, argv);
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  cl::HideUnrelatedOptions(category);
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  if (!cl::ParseCommandLineOptions(
          int(pointers.size()), pointers.data(),
          "Executes attention programs\n\nExit codes: 0 success, 1 the check "
          "failed, 2 bad input, 3 no CUDA driver.\n",
          &errorStream)) {
    llvm::errs() << errors;
    return std::nullopt;
  }

  Options options;
  options.program = program;
  options.reference = reference;
  options.entry = entry;
  options.precision = precision;
  options.json = json;
  if (!readContents(options) || !readChecks(options) || !readDevice(options) ||
      !readSchedules(options))
    return std::nullopt;
  if (numSeeds < 1) {
    reportError("--seeds must be positive");
    return std::nullopt;
  }
  options.seed = seed;
  options.numSeeds = numSeeds;
  return options;
}
