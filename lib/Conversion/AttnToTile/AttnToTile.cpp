//===- AttnToTile.cpp - Attention functions to tile programs ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Conversion/Passes.h"

#include "BlockSummaries.h"
#include "KernelLowering.h"
#include "LaunchCalls.h"
#include "SequenceOrder.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Support/ValueNames.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea {
#define GEN_PASS_DEF_ATTNTOTILE
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;

namespace {
/// What a host passes for one operand or result of the op.
struct Argument {
  std::string name;
  Type type;
  launch::Access access;
  SmallVector<std::string> dims;
  SmallVector<int64_t> order;
  bool isCopied;
};
} // namespace

/// By the module's data layout, which is what upstream's lowering asks.
static void setIndexWidth(gpu::GPUModuleOp module, int64_t bits) {
  Builder b(module.getContext());
  auto entry =
      DataLayoutEntryAttr::get(b.getIndexType(), b.getI32IntegerAttr(bits));
  module->setAttr(DLTIDialect::kDataLayoutAttrName,
                  DataLayoutSpecAttr::get(module.getContext(), {entry}));
}

static SmallVector<Argument> collectArguments(attn::KernelOpInterface op) {
  SmallVector<Argument> arguments;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<std::string> dims = op.getOperandDimNames(index);
    arguments.push_back(
        {op.getOperandName(index), operand.getType(), launch::Access::Read,
         dims, op.getOperandMemoryOrder(index), op.isOperandCopied(index)});
  }
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    SmallVector<std::string> dims = op.getResultDimNames(index);
    arguments.push_back(
        {op.getResultName(index), result.getType(), launch::Access::Write, dims,
         op.getResultMemoryOrder(index), op.isResultCopied(index)});
  }
  return arguments;
}

/// The memref over a host tensor with the kernel's order of dimensions.
static MemRefType getMemRefType(RankedTensorType tensor,
                                ArrayRef<int64_t> order, bool contiguous) {
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(tensor.getDimSize(dim));
  SmallVector<int64_t> strides(order.size(), ShapedType::kDynamic);
  if (contiguous)
    strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), 0, strides);
  return MemRefType::get(shape, tensor.getElementType(), layout);
}

/// The number of work items, an expression in the sizes whose names it appends;
/// sizes that the types say are constants.
static AffineExpr getWorkItems(Builder &builder, const attn::WorkDims &dims,
                               ArrayRef<Argument> arguments, int64_t tileM,
                               PackedHeads packedHeads,
                               SmallVectorImpl<Attribute> &sizes) {
  auto sizeOf = [&](const std::string &name) -> AffineExpr {
    // Some types say what others leave open.
    for (const Argument &argument : llvm::reverse(arguments)) {
      auto tensor = dyn_cast<RankedTensorType>(argument.type);
      const auto *dim = llvm::find(argument.dims, name);
      if (!tensor || dim == argument.dims.end())
        continue;
      int64_t size = tensor.getDimSize(dim - argument.dims.begin());
      if (ShapedType::isStatic(size))
        return builder.getAffineConstantExpr(size);
    }
    sizes.push_back(builder.getStringAttr(name));
    return builder.getAffineSymbolExpr(sizes.size() - 1);
  };
  // Packed sequences: where each ends is the device's knowledge. This is no
  // less than what the kernel counts.
  if (!dims.sequences.empty()) {
    AffineExpr heads = sizeOf(dims.heads), rows = sizeOf(dims.rows);
    return (rows.floorDiv(tileM) + sizeOf(dims.sequences)) * heads;
  }
  // Query heads as rows: each tile of them, key head and batch entry.
  if (packedHeads) {
    AffineExpr batch = sizeOf(dims.batch), heads = sizeOf(dims.sharedHeads);
    return heads * llvm::divideCeil(packedHeads.getRows(), tileM) * batch;
  }
  // Each tile of rows, head and batch entry.
  AffineExpr batch = sizeOf(dims.batch), heads = sizeOf(dims.heads),
             rows = sizeOf(dims.rows);
  return rows.ceilDiv(tileM) * heads * batch;
}

/// What the host passes for each tensor. The lowering of the op has settled
/// which of them must be contiguous.
static SmallVector<Attribute> describeTensors(ArrayRef<Argument> arguments,
                                              gpu::GPUFuncOp kernel) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> tensors;
  for (auto [argument, value] :
       llvm::zip(arguments, kernel.getBody().front().getArguments())) {
    auto tensor = dyn_cast<RankedTensorType>(argument.type);
    if (!tensor)
      continue;
    SmallVector<Attribute> dims;
    for (const std::string &dim : argument.dims)
      dims.push_back(b.getStringAttr(dim));
    auto [strides, offset] =
        cast<MemRefType>(value.getType()).getStridesAndOffset();
    bool contiguous = !strides.empty() && strides.back() == 1;
    int64_t bytes = std::max<int64_t>(
        1, tensor.getElementType().getIntOrFloatBitWidth() / 8);
    tensors.push_back(launch::TensorAttr::get(
        b.getContext(), argument.name, argument.access, tensor,
        b.getArrayAttr(dims), contiguous ? 16 : bytes));
  }
  return tensors;
}

/// Attention that a host's function computes among other things becomes no
/// kernel, and nothing behind this would know what to do with it.
static LogicalResult checkNoneLeft(ModuleOp module) {
  WalkResult walk = module.walk([](attn::KernelOpInterface op) {
    auto func = op->getParentOfType<func::FuncOp>();
    InFlightDiagnostic error =
        op->emitOpError("is not all that its function does, and so no kernel");
    if (func)
      error.attachNote(func.getLoc())
          << "'attn-outline' gives it a function of its own, which this one "
             "calls";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct AttnToTilePass : fovea::impl::AttnToTileBase<AttnToTilePass> {
  using AttnToTileBase::AttnToTileBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetInfo *info =
        lookupTarget(target, [&] { return mlir::emitError(module.getLoc()); });
    if (!info)
      return signalPassFailure();
    table.reset();
    if (!scheduleTable.empty()) {
      auto loaded = ScheduleTable::load(
          scheduleTable, [&] { return mlir::emitError(module.getLoc()); });
      if (failed(loaded))
        return signalPassFailure();
      table = std::move(*loaded);
    }
    SymbolTable symbols(module);
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (attn::KernelOpInterface op = attn::getKernelOp(func)) {
        if (failed(convert(func, op, *info, symbols)))
          return signalPassFailure();
        ++numKernels;
      }
    if (failed(checkNoneLeft(module)))
      signalPassFailure();
  }

  LogicalResult convert(func::FuncOp func, attn::KernelOpInterface op,
                        const TargetInfo &info, SymbolTable &symbols);

  std::optional<ScheduleTable> table;
};
} // namespace

/// Types of the kernel's arguments, and what a host passes for them.
static std::pair<SmallVector<Type>, SmallVector<Attribute>>
describeParameters(Builder &builder, ArrayRef<Argument> arguments) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types;
  SmallVector<Attribute> parameters;
  for (const Argument &argument : arguments) {
    auto tensor = dyn_cast<RankedTensorType>(argument.type);
    if (!tensor) {
      types.push_back(argument.type);
      parameters.push_back(launch::ScalarParameterAttr::get(
          context, argument.name, argument.type));
      continue;
    }
    types.push_back(getMemRefType(tensor, argument.order, argument.isCopied));
    parameters.push_back(launch::MemRefParameterAttr::get(
        context, argument.name, builder.getDenseI64ArrayAttr(argument.order)));
  }
  return {types, parameters};
}

/// What the kernel takes for granted about sizes, for its host to check.
static ArrayAttr describeConstraints(Builder &builder,
                                     attn::KernelOpInterface op) {
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> constraints;
  for (const auto &[size, of] : op.getDimMultiples())
    constraints.push_back(launch::MultipleAttr::get(context, size, of));
  for (const auto &[size, limit] : op.getDimLimits())
    constraints.push_back(launch::AtMostAttr::get(context, size, limit));
  for (const attn::DimCover &cover : op.getDimCovers())
    constraints.push_back(
        launch::CoversAttr::get(context, cover.dim, cover.block, cover.of));
  for (const std::string &size : op.getNonEmptyDims())
    constraints.push_back(launch::AtLeastAttr::get(context, size, 1));
  return builder.getArrayAttr(constraints);
}

/// What integers in tensors should be, or null.
static ArrayAttr describeContents(Builder &builder,
                                  attn::KernelOpInterface op) {
  SmallVector<Attribute> contents;
  for (const attn::Contents &said : op.getContents())
    contents.push_back(
        launch::ContentsAttr::get(builder.getContext(), said.tensor, said.of,
                                  said.ascending, said.block, said.entries));
  return contents.empty() ? ArrayAttr() : builder.getArrayAttr(contents);
}

LogicalResult AttnToTilePass::convert(func::FuncOp func,
                                      attn::KernelOpInterface op,
                                      const TargetInfo &info,
                                      SymbolTable &symbols) {
  Location loc = op->getLoc();
  OpBuilder builder(func);
  SmallVector<Argument> arguments = collectArguments(op);
  auto [types, parameters] = describeParameters(builder, arguments);

  auto module = gpu::GPUModuleOp::create(builder, loc,
                                         (func.getName() + "_module").str());
  builder.setInsertionPointToStart(module.getBody());
  auto kernel = gpu::GPUFuncOp::create(builder, loc, func.getName(),
                                       builder.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  for (auto [argument, value] :
       llvm::zip_equal(arguments, kernel.getArguments()))
    named(argument.name, value);
  builder.setInsertionPointToStart(&kernel.getBody().front());

  KernelOptions options{
      &info,           schedule,       table ? &*table : nullptr,
      explainSchedule, accurateTanh,   heldRows,
      finalTiles,      overlapPrologue};
  KernelBuilder kb{options, builder, kernel, op};
  std::unique_ptr<KernelLowering> lowering = makeKernelLowering(op);
  FailureOr<plan::KernelAttr> chosen = failure();
  if (lowering)
    chosen = lowering->emit(kb);
  if (failed(chosen)) {
    module->erase();
    return failure();
  }
  gpu::ReturnOp::create(kb.builder, loc);
  SmallVector<Attribute> tensors = describeTensors(arguments, kernel);
  SmallVector<Attribute> sizes;
  // Of clusters; as many CTAs as these have.
  int64_t cluster = (*chosen)->cluster;
  AffineExpr items =
      getWorkItems(builder, op.getWorkDims(), arguments,
                   chosen->getClusterRows(), kb.packedHeads, sizes) *
      cluster;
  ArrayAttr constraints = describeConstraints(builder, op),
            contents = describeContents(builder, op);
  // Where CTAs take item after item, as many as fit a multiprocessor do. The
  // loop says whether they do: of one that takes one item only those that many
  // CTAs take would be done.
  IntegerAttr persistent;
  WalkResult loops = kernel.walk([](tile::ForeachWorkOp loop) {
    return loop.getSchedule() == plan::WorkSchedule::Single
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  if (loops.wasInterrupted())
    persistent = builder.getI64IntegerAttr((*chosen)->minBlocks);
  llvm::append_range(parameters, kb.scratch);
  builder.setInsertionPoint(kernel);
  auto abi = launch::AbiOp::create(
      builder, loc, SymbolRefAttr::get(kernel), builder.getStringAttr(target),
      *chosen, builder.getArrayAttr(tensors), builder.getArrayAttr(parameters),
      builder.getArrayAttr(sizes),
      AffineMapAttr::get(AffineMap::get(0, sizes.size(), items)),
      builder.getI64IntegerAttr(kLanes * (*chosen)->warps),
      builder.getI64IntegerAttr(0), constraints, persistent,
      cluster > 1 ? builder.getI64IntegerAttr(cluster) : IntegerAttr(),
      /*prologue=*/ArrayAttr(), /*epilogue=*/ArrayAttr(), contents,
      /*overlapped=*/UnitAttr(), kb.generator);
  if (kb.sequenceOrder)
    buildSequenceOrder(kb, abi);
  if (!kb.summaries.empty())
    buildSummaries(kb, abi);
  if (failed(lowering->emitHelpers(kb, abi))) {
    module->erase();
    return failure();
  }
  // Coordinates and sizes fit 32 bits, and divisions of 64 are many
  // instructions; addresses are formed in 64 bits at any rate.
  if (!kb.hasWideIndex)
    setIndexWidth(module, 32);
  symbols.insert(module);

  if (launchCalls && failed(replaceCallsByLaunches(func, op, abi)))
    return failure();
  if (SymbolTable::symbolKnownUseEmpty(func, getOperation())) {
    func.erase();
    return success();
  }
  func.getBody().getBlocks().clear();
  func.setPrivate();
  return success();
}
