//===- Module.h - A parsed PTX module ---------------------------*- C++ -*-===//
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

/// A kernel parameter in the host's parameter buffer.
struct Parameter {
  std::string name;
  uint64_t offset = 0, bytes = 0, alignment = 1;
};

/// Properties of an entry that the host needs.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  /// Total size of the parameters.
  uint64_t parameterBytes = 0;
  /// Shared memory declared with a size in the module, and local memory per
  /// thread.
  uint64_t staticSharedBytes = 0, localBytes = 0;
  /// `.reqntid` and `.reqnctapercluster`; zeros if absent.
  std::array<uint32_t, 3> requiredBlock = {}, requiredCluster = {};
  /// `.maxntid` (as a product), `.minnctapersm`, `.maxnreg`; 0 if absent.
  uint32_t maxThreads = 0, minBlocks = 0, maxRegisters = 0;
  /// `.explicitcluster`: the kernel must be launched with clusters.
  bool explicitCluster = false;
  Location loc;
};

/// A parsed, checked and decoded PTX module. It is immutable, so launches on
/// any number of threads may share it.
class Module {
public:
  /// Parses the text. The Report lists errors and unsupported features with
  /// their locations.
  static llvm::Expected<std::unique_ptr<Module>> parse(llvm::StringRef text,
                                                       llvm::StringRef name);
  ~Module();

  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }
  /// The kernel with that name, or null.
  const Kernel *lookup(llvm::StringRef name) const;
  /// The values of `.target` and `.version`.
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
