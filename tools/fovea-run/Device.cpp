//===- Device.cpp - Execution on a GPU or on the emulator -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a program and runs it with libFoveaRuntime, on a GPU or on the
// emulated driver; also the benchmark.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/BlockMap.h"
#include "fovea/Pipelines/Compile.h"
#include "fovea/Runtime/fovea_runtime.h"
#include "fovea/Support/Untrusted.h"

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using namespace fovea::run;

/// Reports the runtime's last error.
static ExitCode reportFailure(fovea_status status) {
  reportError(fovea_last_error());
  return status == FOVEA_ERROR_NO_DRIVER || status == FOVEA_ERROR_NO_DEVICE
             ? kNoDriver
             : kBadInput;
}

static std::optional<fovea_dtype> getRuntimeType(ElementKind kind) {
  switch (kind) {
  case ElementKind::I1:
    return FOVEA_I1;
  case ElementKind::I8:
    return FOVEA_I8;
  case ElementKind::I16:
    return FOVEA_I16;
  case ElementKind::I32:
    return FOVEA_I32;
  case ElementKind::I64:
    return FOVEA_I64;
  case ElementKind::F16:
    return FOVEA_F16;
  case ElementKind::BF16:
    return FOVEA_BF16;
  case ElementKind::F32:
    return FOVEA_F32;
  case ElementKind::F8E4M3FN:
    return FOVEA_F8E4M3FN;
  case ElementKind::F8E5M2:
    return FOVEA_F8E5M2;
  default:
    return std::nullopt;
  }
}

namespace {
struct DeviceCloser {
  void operator()(fovea_device *device) const { fovea_device_close(device); }
};
struct KernelUnloader {
  void operator()(fovea_kernel *kernel) const { fovea_kernel_unload(kernel); }
};
struct LaunchFreer {
  void operator()(fovea_launch *launch) const { fovea_launch_free(launch); }
};
struct EventFreer {
  void operator()(fovea_event *event) const { fovea_event_free(event); }
};

/// The device memory of one tensor.
class DeviceBuffer {
public:
  DeviceBuffer(fovea_device *device) : device(device) {}
  DeviceBuffer(DeviceBuffer &&other)
      : device(other.device), address(std::exchange(other.address, 0)) {}
  ~DeviceBuffer() { fovea_memory_free(device, address); }

  fovea_status upload(const HostTensor &tensor) {
    size_t bytes = tensor.getNumBytes();
    if (fovea_status status = fovea_memory_alloc(device, bytes, &address))
      return status;
    return fovea_memory_write(device, address, tensor.data(), bytes);
  }
  fovea_status download(const HostTensor &tensor) const {
    return fovea_memory_read(device, tensor.data(), address,
                             tensor.getNumBytes());
  }
  fovea_address getAddress() const { return address; }

private:
  fovea_device *device;
  fovea_address address = 0;
};

class DeviceBackend : public Backend {
public:
  DeviceBackend(const Program &program, const Options &options)
      : program(program), options(options) {}

  ExitCode run(const Workload &workload,
               SmallVectorImpl<HostTensor> &outputs) override;
  /// Runs a compiled kernel. If `milliseconds` is given, measures it many times
  /// and returns the sorted times.
  ExitCode run(fovea_device *device, StringRef image, StringRef metadata,
               const Workload &workload, SmallVectorImpl<HostTensor> &outputs,
               std::vector<float> *milliseconds) const;

protected:
  /// Compiles or reads the kernel's PTX (or machine code) and metadata.
  /// `lineInfo` is the path for the warp program, or empty.
  bool getKernel(std::string &image, std::string &metadata,
                 StringRef lineInfo = "") const;

private:
  bool compile(std::string &image, std::string &metadata,
               StringRef lineInfo) const;
  void printBenchmark(ArrayRef<float> milliseconds,
                      const Workload &workload) const;

protected:
  const Program &program;
  const Options &options;
};
} // namespace

/// Compiles only the entry. Failures are reported as diagnostics.
bool DeviceBackend::compile(std::string &image, std::string &metadata,
                            StringRef lineInfo) const {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  if (program.function)
    for (auto other :
         llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
      if (other.getName() != func::FuncOp(program.function).getName())
        other.erase();
  CompileOptions compileOptions;
  setCompileOptions(options, compileOptions);
  compileOptions.lineInfo = lineInfo.str();
  auto kernels = compileToPTX(*module, compileOptions);
  if (failed(kernels))
    return false;
  if (kernels->size() != 1) {
    reportError("the program has " + Twine(kernels->size()) +
                " kernels, expected one");
    return false;
  }
  image = std::move(kernels->front().ptx);
  metadata = std::move(kernels->front().metadata);
  return true;
}

static bool readFile(StringRef path, std::string &text) {
  auto file = readRegularFile(path);
  if (!file) {
    reportError("cannot read '" + path +
                "': " + llvm::toString(file.takeError()));
    return false;
  }
  text = (*file)->getBuffer().str();
  return true;
}

bool DeviceBackend::getKernel(std::string &image, std::string &metadata,
                              StringRef lineInfo) const {
  if (options.kernel.empty())
    return compile(image, metadata, lineInfo);
  return readFile(options.kernel, image) &&
         readFile(options.metadata, metadata);
}

ExitCode DeviceBackend::run(const Workload &workload,
                            SmallVectorImpl<HostTensor> &outputs) {
  // Before compiling, so that a missing driver is reported at once.
  fovea_device *opened;
  if (fovea_status status = fovea_device_open(FOVEA_CURRENT_DEVICE, &opened))
    return reportFailure(status);
  std::unique_ptr<fovea_device, DeviceCloser> device(opened);

  std::string image, metadata;
  if (!getKernel(image, metadata))
    return kBadInput;
  std::vector<float> milliseconds;
  if (ExitCode code = run(device.get(), image, metadata, workload, outputs,
                          options.benchmark ? &milliseconds : nullptr))
    return code;
  if (options.benchmark)
    printBenchmark(milliseconds, workload);
  return kSuccess;
}

static fovea_status measure(fovea_device *device, fovea_launch *launch,
                            std::vector<float> &milliseconds);

ExitCode DeviceBackend::run(fovea_device *device, StringRef image,
                            StringRef metadata, const Workload &workload,
                            SmallVectorImpl<HostTensor> &outputs,
                            std::vector<float> *milliseconds) const {
  fovea_kernel *loaded;
  if (fovea_status status =
          fovea_kernel_load(device, image.data(), image.size(), metadata.data(),
                            metadata.size(), &loaded))
    return reportFailure(status);
  std::unique_ptr<fovea_kernel, KernelUnloader> kernel(loaded);

  auto results = makeOutputs(program.signature, workload.sizes);
  if (!results)
    return kBadInput;
  std::vector<DeviceBuffer> buffers;
  std::vector<fovea_tensor> tensors;
  std::vector<fovea_scalar> scalars;
  auto addTensor = [&](const char *name, const HostTensor &tensor) {
    std::optional<fovea_dtype> dtype = getRuntimeType(tensor.getKind());
    if (!dtype) {
      reportError("'" + Twine(name) +
                  "' has an element type that kernels do not take");
      return kBadInput;
    }
    if (fovea_status status = buffers.emplace_back(device).upload(tensor))
      return reportFailure(status);
    tensors.push_back({name, buffers.back().getAddress(), *dtype,
                       int32_t(tensor.getShape().size()),
                       tensor.getShape().data(), /*strides=*/nullptr});
    return kSuccess;
  };
  // Looks up the kernel's arguments by name: the program may have unused
  // inputs, and an input may have several names. The runtime reports missing
  // ones.
  const Signature &signature = program.signature;
  for (int i = 0; const char *name = fovea_kernel_tensor_name(kernel.get(), i);
       ++i) {
    int64_t index = signature.findInput(name);
    if (index < 0 || !signature.inputs[index].isTensor() ||
        signature.findOutput(name) >= 0)
      continue;
    if (ExitCode code = addTensor(name, workload.inputs[index].tensor))
      return code;
  }
  for (int i = 0; const char *name = fovea_kernel_scalar_name(kernel.get(), i);
       ++i) {
    int64_t index = signature.findInput(name);
    if (index < 0 || signature.inputs[index].isTensor())
      continue;
    const RuntimeValue &scalar = workload.inputs[index].scalar;
    bool isInteger = scalar.isInteger();
    scalars.push_back({name, isInteger ? 0.0 : scalar.getReal(),
                       isInteger ? scalar.getInteger() : 0});
  }
  size_t firstOutput = buffers.size();
  for (auto [parameter, tensor] : llvm::zip(signature.outputs, *results)) {
    if (parameter.isUpdated)
      std::memcpy(
          tensor.data(),
          workload.inputs[signature.findInput(parameter.name)].tensor.data(),
          tensor.getNumBytes());
    if (ExitCode code = addTensor(parameter.name.c_str(), tensor))
      return code;
  }

  fovea_launch *prepared;
  if (fovea_status status =
          fovea_launch_prepare(kernel.get(), tensors.data(), tensors.size(),
                               scalars.data(), scalars.size(), &prepared))
    return reportFailure(status);
  std::unique_ptr<fovea_launch, LaunchFreer> launch(prepared);
  if (fovea_status status = fovea_launch_run(launch.get(), nullptr))
    return reportFailure(status);
  if (fovea_status status = fovea_stream_wait(device, nullptr))
    return reportFailure(status);
  for (auto [index, tensor] : llvm::enumerate(*results)) {
    if (fovea_status status = buffers[firstOutput + index].download(tensor))
      return reportFailure(status);
    outputs.push_back(tensor);
  }
  if (milliseconds)
    if (fovea_status status = measure(device, launch.get(), *milliseconds))
      return reportFailure(status);
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Benchmark
//===----------------------------------------------------------------------===//

static constexpr int kTimings = 51;
static constexpr std::chrono::milliseconds kWarmUp(30);

/// Measures the duration of many runs, sorted.
static fovea_status measure(fovea_device *device, fovea_launch *launch,
                            std::vector<float> &milliseconds) {
  // Warm-up: runs the kernel until clocks and caches are stable.
  auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < kWarmUp) {
    if (fovea_status status = fovea_launch_run(launch, nullptr))
      return status;
    if (fovea_status status = fovea_stream_wait(device, nullptr))
      return status;
  }
  std::vector<std::unique_ptr<fovea_event, EventFreer>> events;
  for (int i = 0; i <= kTimings; ++i) {
    fovea_event *event;
    if (fovea_status status = fovea_event_create(device, &event))
      return status;
    events.emplace_back(event);
  }
  if (fovea_status status = fovea_event_record(events[0].get(), nullptr))
    return status;
  for (int i = 1; i <= kTimings; ++i) {
    if (fovea_status status = fovea_launch_run(launch, nullptr))
      return status;
    if (fovea_status status = fovea_event_record(events[i].get(), nullptr))
      return status;
  }
  milliseconds.resize(kTimings);
  for (int i = 0; i < kTimings; ++i)
    if (fovea_status status = fovea_event_elapsed(
            events[i].get(), events[i + 1].get(), &milliseconds[i]))
      return status;
  llvm::sort(milliseconds);
  return FOVEA_OK;
}

void DeviceBackend::printBenchmark(ArrayRef<float> milliseconds,
                                   const Workload &workload) const {
  double median = milliseconds[milliseconds.size() / 2];
  // With --json, standard output contains only the report.
  llvm::raw_ostream &out = options.json ? llvm::errs() : llvm::outs();
  out << "median of " << milliseconds.size() << " runs "
      << llvm::format("%.4f", median) << " ms, fastest "
      << llvm::format("%.4f", milliseconds.front()) << " ms\n";
  const DimSizes &sizes = workload.sizes;
  double all = double(sizes.lookup("B")) * sizes.lookup("Hq") *
               sizes.lookup("Sq") * sizes.lookup("Skv");
  double headDims = double(sizes.lookup("D")) + sizes.lookup("Dv");
  if (all == 0 || headDims == 0)
    return;
  auto printRate = [&](StringRef convention, double pairs) {
    double operations = 2 * headDims * pairs;
    out << llvm::format("%.1f", operations / (median * 1e-3) / 1e12)
        << " TFLOP/s, " << convention << ": 2 * (D + Dv) * "
        << llvm::format("%.0f", pairs) << " pairs\n";
  };
  if (auto visible = countVisiblePairs(program, workload, options))
    printRate("visible pairs", *visible);
  printRate("all pairs", all);
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

/// Counts visible pairs with the LSE: if all scores are 0, LSE is the logarithm
/// of a row's number of visible keys. The op is evaluated without its
/// score_mod, on zeros of head dim 1.
std::optional<double> fovea::run::countVisiblePairs(const Program &program,
                                                    const Workload &workload,
                                                    const Options &options) {
  attn::ForwardOp forward;
  if (program.function)
    func::FuncOp(program.function)->walk([&](attn::ForwardOp op) {
      forward = op;
    });
  if (!forward)
    return std::nullopt;
  const DimSizes &sizes = workload.sizes;
  int64_t batch = sizes.lookup("B"), heads = sizes.lookup("Hq"),
          queries = sizes.lookup("Sq"), keys = sizes.lookup("Skv");
  Region &mask = forward.getMaskMod();
  if (mask.empty() && forward.getSequenceOperands().empty() &&
      !forward.hasBlocks())
    return double(batch) * heads * queries * keys;
  Program counter;
  counter.module = makeMaskProgram(forward);
  counter.function = *counter.module->getOps<func::FuncOp>().begin();
  auto signature = Signature::get(counter.function);
  if (failed(signature))
    return std::nullopt;
  counter.signature = std::move(*signature);

  Workload zeros;
  for (unsigned index = 0; index < forward->getNumOperands(); ++index) {
    if (index < 3) {
      zeros.inputs.push_back({makeMaskInput(counter.function, index,
                                            {batch, heads, queries, keys}),
                              {}});
      continue;
    }
    int64_t found = program.signature.findInput(forward.getOperandName(index));
    if (found < 0)
      return std::nullopt;
    zeros.inputs.push_back(workload.inputs[found]);
  }
  SmallVector<RuntimeValue> results;
  if (!evaluate(counter, zeros, Precision::Exact, options, results))
    return std::nullopt;
  const Array &lse = results[1].getArray();
  double visible = 0;
  for (int64_t row = 0; row < lse.getNumElements(); ++row)
    visible += std::round(std::exp(lse.data<double>()[row]));
  ArrayRef<int64_t> counted = lse.getShape();
  return visible * (double(batch) / counted[0]) * (double(heads) / counted[1]);
}

ExitCode fovea::run::timeKernel(const Program &program, const Options &options,
                                const Workload &workload, StringRef image,
                                StringRef metadata, double &milliseconds) {
  fovea_device *opened;
  if (fovea_status status = fovea_device_open(FOVEA_CURRENT_DEVICE, &opened))
    return reportFailure(status);
  std::unique_ptr<fovea_device, DeviceCloser> device(opened);
  SmallVector<HostTensor> outputs;
  std::vector<float> all;
  DeviceBackend backend(program, options);
  if (ExitCode code =
          backend.run(device.get(), image, metadata, workload, outputs, &all))
    return code;
  milliseconds = all[all.size() / 2];
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// The emulator
//===----------------------------------------------------------------------===//

/// The path of the emulator's driver library, relative to this program's
/// folder.
static std::string getEmulator() {
  static int anchor;
  llvm::SmallString<256> path(
      llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", "libFoveaPTXDriver.so");
  return std::string(path);
}

namespace {
/// Access to the emulator's settings.
class EmulatorSettings {
public:
  /// Makes the emulator the runtime's driver.
  fovea_status open() {
    std::string path = getEmulator();
    if (fovea_status status = fovea_use_driver(path.c_str()))
      return status;
    auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str());
    set = reinterpret_cast<decltype(set)>(
        library.getAddressOfSymbol("foveaPTXDriverSet"));
    setTrace = reinterpret_cast<decltype(setTrace)>(
        library.getAddressOfSymbol("foveaPTXDriverTrace"));
    return FOVEA_OK;
  }
  bool apply(const char *name, uint64_t value) const {
    if (!set) {
      reportError(getEmulator() + " is not Fovea's emulator: it has no "
                                  "'foveaPTXDriverSet'");
      return false;
    }
    if (set(name, value) == 0)
      return true;
    reportError("the emulator has no " + Twine(name) + " " + Twine(value));
    return false;
  }
  /// An empty path ends the trace.
  bool trace(const std::string &path) const {
    if (setTrace && setTrace(path.empty() ? nullptr : path.c_str()) == 0)
      return true;
    reportError("cannot write '" + path + "'");
    return false;
  }

private:
  int (*set)(const char *name, uint64_t value) = nullptr;
  int (*setTrace)(const char *path) = nullptr;
};

/// A temporary file with the warp program, which the PTX's line information
/// refers to. Removed on destruction.
class WarpProgram {
public:
  WarpProgram() {
    if (llvm::sys::fs::createTemporaryFile("fovea-warp", "mlir", path))
      path.clear();
  }
  ~WarpProgram() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  WarpProgram(const WarpProgram &) = delete;
  WarpProgram &operator=(const WarpProgram &) = delete;
  /// Empty if the file can't be created.
  StringRef getPath() const { return path; }

private:
  SmallString<128> path;
};

/// Runs the kernel on the emulator, once per seed. All seeds must give the same
/// outputs.
class EmulatedBackend : public DeviceBackend {
public:
  using DeviceBackend::DeviceBackend;
  ExitCode run(const Workload &workload,
               SmallVectorImpl<HostTensor> &outputs) override;

private:
  ExitCode runSeeds(fovea_device *device, const EmulatorSettings &settings,
                    StringRef image, StringRef metadata,
                    const Workload &workload,
                    SmallVectorImpl<HostTensor> &outputs);
};
} // namespace

/// Shows the op of the warp program to which a report of the emulator refers.
static void showWarpOp(StringRef report) {
  StringRef text = report.split(": note: compiled from here").first;
  if (text.size() == report.size())
    return;
  StringRef line = text.rsplit('\n').second;
  auto [front, column] = line.rsplit(':');
  auto [path, number] = front.rsplit(':');
  unsigned index;
  if (number.getAsInteger(10, index) || index == 0)
    return;
  auto file = readRegularFile(path);
  if (!file)
    return llvm::consumeError(file.takeError());
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  if (index <= lines.size())
    llvm::errs() << "note: line " << index << " of the warp program is\n  "
                 << lines[index - 1].trim() << "\n";
}

/// The target of the PTX, such as 90; 0 if it has no .target directive.
static unsigned getCapability(StringRef ptx) {
  static constexpr StringLiteral kDirective(".target sm_");
  size_t at = ptx.find(kDirective);
  unsigned capability = 0;
  if (at != StringRef::npos)
    ptx.drop_front(at + kDirective.size())
        .take_while(llvm::isDigit)
        .getAsInteger(10, capability);
  return capability;
}

ExitCode EmulatedBackend::run(const Workload &workload,
                              SmallVectorImpl<HostTensor> &outputs) {
  EmulatorSettings settings;
  if (fovea_status status = settings.open())
    return reportFailure(status);
  std::string image, metadata;
  WarpProgram warpProgram;
  if (!getKernel(image, metadata, warpProgram.getPath()))
    return kBadInput;
  // The driver reports an image that is not PTX.
  unsigned capability = getCapability(image);
  if (capability && !settings.apply("capability", capability))
    return kBadInput;
  fovea_device *opened;
  if (fovea_status status = fovea_device_open(FOVEA_CURRENT_DEVICE, &opened))
    return reportFailure(status);
  std::unique_ptr<fovea_device, DeviceCloser> device(opened);
  if (!settings.trace(options.trace))
    return kBadInput;
  ExitCode code =
      runSeeds(device.get(), settings, image, metadata, workload, outputs);
  if (code)
    showWarpOp(fovea_last_error());
  return settings.trace("") ? code : kBadInput;
}

ExitCode EmulatedBackend::runSeeds(fovea_device *device,
                                   const EmulatorSettings &settings,
                                   StringRef image, StringRef metadata,
                                   const Workload &workload,
                                   SmallVectorImpl<HostTensor> &outputs) {
  for (uint64_t i = 0; i < options.numSeeds; ++i) {
    uint64_t seed = options.seed + i;
    SmallVector<HostTensor> found;
    if (!settings.apply("seed", seed))
      return kBadInput;
    if (ExitCode code = DeviceBackend::run(device, image, metadata, workload,
                                           found, nullptr)) {
      if (options.numSeeds > 1)
        reportError("that was with --seed=" + Twine(seed));
      return code;
    }
    if (i == 0)
      outputs.assign(found.begin(), found.end());
    for (auto [output, first, tensor] :
         llvm::zip(program.signature.outputs, outputs, found)) {
      if (std::memcmp(first.data(), tensor.data(), tensor.getNumBytes()) == 0)
        continue;
      reportError("seeds " + Twine(options.seed) + " and " + Twine(seed) +
                  " give different numbers in output '" + output.name + "'");
      return kBadInput;
    }
  }
  return kSuccess;
}

std::unique_ptr<Backend>
fovea::run::createDeviceBackend(const Program &program,
                                const Options &options) {
  if (options.emulated)
    return std::make_unique<EmulatedBackend>(program, options);
  return std::make_unique<DeviceBackend>(program, options);
}
