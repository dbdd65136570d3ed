//===- Streams.cpp - Streams and events of the emulated driver ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements streams and events of the CUDA driver. Work is synchronous, so
// they impose no order.
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace fovea::ptx;
using namespace fovea::ptx::driver;

bool State::isStream(CUstream stream) const {
  // The default stream, and the legacy and per-thread streams by their numbers.
  return reinterpret_cast<uintptr_t>(stream) <= 2 || streams.contains(stream);
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  FOVEA_ENTER(state)
  if (flags > CU_STREAM_NON_BLOCKING)
    return fail(kInvalidValue, "unknown stream flag");
  *stream = new CUstream_st;
  state.streams.insert(*stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  FOVEA_ENTER(state)
  return destroy(state.streams, stream, "stream");
}

CUresult cuStreamSynchronize(CUstream stream) {
  FOVEA_ENTER(state)
  return expectKnown(state.isStream(stream), "stream");
}

CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  FOVEA_ENTER(state)
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return expectKnown(state.isStream(stream), "stream");
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  static thread_local int current = 0;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  FOVEA_ENTER(state)
  *event = new CUevent_st;
  state.events.insert(*event);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  FOVEA_ENTER(state)
  return destroy(state.events, event, "event");
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  FOVEA_ENTER(state)
  if (!state.events.contains(event) || !state.isStream(stream))
    return fail(kInvalidHandle, "no such event or stream");
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) {
  FOVEA_ENTER(state)
  return expectKnown(state.events.contains(event), "event");
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  FOVEA_ENTER(state)
  if (!state.events.contains(start) || !state.events.contains(end) ||
      !start->recorded || !end->recorded)
    return fail(kInvalidHandle, "no such event, or it was never recorded");
  std::chrono::duration<float, std::milli> elapsed = end->time - start->time;
  *milliseconds = elapsed.count();
  return CUDA_SUCCESS;
}
