//===- Tool.h - Shared code of command-line tools ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_TOOL_H
#define FOVEA_SUPPORT_TOOL_H

#include "mlir/IR/Diagnostics.h"

namespace fovea {

/// Makes `--version` print the versions of Fovea and LLVM. Call before parsing
/// the command line.
void setVersionPrinter();

/// Prints errors without a location, such as those about options, as errors of
/// the tool ("error: ..."); the upstream handler would print a position for
/// them. Other diagnostics go to the previous handler.
class UnplacedDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit UnplacedDiagnosticHandler(mlir::MLIRContext *context);
};

} // namespace fovea

#endif // FOVEA_SUPPORT_TOOL_H
