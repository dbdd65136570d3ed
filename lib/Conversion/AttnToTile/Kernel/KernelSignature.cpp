//===- KernelSignature.cpp - Arguments of a kernel ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelSignature.h"

#include "fovea/Support/ValueNames.h"

using namespace mlir;
using namespace fovea;

KernelSignature::KernelSignature(attn::KernelOpInterface op) : op(op) {
  llvm::SmallDenseSet<unsigned> updated;
  for (unsigned result : llvm::seq(op->getNumResults()))
    if (std::optional<unsigned> operand = op.getUpdatedOperand(result))
      updated.insert(*operand);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<std::string> dims = op.getOperandDimNames(index);
    arguments.push_back({op.getOperandName(index), operand.getType(),
                         updated.contains(index) ? launch::Access::Update
                                                 : launch::Access::Read,
                         dims, op.getOperandMemoryOrder(index),
                         op.isOperandCopied(index)});
  }
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    // An updated operand is also the result's argument.
    if (op.getUpdatedOperand(index))
      continue;
    SmallVector<std::string> dims = op.getResultDimNames(index);
    arguments.push_back(
        {op.getResultName(index), result.getType(), launch::Access::Write, dims,
         op.getResultMemoryOrder(index), op.isResultCopied(index)});
  }
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The memref of a host tensor, in the kernel's dimension order.
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

SmallVector<Type> KernelSignature::getTypes() {
  return llvm::map_to_vector(arguments, [](const Argument &argument) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(argument.type);
    return tensor ? getMemRefType(tensor, argument.order, argument.isCopied)
                  : argument.type;
  });
}

SmallVector<Attribute> KernelSignature::describeParameters() {
  Builder b(op.getContext());
  return llvm::map_to_vector(
      arguments, [&](const Argument &argument) -> Attribute {
        if (!isa<RankedTensorType>(argument.type))
          return launch::ScalarParameterAttr::get(b.getContext(), argument.name,
                                                  argument.type);
        return launch::MemRefParameterAttr::get(
            b.getContext(), argument.name,
            b.getDenseI64ArrayAttr(argument.order));
      });
}

void KernelSignature::nameArguments(gpu::GPUFuncOp kernel) {
  for (auto [argument, value] :
       llvm::zip_equal(arguments, kernel.getArguments()))
    named(argument.name, value);
}

ArrayAttr KernelSignature::describeTensors(gpu::GPUFuncOp kernel) {
  Builder b(op.getContext());
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
  return b.getArrayAttr(tensors);
}

//===----------------------------------------------------------------------===//
// Sizes and contents
//===----------------------------------------------------------------------===//

ArrayAttr KernelSignature::describeConstraints() {
  MLIRContext *context = op.getContext();
  SmallVector<Attribute> constraints;
  for (const auto &[size, of] : op.getDimMultiples())
    constraints.push_back(launch::MultipleAttr::get(context, size, of));
  for (const auto &[size, than] : op.getDimSuccessors())
    constraints.push_back(launch::OneMoreAttr::get(context, size, than));
  for (const auto &[size, limit] : op.getDimLimits())
    constraints.push_back(launch::AtMostAttr::get(context, size, limit));
  for (const attn::DimCover &cover : op.getDimCovers())
    constraints.push_back(
        launch::CoversAttr::get(context, cover.dim, cover.block, cover.of));
  for (const std::string &size : op.getNonEmptyDims())
    constraints.push_back(launch::AtLeastAttr::get(context, size, 1));
  return ArrayAttr::get(context, constraints);
}

ArrayAttr KernelSignature::describeContents() {
  MLIRContext *context = op.getContext();
  SmallVector<Attribute> contents;
  for (const attn::Contents &said : op.getContents())
    contents.push_back(launch::ContentsAttr::get(
        context, said.tensor, said.of, said.ascending, said.block, said.entries,
        said.times, said.page, said.offsets));
  return contents.empty() ? ArrayAttr() : ArrayAttr::get(context, contents);
}

AffineExpr KernelSignature::getSize(StringRef name,
                                    SmallVectorImpl<Attribute> &sizes) {
  MLIRContext *context = op.getContext();
  // A size may be static in one type and dynamic in another.
  for (const Argument &argument : llvm::reverse(arguments)) {
    auto tensor = dyn_cast<RankedTensorType>(argument.type);
    const auto *dim = llvm::find(argument.dims, name);
    if (!tensor || dim == argument.dims.end())
      continue;
    int64_t size = tensor.getDimSize(dim - argument.dims.begin());
    if (ShapedType::isStatic(size))
      return getAffineConstantExpr(size, context);
  }
  sizes.push_back(StringAttr::get(context, name));
  return getAffineSymbolExpr(sizes.size() - 1, context);
}

AffineExpr KernelSignature::getWorkBlocks(int64_t tileM, int64_t tileN,
                                          PackedHeads packedHeads,
                                          SmallVectorImpl<Attribute> &sizes) {
  AffineExpr items = getWorkItems(tileM, packedHeads, sizes);
  attn::WorkDims dims = op.getWorkDims();
  AffineExpr keys = getSize(dims.keys, sizes) * dims.keysOfElement;
  // An item without keys counts as one block.
  return items * (keys.floorDiv(tileN) + 1);
}

AffineExpr KernelSignature::getWorkItems(int64_t tileM, PackedHeads packedHeads,
                                         SmallVectorImpl<Attribute> &sizes) {
  attn::WorkDims dims = op.getWorkDims();
  auto sizeOf = [&](StringRef name) {
    return name.empty() ? getAffineConstantExpr(1, op.getContext())
                        : getSize(name, sizes);
  };
  // Packed sequences: lengths are known only on the device. This is an upper
  // bound of the kernel's count.
  if (!dims.sequences.empty()) {
    AffineExpr heads = sizeOf(packedHeads ? dims.sharedHeads : dims.heads),
               rows = sizeOf(dims.rows) * packedHeads.getRowsPerQuery();
    return (rows.floorDiv(tileM) + sizeOf(dims.sequences)) * heads;
  }
  // PackGQA: one item per tile of packed rows, key head and batch entry.
  if (packedHeads) {
    AffineExpr batch = sizeOf(dims.batch), heads = sizeOf(dims.sharedHeads);
    return heads * llvm::divideCeil(packedHeads.getRows(), tileM) * batch;
  }
  // One item per tile of rows, head and batch entry.
  AffineExpr batch = sizeOf(dims.batch), heads = sizeOf(dims.heads),
             rows = sizeOf(dims.rows);
  return rows.ceilDiv(tileM) * heads * batch;
}
