//===- PrologueKernels.cpp - What runs before a kernel ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrologueKernels.h"

#include "fovea/Support/Warps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;

AffineExpr SizeExpressions::getSize(int64_t dim) {
  Builder &b = kb.builder;
  auto type = cast<MemRefType>(kb.operandArgument(operand).getType());
  if (!type.isDynamicDim(dim))
    return b.getAffineConstantExpr(type.getDimSize(dim));
  int64_t hostDim = kb.op.getOperandMemoryOrder(operand)[dim];
  names.push_back(b.getStringAttr(kb.op.getOperandDimNames(operand)[hostDim]));
  return b.getAffineSymbolExpr(names.size() - 1);
}

unsigned fovea::declareScratch(KernelBuilder &kb, StringRef name,
                               ArrayAttr sizes, ArrayRef<AffineExpr> extents,
                               Type element) {
  MLIRContext *context = element.getContext();
  SmallVector<int64_t> shape;
  for (AffineExpr extent : extents) {
    auto constant = dyn_cast<AffineConstantExpr>(extent);
    shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  kb.scratch.push_back(launch::ScratchMemRefParameterAttr::get(
      context, name, sizes,
      AffineMapAttr::get(AffineMap::get(0, sizes.size(), extents, context))));
  unsigned position = kb.kernel.getNumArguments();
  (void)kb.kernel.insertArgument(position, MemRefType::get(shape, element), {},
                                 kb.getLoc());
  return position;
}

/// Lets the main kernel get ready under its prologue, where the target can.
static void emitOverlap(OpBuilder &b, launch::AbiOp main,
                        const KernelBuilder &kb, plan::KernelAttr plan,
                        bool isFirst) {
  const TargetInfo *target = lookupTarget(main.getTarget());
  if (!kb.overlapPrologue || !target || !target->overlapsLaunches)
    return;
  // CTAs that have roles leave no room for others beside them.
  if (!plan.hasRoles())
    launch::AllowOverlapOp::create(b, main.getLoc());
  if (!isFirst)
    return;
  gpu::GPUFuncOp kernel = kb.kernel;
  OpBuilder start = OpBuilder::atBlockBegin(&kernel.getBody().front());
  launch::AwaitPrologueOp::create(start, main.getLoc());
}

gpu::GPUFuncOp fovea::beginPrologueKernel(OpBuilder &b, const KernelBuilder &kb,
                                          launch::AbiOp main,
                                          const PrologueKernel &described) {
  Location loc = main.getLoc();
  gpu::GPUFuncOp mainKernel = kb.kernel;
  SmallVector<Type> types;
  SmallVector<Attribute> parameters, tensors;
  for (unsigned argument : described.arguments) {
    types.push_back(mainKernel.getArgument(argument).getType());
    parameters.push_back(main.getParameters()[argument]);
    if (auto memref = dyn_cast<launch::MemRefParameterAttr>(parameters.back()))
      tensors.push_back(
          launch::lookupTensor(main.getTensors(), memref.getTensor()));
  }

  b.setInsertionPointToEnd(main->getBlock());
  auto kernel = gpu::GPUFuncOp::create(
      b, loc, (mainKernel.getName() + "_" + described.suffix).str(),
      b.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  b.setInsertionPoint(kernel);
  launch::AbiOp::create(
      b, loc, SymbolRefAttr::get(kernel), main.getTargetAttr(), described.plan,
      b.getArrayAttr(tensors), b.getArrayAttr(parameters), described.sizes,
      AffineMapAttr::get(
          AffineMap::get(0, described.sizes.size(), described.ctas)),
      b.getI64IntegerAttr(kLanes * described.plan->warps),
      b.getI64IntegerAttr(0), b.getArrayAttr({}),
      /*persistent=*/IntegerAttr(),
      /*cluster=*/IntegerAttr(), /*prologue=*/ArrayAttr(),
      /*contents=*/ArrayAttr(), /*overlapped=*/UnitAttr(),
      /*generator=*/IntegerAttr());

  SmallVector<Attribute> prologue;
  if (ArrayAttr before = main.getPrologueAttr())
    prologue.assign(before.begin(), before.end());
  prologue.push_back(FlatSymbolRefAttr::get(kernel));
  main.setPrologueAttr(b.getArrayAttr(prologue));

  b.setInsertionPointToStart(&kernel.getBody().front());
  emitOverlap(b, main, kb, described.plan, /*isFirst=*/prologue.size() == 1);
  return kernel;
}
