//===- Run.cpp - Checks a launch and runs its clusters --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry point of a launch: checks its shape and resources as a driver
// would, runs its clusters on host threads, and collects errors.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "fovea/PTX/Occupancy.h"

#include "llvm/Support/MathExtras.h"

#include <thread>

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void Run::report(Diagnostic diagnostic) {
  std::lock_guard<std::mutex> lock(mutex);
  // Only the first error is kept, since others may be its consequences.
  if (errors.empty())
    errors.push_back(std::move(diagnostic));
  stop = true;
}

Location Run::locate(uint32_t place) const {
  const auto &body = code.function->body;
  return place < body.size() ? body[place].loc : code.function->kernel.loc;
}

std::array<uint32_t, 3> Run::getCtaId(uint32_t number, uint32_t rank) const {
  std::array<uint32_t, 3> result{};
  for (int d = 0; d < 3; ++d) {
    uint32_t clusters = launch.grid[d] / cluster[d];
    result[d] = number % clusters * cluster[d] + rank % cluster[d];
    number /= clusters;
    rank /= cluster[d];
  }
  return result;
}

uint64_t Run::getTraceProcess(const Cta &cta) const {
  return traceProcess + cta.id[0] +
         uint64_t(launch.grid[0]) *
             (cta.id[1] + uint64_t(launch.grid[1]) * cta.id[2]);
}

llvm::json::Object Run::getPlace(uint32_t place) const {
  const Syntax &syntax = module.getProgram().syntax;
  const auto &body = code.function->body;
  llvm::json::Object result{{"line", locate(place).line}};
  if (place < body.size() && !syntax.sources[body[place].source].empty())
    result["source"] = syntax.sources[body[place].source];
  return result;
}

Diagnostic Run::makeDiagnostic(uint32_t place, StringRef kind,
                               const Twine &message) const {
  const Syntax &syntax = module.getProgram().syntax;
  const auto &body = code.function->body;
  Diagnostic diagnostic;
  diagnostic.kind = kind.str();
  diagnostic.message = message.str();
  diagnostic.file = syntax.file;
  diagnostic.loc = locate(place);
  if (place < body.size())
    diagnostic.source = syntax.sources[body[place].source];
  return diagnostic;
}

void Run::addNote(Diagnostic &diagnostic, uint32_t place,
                  const Twine &message) const {
  const Syntax &syntax = module.getProgram().syntax;
  diagnostic.notes.push_back({message.str(), syntax.file, locate(place)});
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

Run::Run(Device &device, const Module &module, const Launch &launch,
         const Code &code)
    : device(device), module(module), launch(launch), code(code),
      kernel(code.function->kernel) {}

static std::string toString(const std::array<uint32_t, 3> &v) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " +
         std::to_string(v[2]) + ")";
}

static uint64_t product(const std::array<uint32_t, 3> &v) {
  return uint64_t(v[0]) * v[1] * v[2];
}

/// Checks that the driver would accept the launch.
static llvm::Error checkShape(Run &run) {
  const Launch &launch = run.launch;
  const Kernel &kernel = run.kernel;
  auto refuse = [&](const Twine &message) {
    return makeError("launch", "kernel '" + kernel.name + "': " + message);
  };
  uint64_t threads = product(launch.block), ctas = product(launch.grid);
  if (!threads || threads > 1024)
    return refuse("a CTA must have 1 to 1024 threads, found " + Twine(threads));
  if (!ctas || launch.grid[1] > 65535 || launch.grid[2] > 65535)
    return refuse("no legal grid: " + toString(launch.grid));
  if (product(kernel.requiredBlock) && kernel.requiredBlock != launch.block)
    return refuse("a CTA must be " + toString(kernel.requiredBlock) +
                  " threads (.reqntid), found " + toString(launch.block));
  if (kernel.maxThreads && threads > kernel.maxThreads)
    return refuse("a CTA must have at most " + Twine(kernel.maxThreads) +
                  " threads (.maxntid), found " + Twine(threads));
  bool required = product(kernel.requiredCluster);
  bool given = product(launch.cluster);
  if (required && given && kernel.requiredCluster != launch.cluster)
    return refuse("a cluster must be " + toString(kernel.requiredCluster) +
                  " CTAs (.reqnctapercluster), found " +
                  toString(launch.cluster));
  run.cluster = given      ? launch.cluster
                : required ? kernel.requiredCluster
                           : std::array<uint32_t, 3>{1, 1, 1};
  if (product(run.cluster) > 16)
    return refuse("a cluster must have at most 16 CTAs, found " +
                  Twine(product(run.cluster)));
  for (int d = 0; d < 3; ++d)
    if (launch.grid[d] % run.cluster[d])
      return refuse("the grid " + toString(launch.grid) +
                    " is not a multiple of the cluster " +
                    toString(run.cluster));
  if (launch.parameters.size() != kernel.parameterBytes)
    return refuse("its parameters have " + Twine(kernel.parameterBytes) +
                  " bytes, found " + Twine(launch.parameters.size()));
  run.staticShared = llvm::alignTo(kernel.staticSharedBytes, 1024);
  // Dynamic shared memory begins at a multiple of its alignment.
  for (const Variable &variable : run.module.getProgram().syntax.variables)
    if (variable.dynamic && variable.alignment > 1024)
      return refuse("shared memory aligned to more than 1024 bytes");
  run.sharedBytes = run.staticShared + launch.dynamicSharedBytes;
  if (kernel.staticSharedBytes + launch.dynamicSharedBytes >
      launch.chip.sharedMemory)
    return refuse("it needs " +
                  Twine(kernel.staticSharedBytes + launch.dynamicSharedBytes) +
                  " bytes of shared memory, but a CTA has " +
                  Twine(launch.chip.sharedMemory));
  return llvm::Error::success();
}

uint32_t fovea::ptx::getRegistersPerThread(const Kernel &kernel,
                                           const Chip &chip) {
  uint32_t most = 255;
  if (kernel.maxRegisters)
    most = std::min(most, kernel.maxRegisters);
  uint64_t threads = product(kernel.requiredBlock);
  if (!threads)
    threads = kernel.maxThreads;
  if (!threads)
    return most;
  // Warps are allocated in fours, one per SM partition.
  threads = llvm::alignTo(threads, 128);
  uint64_t fits = chip.registers / (threads * std::max(1u, kernel.minBlocks));
  return std::min<uint64_t>(most, fits / 8 * 8);
}

uint32_t fovea::ptx::getResidentBlocks(const Kernel &kernel, uint32_t threads,
                                       uint64_t dynamicSharedBytes,
                                       const Chip &chip) {
  static constexpr uint64_t kMostThreads = 2048, kMostBlocks = 32;
  uint64_t shared = kernel.staticSharedBytes + dynamicSharedBytes;
  if (!threads || threads > 1024 || shared > chip.sharedMemory)
    return 0;
  threads = llvm::alignTo(threads, 32);
  uint64_t most = std::min(kMostBlocks, kMostThreads / threads);
  // The system reserves a kilobyte per CTA.
  most = std::min(most, (chip.sharedMemory + kReservedShared) /
                            (shared + kReservedShared));
  uint32_t registers = getRegistersPerThread(kernel, chip);
  if (registers && registers < 255)
    most = std::min<uint64_t>(
        most, chip.registers / (llvm::alignTo(threads, 128) * registers));
  return std::max<uint64_t>(most, 1);
}

static llvm::Error checkRegisters(Run &run) {
  const Kernel &kernel = run.kernel;
  uint32_t most = getRegistersPerThread(kernel, run.launch.chip);
  run.registersPerThread =
      run.launch.registersPerThread ? run.launch.registersPerThread : most;
  uint64_t needed = llvm::alignTo(product(run.launch.block), 32) *
                    llvm::alignTo(run.registersPerThread, 8);
  if (run.registersPerThread != 255 && needed > run.launch.chip.registers)
    return makeError("launch", "kernel '" + kernel.name + "' needs " +
                                   Twine(needed) +
                                   " registers for a CTA, but there are " +
                                   Twine(run.launch.chip.registers));
  return llvm::Error::success();
}

static void work(Run &run, std::atomic<uint64_t> &next, uint64_t count) {
  std::vector<std::unique_ptr<Cluster>> resident;
  std::mt19937_64 random(run.launch.seed + 1);
  unsigned most = std::max(1u, run.launch.residentClusters);
  while (true) {
    while (resident.size() < most && !run.stop) {
      uint64_t index = next++;
      if (index >= count)
        break;
      resident.push_back(std::make_unique<Cluster>(run, index));
    }
    if (resident.empty())
      return;
    size_t which = random() % resident.size();
    Cluster &cluster = *resident[which];
    bool over = false;
    for (unsigned n = 0; n < 64 && !over; ++n)
      over = cluster.runTimeSlice();
    if (!over)
      continue;
    uint64_t steps = 0, threadSteps = 0;
    for (Cta &cta : cluster.ctas)
      for (Warp &warp : cta.warps) {
        steps += warp.steps;
        threadSteps += warp.threadSteps;
      }
    run.warpInstructions += steps;
    run.threadInstructions += threadSteps;
    resident.erase(resident.begin() + which);
  }
}

llvm::Error fovea::ptx::run(Device &device, const Module &module,
                            const Launch &launch, Summary *summary) {
  const Code *code = module.getProgram().lookup(launch.kernel);
  if (!code)
    return makeError("launch",
                     "the module has no kernel '" + launch.kernel + "'");
  Run run(device, module, launch, *code);
  if (llvm::Error error = checkShape(run))
    return error;
  if (llvm::Error error = checkRegisters(run))
    return error;
  llvm::Expected<std::map<const Variable *, uint64_t>> variables =
      device.load(module);
  if (!variables)
    return variables.takeError();
  run.variables = std::move(*variables);
  uint64_t clusters = product(launch.grid) / product(run.cluster);
  unsigned threads = launch.hostThreads ? launch.hostThreads
                                        : std::thread::hardware_concurrency();
  threads = std::max<uint64_t>(1, std::min<uint64_t>(threads, clusters));
  if (launch.checkRaces &&
      (launch.checkGlobalRaces || code->launchesDependents)) {
    run.footprint = std::make_shared<Footprint>();
    run.footprint->kernel = launch.kernel;
    run.footprint->file = module.getProgram().syntax.file;
  }
  if (launch.trace)
    run.traceProcess = launch.trace->startLaunch(product(launch.grid));
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> pool;
  for (unsigned n = 1; n < threads; ++n)
    pool.emplace_back([&] { work(run, next, clusters); });
  work(run, next, clusters);
  for (std::thread &thread : pool)
    thread.join();
  if (summary) {
    summary->warpInstructions = run.warpInstructions;
    summary->threadInstructions = run.threadInstructions;
    summary->ctas = product(launch.grid);
    if (run.launchedDependents && run.footprint) {
      for (const Instruction &instruction : code->function->body)
        run.footprint->places.push_back(instruction.loc);
      summary->footprint = std::move(run.footprint);
    }
  }
  if (!run.errors.empty())
    return llvm::make_error<Report>(std::move(run.errors));
  return llvm::Error::success();
}
