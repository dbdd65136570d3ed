//===- Context.cpp - Device, context and settings of the emulated driver --===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the device, context and error functions of the CUDA driver, and
// the settings of fovea_ptx_driver.h.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>

using namespace fovea::ptx;
using namespace fovea::ptx::driver;
using llvm::StringRef;
using llvm::Twine;

struct CUctx_st {};
static CUctx_st primary;
static thread_local std::vector<CUcontext> contexts;
static thread_local std::string report;

static constexpr int kDriverVersion = 13000;

/// The number of SMs of the largest product of each GPU, and the maximum shared
/// memory of one CTA.
static constexpr ChipFacts kChips[] = {
    {80, 108, 166912},  {86, 84, 101376},   {87, 16, 166912},
    {89, 142, 101376},  {90, 132, 232448},  {100, 148, 232448},
    {103, 160, 232448}, {120, 188, 101376}, {121, 48, 101376}};

static const ChipFacts *findChip(uint64_t capability) {
  const ChipFacts *found = llvm::find_if(
      kChips, [&](const ChipFacts &c) { return c.capability == capability; });
  return found == std::end(kChips) ? nullptr : found;
}

State::State() : chip(findChip(90)) {}

State &State::get() {
  static State *state = new State;
  return *state;
}

Chip State::getChip() const {
  Chip result;
  result.multiprocessors = getMultiprocessors();
  result.sharedMemory = chip->sharedMemory;
  return result;
}

bool driver::hasContext() { return !contexts.empty(); }

CUresult driver::fail(CUresult result, const Twine &words) {
  report = StringRef(words.str()).rtrim().str();
  return result;
}

CUresult driver::fail(CUresult result, llvm::Error error) {
  return fail(result, llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// The extension
//===----------------------------------------------------------------------===//

static bool setFlag(bool &flag, uint64_t value) {
  flag = value;
  return value <= 1;
}

static bool apply(State &state, StringRef name, uint64_t value) {
  Launch &settings = state.settings;
  if (name == "capability") {
    const ChipFacts *chip = findChip(value);
    if (chip)
      state.chip = chip;
    return chip;
  }
  if (name == "multiprocessors") {
    state.multiprocessors = value;
    return value <= 4096;
  }
  if (name == "seed") {
    settings.seed = value;
    return true;
  }
  if (name == "step_limit") {
    settings.stepLimit = value;
    return true;
  }
  if (name == "host_threads") {
    settings.hostThreads = value;
    return value <= 1024;
  }
  if (name == "races")
    return setFlag(settings.checkRaces, value);
  if (name == "global_races")
    return setFlag(settings.checkGlobalRaces, value);
  if (name == "uninitialized")
    return setFlag(settings.checkUninitialized, value);
  if (name == "equal_writes") {
    settings.allowEqualWrites = !value;
    return value <= 1;
  }
  if (name == "promised_tcgen05_order")
    return setFlag(settings.promisedTensorOrder, value);
  if (name == "perturb")
    return setFlag(settings.perturbApproximations, value);
  return false;
}

int foveaPTXDriverSet(const char *name, uint64_t value) {
  if (!name)
    return fail(kInvalidValue, "the setting has no name");
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  Launch settings = state.settings;
  uint32_t multiprocessors = state.multiprocessors;
  if (apply(state, name, value))
    return CUDA_SUCCESS;
  state.settings = settings;
  state.multiprocessors = multiprocessors;
  return fail(kInvalidValue, "there is no setting '" + Twine(name) +
                                 "' with the value " + Twine(value));
}

int foveaPTXDriverTrace(const char *path) {
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  state.settings.trace = nullptr;
  state.trace.reset();
  state.traceStream.reset();
  if (!path)
    return CUDA_SUCCESS;
  std::error_code error;
  auto stream = std::make_unique<llvm::raw_fd_ostream>(path, error);
  if (error)
    return fail(kInvalidValue,
                "cannot write '" + Twine(path) + "': " + error.message());
  state.traceStream = std::move(stream);
  state.trace = std::make_unique<Trace>(*state.traceStream);
  state.settings.trace = state.trace.get();
  return CUDA_SUCCESS;
}

int foveaPTXDriverGetReport(const char **result) {
  *result = report.c_str();
  return CUDA_SUCCESS;
}

int foveaPTXDriverGetSummary(fovea_ptx_driver_summary *summary) {
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  *summary = state.summary;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct ErrorName {
  CUresult result;
  const char *name, *words;
};
} // namespace

static constexpr ErrorName kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "not an image of a kernel"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "no current context"},
    {kInvalidPTX, "CUDA_ERROR_INVALID_PTX", "the PTX can't be used"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "no such object"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "no such name"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "the kernel failed"},
    {kInvalidCluster, "CUDA_ERROR_INVALID_CLUSTER_SIZE",
     "the cluster is too large"}};

static const ErrorName *findError(CUresult result) {
  const ErrorName *found = llvm::find_if(
      kErrors, [&](const ErrorName &e) { return e.result == result; });
  return found == std::end(kErrors) ? nullptr : found;
}

CUresult cuGetErrorName(CUresult result, const char **name) {
  const ErrorName *found = findError(result);
  *name = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUresult(kInvalidValue);
}

CUresult cuGetErrorString(CUresult result, const char **words) {
  const ErrorName *found = findError(result);
  *words = found ? found->words : nullptr;
  return found ? CUDA_SUCCESS : CUresult(kInvalidValue);
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned flags) {
  return flags ? fail(kInvalidValue, "cuInit takes no flags") : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return CUDA_SUCCESS;
}

static CUresult checkDevice(CUdevice device) {
  if (device == 0)
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_DEVICE,
              "there is one device, number 0, found " + Twine(device));
}

CUresult cuDeviceGet(CUdevice *device, int number) {
  *device = number;
  return checkDevice(number);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  snprintf(name, size_t(bytes), "PTX on the CPU, as sm_%u",
           state.chip->capability);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = int(state.getMultiprocessors());
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = int(state.chip->capability / 10);
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = int(state.chip->capability % 10);
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = int(state.chip->sharedMemory);
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    *value = 1;
    return CUDA_SUCCESS;
  }
  return fail(kInvalidValue,
              "device attribute " + Twine(attribute) + " is not modelled");
}

//===----------------------------------------------------------------------===//
// The context
//===----------------------------------------------------------------------===//

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = &primary;
  return checkDevice(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return checkDevice(device);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return hasContext() ? CUDA_SUCCESS
                      : fail(kInvalidContext, "no context is current");
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (context != &primary)
    return fail(kInvalidContext, "the context is not the device's");
  contexts.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (contexts.empty())
    return fail(kInvalidContext, "no context is current");
  CUcontext popped = contexts.back();
  contexts.pop_back();
  if (context)
    *context = popped;
  return CUDA_SUCCESS;
}
