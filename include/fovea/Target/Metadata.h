//===- Metadata.h - Launch metadata of a kernel -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launch metadata of a kernel as JSON: everything that a host needs to launch
// it. docs/Specification/ABI.md specifies the format; libFoveaRuntime is one
// host that implements it.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TARGET_METADATA_H
#define FOVEA_TARGET_METADATA_H

#include "fovea/Dialect/Launch/IR/Launch.h"

namespace fovea {
/// The latest metadata version that `writeMetadata` writes.
constexpr int64_t kMetadataVersion = 6;

/// Writes the launch metadata of one kernel. Fails with a diagnostic at `abi`
/// if a parameter is not final yet.
llvm::LogicalResult writeMetadata(launch::AbiOp abi, llvm::raw_ostream &os);

/// Registers the translation `launch-abi-to-metadata`: the metadata of the only
/// kernel in a module, parsed with the dialects of `registerDialects`.
void registerMetadataTranslation(
    void (*registerDialects)(mlir::DialectRegistry &));
} // namespace fovea

#endif // FOVEA_TARGET_METADATA_H
