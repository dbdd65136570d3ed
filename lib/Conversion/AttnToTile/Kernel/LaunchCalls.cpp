//===- LaunchCalls.cpp - Replaces calls by launches -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/LaunchCalls.h"

#include "fovea/Dialect/Launch/IR/LaunchCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fovea;

/// The size of the dimension called `name`, from an operand that has it; null
/// if none has.
static Value findSize(OpBuilder &builder, Location loc,
                      attn::KernelOpInterface op, ValueRange inputs,
                      StringRef name) {
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (!isa<RankedTensorType>(input.getType()))
      continue;
    SmallVector<std::string> dims = op.getOperandDimNames(index);
    const auto *dim = llvm::find(dims, name);
    if (dim != dims.end())
      return tensor::DimOp::create(builder, loc, input, dim - dims.begin());
  }
  return {};
}

/// Creates the tensor that a result is written to.
static FailureOr<Value> makeOutput(OpBuilder &builder, Location loc,
                                   attn::KernelOpInterface op,
                                   ValueRange inputs, unsigned result) {
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  SmallVector<Value> sizes;
  for (auto [name, size] :
       llvm::zip(op.getResultDimNames(result), type.getShape())) {
    if (ShapedType::isStatic(size))
      continue;
    Value found = findSize(builder, loc, op, inputs, name);
    if (!found)
      return op->emitError("size '")
             << name << "' of result '" << op.getResultName(result)
             << "' must be that of an operand, or static";
    sizes.push_back(found);
  }
  return Value(tensor::EmptyOp::create(builder, loc, type, sizes));
}

static LogicalResult replaceCall(func::CallOp call, attn::KernelOpInterface op,
                                 SymbolRefAttr kernel) {
  OpBuilder builder(call);
  Location loc = call.getLoc();
  SmallVector<Value> operands, inputs, outputs;
  SmallVector<Attribute> inputNames, outputNames;
  llvm::SmallDenseSet<unsigned> updated;
  for (unsigned result : llvm::seq(op->getNumResults()))
    if (std::optional<unsigned> operand = op.getUpdatedOperand(result))
      updated.insert(*operand);
  // The op may read fewer than the function's arguments, in another order.
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    operands.push_back(
        call.getOperand(cast<BlockArgument>(operand).getArgNumber()));
    if (updated.contains(index))
      continue;
    inputs.push_back(operands.back());
    inputNames.push_back(builder.getStringAttr(op.getOperandName(index)));
  }
  for (unsigned result : llvm::seq(op->getNumResults())) {
    if (std::optional<unsigned> operand = op.getUpdatedOperand(result)) {
      outputs.push_back(operands[*operand]);
    } else {
      FailureOr<Value> output = makeOutput(builder, loc, op, operands, result);
      if (failed(output))
        return failure();
      outputs.push_back(*output);
    }
    outputNames.push_back(builder.getStringAttr(op.getResultName(result)));
  }
  auto launch = launch::CallOp::create(builder, loc, op->getResultTypes(),
                                       kernel, builder.getArrayAttr(inputNames),
                                       builder.getArrayAttr(outputNames),
                                       inputs, outputs, /*stream=*/Value());
  call.replaceAllUsesWith(launch.getResults());
  call.erase();
  return success();
}

LogicalResult fovea::replaceCallsByLaunches(func::FuncOp func,
                                            attn::KernelOpInterface op,
                                            launch::AbiOp abi) {
  auto kernels = abi->getParentOfType<gpu::GPUModuleOp>();
  auto kernel =
      SymbolRefAttr::get(kernels.getNameAttr(), {abi.getKernelAttr()});
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(func, func->getParentOp());
  for (SymbolTable::SymbolUse use : *uses) {
    auto call = dyn_cast<func::CallOp>(use.getUser());
    if (!call) {
      InFlightDiagnostic diag =
          func.emitError("a function that becomes a kernel can only be called, "
                         "found a use in '")
          << use.getUser()->getName() << "'";
      diag.attachNote(use.getUser()->getLoc()) << "here";
      return diag;
    }
    if (failed(replaceCall(call, op, kernel)))
      return failure();
  }
  return success();
}
