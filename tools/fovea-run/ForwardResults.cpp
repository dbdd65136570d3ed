//===- ForwardResults.cpp - Forward results as gradient inputs ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes a backward program's inputs `o` and `lse` with its forward op.
//
//===----------------------------------------------------------------------===//

#include "ForwardResults.h"

#include "Backend.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::run;

/// The function's only attn.backward, or null.
static attn::BackwardOp findBackward(func::FuncOp function) {
  SmallVector<attn::BackwardOp> found(
      function.getBody().getOps<attn::BackwardOp>());
  return found.size() == 1 ? found.front() : attn::BackwardOp();
}

/// Builds the forward op of `backward` before it.
static attn::ForwardOp makeForward(OpBuilder &b, attn::BackwardOp backward) {
  constexpr unsigned kTensors = 3;
  unsigned given = backward.getFirstVariantOperand();
  SmallVector<Value> operands(backward->getOperands().take_front(kTensors));
  llvm::append_range(operands,
                     backward->getOperands().drop_front(given).drop_back(
                         backward.getQueryBlockLists().size()));
  OperationState state(
      backward.getLoc(), attn::ForwardOp::getOperationName(), operands,
      TypeRange{backward.getOutput().getType(), backward.getLse().getType()});
  // Attributes have the same names. In the operand segments, q, k and v come
  // first, followed by the four or five operands that the forward does not
  // have; transposed block lists, which it does not have either, come last.
  constexpr unsigned kOthers = 4;
  StringAttr segments =
      attn::ForwardOp::getOperandSegmentSizesAttrName(state.name);
  for (StringAttr name : state.name.getAttributeNames()) {
    Attribute attr = backward->getAttr(name);
    if (!attr)
      continue;
    if (name == segments) {
      SmallVector<int32_t> sizes(kTensors, 1);
      sizes.push_back(0); // scales
      llvm::append_range(sizes, cast<DenseI32ArrayAttr>(attr)
                                    .asArrayRef()
                                    .drop_front(kTensors + kOthers)
                                    .drop_back());
      attr = b.getDenseI32ArrayAttr(sizes);
    }
    state.addAttribute(name, attr);
  }
  for (unsigned region = 0; region < 4; ++region)
    state.addRegion();
  b.setInsertionPoint(backward);
  auto made = cast<attn::ForwardOp>(b.create(state));
  std::pair<Region *, Region *> regions[] = {
      {&backward.getScoreMod(), &made.getScoreMod()},
      {&backward.getMaskMod(), &made.getMaskMod()}};
  IRMapping mapping;
  for (auto [from, to] : regions)
    from->cloneInto(to, mapping);
  return made;
}

std::optional<ForwardInputs>
fovea::run::findForwardInputs(const Program &program) {
  if (program.getLevel() != Level::Attn)
    return std::nullopt;
  attn::BackwardOp backward = findBackward(program.function);
  if (!backward)
    return std::nullopt;
  auto output = dyn_cast<BlockArgument>(backward.getOutput()),
       lse = dyn_cast<BlockArgument>(backward.getLse());
  // With other functions, the results may be computed elsewhere or be modified.
  bool isAlone = llvm::hasSingleElement(
      func::FuncOp(program.function).getBody().front().without_terminator());
  if (!output || !lse || !isAlone)
    return std::nullopt;
  return ForwardInputs{output.getArgNumber(), lse.getArgNumber()};
}

std::optional<Program> fovea::run::makeForwardProgram(const Program &program) {
  Program forward;
  forward.module = program.module.get().clone();
  forward.function = forward.module->lookupSymbol<func::FuncOp>(
      StringRef(func::FuncOp(program.function).getName()));
  attn::BackwardOp backward = findBackward(forward.function);
  OpBuilder b(backward);
  attn::ForwardOp made = makeForward(b, backward);
  Operation *end = forward.function.getBody().front().getTerminator();
  func::ReturnOp::create(b, end->getLoc(), made->getResults());
  end->erase();
  for (Operation &op : llvm::make_early_inc_range(
           llvm::reverse(forward.function.getBody().front())))
    if (op.use_empty() && isa<attn::BackwardOp>(op))
      op.erase();
  forward.function.setType(
      b.getFunctionType(forward.function.getArgumentTypes(),
                        TypeRange(ValueRange(made->getResults()))));
  auto signature = interp::Signature::get(forward.function);
  if (failed(signature))
    return std::nullopt;
  forward.signature = std::move(*signature);
  return forward;
}

bool fovea::run::fillForwardResults(const Program &program,
                                    const Options &options,
                                    Workload &workload) {
  std::optional<ForwardInputs> given = findForwardInputs(program);
  if (!given)
    return true;
  std::optional<Program> forward = makeForwardProgram(program);
  if (!forward)
    return false;
  Options inInterpreter = options;
  inInterpreter.level = Level::Attn;
  SmallVector<interp::HostTensor> results;
  std::unique_ptr<Backend> backend =
      createInterpreterBackend(*forward, inInterpreter);
  if (!backend || backend->run(workload, results) != kSuccess)
    return false;
  workload.inputs[given->output].tensor = std::move(results[0]);
  workload.inputs[given->lse].tensor = std::move(results[1]);
  return true;
}
