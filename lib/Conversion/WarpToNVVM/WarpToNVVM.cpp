//===- WarpToNVVM.cpp - The program of one thread ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last lowering of a kernel: `warp` and `tile` ops become NVVM, LLVM and
// upstream dialects. Roles and pipelines come first, then arguments, then tiles
// by dialect conversion, then math functions.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "Tiles/ScalarizeTiles.h"

#include "fovea/Conversion/Passes.h"
#include "fovea/Support/Target.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fovea {
#define GEN_PASS_DEF_WARPTONVVM
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Types and small emitters
//===----------------------------------------------------------------------===//

ThreadTypeConverter::ThreadTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type) -> std::optional<Type> {
    if (!tile::isRegisterTile(type))
      return std::nullopt;
    auto layout = dyn_cast<warp::ThreadLayoutAttrInterface>(type.getEncoding());
    if (!layout)
      return Type();
    Type element = type.getElementType();
    // LLVM has no 8-bit floats: registers hold their encodings.
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
      element = IntegerType::get(type.getContext(), 8);
    return VectorType::get({layout.getNumElements(type.getShape())}, element);
  });
  addConversion([](MemRefType type) -> std::optional<Type> {
    if (warp::isTmemBuffer(type))
      return IntegerType::get(type.getContext(), 32);
    if (!warp::isSharedBuffer(type))
      return std::nullopt;
    return LLVM::LLVMPointerType::get(type.getContext(), 3);
  });
  addConversion([this](warp::PendingType type) -> std::optional<Type> {
    return convertType(type.getTile());
  });
}

Value fovea::emitThread(OpBuilder &builder, Location loc) {
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), thread);
}

Value fovea::emitI32(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value fovea::emitI64(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value fovea::emitToI64(OpBuilder &builder, Location loc, Value value) {
  Type type = builder.getI64Type();
  if (value.getType() == type)
    return value;
  // Later patterns match constants, and no folder runs before them.
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return emitI64(builder, loc, *constant);
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}

Value fovea::emitToI32(OpBuilder &builder, Location loc, Value value) {
  Type type = builder.getI32Type();
  if (value.getType() == type)
    return value;
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  return arith::TruncIOp::create(builder, loc, type, value);
}

Value fovea::emitSwizzle(OpBuilder &builder, Location loc, Value row,
                         Value chunk, int64_t rowBytes) {
  int64_t chunks = rowBytes / 16;
  Value shifted = arith::DivUIOp::create(builder, loc, row,
                                         emitI32(builder, loc, 128 / rowBytes));
  Value rotation = arith::RemUIOp::create(builder, loc, shifted,
                                          emitI32(builder, loc, chunks));
  Value swizzled = arith::XOrIOp::create(builder, loc, chunk, rotation);
  Value inRow =
      arith::MulIOp::create(builder, loc, swizzled, emitI32(builder, loc, 16));
  Value start =
      arith::MulIOp::create(builder, loc, row, emitI32(builder, loc, rowBytes));
  return arith::AddIOp::create(builder, loc, start, inRow);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct WarpToNVVMPass : fovea::impl::WarpToNVVMBase<WarpToNVVMPass> {
  using WarpToNVVMBase::WarpToNVVMBase;

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    SmallVector<gpu::GPUFuncOp> kernels(module.getOps<gpu::GPUFuncOp>());
    for (gpu::GPUFuncOp kernel : kernels) {
      launch::AbiOp abi = launch::requireAbi(kernel);
      if (!abi)
        return signalPassFailure();
      if (failed(convert(kernel, abi)))
        return signalPassFailure();
      ++numKernels;
    }
  }

  void declareSharedMemory(gpu::GPUModuleOp module);
  LogicalResult convert(gpu::GPUFuncOp kernel, launch::AbiOp abi);
  FailureOr<Specialization> lowerRoles(gpu::GPUFuncOp kernel,
                                       launch::AbiOp abi);
  LogicalResult convertTiles(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                             const Specialization &roles);
  LogicalResult convertMath(gpu::GPUFuncOp kernel);
};
} // namespace

void WarpToNVVMPass::declareSharedMemory(gpu::GPUModuleOp module) {
  if (module.lookupSymbol(kSharedMemorySymbol))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, kSharedMemorySymbol,
                         /*value=*/Attribute(),
                         /*alignment=*/warp::kSharedAlignment,
                         /*addrSpace=*/3);
}

/// Each register tile needs a layout, which determines its vector type.
static LogicalResult checkLayouts(gpu::GPUFuncOp kernel) {
  WalkResult walk = kernel.walk([](Operation *op) -> WalkResult {
    for (Value result : op->getResults()) {
      auto tile = dyn_cast<RankedTensorType>(result.getType());
      if (tile &&
          !isa_and_nonnull<warp::ThreadLayoutAttrInterface>(tile.getEncoding()))
        return op->emitError("register tile has no layout; run "
                             "'warp-assign-layouts' first");
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult WarpToNVVMPass::convertTiles(gpu::GPUFuncOp kernel,
                                           launch::AbiOp abi,
                                           const Specialization &roles) {
  ThreadTypeConverter converter;
  RewritePatternSet patterns(&getContext());
  ConversionTarget target(getContext());
  target.addIllegalDialect<launch::LaunchDialect, tile::TileDialect,
                           warp::WarpDialect>();
  target.addIllegalOp<memref::LoadOp, memref::DimOp>();
  target.markUnknownOpDynamicallyLegal([&](Operation *op) {
    auto isConverted = [&](Type type) {
      return !tile::isRegisterTile(type) && !warp::isSharedBuffer(type) &&
             !warp::isTmemBuffer(type) && !isa<warp::PendingType>(type);
    };
    return llvm::all_of(op->getOperandTypes(), isConverted) &&
           llvm::all_of(op->getResultTypes(), isConverted);
  });
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  const TargetInfo *info = lookupTarget(abi.getTarget());
  Coordinates coordinates(ScalarBits([&](Operation *op) -> int64_t {
    // Thread indices in a role run through the cluster.
    if (const Role *role = roles.getRole(op))
      return kLanes * role->warps * roles.clusterSize;
    return abi.getThreads();
  }));
  LoadedMaxima maxima;
  populateTilePatterns(patterns, converter, coordinates,
                       info && info->packsFloats, maxima);
  populateRelativePositionPatterns(patterns, converter);
  populateLayoutPatterns(patterns, converter);
  populateRandomPatterns(patterns, converter);
  VectorLoads vectorLoads;
  if (splitVectorLoads)
    vectorLoads.split(kernel);
  ExchangeMemory exchange(kernel, abi);
  SemaphoreSlotReads slotReads(kernel);
  LaneReads laneReads;
  lowerShares(kernel, laneReads);
  populateGlobalMemoryPatterns(patterns, converter, abi, roles, vectorLoads,
                               exchange, slotReads, laneReads, coordinates);
  populateSemaphorePatterns(patterns, converter, abi, roles);
  CopyStarts starts(kernel);
  populateSharedMemoryPatterns(patterns, converter, abi, starts);
  populateLocalStorePatterns(patterns, converter);
  populateMmaSyncPatterns(patterns, converter, abi.getPlan()->tf32);
  populateEightBitPatterns(patterns, converter);
  WaitCounts counts(kernel);
  populateWgmmaPatterns(patterns, converter, roles, abi, counts);
  populateTensorMemoryPatterns(patterns, converter, roles,
                               info && info->reducingTmemLoads, maxima);
  populateColumnPatterns(patterns, converter);
  return explainPassOrder(&getContext(), [&] {
    return applyPartialConversion(kernel, target, std::move(patterns));
  });
}

LogicalResult WarpToNVVMPass::convertMath(gpu::GPUFuncOp kernel) {
  RewritePatternSet patterns(&getContext());
  populateMathPatterns(patterns);
  if (failed(applyPatternsGreedily(kernel, std::move(patterns))))
    return failure();
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
      return WalkResult::advance();
    return op->emitError("'")
           << op->getName() << "' is not supported in a kernel";
  });
  return failure(walk.wasInterrupted());
}

/// Kernels without roles get an empty specialization.
FailureOr<Specialization> WarpToNVVMPass::lowerRoles(gpu::GPUFuncOp kernel,
                                                     launch::AbiOp abi) {
  FailureOr<Specialization> roles = openRoles(kernel, abi);
  if (failed(roles) || failed(lowerRolePipelines(kernel, abi, *roles)) ||
      failed(lowerRoleMessages(kernel, abi, *roles)) ||
      failed(lowerPipelines(kernel)))
    return failure();
  lowerLaneSyncs(kernel);
  return roles;
}

/// Without roles the CTA has exactly the threads of the plan's warps.
static LogicalResult checkThreads(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  bool hasRoles = false;
  kernel.walk([&](warp::SpecializeOp) { hasRoles = true; });
  if (hasRoles || int64_t(abi.getThreads()) == kLanes * abi.getPlan()->warps)
    return success();
  return abi.emitError("kernel needs 32 threads for each of ")
         << abi.getPlan()->warps << " warps, found " << abi.getThreads();
}

/// The pass replaces memrefs by pointers and tensor maps, so it must not run
/// twice.
static LogicalResult checkNotLowered(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  for (Attribute parameter : abi.getParameters())
    if (isa<launch::PointerParameterAttr, launch::TensorMapParameterAttr>(
            parameter))
      return kernel.emitError("kernel has been lowered by 'warp-to-nvvm' "
                              "already: expected tensors as memrefs, found ")
             << parameter;
  return success();
}

LogicalResult WarpToNVVMPass::convert(gpu::GPUFuncOp kernel,
                                      launch::AbiOp abi) {
  Builder builder(&getContext());
  int32_t threads = abi.getThreads();
  if (failed(checkNotLowered(kernel, abi)) || failed(checkPassOrder(kernel)) ||
      failed(checkThreads(kernel, abi)) || failed(checkLayouts(kernel)) ||
      failed(checkEightBitFloats(kernel, abi)))
    return failure();
  declareSharedMemory(getOperation());
  sinkTransposedLoads(kernel);
  FailureOr<Specialization> roles = lowerRoles(kernel, abi);
  if (failed(roles) || failed(checkOverlap(kernel, abi)) ||
      failed(expandArguments(kernel, abi)))
    return failure();
  lowerOverlap(kernel, abi);
  if (failed(convertTiles(kernel, abi, *roles)))
    return failure();
  numberThreads(*roles);
  if (failed(convertMath(kernel)))
    return failure();
  dropUnusedArguments(kernel, abi);
  kernel.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr({threads, 1, 1}));
  if (int32_t cluster = abi.getCluster(); cluster > 1)
    kernel->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                    builder.getDenseI32ArrayAttr({cluster, 1, 1}));
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(abi.getPlan()->minBlocks));
  return success();
}
