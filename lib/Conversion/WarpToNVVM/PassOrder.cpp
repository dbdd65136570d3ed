//===- PassOrder.cpp - Which pass was expected before -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea;

namespace {
/// By an op's name, the pass that takes it away or gives it the form that
/// warp-to-nvvm knows.
class PassOrder {
public:
  PassOrder() {
    addGone<tile::SoftmaxSumOp, tile::SoftmaxMergeOp, tile::SoftmaxFinishOp>(
        "tile-fuse-online-softmax");
    addGone<tile::ForBlocksOp>("tile-lower-blocks");
    addGone<tile::ForeachWorkOp>("tile-lower-work' or 'warp-distribute-work");
    addGone<tile::DotOp>("tile-to-warp");
    addGone<tile::IfAnyOp>("warp-lower-votes");
    add<tile::BallotOp>("warp-assign-vote-layouts");
    add<tile::DiagonalsOp>("warp-assign-diagonal-layouts");
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
        tile::HeldRowsOp>("warp-specialize");
  }

  StringRef lookup(StringRef op) const { return passes.lookup(op); }
  /// Whether nothing here takes the op, in no form.
  bool isGone(StringRef op) const { return gone.contains(op); }

private:
  template <typename... Ops>
  void addGone(StringRef pass) {
    add<Ops...>(pass);
    (gone.insert(Ops::getOperationName()), ...);
  }
  template <typename... Ops>
  void add(StringRef pass) {
    (passes.insert({Ops::getOperationName(), pass}), ...);
  }

  llvm::StringMap<StringRef> passes;
  llvm::StringSet<> gone;
};
} // namespace

static const PassOrder &getPassOrder() {
  static const PassOrder order;
  return order;
}

LogicalResult fovea::checkPassOrder(gpu::GPUFuncOp kernel) {
  const PassOrder &order = getPassOrder();
  WalkResult walk =
      kernel.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
        StringRef name = op->getName().getStringRef();
        if (!order.isGone(name))
          return WalkResult::advance();
        return op->emitOpError("has no place here; expected '")
               << order.lookup(name) << "' to have run before 'warp-to-nvvm'";
      });
  return failure(walk.wasInterrupted());
}

LogicalResult
fovea::explainPassOrder(MLIRContext *context,
                        llvm::function_ref<LogicalResult()> convert) {
  const PassOrder &order = getPassOrder();
  // The conversion names the op that it could not take, in its error. Patterns
  // that say themselves what is wrong do so before it.
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
