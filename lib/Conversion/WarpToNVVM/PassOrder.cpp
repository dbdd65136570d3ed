//===- PassOrder.cpp - Diagnose missing passes ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that the passes which warp-to-nvvm depends on have run. If the
// conversion fails at an op, the diagnostic names the pass that removes this
// op.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Dialect/Warp/IR/KernelFacts.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Maps an op's name to the pass that removes it or converts it to the form
/// that warp-to-nvvm supports.
class PassOrder {
public:
  PassOrder() {
    add<tile::BallotOp>("warp-assign-ballot-layouts");
    add<tile::DiagonalsOp>("warp-assign-relative-position-layouts");
    add<tile::LoadOp, tile::StoreOp, tile::GatherOp, tile::ScatterOp,
        tile::IotaOp, tile::RandomOp, tile::RampOp, tile::BroadcastOp,
        tile::ReduceOp, warp::AnyOp, warp::LocalLoadOp, warp::DotOp,
        warp::ExtractColumnsOp, warp::ConcatColumnsOp>("warp-assign-layouts");
    add<warp::AllocOp, warp::OnesOp, warp::StageOp>(
        "warp-allocate-shared-memory");
    add<warp::CopyOp, warp::PipelineOp>("warp-insert-pipelines");
    add<warp::LocalStoreOp, warp::FenceStoresOp, warp::CopyOutOp,
        warp::CopyOutWaitOp, warp::ZeroRowsOp, warp::SpecializeOp,
        warp::ReturnOp, warp::TurnsOp, warp::EndTurnOp, warp::NextWorkOp,
        warp::FetchWorkOp, warp::FinishWorkOp, warp::MailboxOp, warp::SendOp,
        warp::ReceiveOp, warp::DotWaitOp, warp::BeginSumOp, warp::AwaitReadsOp,
        tile::OwnedRowsOp>("warp-specialize");
  }

  StringRef lookup(StringRef op) const { return passes.lookup(op); }

private:
  template <typename... Ops>
  void add(StringRef pass) {
    (passes.insert({Ops::getOperationName(), pass}), ...);
  }

  llvm::StringMap<StringRef> passes;
};
} // namespace

static const PassOrder &getPassOrder() {
  static const PassOrder order;
  return order;
}

LogicalResult fovea::checkPassOrder(gpu::GPUFuncOp kernel) {
  return Requires<
      tile::kJoinsAreStores, tile::kSoftmaxIsLoops, tile::kBlocksAreLoops,
      tile::kWorkIsDealt, warp::kDotsReadMemory, warp::kBallotsAreLowered,
      warp::kIsPartitioned, warp::kLanesAreSynchronized>::check(kernel,
                                                                "warp-to-nvvm");
}

LogicalResult
fovea::explainPassOrder(MLIRContext *context,
                        llvm::function_ref<LogicalResult()> convert) {
  const PassOrder &order = getPassOrder();
  // The error of the conversion names the illegal op. Patterns with diagnostics
  // of their own report before it.
  bool isExplained = false;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    StringRef expected;
    for (DiagnosticArgument &argument : diagnostic.getArguments())
      if (argument.getKind() ==
              DiagnosticArgument::DiagnosticArgumentKind::String &&
          expected.empty())
        expected = order.lookup(argument.getAsString());
    bool isFailure =
        StringRef(diagnostic.str()).starts_with("failed to legalize");
    if (isFailure && !isExplained && !expected.empty())
      diagnostic << "; expected '" << expected
                 << "' to have run before 'warp-to-nvvm'";
    isExplained = true;
    return failure();
  });
  return convert();
}
