//===- BlockMap.cpp - Programs for maps -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds small programs with the mask of an attn op, which are evaluated to map
// blocks and elements.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/BlockMap.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// Returns true if a region, which may be absent, uses the argument.
static bool isUsed(Region &region, unsigned argument) {
  return !region.empty() && !region.getArgument(argument).use_empty();
}

/// Returns true if the mask depends on the head.
static bool dependsOnHead(attn::ForwardOp forward) {
  return isUsed(forward.getMaskMod(), 1) || forward.hasBlocks();
}

/// Returns true if the mask depends on the batch entry.
static bool dependsOnBatch(attn::ForwardOp forward) {
  return isUsed(forward.getMaskMod(), 0) || forward.hasBlocks() ||
         !forward.getSequenceOperands().empty();
}

static OwningOpRef<ModuleOp> makeProgram(attn::ForwardOp forward, bool perBatch,
                                         bool perHead, bool withScores) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(forward.getLoc());
  OpBuilder builder(module->getBodyRegion());
  Type f32 = builder.getF32Type();
  bool sequenceFirst = forward.getLayout() == attn::Layout::BSHD;
  ArrayRef<int64_t> query = forward.getQueryType().getShape();
  int64_t position = sequenceFirst ? 1 : 2;
  int64_t batch = perBatch ? query[0] : 1,
          heads = perHead ? query[sequenceFirst ? 2 : 1] : 1,
          queries = query[position],
          keys = forward.getKeyType().getDimSize(position);
  attn::SequencePlaces places = forward.getSequence().getPlaces();
  if (places.page)
    keys = ShapedType::kDynamic;
  auto queryType = RankedTensorType::get({batch, heads, queries, 1}, f32);
  // Packed queries of all sequences are in one batch entry.
  bool packsQueriesAlone = places.packsQueries() && !places.packsKeys();
  auto keyType = RankedTensorType::get(
      {packsQueriesAlone ? ShapedType::kDynamic : batch, heads, keys, 1}, f32);
  auto lseType = RankedTensorType::get({batch, heads, queries}, f32);
  SmallVector<Type> types = {queryType, keyType, keyType};
  llvm::append_range(
      types, forward->getOperands().drop_front(types.size()).getTypes());
  auto function = func::FuncOp::create(
      builder, forward.getLoc(), "visible",
      builder.getFunctionType(types, {queryType, lseType}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  OperationState state(forward.getLoc(), forward->getName());
  state.addOperands(entry->getArguments());
  state.addTypes({queryType, lseType});
  state.propertiesAttr = forward->getPropertiesAsAttribute();
  for (unsigned i = 0; i < forward->getNumRegions(); ++i)
    state.addRegion();
  auto mask = cast<attn::ForwardOp>(builder.create(state));
  mask.setLayout(attn::Layout::BHSD);
  // There is one sink per head, and the program may have fewer heads.
  mask.getSinksMutable().clear();
  mask.getScalesMutable().clear();
  mask.removeScaleNamesAttr();
  // A mask sees logical keys, wherever their pages are.
  if (places.page) {
    MLIRContext *context = builder.getContext();
    OperandRange given = mask.getSequenceOperands();
    SmallVector<Value> operands = {given[*places.lengths]};
    attn::SequenceFormAttrInterface form = attn::LengthsAttr::get(context);
    if (packsQueriesAlone) {
      form = attn::PackedQueriesAttr::get(context, form, places.mostQueries);
      operands.insert(operands.begin(), given[*places.queryOffsets]);
    }
    mask.setSequenceAttr(form);
    mask.getSequenceOperandsMutable().assign(operands);
  }
  IRMapping mapping;
  forward.getMaskMod().cloneInto(&mask.getMaskMod(), mapping);
  if (withScores)
    forward.getScoreMod().cloneInto(&mask.getScoreMod(), mapping);
  func::ReturnOp::create(builder, forward.getLoc(), mask->getResults());
  return module;
}

OwningOpRef<ModuleOp> fovea::interp::makeMaskProgram(attn::ForwardOp forward) {
  return makeProgram(forward, dependsOnBatch(forward), dependsOnHead(forward),
                     /*withScores=*/false);
}

OwningOpRef<ModuleOp>
fovea::interp::makeElementProgram(attn::ForwardOp forward) {
  return makeProgram(forward, /*perBatch=*/true, /*perHead=*/true,
                     /*withScores=*/true);
}

OwningOpRef<ModuleOp>
fovea::interp::makeForwardProgram(attn::BackwardOp backward) {
  Location loc = backward.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(module->getBodyRegion());
  // Query, key and value; the other operands have the same order in both ops,
  // and the backward op has transposed block lists after them.
  constexpr unsigned kTensors = 3;
  SmallVector<Value> operands(backward->getOperands().take_front(kTensors));
  llvm::append_range(operands,
                     backward->getOperands()
                         .drop_front(backward.getFirstVariantOperand())
                         .drop_back(backward.getQueryBlockLists().size()));
  SmallVector<Type> results = {backward.getOutput().getType(),
                               backward.getLse().getType()};
  auto function = func::FuncOp::create(
      builder, loc, "forward",
      builder.getFunctionType(TypeRange(ValueRange(operands)), results));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  OperationState state(loc, attn::ForwardOp::getOperationName(),
                       entry->getArguments(), results);
  ArrayRef<StringRef> known = attn::ForwardOp::getAttributeNames();
  StringRef segments = attn::ForwardOp::getOperandSegmentSizeAttr();
  for (NamedAttribute attribute : backward->getAttrs()) {
    // Query, key, value, output, LSE and both gradients.
    constexpr unsigned kGroups = 7;
    if (attribute.getName() == segments) {
      SmallVector<int32_t> sizes(kTensors, 1);
      sizes.push_back(0); // scales
      llvm::append_range(sizes, cast<DenseI32ArrayAttr>(attribute.getValue())
                                    .asArrayRef()
                                    .drop_front(kGroups)
                                    .drop_back());
      state.addAttribute(segments, builder.getDenseI32ArrayAttr(sizes));
    } else if (llvm::is_contained(known, attribute.getName().strref())) {
      state.attributes.append(attribute);
    }
  }
  for (unsigned i = 0; i < 4; ++i)
    state.addRegion();
  auto forward = cast<attn::ForwardOp>(builder.create(state));
  IRMapping mapping;
  backward.getMaskMod().cloneInto(&forward.getMaskMod(), mapping);
  backward.getScoreMod().cloneInto(&forward.getScoreMod(), mapping);
  func::ReturnOp::create(builder, loc, forward->getResults());
  return module;
}

HostTensor fovea::interp::makeMaskInput(func::FuncOp program, unsigned operand,
                                        const AttentionSizes &sizes) {
  auto type = cast<RankedTensorType>(program.getArgumentTypes()[operand]);
  int64_t wanted[] = {sizes.batch, sizes.heads,
                      operand ? sizes.keys : sizes.queries, 1};
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, size] : llvm::zip(shape, wanted))
    if (ShapedType::isDynamic(extent))
      extent = size;
  return HostTensor(ElementKind::F32, shape);
}
