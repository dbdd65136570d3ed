//===- Passes.td - Passes of one level to the next ---------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_CONVERSION_PASSES_TD
#define FOVEA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // FOVEA_CONVERSION_PASSES_TD
