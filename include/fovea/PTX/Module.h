//===- Module.h - A PTX text that was read --------------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_MODULE_H
#define FOVEA_PTX_MODULE_H

#include "fovea/PTX/Report.h"

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fovea::ptx {

struct Program;

/// One parameter of a kernel, as the host packs it.
struct Parameter {
  std::string name;
  uint64_t offset = 0, bytes = 0, alignment = 1;
};

/// What a host must know of an entry.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  /// All parameters together.
  uint64_t parameterBytes = 0;
  /// Shared memory that the module declares with a size, and local memory of
  /// a thread.
  uint64_t staticSharedBytes = 0, localBytes = 0;
  /// `.reqntid` and `.reqnctapercluster`; zeros where they are absent.
  std::array<uint32_t, 3> requiredBlock = {}, requiredCluster = {};
  /// `.maxntid` (the product counts), `.minnctapersm`, `.maxnreg`; 0 if absent.
  uint32_t maxThreads = 0, minBlocks = 0, maxRegisters = 0;
  /// `.explicitcluster`: the kernel has to be launched with clusters.
  bool explicitCluster = false;
  Location loc;
};

/// A PTX module, read, checked and decoded. It never changes, so any number of
/// launches on any threads may use it.
class Module {
public:
  /// Reads the text. What is wrong with it, or isn't modelled, is in the
  /// Report, each with its place.
  static llvm::Expected<std::unique_ptr<Module>> parse(llvm::StringRef text,
                                                       llvm::StringRef name);
  ~Module();

  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }
  /// The kernel of that name, or null.
  const Kernel *lookup(llvm::StringRef name) const;
  /// As `.target` and `.version` say.
  llvm::StringRef getTarget() const { return target; }
  unsigned getMajorVersion() const { return major; }
  unsigned getMinorVersion() const { return minor; }

  const Program &getProgram() const { return *program; }

private:
  Module();
  friend class ModuleBuilder;
  std::string target;
  unsigned major = 0, minor = 0;
  std::vector<Kernel> kernels;
  std::unique_ptr<Program> program;
};

} // namespace fovea::ptx

#endif // FOVEA_PTX_MODULE_H
