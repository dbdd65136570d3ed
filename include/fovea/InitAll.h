//===- InitAll.h - Registers dialects and passes ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INITALL_H
#define FOVEA_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fovea {

/// Adds Fovea's dialects, the upstream dialects that its IR is written in, and
/// their external interface models to `registry`.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers Fovea's passes and pass pipelines with the global pass registry.
void registerPasses();

} // namespace fovea

#endif // FOVEA_INITALL_H
