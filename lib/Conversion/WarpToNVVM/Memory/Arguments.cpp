//===- Arguments.cpp - Kernel arguments -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces memref arguments of a kernel by pointers, sizes and strides, and
// updates the ABI. Unused arguments are dropped at the end of warp-to-nvvm.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

namespace {
/// The new argument list under construction; sizes with one name share one
/// argument.
struct ArgumentList {
  gpu::GPUFuncOp kernel;
  SmallVector<Attribute> parameters;
  llvm::StringMap<Value> sizes;

  Value add(Type type, Attribute parameter, Location loc) {
    parameters.push_back(parameter);
    unsigned position = kernel.getNumArguments();
    (void)kernel.insertArgument(position, type, {}, loc);
    return kernel.getArgument(position);
  }
  /// The size called `name`, i64.
  Value getSize(OpBuilder &b, Location loc, StringAttr name) {
    if (name.getValue() == launch::kCtasSize)
      return arith::IndexCastUIOp::create(
          b, loc, b.getI64Type(),
          gpu::GridDimOp::create(b, loc, gpu::Dimension::x));
    Value &argument = sizes[name.getValue()];
    if (!argument) {
      Value narrow =
          add(b.getI32Type(),
              launch::SizeParameterAttr::get(b.getContext(), name), loc);
      argument = arith::ExtUIOp::create(b, loc, b.getI64Type(), narrow);
    }
    return argument;
  }
};
} // namespace

/// Emits an expression in sizes, i64. Sizes and intermediate values are
/// non-negative.
static Value emitExpression(ArgumentList &list, OpBuilder &b, Location loc,
                            AffineExpr expr, ArrayAttr sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return emitI64(b, loc, constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return list.getSize(b, loc, cast<StringAttr>(sizes[symbol.getPosition()]));
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value left = emitExpression(list, b, loc, binary.getLHS(), sizes),
        right = emitExpression(list, b, loc, binary.getRHS(), sizes);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, loc, left, right);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, loc, left, right);
  case AffineExprKind::FloorDiv:
    return arith::DivUIOp::create(b, loc, left, right);
  case AffineExprKind::CeilDiv:
    return arith::CeilDivUIOp::create(b, loc, left, right);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(b, loc, left, right);
  default:
    llvm_unreachable("no operation on two expressions");
  }
}

/// Expands scratch memory, whose strides follow from its extents.
static Value expandScratch(ArgumentList &list, OpBuilder &b, MemRefType type,
                           launch::ScratchMemRefParameterAttr parameter,
                           Location loc) {
  SmallVector<Value> parts = {
      list.add(LLVM::LLVMPointerType::get(b.getContext(), 1),
               parameter.getBytes(type.getElementType()), loc)};
  SmallVector<Value> extents, strides;
  for (AffineExpr extent : parameter.getExtents().getValue().getResults())
    extents.push_back(
        emitExpression(list, b, loc, extent, parameter.getSizes()));
  Value stride = emitI64(b, loc, 1);
  for (Value extent : llvm::reverse(extents)) {
    strides.insert(strides.begin(), stride);
    stride = arith::MulIOp::create(b, loc, stride, extent);
  }
  llvm::append_range(parts, extents);
  llvm::append_range(parts, strides);
  return UnrealizedConversionCastOp::create(b, loc, type, parts).getResult(0);
}

/// Expands a workspace, whose extent is static.
static Value expandWorkspace(ArgumentList &list, OpBuilder &b, MemRefType type,
                             Location loc) {
  int64_t bytes = llvm::divideCeil(
      type.getNumElements() * type.getElementTypeBitWidth(), 8);
  Value pointer =
      list.add(LLVM::LLVMPointerType::get(b.getContext(), 1),
               launch::WorkspaceParameterAttr::get(b.getContext(), bytes), loc);
  Value parts[] = {pointer, emitI64(b, loc, type.getDimSize(0)),
                   emitI64(b, loc, 1)};
  return UnrealizedConversionCastOp::create(b, loc, type, parts).getResult(0);
}

static Value expandMemRef(ArgumentList &list, OpBuilder &b, MemRefType type,
                          launch::MemRefParameterAttr parameter,
                          launch::TensorAttr tensor, Location loc) {
  MLIRContext *context = b.getContext();
  Value pointer = list.add(
      LLVM::LLVMPointerType::get(context, 1),
      launch::PointerParameterAttr::get(context, parameter.getTensor()), loc);
  SmallVector<Value> parts = {pointer};
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size)) {
      parts.push_back(emitI64(b, loc, size));
      continue;
    }
    auto name = cast<StringAttr>(tensor.getDims()[parameter.getOrder()[dim]]);
    parts.push_back(list.getSize(b, loc, name));
  }
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    if (!ShapedType::isDynamic(stride)) {
      parts.push_back(emitI64(b, loc, stride));
      continue;
    }
    // Row strides of a matrix fit in 32 bits, which saves registers for
    // addresses in loops. The exception is static rows that are longer.
    bool isRow = strides.back() == 1 && int64_t(dim) == type.getRank() - 2 &&
                 (type.isDynamicDim(dim + 1) ||
                  llvm::isInt<32>(type.getDimSize(dim + 1)));
    unsigned bits = isRow ? 32 : 64;
    Value argument = list.add(
        b.getIntegerType(bits),
        launch::StrideParameterAttr::get(context, parameter.getTensor(),
                                         parameter.getOrder()[dim], bits),
        loc);
    parts.push_back(emitToI64(b, loc, argument));
  }
  return UnrealizedConversionCastOp::create(b, loc, type, parts).getResult(0);
}

Value fovea::emitPointer(OpBuilder &b, Location loc, Value memref) {
  return UnrealizedConversionCastOp::create(
             b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), memref)
      .getResult(0);
}

/// Resolves the casts of `emitPointer`.
static LogicalResult resolvePointers(gpu::GPUFuncOp kernel) {
  SmallVector<UnrealizedConversionCastOp> casts;
  kernel.walk([&](UnrealizedConversionCastOp cast) {
    if (cast.getNumOperands() == 1 &&
        isa<MemRefType>(cast.getOperand(0).getType()) &&
        isa<LLVM::LLVMPointerType>(cast.getResult(0).getType()))
      casts.push_back(cast);
  });
  for (UnrealizedConversionCastOp cast : casts) {
    OpBuilder b(cast);
    FailureOr<GlobalView> view =
        getGlobalView(b, cast.getLoc(), cast.getOperand(0));
    if (failed(view))
      return failure();
    cast.getResult(0).replaceAllUsesWith(view->pointer);
    cast.erase();
  }
  return success();
}

LogicalResult fovea::expandArguments(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  ArgumentList list{kernel, {}, {}};
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  unsigned count = kernel.getNumArguments();
  for (unsigned index = 0; index < count; ++index) {
    Value argument = kernel.getArgument(index);
    Attribute parameter = abi.getParameters()[index];
    Location loc = argument.getLoc();
    // The verifier of the ABI checks that arguments match their parameters.
    if (auto memref = dyn_cast<launch::MemRefParameterAttr>(parameter)) {
      auto type = cast<MemRefType>(argument.getType());
      launch::TensorAttr tensor =
          launch::lookupTensor(abi.getTensors(), memref.getTensor());
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
        return kernel.emitError("argument #")
               << index << " must be strided, from offset 0, found " << type;
      argument.replaceAllUsesWith(
          expandMemRef(list, b, type, memref, tensor, loc));
      continue;
    }
    if (auto scratch =
            dyn_cast<launch::ScratchMemRefParameterAttr>(parameter)) {
      auto type = cast<MemRefType>(argument.getType());
      argument.replaceAllUsesWith(expandScratch(list, b, type, scratch, loc));
      continue;
    }
    if (isa<launch::WorkspaceMemRefParameterAttr>(parameter)) {
      argument.replaceAllUsesWith(
          expandWorkspace(list, b, cast<MemRefType>(argument.getType()), loc));
      continue;
    }
    bool isIndex = argument.getType().isIndex();
    Type type = isIndex ? b.getI64Type() : argument.getType();
    Value scalar = list.add(type, parameter, loc);
    if (isIndex)
      scalar = arith::IndexCastOp::create(b, loc, b.getIndexType(), scalar);
    argument.replaceAllUsesWith(scalar);
  }
  BitVector old(kernel.getNumArguments());
  old.set(0, count);
  (void)kernel.eraseArguments(old);
  abi.setParametersAttr(b.getArrayAttr(list.parameters));
  return resolvePointers(kernel);
}

void fovea::dropUnusedArguments(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  // Unused casts and extensions keep arguments alive.
  SmallVector<Operation *> dead;
  Block &entry = kernel.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(entry)))
    if (isOpTriviallyDead(&op))
      op.erase();
  BitVector unused(kernel.getNumArguments());
  SmallVector<Attribute> kept;
  for (auto [index, argument] : llvm::enumerate(kernel.getArguments())) {
    if (argument.use_empty())
      unused.set(index);
    else
      kept.push_back(abi.getParameters()[index]);
  }
  (void)kernel.eraseArguments(unused);
  abi.setParametersAttr(Builder(abi.getContext()).getArrayAttr(kept));
}

FailureOr<GlobalView> fovea::getGlobalView(OpBuilder &builder, Location loc,
                                           Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  auto cast = memref.getDefiningOp<UnrealizedConversionCastOp>();
  if (!type || !cast ||
      int64_t(cast.getNumOperands()) != 1 + 2 * type.getRank()) {
    emitError(loc, "memory must be an argument of the kernel");
    return failure();
  }
  GlobalView view;
  view.type = type;
  view.pointer = cast.getOperand(0);
  llvm::append_range(view.sizes, cast.getOperands().slice(1, type.getRank()));
  llvm::append_range(view.strides,
                     cast.getOperands().take_back(type.getRank()));
  return view;
}
