//===- Trace.h - Traces of launches -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_TRACE_H
#define FOVEA_PTX_TRACE_H

#include "llvm/Support/JSON.h"

#include <array>
#include <mutex>

namespace fovea::ptx {

/// Events of launches in Chrome's trace format (JSON). A process is a CTA, a
/// thread is a warp, and a microsecond is a scheduling step of the CTA's
/// cluster.
class Trace {
public:
  explicit Trace(llvm::raw_ostream &os);
  /// Ends the JSON text.
  ~Trace();

  /// Reserves processes for `ctas` CTAs and returns the first one's number.
  uint64_t startLaunch(uint64_t ctas);
  void nameProcess(uint64_t process, const llvm::Twine &name);
  void nameThread(uint64_t process, uint64_t thread, const llvm::Twine &name);
  /// An activity of a warp that lasts `steps` scheduling steps from `start` on.
  void addSpan(uint64_t process, uint64_t thread, llvm::StringRef category,
               llvm::StringRef name, uint64_t start, uint64_t steps,
               llvm::json::Object details);
  /// Asynchronous work begins or ends. Numbers are unique within a process.
  void addWork(uint64_t process, uint64_t thread, llvm::StringRef name,
               uint64_t number, bool begins, uint64_t when,
               llvm::json::Object details);

private:
  void add(llvm::json::Object event);
  llvm::raw_ostream &os;
  std::mutex mutex;
  uint64_t processes = 0;
  bool first = true;
};

} // namespace fovea::ptx

#endif // FOVEA_PTX_TRACE_H
