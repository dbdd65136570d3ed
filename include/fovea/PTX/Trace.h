//===- Trace.h - Who did what when ----------------------------------*- C++
//-*-===//
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

/// Events of launches, in the JSON format of Chrome's traces: a process is a
/// CTA, a thread is a warp, a microsecond is a turn of the CTA's cluster.
class Trace {
public:
  explicit Trace(llvm::raw_ostream &os);
  /// Ends the JSON text.
  ~Trace();

  /// The number of the first CTA's process.
  uint64_t startLaunch(uint64_t ctas);
  void nameProcess(uint64_t process, const llvm::Twine &name);
  void nameThread(uint64_t process, uint64_t thread, const llvm::Twine &name);
  /// What a warp did from one turn on.
  void addSpan(uint64_t process, uint64_t thread, llvm::StringRef category,
               llvm::StringRef name, uint64_t start, uint64_t turns,
               llvm::json::Object details);
  /// Asynchronous work begins, or ends; the process numbers its works.
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
