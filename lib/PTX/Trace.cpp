//===- Trace.cpp - Traces of launches -------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes events of launches in Chrome's trace format.
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Trace.h"

#include "llvm/Support/raw_ostream.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::json::Object;

Trace::Trace(llvm::raw_ostream &os) : os(os) { os << "["; }

Trace::~Trace() { os << "\n]\n"; }

void Trace::add(Object event) {
  std::lock_guard<std::mutex> lock(mutex);
  os << (first ? "\n" : ",\n") << llvm::json::Value(std::move(event));
  first = false;
}

uint64_t Trace::startLaunch(uint64_t ctas) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t start = processes;
  processes += ctas;
  return start;
}

void Trace::nameProcess(uint64_t process, const llvm::Twine &name) {
  add(Object{{"ph", "M"},
             {"name", "process_name"},
             {"pid", process},
             {"args", Object{{"name", name.str()}}}});
}

void Trace::nameThread(uint64_t process, uint64_t thread,
                       const llvm::Twine &name) {
  add(Object{{"ph", "M"},
             {"name", "thread_name"},
             {"pid", process},
             {"tid", thread},
             {"args", Object{{"name", name.str()}}}});
}

void Trace::addSpan(uint64_t process, uint64_t thread, StringRef category,
                    StringRef name, uint64_t start, uint64_t steps,
                    Object details) {
  add(Object{{"ph", "X"},
             {"cat", category},
             {"name", name},
             {"pid", process},
             {"tid", thread},
             {"ts", start},
             {"dur", steps},
             {"args", std::move(details)}});
}

void Trace::addWork(uint64_t process, uint64_t thread, StringRef name,
                    uint64_t number, bool begins, uint64_t when,
                    Object details) {
  std::string id = std::to_string(process) + "." + std::to_string(number);
  add(Object{{"ph", begins ? "b" : "e"},
             {"cat", "work"},
             {"name", name},
             {"id", id},
             {"pid", process},
             {"tid", thread},
             {"ts", when},
             {"args", std::move(details)}});
}
