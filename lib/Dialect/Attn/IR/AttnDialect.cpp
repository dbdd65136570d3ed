//===- AttnDialect.cpp - The attn dialect ---------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockIndices.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::attn;

#include "fovea/Dialect/Attn/IR/AttnDialect.cpp.inc"
#include "fovea/Dialect/Attn/IR/AttnEnums.cpp.inc"

#include "fovea/Dialect/Attn/IR/AttnAttrInterfaces.cpp.inc"
#include "fovea/Dialect/Attn/IR/AttnOpInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Attn/IR/AttnAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Attn/IR/AttnOps.cpp.inc"

namespace {
/// Functions with attention can be inlined. The regions of attn ops contain no
/// calls, so nothing is inlined into them.
struct AttnInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Attn/IR/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
  addInterfaces<AttnInliner>();
}

//===----------------------------------------------------------------------===//
// Lengths of the current sequence
//===----------------------------------------------------------------------===//

static LogicalResult verifyInsideRegion(Operation *op) {
  if (op->getParentOfType<AttentionOpInterface>())
    return success();
  return op->emitOpError("is only valid inside a region of an attention op");
}

LogicalResult QueryLengthOp::verify() { return verifyInsideRegion(*this); }
LogicalResult KeyLengthOp::verify() { return verifyInsideRegion(*this); }

static ConstantIntRanges getLengthRange() {
  return ConstantIntRanges::fromSigned(
      APInt(64, 0), APInt(64, AttentionOpInterface::kMaxSequenceLength));
}

void QueryLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                      SetIntRangeFn setRange) {
  setRange(getResult(), getLengthRange());
}
void KeyLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getResult(), getLengthRange());
}
