//===- Tool.h - What command-line tools share -------------------*- C++ -*-===//
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

/// Makes the option `--version` print Fovea's version and LLVM's. Tools call it
/// before they parse their command line.
void setVersionPrinter();

/// Prints diagnostics without a location, such as those about options, as a
/// tool's own errors ("error: ..."). Upstream's handler would print a position
/// for them. Diagnostics with a location go to the handler set before.
class UnplacedDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit UnplacedDiagnosticHandler(mlir::MLIRContext *context);
};

} // namespace fovea

#endif // FOVEA_SUPPORT_TOOL_H
