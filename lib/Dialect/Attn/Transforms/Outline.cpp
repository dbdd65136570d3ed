//===- Outline.cpp - Outline attn ops -------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"

#include "mlir/IR/SymbolTable.h"

namespace fovea::attn {
#define GEN_PASS_DEF_ATTNOUTLINE
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fovea::attn

using namespace mlir;
using namespace fovea::attn;

namespace {
struct OutlinePass : fovea::attn::impl::AttnOutlineBase<OutlinePass> {
  using AttnOutlineBase::AttnOutlineBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (getKernelOp(func) && !(publicFunctions && func.isPublic()))
        continue;
      SmallVector<KernelOpInterface> ops;
      func.walk([&](KernelOpInterface op) { ops.push_back(op); });
      for (KernelOpInterface op : ops) {
        outline(func, op, symbols);
        ++numOutlined;
      }
    }
  }

  void outline(func::FuncOp parent, Operation *op, SymbolTable &symbols);
};
} // namespace

void OutlinePass::outline(func::FuncOp parent, Operation *op,
                          SymbolTable &symbols) {
  OpBuilder builder(parent);
  Location loc = op->getLoc();
  StringRef mnemonic = op->getName().stripDialect();
  auto func = func::FuncOp::create(
      builder, loc, (parent.getName() + "_" + mnemonic).str(),
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  func.setPrivate();
  symbols.insert(func, Block::iterator(parent));

  Block *body = func.addEntryBlock();
  for (auto [operand, argument] :
       llvm::zip(op->getOpOperands(), body->getArguments()))
    argument.setLoc(operand.get().getLoc());
  builder.setInsertionPointToEnd(body);
  Operation *kernel = builder.clone(*op);
  kernel->setOperands(body->getArguments());
  func::ReturnOp::create(builder, loc, kernel->getResults());

  builder.setInsertionPoint(op);
  auto call = func::CallOp::create(builder, loc, func, op->getOperands());
  op->replaceAllUsesWith(call);
  op->erase();
}
