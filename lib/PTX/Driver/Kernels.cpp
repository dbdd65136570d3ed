//===- Kernels.cpp - Modules and launches of the emulated driver ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements modules, kernel attributes and launches of the CUDA driver. A
// launch runs to its end before the call returns.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "fovea/PTX/Occupancy.h"

#include <cstring>

using namespace fovea::ptx;
using namespace fovea::ptx::driver;
using llvm::StringRef;
using llvm::Twine;

/// CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.
static constexpr int kClusterDimension = 4;
static constexpr uint64_t kPortableCluster = 8, kLargestCluster = 16;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Checks that the device can run code of the target: one GPU (suffix a), a
/// family (f), or that GPU and later ones.
static bool runsOn(StringRef target, unsigned capability) {
  StringRef number = target;
  bool exactly = number.consume_back("a"), family = number.consume_back("f");
  unsigned wanted;
  if (!number.consume_front("sm_") || number.getAsInteger(10, wanted))
    return false;
  if (exactly)
    return capability == wanted;
  return capability >= wanted && (!family || capability / 10 == wanted / 10);
}

/// Detects machine code: ELF files and fat binaries.
static bool isMachineCode(const char *image) {
  return StringRef(image).starts_with("\x7f"
                                      "ELF") ||
         StringRef(image).starts_with("\x50\xed\x55\xba");
}

static llvm::Expected<std::unique_ptr<Module>> readModule(const State &state,
                                                          const char *image) {
  auto module = Module::parse(image, "kernel.ptx");
  if (!module)
    return module.takeError();
  StringRef target = (*module)->getTarget();
  if (!runsOn(target, state.chip->capability))
    return makeError("launch", "the module is for " + target +
                                   ", the device is sm_" +
                                   Twine(state.chip->capability));
  return module;
}

/// Writes the log into the buffers of the options.
static void writeLog(StringRef words, unsigned count, const int *options,
                     void **values) {
  char *buffer = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (!buffer || !bytes)
    return;
  words = words.take_front(bytes - 1);
  memcpy(buffer, words.data(), words.size());
  buffer[words.size()] = 0;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            int *options, void **values) {
  FOVEA_ENTER(state)
  auto refuse = [&](CUresult result, const std::string &words) {
    writeLog(words, count, options, values);
    return fail(result, words);
  };
  const auto *text = static_cast<const char *>(image);
  if (!text || isMachineCode(text))
    return refuse(kInvalidImage, "the emulator executes PTX text, not machine "
                                 "code: compile to PTX (--emit=ptx)");
  auto read = readModule(state, text);
  if (!read)
    return refuse(kInvalidPTX, llvm::toString(read.takeError()));
  auto made = std::make_unique<CUmod_st>();
  made->module = std::move(*read);
  for (const Kernel &kernel : made->module->getKernels()) {
    auto function = std::make_unique<CUfunc_st>();
    function->module = made.get();
    function->kernel = &kernel;
    state.functions.insert(function.get());
    made->functions[kernel.name] = std::move(function);
  }
  *module = made.release();
  state.modules.insert(*module);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  FOVEA_ENTER(state)
  if (!state.modules.erase(module))
    return fail(kInvalidHandle, "no such module");
  for (auto &entry : module->functions)
    state.functions.erase(entry.second.get());
  state.device.unload(*module->module);
  delete module;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  FOVEA_ENTER(state)
  if (!state.modules.contains(module))
    return fail(kInvalidHandle, "no such module");
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return fail(kNotFound, "the module has no kernel '" + Twine(name) + "'");
  *function = found->second.get();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Facts about kernels
//===----------------------------------------------------------------------===//

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  FOVEA_ENTER(state)
  if (!state.functions.contains(function))
    return fail(kInvalidHandle, "no such kernel");
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || uint64_t(value) + function->kernel->staticSharedBytes >
                         state.chip->sharedMemory)
      return fail(kInvalidValue, "the GPU has " +
                                     Twine(state.chip->sharedMemory) +
                                     " bytes of shared memory for a CTA");
    function->dynamicSharedBytes = uint64_t(value);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    function->largeClusters = value;
    return CUDA_SUCCESS;
  }
  return fail(kInvalidValue,
              "kernel attribute " + Twine(attribute) + " is not modelled");
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
  FOVEA_ENTER(state)
  if (!state.functions.contains(function))
    return fail(kInvalidHandle, "no such kernel");
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = int(function->kernel->localBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = int(getRegistersPerThread(*function->kernel, state.getChip()));
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = int(function->dynamicSharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    *value = function->largeClusters;
    return CUDA_SUCCESS;
  }
  return fail(kInvalidValue,
              "kernel attribute " + Twine(attribute) + " is not modelled");
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                            size_t *bytes) {
  FOVEA_ENTER(state)
  if (!state.functions.contains(function))
    return fail(kInvalidHandle, "no such kernel");
  const Kernel &kernel = *function->kernel;
  if (index >= kernel.parameters.size())
    return fail(kInvalidValue, "the kernel has " +
                                   Twine(kernel.parameters.size()) +
                                   " parameters");
  *offset = kernel.parameters[index].offset;
  if (bytes)
    *bytes = kernel.parameters[index].bytes;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                     CUfunction function,
                                                     int threads,
                                                     size_t bytes) {
  FOVEA_ENTER(state)
  if (!state.functions.contains(function) || threads < 1)
    return fail(kInvalidValue, "no such kernel, or a CTA without threads");
  *blocks = int(getResidentBlocks(*function->kernel, uint32_t(threads), bytes,
                                  state.getChip()));
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Reads the cluster, and whether the kernel may start before the preceding one
/// has ended.
static CUresult takeAttributes(const CUlaunchConfig &config, Launch &launch,
                               bool &overlaps) {
  for (unsigned i = 0; i < config.num_attributes; ++i) {
    const CUlaunchAttribute &attribute = config.attributes[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      overlaps = attribute.value.programmatic_stream_serialization;
      continue;
    }
    if (attribute.id != kClusterDimension)
      return fail(kInvalidValue, "launch attribute " + Twine(attribute.id) +
                                     " is not modelled");
    memcpy(launch.cluster.data(), attribute.value.bytes, sizeof launch.cluster);
  }
  return CUDA_SUCCESS;
}

/// Checks the attributes that the host must set before the launch.
static CUresult checkAllowed(const CUfunc_st &function, const Launch &launch) {
  if (launch.dynamicSharedBytes > function.dynamicSharedBytes)
    return fail(
        kInvalidValue,
        "the launch has " + Twine(launch.dynamicSharedBytes) +
            " bytes of dynamic shared memory, but the kernel may have " +
            Twine(function.dynamicSharedBytes) +
            ": cuFuncSetAttribute allows more");
  const auto &required = function.kernel->requiredCluster;
  const auto &cluster = required[0] ? required : launch.cluster;
  uint64_t ctas = 1;
  for (uint32_t extent : cluster)
    ctas *= extent ? extent : 1;
  if (ctas > kLargestCluster ||
      (ctas > kPortableCluster && !function.largeClusters))
    return fail(
        kInvalidCluster,
        "the cluster has " + Twine(ctas) + " CTAs, but the kernel may have " +
            Twine(function.largeClusters ? kLargestCluster : kPortableCluster));
  return CUDA_SUCCESS;
}

static CUresult launchKernel(State &state, const CUlaunchConfig &config,
                             CUfunction function, void **arguments,
                             void **extra) {
  if (!state.functions.contains(function) || !state.isStream(config.stream))
    return fail(kInvalidHandle, "no such kernel or stream");
  const Kernel &kernel = *function->kernel;
  if (extra || (!arguments && !kernel.parameters.empty()))
    return fail(kInvalidValue,
                "expected kernelParams with all arguments and no 'extra'");
  Launch launch = state.settings;
  launch.kernel = kernel.name;
  launch.grid = {config.grid_x, config.grid_y, config.grid_z};
  launch.block = {config.block_x, config.block_y, config.block_z};
  launch.dynamicSharedBytes = config.shared_memory;
  launch.chip = state.getChip();
  bool overlaps = false;
  if (CUresult result = takeAttributes(config, launch, overlaps))
    return result;
  if (overlaps)
    launch.primary = state.footprints.lookup(config.stream);
  if (CUresult result = checkAllowed(*function, launch))
    return result;
  launch.parameters.resize(kernel.parameterBytes);
  for (auto [index, parameter] : llvm::enumerate(kernel.parameters))
    memcpy(launch.parameters.data() + parameter.offset, arguments[index],
           parameter.bytes);
  Summary summary;
  llvm::Error error =
      run(state.device, *function->module->module, launch, &summary);
  state.footprints[config.stream] = std::move(summary.footprint);
  ++state.summary.launches;
  state.summary.ctas += summary.ctas;
  state.summary.warp_instructions += summary.warpInstructions;
  state.summary.thread_instructions += summary.threadInstructions;
  return error ? fail(kLaunchFailed, std::move(error)) : CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **arguments, void **extra) {
  FOVEA_ENTER(state)
  return launchKernel(state, *config, function, arguments, extra);
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy,
                        unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned bytes, CUstream stream, void **arguments,
                        void **extra) {
  FOVEA_ENTER(state)
  CUlaunchConfig config = {gx, gy, gz, bx, by, bz, bytes, stream, nullptr, 0};
  return launchKernel(state, config, function, arguments, extra);
}
