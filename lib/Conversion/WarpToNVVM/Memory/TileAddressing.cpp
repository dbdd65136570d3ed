//===- TileAddressing.cpp - A thread's elements of a tile -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the address and predicate of each element that a thread holds of a tile
// in global memory. Layouts give the coordinates; strides, folded rows,
// fragments and bounds decide the address.
//
//===----------------------------------------------------------------------===//

#include "Memory/TileAddressing.h"

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

// Minimum number of registers of a vector for one bounds check of the whole
// vector.
static constexpr int64_t kManyRegisters = 8;
// Elements of a vector that the lanes of a warp load with one pair each.
static constexpr int64_t kWarpElements = 2 * kLanes;

TileAddressing::TileAddressing(OpBuilder &b, Location loc,
                               const GlobalView &view, ValueRange indices,
                               const tile::BoxDims &dims, RankedTensorType tile,
                               Value limit)
    : b(b), loc(loc), view(view), dims(dims), tile(tile) {
  for (Value index : indices)
    start.push_back(emitToI64(b, loc, index));
  bounds = view.sizes;
  if (limit)
    bounds[dims.row] = arith::MinSIOp::create(b, loc, bounds[dims.row],
                                              emitToI64(b, loc, limit));
  prepare();
}

Value TileAddressing::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, loc, x, y);
}

Value TileAddressing::isInside(int64_t dim, Value coordinate) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, coordinate,
                               bounds[dim]);
}

bool TileAddressing::isAlwaysInside(int64_t t) {
  APInt first, bound;
  int64_t dim = t == 0 ? dims.row : dims.column;
  return matchPattern(start[dim], m_ConstantInt(&first)) &&
         matchPattern(bounds[dim], m_ConstantInt(&bound)) &&
         first.isNonNegative() && bound.isNonNegative() &&
         tile.getDimSize(t) <= bound.getSExtValue() - first.getSExtValue();
}

void TileAddressing::prepare() {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  Value thread = emitThread(b, loc);
  // Dimensions that the tile does not span have one fixed coordinate.
  Value distance = emitI64(b, loc, 0);
  for (int64_t dim = 0; dim < view.type.getRank(); ++dim) {
    if (dims.contains(dim))
      continue;
    distance = arith::AddIOp::create(
        b, loc, distance,
        arith::MulIOp::create(b, loc, start[dim], view.strides[dim]));
    always = both(always, isInside(dim, start[dim]));
  }
  origin = LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                               view.pointer, ArrayRef<LLVM::GEPArg>{distance});
  for (int64_t t : {0, 1}) {
    offsets[t] = layout.getOffsets(tile.getShape(), t);
    base[t] =
        emitToI64(b, loc, layout.emitBase(b, loc, thread, tile.getShape(), t));
  }
}

TileAddressing::Along TileAddressing::getFoldedRow(int64_t offset) {
  Value row = arith::AddIOp::create(b, loc, base[0], emitI64(b, loc, offset));
  Value extent = emitI64(b, loc, dims.foldExtent);
  Value outer = arith::DivUIOp::create(b, loc, row, extent);
  Value inFold = arith::RemUIOp::create(b, loc, row, extent);
  Along place = {emitI64(b, loc, 0), {}};
  if (dims.hasGaps())
    place.inside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, inFold,
                              emitI64(b, loc, dims.foldCount));
  for (auto [dim, distance] :
       {std::pair(dims.row, outer), {dims.fold, inFold}}) {
    Value coordinate = arith::AddIOp::create(b, loc, start[dim], distance);
    place.distance = arith::AddIOp::create(
        b, loc, place.distance,
        arith::MulIOp::create(b, loc, coordinate, view.strides[dim]));
    place.inside = both(place.inside, isInside(dim, coordinate));
  }
  return place;
}

/// The bits of a coordinate are permuted to form an offset: returns `sum` plus
/// `weight` times the bits of `coordinate` from `shift` on, masked by `mask`.
Value TileAddressing::addBits(Value sum, Value coordinate, int64_t shift,
                              int64_t mask, int64_t weight) {
  auto constant = [&](int64_t value) { return emitI64(b, loc, value); };
  Value bits = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, coordinate, constant(shift)),
      constant(mask));
  return arith::AddIOp::create(
      b, loc, sum, arith::MulIOp::create(b, loc, bits, constant(weight)));
}

/// Emits `BoxDims::getFragmentRowOffset`. If the thread's rows are apart or in
/// other fragments, register offsets contribute constants.
Value TileAddressing::emitFragmentRow(int64_t offset) {
  constexpr int64_t kRows = tile::BoxDims::kFragmentRows;
  auto constant = [&](int64_t value) { return emitI64(b, loc, value); };
  Value row = arith::AddIOp::create(b, loc, start[dims.row], base[0]);
  bool isApart =
      offset % kRows == 0 || (tile::BoxDims::holdsChunks(offsets[0]) &&
                              tile::BoxDims::holdsPairs(offsets[1]));
  if (!isApart)
    row = arith::AddIOp::create(b, loc, row, constant(offset));
  Value inBlock = arith::AndIOp::create(b, loc, row, constant(kRows - 1));
  Value block = arith::SubIOp::create(b, loc, row, inBlock);
  int64_t known = 0;
  if (isApart) {
    block =
        arith::AddIOp::create(b, loc, block, constant(offset / kRows * kRows));
    known = dims.getFragmentRowOffset(offset % kRows);
  }
  Value place = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, block, view.strides[dims.row]),
      constant(known));
  place = addBits(place, row, 0, 7, dims.getFragmentRowOffset(1));
  return addBits(place, row, 3, 1, dims.getFragmentRowOffset(8));
}

/// Emits `BoxDims::getFragmentOffset`. The part without constants is computed
/// once.
Value TileAddressing::emitFragmentColumn(int64_t t, int64_t offset) {
  Value column = arith::AddIOp::create(
      b, loc, start[t == 0 ? dims.row : dims.column], base[t]);
  bool isApart = t == 1 && tile::BoxDims::holdsPairs(offsets[1]);
  if (!isApart)
    column = arith::AddIOp::create(b, loc, column, emitI64(b, loc, offset));
  Value place = emitI64(b, loc, isApart ? dims.getFragmentOffset(offset) : 0);
  place = addBits(place, column, 4, -1, dims.getFragmentOffset(16));
  place = addBits(place, column, 3, 1, dims.getFragmentOffset(8));
  place = addBits(place, column, 1, 3, dims.getFragmentOffset(2));
  return addBits(place, column, 0, 1, dims.getFragmentOffset(1));
}

SmallVector<SmallVector<unsigned, 4>> TileAddressing::getFragmentGroups() {
  constexpr int64_t kBits = 128;
  return dims.groupFragments(offsets[0], offsets[1],
                             kBits / getMemoryType().getIntOrFloatBitWidth());
}

const TileAddressing::Along &TileAddressing::lookup(int64_t t, int64_t offset) {
  auto [entry, isNew] = cache[t].try_emplace(offset);
  if (!isNew)
    return entry->second;
  int64_t dim = t == 0 ? dims.row : dims.column;
  if (dim == -1) {
    entry->second.distance = emitI64(b, loc, 0);
    return entry->second;
  }
  if (dims.inFragments) {
    entry->second.distance = t == 0 && !dims.isVector()
                                 ? emitFragmentRow(offset)
                                 : emitFragmentColumn(t, offset);
    return entry->second;
  }
  if (t == 0 && dims.isFolded())
    return entry->second = getFoldedRow(offset);
  Value first = arith::AddIOp::create(b, loc, start[dim], base[t]);
  Value coordinate =
      arith::AddIOp::create(b, loc, first, emitI64(b, loc, offset));
  entry->second.distance =
      arith::MulIOp::create(b, loc, coordinate, view.strides[dim]);
  if (!isAlwaysInside(t))
    entry->second.inside = isInside(dim, coordinate);
  return entry->second;
}

Place TileAddressing::getPlace(unsigned index) {
  const Along &row = lookup(0, offsets[0][index]),
              &column = lookup(1, offsets[1][index]);
  Value distance = arith::AddIOp::create(b, loc, row.distance, column.distance);
  Place place;
  place.address =
      LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                          origin, ArrayRef<LLVM::GEPArg>{distance});
  place.predicate = both(both(row.inside, column.inside), always);
  return place;
}

bool TileAddressing::isEvenStart() {
  APInt value;
  return matchPattern(start[dims.column], m_ConstantInt(&value)) && !value[0];
}

bool TileAddressing::isPair(unsigned index) {
  if (index + 1 >= offsets[0].size() || dims.column < 0 ||
      dims.column != view.type.getRank() - 1)
    return false;
  auto [strides, offset] = view.type.getStridesAndOffset();
  int64_t size = view.type.getShape().back();
  return strides.back() == 1 && size % 2 == 0 && offsets[1][index] % 2 == 0 &&
         isEvenStart() && offsets[0][index] == offsets[0][index + 1] &&
         offsets[1][index] + 1 == offsets[1][index + 1];
}

bool TileAddressing::hasWholeChunks() {
  if (dims.column < 0 || dims.column != view.type.getRank() - 1)
    return false;
  auto [strides, offset] = view.type.getStridesAndOffset();
  APInt first;
  return strides.back() == 1 && isAlwaysInside(1) &&
         matchPattern(start[dims.column], m_ConstantInt(&first)) &&
         first.getZExtValue() % 8 == 0;
}

Type fovea::getMemoryType(const GlobalView &view) {
  Type element = view.type.getElementType();
  // Registers hold the encodings of 8-bit floats.
  bool isByte = element.isInteger(1) || (isa<FloatType>(element) &&
                                         element.getIntOrFloatBitWidth() == 8);
  return isByte ? IntegerType::get(element.getContext(), 8) : element;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

bool TileAddressing::isVector(RankedTensorType tile,
                              const tile::BoxDims &dims) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  return (dims.row == -1) != (dims.column == -1) && !dims.isFolded() &&
         !dims.inFragments &&
         layout.getNumElements(tile.getShape()) >= kManyRegisters;
}

bool TileAddressing::startsPair(size_t index) {
  ArrayRef<int64_t> along = offsets[getDirection()];
  return index + 1 < along.size() && along[index] % 2 == 0 &&
         along[index] + 1 == along[index + 1];
}

Value TileAddressing::emitFirstAddress() {
  int64_t t = getDirection();
  Value first = arith::AddIOp::create(
      b, loc, start[t == 0 ? dims.row : dims.column], base[t]);
  return LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                             origin, ArrayRef<LLVM::GEPArg>{first});
}

Value TileAddressing::emitIsPlain() {
  int64_t t = getDirection(), dim = t == 0 ? dims.row : dims.column;
  Value end = arith::AddIOp::create(b, loc, start[dim],
                                    emitI64(b, loc, tile.getDimSize(t)));
  Value plain = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, start[dim],
                            emitI64(b, loc, 0)),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end,
                            bounds[dim]));
  plain = both(plain, always);
  auto [strides, offset] = view.type.getStridesAndOffset();
  if (strides[dim] != 1)
    plain = both(plain,
                 arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       view.strides[dim], emitI64(b, loc, 1)));
  if (llvm::any_of(llvm::seq(offsets[t].size()),
                   [&](size_t index) { return startsPair(index); })) {
    int64_t bytes = getMemoryType().getIntOrFloatBitWidth() / 8;
    Value address =
        LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), emitFirstAddress());
    Value odd = arith::AndIOp::create(b, loc, emitToI32(b, loc, address),
                                      emitI32(b, loc, 2 * bytes - 1));
    plain = both(plain, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                              odd, emitI32(b, loc, 0)));
  }
  return plain;
}

Place TileAddressing::getVectorPlace(unsigned index) {
  int64_t t = getDirection(), dim = t == 0 ? dims.row : dims.column;
  if (!firstInside) {
    Value zero = emitI64(b, loc, 0), most = emitI64(b, loc, tile.getDimSize(t)),
          first = arith::AddIOp::create(b, loc, start[dim], base[t]);
    auto clamp = [&](Value value) -> Value {
      value = arith::MaxSIOp::create(b, loc, value, zero);
      value = arith::MinSIOp::create(b, loc, value, most);
      return emitToI32(b, loc, value);
    };
    firstInside = clamp(arith::SubIOp::create(b, loc, zero, first));
    endInside = clamp(arith::SubIOp::create(b, loc, bounds[dim], first));
    if (always)
      endInside = arith::SelectOp::create(b, loc, always, endInside,
                                          emitI32(b, loc, 0));
  }
  Value offset = emitI32(b, loc, offsets[t][index]);
  Place place;
  place.predicate =
      both(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, offset,
                                 firstInside),
           arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, offset,
                                 endInside));
  Value first = arith::MulIOp::create(
      b, loc, arith::AddIOp::create(b, loc, start[dim], base[t]),
      view.strides[dim]);
  Value distance = arith::MulIOp::create(b, loc, view.strides[dim],
                                         emitI64(b, loc, offsets[t][index]));
  place.address = LLVM::GEPOp::create(
      b, loc, view.pointer.getType(), getMemoryType(),
      LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                          origin, ArrayRef<LLVM::GEPArg>{first}),
      ArrayRef<LLVM::GEPArg>{distance});
  return place;
}

bool TileAddressing::isHeldByWarp() const {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  return layout.getFragmentWarps() != 0 && getDirection() == 1;
}

/// Of each 64 elements lane l loads elements 2l and 2l + 1.
SmallVector<Value> TileAddressing::emitShares(Value predicate) {
  Type type = getMemoryType();
  int64_t bits = type.getIntOrFloatBitWidth(), extent = tile.getDimSize(1);
  Value lane = arith::AndIOp::create(b, loc, emitThread(b, loc),
                                     emitI32(b, loc, kLanes - 1));
  Value first = emitToI64(
      b, loc, arith::MulIOp::create(b, loc, lane, emitI32(b, loc, 2)));
  Value place = arith::AddIOp::create(b, loc, start[dims.column], first);
  Value address = LLVM::GEPOp::create(b, loc, view.pointer.getType(), type,
                                      origin, ArrayRef<LLVM::GEPArg>{place});
  SmallVector<Value> shares;
  for (int64_t chunk = 0; chunk < extent; chunk += kWarpElements) {
    Value exists = predicate;
    if (chunk + kWarpElements > extent)
      exists =
          both(exists,
               arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, first,
                                     emitI64(b, loc, extent - chunk)));
    // Predicated loads have up to 64 bits.
    int64_t each = bits == 64 ? 1 : 2;
    for (int64_t index = 0; index < 2; index += each) {
      Value from =
          LLVM::GEPOp::create(b, loc, address.getType(), type, address,
                              ArrayRef<LLVM::GEPArg>{int32_t(chunk + index)});
      shares.push_back(
          emitLoad(b, loc, {from, exists}, b.getIntegerType(each * bits)));
    }
  }
  return shares;
}

SmallVector<Value> TileAddressing::distributeShares(ArrayRef<Value> shares) {
  ArrayRef<int64_t> along = offsets[1];
  Type type = getMemoryType();
  auto pair = VectorType::get({2}, type);
  bool isWide = type.getIntOrFloatBitWidth() == 64;
  // A lane's first element is among the first 8.
  Value first = arith::ShRUIOp::create(b, loc, emitToI32(b, loc, base[1]),
                                       emitI32(b, loc, 1));
  SmallVector<Value> values;
  while (values.size() < along.size()) {
    int64_t offset = along[values.size()], chunk = offset / kWarpElements;
    Value lane = arith::AddIOp::create(
        b, loc, first, emitI32(b, loc, offset % kWarpElements / 2));
    auto receive = [&](Value share) {
      return emitShuffle(b, loc, share, NVVM::ShflKind::idx, lane);
    };
    if (isWide) {
      for (int64_t part : {0, 1})
        values.push_back(LLVM::BitcastOp::create(
            b, loc, type, receive(shares[2 * chunk + part])));
      continue;
    }
    auto elements = vector::ToElementsOp::create(
        b, loc, LLVM::BitcastOp::create(b, loc, pair, receive(shares[chunk])));
    llvm::append_range(values, elements.getResults());
  }
  return values;
}

SmallVector<Value> TileAddressing::emitPlainLoads() {
  if (isHeldByWarp())
    return distributeShares(emitShares(/*predicate=*/{}));
  ArrayRef<int64_t> along = offsets[getDirection()];
  Type type = getMemoryType();
  auto pairType = VectorType::get({2}, type);
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value first = emitFirstAddress();
  SmallVector<Value> values;
  while (values.size() < along.size()) {
    size_t index = values.size();
    Value address =
        LLVM::GEPOp::create(b, loc, first.getType(), type, first,
                            ArrayRef<LLVM::GEPArg>{int32_t(along[index])});
    if (!startsPair(index)) {
      values.push_back(LLVM::LoadOp::create(b, loc, type, address, bytes));
      continue;
    }
    Value pair = LLVM::LoadOp::create(b, loc, pairType, address, 2 * bytes);
    for (int64_t part : {0, 1})
      values.push_back(vector::ExtractOp::create(b, loc, pair, part));
  }
  return values;
}
