//===- BufferizableOpInterfaceImpl.h - Bufferize launches -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define FOVEA_DIALECT_LAUNCH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fovea::launch {

/// Registers the bufferization of `launch.call` for `one-shot-bufferize`.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
