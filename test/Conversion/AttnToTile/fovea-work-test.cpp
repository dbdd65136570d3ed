//===- fovea-work-test.cpp - Work items of kernels --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the loop over work items that a lowering gets from
// KernelBuilder::beginWork, for each attn.forward of a program, with several
// shares of the keys per tile. Each item stores its number at the position that
// it decodes to: (batch entry, head, tile, share).
//
//===----------------------------------------------------------------------===//

#include "Conversion/AttnToTile/Kernel/KernelBuilder.h"

#include "fovea/InitAll.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace fovea;
namespace cl = llvm::cl;

static cl::opt<std::string> inputName(cl::Positional, cl::desc("<.mlir file>"),
                                      cl::Required);
static cl::opt<int64_t> shares("shares", cl::desc("Shares of a tile's keys"),
                               cl::init(1));
static constexpr int64_t kTileM = 64;

/// Emits a kernel of one item per tile and share into `module`.
static void emitKernel(attn::ForwardOp op, gpu::GPUModuleOp module) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Type index = b.getIndexType();
  auto places =
      MemRefType::get(SmallVector<int64_t>(4, ShapedType::kDynamic), index);
  auto kernel = gpu::GPUFuncOp::create(
      b, op.getLoc(), "work",
      b.getFunctionType({index, index, index, places}, {}));
  KernelOptions options{lookupTarget("sm_80"), "", /*plans=*/nullptr, nullptr,
                        false};
  KernelBuilder kb{options, OpBuilder::atBlockBegin(&kernel.getBody().front()),
                   kernel, cast<attn::KernelOpInterface>(op.getOperation())};
  KernelBuilder::WorkOrder order;
  order.shares = shares;
  KernelBuilder::Work work =
      kb.beginWork(kernel.getArgument(0), kernel.getArgument(1),
                   kernel.getArgument(2), kTileM, order);
  Value tile = kb.make<arith::DivUIOp>(work.row, kb.constant(kTileM));
  Value share = work.share ? work.share : kb.constant(0);
  memref::StoreOp::create(kb.builder, op.getLoc(), kb.workLoop.getItem(),
                          kernel.getArgument(3),
                          ValueRange{work.batch, work.head, tile, share});
  kb.endWork();
  gpu::ReturnOp::create(kb.builder, op.getLoc());
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "work items of kernels\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceFile<ModuleOp>(inputName, &context);
  if (!module)
    return 1;
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  auto kernels = gpu::GPUModuleOp::create(b, module->getLoc(), "kernels");
  module->walk([&](attn::ForwardOp op) { emitKernel(op, kernels); });
  module->print(llvm::outs());
  return 0;
}
