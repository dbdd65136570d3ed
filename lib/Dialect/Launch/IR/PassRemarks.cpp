//===- PassRemarks.cpp - Remarks on schedule fields -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/PassRemarks.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace fovea;

LogicalResult fovea::reportMissed(Operation *where, launch::AbiOp abi,
                                  StringRef field, const Twine &reason) {
  return reportMissed(where, abi.getKernel(),
                      abi.getPlan().isUserSpecified(field), field, reason);
}

LogicalResult fovea::reportMissed(Operation *where, StringRef kernel,
                                  bool isUserSpecified, StringRef field,
                                  const Twine &reason) {
  if (isUserSpecified)
    return where->emitError("schedule's '")
           << field << "' is user-specified but cannot be applied: " << reason;
  remark::missed(
      where->getLoc(),
      remark::RemarkOpts::name(field).category("schedule").function(kernel))
      << remark::reason("{0}", reason.str());
  return success();
}

void fovea::reportDone(Operation *where, launch::AbiOp abi, StringRef field,
                       StringRef what, int64_t count) {
  remark::passed(where->getLoc(), remark::RemarkOpts::name(field)
                                      .category("schedule")
                                      .function(abi.getKernel()))
      << remark::metric(what, count);
}
