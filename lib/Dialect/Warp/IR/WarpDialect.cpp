//===- WarpDialect.cpp - The warp dialect and its ops -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::warp;

#include "fovea/Dialect/Warp/IR/WarpDialect.cpp.inc"

#include "fovea/Dialect/Warp/IR/WarpAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Warp/IR/WarpAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "fovea/Dialect/Warp/IR/WarpTypes.cpp.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Warp/IR/WarpOps.cpp.inc"

void WarpDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Warp/IR/WarpAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fovea/Dialect/Warp/IR/WarpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Warp/IR/WarpOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

bool fovea::warp::isSharedBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.hasStaticShape() && memref.getLayout().isIdentity() &&
         memref.getRank() >= 2 &&
         isa_and_nonnull<SharedAttr>(memref.getMemorySpace());
}

int64_t fovea::warp::getPanelColumns(int64_t columns) {
  for (int64_t panel : {64, 32})
    if (columns % panel == 0)
      return panel;
  return 16;
}

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t panel) {
  if (panel == 16 || panel == 32 || panel == 64)
    return success();
  return emitError() << "panels have 16, 32 or 64 columns, found " << panel;
}

LogicalResult PipelineType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t stages) {
  if (stages >= 1)
    return success();
  return emitError() << "a pipeline has at least one stage, found " << stages;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  MemRefType type = getBuffer().getType();
  int64_t panel = cast<SharedAttr>(type.getMemorySpace()).getPanel();
  if (type.getShape().back() % panel != 0)
    return emitOpError("panels of ")
           << panel << " columns don't divide the buffer's "
           << type.getShape().back();
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() != 16)
    return emitOpError("elements must have 16 bits, found ")
           << type.getElementType();
  std::optional<uint64_t> offset = getOffset();
  if (offset && (*offset % 1024 != 0 || int64_t(*offset) < 0))
    return emitOpError("offset must be a multiple of 1024 bytes, found ")
           << int64_t(*offset);
  return success();
}

LogicalResult StageOp::verify() {
  MemRefType buffer = getBuffer().getType(), result = getType();
  if (buffer.getShape().drop_front() != result.getShape() ||
      buffer.getElementType() != result.getElementType() ||
      buffer.getMemorySpace() != result.getMemorySpace())
    return emitOpError("result must be the buffer without its first "
                       "dimension, found ")
           << buffer << " to " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Data movement and dots
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  MemRefType target = getTarget().getType();
  if (isSharedBuffer(source))
    return emitOpError("source must be global memory, found ") << source;
  if (int64_t(getIndices().size()) != source.getRank())
    return emitOpError("needs ")
           << source.getRank() << " indices, found " << getIndices().size();
  if (source.getElementType() != target.getElementType())
    return emitOpError("source and target must have one element type, found ")
           << source << " and " << target;
  if (target.getRank() != 2)
    return emitOpError("target must have rank 2, found ") << target;
  ArrayRef<int64_t> dims = getDims();
  if (dims.size() != 2 || dims[0] == dims[1] ||
      llvm::any_of(dims, [&](int64_t dim) {
        return dim < 0 || dim >= source.getRank();
      }))
    return emitOpError("dims must be two different dimensions of the source");
  return success();
}

LogicalResult LocalLoadOp::verify() {
  MemRefType source = getSource().getType();
  RankedTensorType result = getType();
  if (source.getShape() != result.getShape() ||
      source.getElementType() != result.getElementType())
    return emitOpError("buffer and tile must have one shape and element type, "
                       "found ")
           << source << " and " << result;
  return success();
}

LogicalResult DotOp::verify() {
  auto a = cast<ShapedType>(getA().getType());
  MemRefType b = getB().getType();
  RankedTensorType acc = getAcc().getType();
  if (a.getRank() != 2 || b.getRank() != 2)
    return emitOpError("operands must have rank 2, found ")
           << a << " and " << b;
  if (a.getElementType() != b.getElementType())
    return emitOpError("operands must have one element type, found ")
           << a << " and " << b;
  int64_t k = b.getDimSize(getTransposeB() ? 1 : 0),
          n = b.getDimSize(getTransposeB() ? 0 : 1);
  if (a.getDimSize(1) != k || acc.getDimSize(0) != a.getDimSize(0) ||
      acc.getDimSize(1) != n)
    return emitOpError("shapes do not fit a product: ")
           << a << ", " << b << " and " << acc;
  return success();
}

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void CopyOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getTargetMutable());
}

void LocalLoadOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

void DotOp::getEffects(Effects &effects) {
  if (isSharedBuffer(getA().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getAMutable());
  effects.emplace_back(MemoryEffects::Read::get(), &getBMutable());
}

// The verbs order everything that touches memory.
static void synchronizes(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
void ProducerAcquireOp::getEffects(Effects &effects) { synchronizes(effects); }
void ProducerCommitOp::getEffects(Effects &effects) { synchronizes(effects); }
void ConsumerWaitOp::getEffects(Effects &effects) { synchronizes(effects); }
void ConsumerReleaseOp::getEffects(Effects &effects) { synchronizes(effects); }
