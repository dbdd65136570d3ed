//===- HelperKernels.cpp - Prologue and epilogue kernels ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/HelperKernels.h"

#include "fovea/Support/Warps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;

AffineExpr SizeExpressions::getSize(unsigned of, int64_t dim) {
  Builder &b = kb.builder;
  auto type = cast<MemRefType>(kb.operandArgument(of).getType());
  if (!type.isDynamicDim(dim))
    return b.getAffineConstantExpr(type.getDimSize(dim));
  int64_t hostDim = kb.op.getOperandMemoryOrder(of)[dim];
  names.push_back(b.getStringAttr(kb.op.getOperandDimNames(of)[hostDim]));
  return b.getAffineSymbolExpr(names.size() - 1);
}

unsigned fovea::declareScratch(KernelBuilder &kb, StringRef name,
                               ArrayAttr sizes, ArrayRef<AffineExpr> extents,
                               Type element, bool isZeroed) {
  MLIRContext *context = element.getContext();
  SmallVector<int64_t> shape;
  for (AffineExpr extent : extents) {
    auto constant = dyn_cast<AffineConstantExpr>(extent);
    shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  kb.scratch.push_back(launch::ScratchMemRefParameterAttr::get(
      context, name, sizes,
      AffineMapAttr::get(AffineMap::get(0, sizes.size(), extents, context)),
      isZeroed));
  unsigned position = kb.kernel.getNumArguments();
  (void)kb.kernel.insertArgument(position, MemRefType::get(shape, element), {},
                                 kb.getLoc());
  return position;
}

/// Adds `kernel` to the prologue or epilogue of `main`.
static void addHelper(launch::AbiOp main, gpu::GPUFuncOp kernel, bool isAfter) {
  SmallVector<Attribute> kernels;
  if (ArrayAttr before =
          isAfter ? main.getEpilogueAttr() : main.getPrologueAttr())
    kernels.assign(before.begin(), before.end());
  kernels.push_back(FlatSymbolRefAttr::get(kernel));
  auto all = ArrayAttr::get(main.getContext(), kernels);
  if (isAfter)
    main.setEpilogueAttr(all);
  else
    main.setPrologueAttr(all);
}

gpu::GPUFuncOp fovea::beginHelperKernel(OpBuilder &b, const KernelBuilder &kb,
                                        launch::AbiOp main,
                                        const HelperKernel &described) {
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

  // A suffix may be the name of a gradient, and so of a captured value.
  std::string name = (mainKernel.getName() + "_" + described.suffix).str();
  while (SymbolTable::lookupSymbolIn(main->getParentOp(), name))
    name += '_';
  b.setInsertionPointToEnd(main->getBlock());
  auto kernel =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
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
      /*epilogue=*/ArrayAttr(), /*contents=*/ArrayAttr(),
      /*overlapped=*/UnitAttr(),
      /*generator=*/IntegerAttr());

  addHelper(main, kernel, described.isAfter);
  b.setInsertionPointToEnd(&kernel.getBody().front());
  return kernel;
}

//===----------------------------------------------------------------------===//
// Programmatic dependent launch
//===----------------------------------------------------------------------===//

/// Waits for the previous kernels of the launch, at the start. A prologue
/// kernel that needs none of their results waits at the end, so that kernels
/// that wait for it also wait for the previous ones.
static void awaitPrevious(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                          bool isPrologue) {
  bool needsThem = llvm::any_of(abi.getParameters(), [&](Attribute parameter) {
    auto scratch = dyn_cast<launch::ScratchMemRefParameterAttr>(parameter);
    return scratch && launch::isTouchedIn(abi, scratch.getName()) &&
           launch::isTouchedBefore(abi, scratch.getName());
  });
  Block &body = kernel.getBody().front();
  OpBuilder b = isPrologue && !needsThem ? OpBuilder(body.getTerminator())
                                         : OpBuilder::atBlockBegin(&body);
  launch::AwaitPreviousOp::create(b, kernel.getLoc());
}

/// Lets the kernel after `kernel` start during it.
static void allowOverlap(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  // CTAs with roles leave no room for other CTAs on the SM.
  if (abi.getPlan().hasRoles())
    return;
  OpBuilder start = OpBuilder::atBlockBegin(&kernel.getBody().front());
  launch::AllowOverlapOp::create(start, kernel.getLoc());
}

void fovea::overlapKernels(const KernelBuilder &kb, launch::AbiOp main) {
  const TargetInfo *target = lookupTarget(main.getTarget());
  if (!kb.overlapPrologue || !target || !target->overlapsLaunches)
    return;
  SmallVector<launch::AbiOp> kernels = launch::getLaunchedKernels(main);
  bool isPrologue = true;
  for (launch::AbiOp abi : kernels) {
    isPrologue &= abi != main;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
        abi, abi.getKernelAttr());
    if (abi != kernels.front())
      awaitPrevious(kernel, abi, isPrologue);
    if (abi != kernels.back())
      allowOverlap(kernel, abi);
  }
}
