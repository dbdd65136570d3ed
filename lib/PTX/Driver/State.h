//===- State.h - State of the emulated driver -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device with one context. All calls are synchronous: work is done before
// the call returns, so streams need no order and kernels run one after another.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_DRIVER_STATE_H
#define FOVEA_LIB_PTX_DRIVER_STATE_H

#include "Driver.h"

#include "fovea/PTX/Launch.h"
#include "fovea/PTX/Trace.h"
#include "fovea/PTX/fovea_ptx_driver.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

// Declares the driver's functions, so that definitions with other signatures do
// not compile.
#define FOVEA_DECLARE(member, symbol, parameters)                              \
  extern "C" FOVEA_PTX_DRIVER_API CUresult symbol parameters;
FOVEA_DRIVER_FUNCTIONS(FOVEA_DECLARE)
FOVEA_OPTIONAL_DRIVER_FUNCTIONS(FOVEA_DECLARE)
#undef FOVEA_DECLARE

/// A kernel of a module, with the module's lifetime.
struct CUfunc_st {
  CUmodule module = nullptr;
  const fovea::ptx::Kernel *kernel = nullptr;
  /// Limits that the host has set.
  uint64_t dynamicSharedBytes = 48 * 1024;
  bool largeClusters = false;
};

struct CUmod_st {
  std::unique_ptr<fovea::ptx::Module> module;
  llvm::StringMap<std::unique_ptr<CUfunc_st>> functions;
};

struct CUstream_st {};
struct CUmemPoolHandle_st {};

struct CUevent_st {
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

namespace fovea::ptx::driver {

/// Status codes for which the runtime has no names.
enum : CUresult {
  kInvalidValue = 1,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidPTX = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kLaunchFailed = 719,
  kInvalidCluster = 912,
};

/// Stores the message for foveaPTXDriverGetReport and returns `result`. All
/// failing calls end here.
CUresult fail(CUresult result, const llvm::Twine &words = "");
CUresult fail(CUresult result, llvm::Error error);

/// Returns success, or a failure for an unknown handle.
inline CUresult expectKnown(bool isKnown, const char *what) {
  return isKnown ? CUDA_SUCCESS
                 : fail(kInvalidHandle, llvm::Twine("no such ") + what);
}

/// Destroys the object of a handle, if the handle is one of `handles`.
template <typename Handles, typename Handle>
CUresult destroy(Handles &handles, Handle *handle, const char *what) {
  bool isKnown = handles.erase(handle);
  if (isKnown)
    delete handle;
  return expectKnown(isKnown, what);
}

/// Properties of a GPU as the driver reports them.
struct ChipFacts {
  unsigned capability;
  uint32_t multiprocessors;
  uint64_t sharedMemory;
};

/// The driver's state. One lock guards it, which a running kernel holds, so
/// that its memory is not freed.
struct State {
  std::mutex lock;
  Device device;
  llvm::DenseSet<CUmodule> modules;
  llvm::DenseSet<CUfunction> functions;
  llvm::DenseSet<CUstream> streams;
  llvm::DenseSet<CUevent> events;
  llvm::DenseSet<CUmemoryPool> pools;

  const ChipFacts *chip;
  uint32_t multiprocessors = 0;
  /// Settings for all launches; the other fields are set per launch.
  Launch settings;
  fovea_ptx_driver_summary summary = {};
  /// The accesses of the last kernel of each stream, if the next one may start
  /// before its end.
  llvm::DenseMap<CUstream, std::shared_ptr<const Footprint>> footprints;
  /// The output of settings.trace.
  std::unique_ptr<llvm::raw_fd_ostream> traceStream;
  std::unique_ptr<Trace> trace;

  uint32_t getMultiprocessors() const {
    return multiprocessors ? multiprocessors : chip->multiprocessors;
  }
  Chip getChip() const;
  /// True for created streams and for the predefined ones.
  bool isStream(CUstream stream) const;

  /// Created at first use and never destroyed: threads may outlive statics.
  static State &get();

private:
  State();
};

/// True if this thread has a current context.
bool hasContext();

} // namespace fovea::ptx::driver

/// Begins a call that needs a current context, and holds the lock until it
/// returns.
#define FOVEA_ENTER(state)                                                     \
  using namespace fovea::ptx;                                                  \
  using namespace fovea::ptx::driver;                                          \
  if (!hasContext())                                                           \
    return fail(kInvalidContext, "no context is current");                     \
  State &state = State::get();                                                 \
  std::lock_guard<std::mutex> guard(state.lock);

#endif // FOVEA_LIB_PTX_DRIVER_STATE_H
