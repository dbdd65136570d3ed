//===- Module.h - A parsed PTX module ---------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_MODULE_H
#define FOVEA_PTX_MODULE_H

#include "fovea/PTX/Kernel.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace fovea::ptx {

struct Program;

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
