//===- GlobalMemory.cpp - Tiles from and to global memory -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers loads and stores of tiles and scalars in global memory by threads.
// Copies by TMA are lowered before (TmaLoads.cpp, TmaStores.cpp).
//
//===----------------------------------------------------------------------===//

#include "Memory/TileAddressing.h"

#include "Tiles/ScalarizeTiles.h"
#include "fovea/Support/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fovea;

/// Transposes a 4x4 block of words that four adjacent lanes hold, one row per
/// lane: lane `l` gets word `l` of each row.
static SmallVector<Value> transposeAmongLanes(OpBuilder &b, Location loc,
                                              SmallVector<Value> words,
                                              Value lane) {
  Type i32 = b.getI32Type();
  for (int64_t distance : {1, 2}) {
    Value bit = arith::AndIOp::create(b, loc, lane, emitI32(b, loc, distance));
    Value isOdd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit,
                                        emitI32(b, loc, 0));
    // Odd lanes send the word that even lanes keep, and vice versa.
    for (int64_t low = 0; low < 4; ++low) {
      if (low & distance)
        continue;
      Value &even = words[low], &odd = words[low | distance];
      Value given = arith::SelectOp::create(b, loc, isOdd, even, odd);
      Value got = NVVM::ShflOp::create(
          b, loc, i32, emitI32(b, loc, -1), given, emitI32(b, loc, distance),
          emitI32(b, loc, 31), NVVM::ShflKind::bfly, UnitAttr());
      Value newEven = arith::SelectOp::create(b, loc, isOdd, got, even);
      Value newOdd = arith::SelectOp::create(b, loc, isOdd, odd, got);
      even = newEven, odd = newOdd;
    }
  }
  return words;
}

static bool canExchange(launch::AbiOp abi, RankedTensorType tile,
                        const GlobalView &view, TileAddressing &access);

/// Two adjacent 32-bit values as one i64.
static Value packPair(OpBuilder &b, Location loc, Value first, Value second) {
  auto type = VectorType::get({2}, first.getType());
  Value pair =
      vector::FromElementsOp::create(b, loc, type, ValueRange{first, second});
  return LLVM::BitcastOp::create(b, loc, b.getI64Type(), pair);
}

namespace {
struct LoadLowering : OpConversionPattern<tile::LoadOp> {
  LoadLowering(const TypeConverter &converter, MLIRContext *context,
               launch::AbiOp abi, VectorLoads &vectorLoads,
               const ExchangeMemory &exchange)
      : OpConversionPattern(converter, context), abi(abi),
        vectorLoads(vectorLoads), exchange(exchange) {}

  LogicalResult
  matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (op.getGroups())
      return op.emitOpError(
          "'groups' are supported only where a tile is copied "
          "to shared memory");
    FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getSource());
    if (failed(view))
      return failure();
    RankedTensorType tile = op.getResult().getType();
    auto type = cast<VectorType>(getTypeConverter()->convertType(tile));
    TileAddressing access(rewriter, loc, *view, op.getIndices(),
                          op.getBoxDims(), tile, op.getLimit());
    auto combine = [&](ArrayRef<Value> elements) -> Value {
      return vector::FromElementsOp::create(
          rewriter, loc, type,
          llvm::map_to_vector(elements, [&](Value element) {
            return fromMemory(rewriter, loc, element, tile.getElementType());
          }));
    };
    auto loadEach = [&]() {
      return llvm::map_to_vector(
          llvm::seq(type.getNumElements()), [&](int64_t index) {
            return emitLoad(rewriter, loc, access.getPlace(index),
                            access.getMemoryType());
          });
    };
    if (exchange.contains(op)) {
      // Scratch memory is at a multiple of 256 bytes.
      rewriter.replaceOp(
          op, combine(loadPairs(rewriter, loc, access, type.getNumElements(),
                                /*alignment=*/256, /*isOrdered=*/true)));
      return success();
    }
    if (op.getFragments()) {
      rewriter.replaceOp(op, combine(loadFragments(rewriter, loc, access,
                                                   type.getNumElements())));
      return success();
    }
    if (isExchanged(op, *view, access)) {
      rewriter.replaceOp(op, loadExchanged(rewriter, loc, type, access));
      return success();
    }
    if (!access.isVector()) {
      rewriter.replaceOp(
          op, combine(loadPairs(rewriter, loc, access, type.getNumElements(),
                                getAlignment(abi, *view))));
      return success();
    }
    if (vectorLoads.isPlain(op)) {
      ArrayRef<Value> shares = vectorLoads.getShares(op);
      rewriter.replaceOp(op, combine(shares.empty()
                                         ? access.emitPlainLoads()
                                         : access.distributeShares(shares)));
      return success();
    }
    if (vectorLoads.isRare(op)) {
      rewriter.replaceOp(op, combine(loadThroughLocalMemory(
                                 op, access, type.getNumElements(), rewriter)));
      return success();
    }
    // Only vectors with strides and those in the last block of a sequence are
    // not plain.
    auto branch =
        scf::IfOp::create(rewriter, loc, TypeRange(type),
                          emitAll(rewriter, loc, access.emitIsPlain()),
                          /*addThenBlock=*/true,
                          /*addElseBlock=*/true);
    rewriter.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(rewriter, loc, combine(access.emitPlainLoads()));
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, combine(loadEach()));
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }

private:
  static SmallVector<Value> loadPairs(OpBuilder &b, Location loc,
                                      TileAddressing &access, int64_t count,
                                      int64_t alignment,
                                      bool isOrdered = false);
  static SmallVector<Value> loadFragments(OpBuilder &b, Location loc,
                                          TileAddressing &access,
                                          int64_t count);
  bool isExchanged(tile::LoadOp op, const GlobalView &view,
                   TileAddressing &access) const;
  static Value loadExchanged(OpBuilder &b, Location loc, VectorType type,
                             TileAddressing &access);
  SmallVector<Value> loadThroughLocalMemory(tile::LoadOp op,
                                            TileAddressing &access,
                                            int32_t count, OpBuilder &b) const;

  launch::AbiOp abi;
  VectorLoads &vectorLoads;
  const ExchangeMemory &exchange;
};

struct StoreLowering : OpConversionPattern<tile::StoreOp> {
  StoreLowering(const TypeConverter &converter, MLIRContext *context,
                launch::AbiOp abi, const ExchangeMemory &exchange)
      : OpConversionPattern(converter, context), abi(abi), exchange(exchange) {}

  LogicalResult
  matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (op.getAdd() && !llvm::all_of(op.getValue().getType().getShape(),
                                     [](int64_t extent) { return extent > 1; }))
      return op.emitOpError(
                 "'add' needs at least 2 rows and 2 columns: smaller tiles "
                 "are replicated across threads; found ")
             << op.getValue().getType();
    FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getTarget());
    if (failed(view))
      return failure();
    RankedTensorType tile = op.getValue().getType();
    TileAddressing access(rewriter, loc, *view, op.getIndices(),
                          op.getBoxDims(), tile, op.getLimit());
    if (!op.getFragments() && canExchange(abi, tile, *view, access)) {
      storeExchanged(rewriter, loc, adaptor.getValue(), access);
      rewriter.eraseOp(op);
      return success();
    }
    auto elements =
        vector::ToElementsOp::create(rewriter, loc, adaptor.getValue());
    Type element = tile.getElementType();
    int64_t count = elements->getNumResults();
    const TargetInfo *target = lookupTarget(launch::AbiOp(abi).getTarget());
    bool addsPairs = target && target->addsVectors;
    if (op.getFragments()) {
      storeFragments(op, elements.getResults(), access, addsPairs, rewriter);
      rewriter.eraseOp(op);
      return success();
    }
    for (int64_t index = 0; index < count; ++index) {
      Value value = toMemory(rewriter, loc, elements.getResult(index));
      unsigned bits = value.getType().getIntOrFloatBitWidth();
      Place place = access.getPlace(index);
      if (op.getAdd()) {
        SmallVector<Value> values = {value};
        if (addsPairs && access.isPair(index))
          values.push_back(elements.getResult(++index));
        emitAdd(rewriter, loc, place, values);
        continue;
      }
      if (bits == 32 && exchange.contains(op) && access.isPair(index)) {
        Value next = toMemory(rewriter, loc, elements.getResult(++index));
        value = packPair(rewriter, loc, value, next);
      } else if (bits == 16 && access.isPair(index)) {
        auto pairType = VectorType::get({2}, element);
        Value pair = vector::FromElementsOp::create(
            rewriter, loc, pairType,
            ValueRange{value, elements.getResult(index + 1)});
        value =
            LLVM::BitcastOp::create(rewriter, loc, rewriter.getI32Type(), pair);
        ++index;
      }
      emitStore(rewriter, loc, place, value);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void storeFragments(tile::StoreOp op, ValueRange elements,
                             TileAddressing &access, bool addsVectors,
                             OpBuilder &b);
  static void storeExchanged(OpBuilder &b, Location loc, Value tile,
                             TileAddressing &access);

  launch::AbiOp abi;
  const ExchangeMemory &exchange;
};

/// Loads a single element that is uniform in the CTA.
struct ScalarLoadLowering : OpConversionPattern<memref::LoadOp> {
  ScalarLoadLowering(const TypeConverter &converter, MLIRContext *context,
                     const Specialization &roles,
                     const SemaphoreSlotReads &slotReads,
                     const LaneReads &laneReads)
      : OpConversionPattern(converter, context), roles(roles),
        slotReads(slotReads), laneReads(laneReads) {}

  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getMemref());
    if (failed(view))
      return failure();
    Type element = view->type.getElementType();
    Type memory = getMemoryType(*view);
    Place place = locateElement(rewriter, loc, *view, op.getIndices());
    Value value = emitLoad(rewriter, loc, place, memory);
    // Lengths and offsets bound loops. ptxas must know that they are
    // warp-uniform.
    if (roles.getRole(op) && element.isInteger(32) && !slotReads.contains(op) &&
        !laneReads.contains(op))
      value = emitUniform(rewriter, loc, value);
    rewriter.replaceOp(op, fromMemory(rewriter, loc, value, element));
    return success();
  }

  const Specialization &roles;
  const SemaphoreSlotReads &slotReads;
  const LaneReads &laneReads;
};

struct DimLowering : OpConversionPattern<memref::DimOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<GlobalView> view =
        getGlobalView(rewriter, op.getLoc(), op.getSource());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (failed(view))
      return failure();
    if (!dim || *dim < 0 || *dim >= int64_t(view->sizes.size()))
      return op.emitError("dimension must be a constant from 0 to ")
             << int64_t(view->sizes.size()) - 1;
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, rewriter.getIndexType(),
                                                    view->sizes[*dim]);
    return success();
  }
};
} // namespace

/// The op before which the result of `op` is needed.
static Operation *findFirstUser(Operation *op) {
  llvm::SmallPtrSet<Operation *, 8> users;
  for (Operation *user : op->getUsers())
    users.insert(op->getBlock()->findAncestorOpInBlock(*user));
  Operation *place = op->getNextNode();
  while (!users.contains(place) && !place->hasTrait<OpTrait::IsTerminator>())
    place = place->getNextNode();
  return place;
}

/// Loads elements one by one, adjacent ones of 16 or 32 bits in pairs if rows
/// are aligned to that; with `isOrdered` in order with synchronisation.
SmallVector<Value> LoadLowering::loadPairs(OpBuilder &b, Location loc,
                                           TileAddressing &access,
                                           int64_t count, int64_t alignment,
                                           bool isOrdered) {
  Type element = access.getMemoryType();
  unsigned bits = element.getIntOrFloatBitWidth();
  bool canBePairs =
      (bits == 16 || bits == 32) && alignment % (2 * getBytes(element)) == 0;
  SmallVector<Value> values;
  for (int64_t index = 0; index < count; ++index) {
    Place place = access.getPlace(index);
    if (!canBePairs || !access.isPair(index)) {
      values.push_back(emitLoad(b, loc, place, element, isOrdered));
      continue;
    }
    Value pair = LLVM::BitcastOp::create(
        b, loc, VectorType::get({2}, element),
        emitLoad(b, loc, place, b.getIntegerType(2 * bits), isOrdered));
    for (int64_t part : {0, 1})
      values.push_back(vector::ExtractOp::create(b, loc, pair, part));
    ++index;
  }
  return values;
}

/// Memory in fragments holds whole tiles, so that no predicates are needed.
SmallVector<Value> LoadLowering::loadFragments(OpBuilder &b, Location loc,
                                               TileAddressing &access,
                                               int64_t count) {
  Type element = access.getMemoryType();
  SmallVector<Value> values(count);
  for (ArrayRef<unsigned> group : access.getFragmentGroups()) {
    auto type = VectorType::get({int64_t(group.size())}, element);
    Value vector = LLVM::LoadOp::create(
        b, loc, type, access.getPlace(group.front()).address,
        group.size() * element.getIntOrFloatBitWidth() / 8);
    for (auto [part, index] : llvm::enumerate(group))
      values[index] = vector::ExtractOp::create(b, loc, vector, part);
  }
  return values;
}

void StoreLowering::storeFragments(tile::StoreOp op, ValueRange elements,
                                   TileAddressing &access, bool addsVectors,
                                   OpBuilder &b) {
  Location loc = op.getLoc();
  Type element = access.getMemoryType();
  for (ArrayRef<unsigned> group : access.getFragmentGroups()) {
    auto values = llvm::map_to_vector(group, [&](unsigned index) {
      return toMemory(b, loc, elements[index]);
    });
    Place place = {access.getPlace(group.front()).address, Value()};
    if (!op.getAdd()) {
      auto type = VectorType::get({int64_t(group.size())}, element);
      LLVM::StoreOp::create(
          b, loc, vector::FromElementsOp::create(b, loc, type, values),
          place.address, group.size() * element.getIntOrFloatBitWidth() / 8);
      continue;
    }
    if (addsVectors && (values.size() == 4 || values.size() == 2)) {
      emitAdd(b, loc, place, values);
      continue;
    }
    for (auto [part, value] : llvm::enumerate(values))
      emitAdd(b, loc, {access.getPlace(group[part]).address, Value()}, value);
  }
  // Otherwise ptxas issues the next MMA before the adds have read their
  // registers, and has to allocate others for it.
  if (op.getAdd())
    NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
}

/// Loads elements one by one and passes them through local memory. Otherwise
/// all of them, with an address and a predicate each, would occupy registers
/// until their use.
SmallVector<Value> LoadLowering::loadThroughLocalMemory(tile::LoadOp op,
                                                        TileAddressing &access,
                                                        int32_t count,
                                                        OpBuilder &b) const {
  Location loc = op.getLoc();
  Type element = access.getMemoryType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto [buffer, place] = vectorLoads.getBuffer(op, element, count);
  auto getAddress = [&](Value start, int32_t index) -> Value {
    return LLVM::GEPOp::create(b, loc, pointer, element, start,
                               ArrayRef<LLVM::GEPArg>{index});
  };
  for (int32_t index : llvm::seq(count))
    LLVM::StoreOp::create(
        b, loc, emitLoad(b, loc, access.getVectorPlace(index), element),
        getAddress(buffer, index), bytes);
  // The volatile zero hides the index from LLVM and ptxas, which would promote
  // the elements to registers again.
  LLVM::StoreOp::create(b, loc, emitI32(b, loc, 0), place, 4,
                        /*isVolatile=*/true);
  // All stores precede the first load: not even ptxas can prove that they do
  // not alias.
  b.setInsertionPoint(findFirstUser(op));
  Value zero = LLVM::LoadOp::create(b, loc, b.getI32Type(), place, 4,
                                    /*isVolatile=*/true);
  Value start = LLVM::GEPOp::create(b, loc, pointer, element, buffer,
                                    ArrayRef<LLVM::GEPArg>{zero});
  return llvm::map_to_vector(llvm::seq(count), [&](int32_t index) -> Value {
    return LLVM::LoadOp::create(b, loc, element, getAddress(start, index),
                                bytes);
  });
}

/// The byte alignment of each row's start in memory, by the ABI.
int64_t fovea::getAlignment(launch::AbiOp abi, const GlobalView &view) {
  auto argument = dyn_cast<BlockArgument>(view.pointer);
  if (!argument || argument.getArgNumber() >= abi.getParameters().size())
    return 1;
  auto pointer = dyn_cast<launch::PointerParameterAttr>(
      abi.getParameters()[argument.getArgNumber()]);
  launch::TensorAttr tensor =
      pointer ? launch::lookupTensor(abi.getTensors(), pointer.getTensor())
              : launch::TensorAttr();
  return tensor ? tensor.getAlignment() : 1;
}

// Lanes that share a row: each accesses every fourth chunk of 16 bytes.
static constexpr size_t kQuadLanes = 4;

/// Returns true if the tile can be stored with 16 bytes per instruction, after
/// the four lanes that share a row have exchanged words. Kernels that store
/// between work items need few instructions.
static bool canExchange(launch::AbiOp abi, RankedTensorType tile,
                        const GlobalView &view, TileAddressing &access) {
  constexpr int64_t kWideBytes = 16, kChunkColumns = 8;
  return warp::hasStoreFragments(tile) && tile.getElementTypeBitWidth() == 16 &&
         tile.getDimSize(1) % kChunkColumns == 0 && access.hasWholeChunks() &&
         getAlignment(abi, view) % kWideBytes == 0;
}

/// The registers of each row in column order: one word for every 8 columns.
static llvm::MapVector<int64_t, SmallVector<unsigned>>
findWordsOfRows(TileAddressing &access, int64_t elements) {
  llvm::MapVector<int64_t, SmallVector<unsigned>> rows;
  for (unsigned index = 0; index < elements; index += 2)
    rows[access.getOffsets(0)[index]].push_back(index);
  return rows;
}

/// The address of the lane's first chunk of a row. In registers a lane has two
/// columns of each chunk; in memory it has every fourth chunk.
static Place getChunkPlace(OpBuilder &b, Location loc, TileAddressing &access,
                           unsigned first, Value lane) {
  Value distance = emitToI64(
      b, loc,
      arith::MulIOp::create(b, loc, lane, emitI32(b, loc, 6)).getResult());
  Place place = access.getPlace(first);
  place.address = LLVM::GEPOp::create(b, loc, place.address.getType(),
                                      access.getMemoryType(), place.address,
                                      ArrayRef<LLVM::GEPArg>{distance});
  return place;
}

/// Restricts the place to lanes that have one of the last `chunks` chunks of a
/// row.
static Place restrictTo(OpBuilder &b, Location loc, Place place, Value lane,
                        size_t chunks) {
  if (chunks >= kQuadLanes)
    return place;
  Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, lane,
                                    emitI32(b, loc, chunks));
  if (place.predicate)
    has = arith::AndIOp::create(b, loc, has, place.predicate);
  place.predicate = has;
  return place;
}

static Value emitLaneOfQuad(OpBuilder &b, Location loc) {
  return arith::RemUIOp::create(b, loc, emitThread(b, loc), emitI32(b, loc, 4));
}

/// Not in loops: outstanding loads would need twice the registers.
bool LoadLowering::isExchanged(tile::LoadOp op, const GlobalView &view,
                               TileAddressing &access) const {
  return !op->getParentOfType<LoopLikeOpInterface>() &&
         canExchange(abi, op.getResult().getType(), view, access);
}

Value LoadLowering::loadExchanged(OpBuilder &b, Location loc, VectorType type,
                                  TileAddressing &access) {
  Value lane = emitLaneOfQuad(b, loc);
  SmallVector<Value> words(type.getNumElements() / 2);
  for (auto &[row, indices] : findWordsOfRows(access, type.getNumElements())) {
    Place place = getChunkPlace(b, loc, access, indices.front(), lane);
    for (size_t quad = 0; quad < indices.size(); quad += kQuadLanes) {
      auto chunks = ArrayRef(indices).drop_front(quad).take_front(kQuadLanes);
      Place mine = restrictTo(b, loc, place, lane, chunks.size());
      SmallVector<Value> block = transposeAmongLanes(
          b, loc, emitWideLoad(b, loc, mine, quad * 16), lane);
      for (auto [index, word] : llvm::zip_first(chunks, block))
        words[index / 2] = word;
    }
  }
  auto wordType = VectorType::get({int64_t(words.size())}, b.getI32Type());
  return LLVM::BitcastOp::create(
      b, loc, type,
      vector::FromElementsOp::create(b, loc, wordType, words).getResult());
}

void StoreLowering::storeExchanged(OpBuilder &b, Location loc, Value tile,
                                   TileAddressing &access) {
  auto type = cast<VectorType>(tile.getType());
  auto wordType = VectorType::get({type.getNumElements() / 2}, b.getI32Type());
  auto words = vector::ToElementsOp::create(
      b, loc, LLVM::BitcastOp::create(b, loc, wordType, tile));
  Value lane = emitLaneOfQuad(b, loc);
  for (auto &[row, indices] : findWordsOfRows(access, type.getNumElements())) {
    Place place = getChunkPlace(b, loc, access, indices.front(), lane);
    for (size_t quad = 0; quad < indices.size(); quad += kQuadLanes) {
      auto chunks = ArrayRef(indices).drop_front(quad).take_front(kQuadLanes);
      SmallVector<Value> block;
      for (unsigned index : chunks)
        block.push_back(words.getResult(index / 2));
      // The remaining words are not stored.
      block.resize(kQuadLanes, block.front());
      emitWideStore(b, loc, restrictTo(b, loc, place, lane, chunks.size()),
                    quad * 16, transposeAmongLanes(b, loc, block, lane));
    }
  }
}

/// True for a memref argument, which `expandArguments` replaced, that is
/// scratch memory.
static bool isScratch(Value memref, launch::AbiOp abi) {
  auto cast = memref.getDefiningOp<UnrealizedConversionCastOp>();
  auto pointer = cast ? dyn_cast<BlockArgument>(cast.getOperand(0)) : nullptr;
  return pointer && isa<launch::ScratchParameterAttr>(
                        abi.getParameters()[pointer.getArgNumber()]);
}

ExchangeMemory::ExchangeMemory(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  llvm::DenseSet<Value> written, read;
  kernel.walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      written.insert(store.getTarget());
    else if (auto load = dyn_cast<tile::LoadOp>(op))
      read.insert(load.getSource());
  });
  kernel.walk([&](Operation *op) {
    auto store = dyn_cast<tile::StoreOp>(op);
    auto load = dyn_cast<tile::LoadOp>(op);
    if ((store && read.contains(store.getTarget()) &&
         isScratch(store.getTarget(), abi)) ||
        (load && written.contains(load.getSource()) &&
         isScratch(load.getSource(), abi)))
      ops.insert(op);
  });
}

void fovea::populateGlobalMemoryPatterns(
    RewritePatternSet &patterns, const TypeConverter &converter,
    launch::AbiOp abi, const Specialization &roles, VectorLoads &vectorLoads,
    const ExchangeMemory &exchange, const SemaphoreSlotReads &slotReads,
    const LaneReads &laneReads, Coordinates &coordinates) {
  patterns.add<DimLowering>(converter, patterns.getContext());
  populateGatherScatterPatterns(patterns, converter, coordinates);
  populateCopyRowsPatterns(patterns, converter, abi, roles);
  patterns.add<LoadLowering>(converter, patterns.getContext(), abi, vectorLoads,
                             exchange);
  patterns.add<ScalarLoadLowering>(converter, patterns.getContext(), roles,
                                   slotReads, laneReads);
  patterns.add<StoreLowering>(converter, patterns.getContext(), abi, exchange);
}
