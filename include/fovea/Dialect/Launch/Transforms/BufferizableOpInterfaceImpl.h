//===- BufferizableOpInterfaceImpl.h - Launches on buffers ------*- C++ -*-===//
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

/// Lets upstream's bufferization (`one-shot-bufferize`) turn the tensors of a
/// `launch.call` into memrefs.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
