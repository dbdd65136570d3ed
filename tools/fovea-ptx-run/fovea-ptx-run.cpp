//===- fovea-ptx-run.cpp - Runs a PTX kernel on the CPU -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one kernel on the emulator of lib/PTX, with arguments from the command
// line.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "fovea/PTX/Launch.h"
#include "fovea/PTX/Trace.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace fovea::ptx;
using llvm::StringRef;
namespace cl = llvm::cl;

static cl::OptionCategory category("Options of fovea-ptx-run");
static cl::opt<std::string> inputFile(cl::Positional, cl::desc("FILE.ptx"),
                                      cl::Required, cl::cat(category));
static cl::opt<std::string>
    kernelName("kernel",
               cl::desc("The entry; may be omitted if it is the "
                        "only one"),
               cl::cat(category));
static cl::list<uint32_t> grid("grid", cl::CommaSeparated,
                               cl::desc("CTAs, X[,Y[,Z]]"), cl::cat(category));
static cl::list<uint32_t> block("block", cl::CommaSeparated,
                                cl::desc("Threads per CTA"), cl::cat(category));
static cl::list<uint32_t> cluster("cluster", cl::CommaSeparated,
                                  cl::desc("CTAs per cluster"),
                                  cl::cat(category));
static cl::opt<uint64_t> shared("shared",
                                cl::desc("Bytes of dynamic shared memory"),
                                cl::cat(category));
static cl::list<std::string>
    arguments("arg",
              cl::desc("[NAME=]TYPE:NUMBER, [NAME=]TYPE[COUNT]:CONTENTS "
                       "or a tensor map, in the kernel's order; see "
                       "lib/PTX/README.md"),
              cl::cat(category));
static cl::list<std::string>
    memory("memory",
           cl::desc("Memory that is not an argument but that tensor "
                    "maps and at: refer to"),
           cl::cat(category));
static cl::list<std::string> prints("print",
                                    cl::desc("Print an argument's memory"),
                                    cl::CommaSeparated, cl::cat(category));
static cl::list<std::string>
    expects("expect",
            cl::desc("NAME=CONTENTS: fail unless the memory holds "
                     "these elements"),
            cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::desc("Seed of the interleaving"),
                              cl::cat(category));
static cl::opt<uint64_t>
    seeds("seeds", cl::init(1),
          cl::desc("Number of seeds to run, starting at --seed"),
          cl::cat(category));
static cl::opt<uint64_t> steps("step-limit", cl::init(uint64_t(1) << 30),
                               cl::desc("Maximum instructions per warp"),
                               cl::cat(category));
static cl::opt<unsigned> hostThreads("host-threads",
                                     cl::desc("Host threads; 0: all cores"),
                                     cl::cat(category));
static cl::opt<bool> noRaces("no-races", cl::desc("Disable race detection"),
                             cl::cat(category));
static cl::opt<bool>
    noGlobalRaces("no-global-races",
                  cl::desc("Disable race detection in global memory"),
                  cl::cat(category));
static cl::opt<std::string> primaryName(
    "primary",
    cl::desc("A preceding kernel, with the same grid and arguments, "
             "whose end the kernel may overlap"),
    cl::cat(category));
static cl::opt<bool>
    equalWrites("report-equal-writes",
                cl::desc("Report races between writes of equal values"),
                cl::cat(category));
static cl::opt<bool>
    allowUninitialized("allow-uninitialized",
                       cl::desc("Allow reads of uninitialised memory"),
                       cl::cat(category));
static cl::opt<bool> loadDependency(
    "tcgen05-load-dependency",
    cl::desc("Let a read of a register of an outstanding tcgen05.ld wait for "
             "the load instead of reporting it"),
    cl::cat(category));
static cl::opt<bool> perturb("perturb",
                             cl::desc("Perturb approximate results within "
                                      "their error bounds, by the seed"),
                             cl::cat(category));
enum class TensorOrder { Issue, Promised };
static cl::opt<TensorOrder>
    tensorOrder("tcgen05-order",
                cl::desc("The order of a thread's tcgen05.mma and .cp"),
                cl::values(clEnumValN(TensorOrder::Issue, "issue",
                                      "The order of issue (default)"),
                           clEnumValN(TensorOrder::Promised, "promised",
                                      "Only the order that the ISA promises")),
                cl::init(TensorOrder::Issue), cl::cat(category));
static cl::opt<std::string> traceFile("trace", cl::desc("Write a Chrome trace"),
                                      cl::cat(category));
static cl::opt<bool> summarize("summary",
                               cl::desc("Print instruction counts and time"),
                               cl::cat(category));
static cl::opt<bool> check("parse-only", cl::desc("Only parse the module"),
                           cl::cat(category));

static int complain(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error), [](const Report &report) { report.log(llvm::errs()); },
      [](const llvm::ErrorInfoBase &other) {
        llvm::errs() << "error: " << other.message() << '\n';
      });
  return 2;
}

static llvm::Expected<std::array<uint32_t, 3>>
toTriple(const cl::list<uint32_t> &list, uint32_t otherwise) {
  std::array<uint32_t, 3> result = {otherwise, otherwise, otherwise};
  if (list.size() > 3)
    return makeError("argument", "expected at most three extents");
  for (size_t n = 0; n < list.size(); ++n)
    result[n] = list[n];
  if (!list.empty())
    for (size_t n = list.size(); n < 3; ++n)
      result[n] = 1;
  return result;
}

static llvm::Error pack(const Kernel &kernel,
                        llvm::ArrayRef<Argument> arguments,
                        std::vector<uint8_t> &bytes) {
  if (arguments.size() != kernel.parameters.size())
    return makeError("argument", "kernel '" + kernel.name + "' has " +
                                     llvm::Twine(kernel.parameters.size()) +
                                     " parameters, found " +
                                     llvm::Twine(arguments.size()) +
                                     " arguments");
  bytes.assign(kernel.parameterBytes, 0);
  for (size_t n = 0; n < arguments.size(); ++n) {
    const Parameter &parameter = kernel.parameters[n];
    if (arguments[n].bytes.size() != parameter.bytes)
      return makeError("argument", "parameter '" + parameter.name + "' has " +
                                       llvm::Twine(parameter.bytes) +
                                       " bytes, argument '" +
                                       arguments[n].name + "' has " +
                                       llvm::Twine(arguments[n].bytes.size()));
    std::copy(arguments[n].bytes.begin(), arguments[n].bytes.end(),
              bytes.begin() + parameter.offset);
  }
  return llvm::Error::success();
}

static const Argument *findArgument(llvm::ArrayRef<Argument> all,
                                    StringRef name) {
  for (const Argument &argument : all)
    if (argument.name == name)
      return &argument;
  llvm::errs() << "error: there is no argument '" << name << "'\n";
  return nullptr;
}

/// Compares printed texts: equal elements print identically.
static int expect(Device &device, llvm::ArrayRef<Argument> all, StringRef text,
                  uint64_t usedSeed) {
  auto [name, contents] = text.split('=');
  const Argument *found = findArgument(all, name);
  if (!found)
    return 2;
  llvm::Expected<Argument> wanted =
      parseArgument((name + ".expected=" + found->format.name + "[" +
                     llvm::Twine(found->count) + "]:" + contents)
                        .str(),
                    device, {});
  if (!wanted)
    return complain(wanted.takeError());
  llvm::Expected<std::string> is = printElements(*found, device);
  llvm::Expected<std::string> should = printElements(*wanted, device);
  if (!is)
    return complain(is.takeError());
  if (!should)
    return complain(should.takeError());
  if (llvm::Error error = device.free(*wanted->address))
    return complain(std::move(error));
  llvm::SmallVector<StringRef> left, right;
  StringRef(*is).split(left, ' ');
  StringRef(*should).split(right, ' ');
  for (size_t n = 0; n < left.size(); ++n)
    if (left[n] != right[n]) {
      llvm::errs() << "error: element " << n << " of '" << name << "' is "
                   << left[n] << ", expected " << right[n] << " (seed "
                   << usedSeed << ")\n";
      return 1;
    }
  return 0;
}

/// Runs the kernel once on fresh memory.
static int runOnce(const Module &module, const Kernel &kernel, uint64_t number,
                   bool last, Trace *trace) {
  Device device;
  std::vector<Argument> all;
  for (const auto *list : {&memory, &arguments})
    for (const std::string &text : *list) {
      llvm::Expected<Argument> argument = parseArgument(text, device, all);
      if (!argument)
        return complain(argument.takeError());
      all.push_back(std::move(*argument));
    }
  Launch launch;
  launch.kernel = kernel.name;
  auto gridSize = toTriple(grid, 1), blockSize = toTriple(block, 1),
       clusterSize = toTriple(cluster, 0);
  if (!gridSize || !blockSize || !clusterSize) {
    llvm::errs() << "error: expected at most three extents\n";
    llvm::consumeError(gridSize.takeError());
    llvm::consumeError(blockSize.takeError());
    llvm::consumeError(clusterSize.takeError());
    return 2;
  }
  launch.grid = *gridSize;
  launch.block = *blockSize;
  launch.cluster = *clusterSize;
  launch.dynamicSharedBytes = shared;
  launch.seed = number;
  launch.stepLimit = steps;
  launch.hostThreads = hostThreads;
  launch.checkRaces = !noRaces;
  launch.checkGlobalRaces = !noGlobalRaces;
  launch.allowEqualWrites = !equalWrites;
  launch.checkUninitialized = !allowUninitialized;
  launch.waitForTensorLoads = loadDependency;
  launch.perturbApproximations = perturb;
  launch.promisedTensorOrder = tensorOrder == TensorOrder::Promised;
  launch.trace = trace;
  if (llvm::Error error =
          pack(kernel, llvm::ArrayRef(all).drop_front(memory.size()),
               launch.parameters))
    return complain(std::move(error));
  Summary summary;
  if (!primaryName.empty()) {
    Launch before = launch;
    before.kernel = primaryName;
    if (llvm::Error error = run(device, module, before, &summary))
      return complain(std::move(error));
    launch.primary = std::move(summary.footprint);
  }
  auto start = std::chrono::steady_clock::now();
  if (llvm::Error error = run(device, module, launch, &summary))
    return complain(std::move(error));
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  if (summarize)
    llvm::outs() << summary.ctas << " CTAs, " << summary.warpInstructions
                 << " warp instructions, " << summary.threadInstructions
                 << " thread instructions, "
                 << llvm::format("%.3f", seconds.count()) << " s\n";
  for (const std::string &text : expects)
    if (int code = expect(device, all, text, number))
      return code;
  if (!last)
    return 0;
  for (const std::string &name : prints) {
    const Argument *argument = findArgument(all, name);
    if (!argument)
      return 2;
    llvm::Expected<std::string> text = printElements(*argument, device);
    if (!text)
      return complain(text.takeError());
    llvm::outs() << name << ": " << *text << '\n';
  }
  return 0;
}

int main(int argc, char **argv) {
  fovea::setVersionPrinter();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Executes a PTX kernel on the CPU\n");
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file =
      fovea::openProgramFile(inputFile, message);
  if (!file) {
    llvm::errs() << "error: " << message << '\n';
    return 2;
  }
  auto module = Module::parse(file->getBuffer(), inputFile);
  if (!module)
    return complain(module.takeError());
  if (check) {
    for (const Kernel &kernel : (*module)->getKernels())
      llvm::outs() << kernel.name << ": " << kernel.parameters.size()
                   << " parameters, " << kernel.parameterBytes << " bytes\n";
    return 0;
  }
  llvm::ArrayRef<Kernel> kernels = (*module)->getKernels();
  const Kernel *kernel = (*module)->lookup(kernelName);
  if (kernelName.empty() && kernels.size() == 1)
    kernel = &kernels.front();
  if (!kernel) {
    llvm::errs() << "error: "
                 << (kernelName.empty()
                         ? "the module has " + std::to_string(kernels.size()) +
                               " kernels: name one with --kernel"
                         : "no kernel '" + kernelName + "'")
                 << '\n';
    return 2;
  }
  std::unique_ptr<llvm::raw_fd_ostream> traceStream;
  std::unique_ptr<Trace> trace;
  if (!traceFile.empty()) {
    std::error_code error;
    traceStream = std::make_unique<llvm::raw_fd_ostream>(traceFile, error);
    if (error) {
      llvm::errs() << "error: " << traceFile << ": " << error.message() << '\n';
      return 2;
    }
    trace = std::make_unique<Trace>(*traceStream);
  }
  for (uint64_t n = 0; n < seeds; ++n)
    if (int code =
            runOnce(**module, *kernel, seed + n, n + 1 == seeds, trace.get()))
      return code;
  return 0;
}
