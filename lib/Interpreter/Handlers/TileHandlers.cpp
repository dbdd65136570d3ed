//===- TileHandlers.cpp - Executes tile ops ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of tile ops: coordinates, reductions, dots, loads and stores of
// tiles, gathers and scatters, random numbers and loops over work items.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "MatMul.h"
#include "TileSupport.h"
#include "Warp/RoleScheduler.h"
#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Interpreter/Handlers.h"
#include "fovea/Support/ExactSum.h"
#include <array>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Elementary ops
//===----------------------------------------------------------------------===//

static LogicalResult executeIota(Operation *op, Frame &frame) {
  auto iota = cast<tile::IotaOp>(op);
  auto result = makeTile(frame, iota.getResult().getType());
  for (int64_t i = 0; i < result->getNumElements(); ++i)
    result->data<int64_t>()[i] = i;
  frame.set(iota.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

static LogicalResult executeBallot(Operation *op, Frame &frame) {
  auto ballot = cast<tile::BallotOp>(op);
  Lanes<int64_t> flags(frame.get(ballot.getFlags()),
                       ballot.getFlags().getType().getShape());
  uint32_t bits = 0;
  for (int64_t column = 0; column < tile::BallotOp::kColumns; ++column)
    bits |= uint32_t(flags.row(0)[column * flags.columnStride] != 0) << column;
  // Integers are stored sign-extended.
  frame.set(ballot.getBits(), RuntimeValue::integer(int32_t(bits)));
  return success();
}

static LogicalResult executeRamp(Operation *op, Frame &frame) {
  auto ramp = cast<tile::RampOp>(op);
  auto result = makeTile(frame, ramp.getResult().getType());
  double start = frame.get(ramp.getStart()).getReal(),
         step = frame.get(ramp.getStep()).getReal();
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    for (int64_t i = 0; i < result->getNumElements(); ++i)
      result->data<T>()[i] = T(start + i * step);
  });
  frame.set(ramp.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

static LogicalResult executeHeldRows(Operation *op, Frame &frame) {
  auto held = cast<tile::OwnedRowsOp>(op);
  RowRange rows = getOwnedRows(frame, held.getTile());
  frame.set(held.getFirst(), RuntimeValue::integer(rows.first));
  frame.set(held.getCount(), RuntimeValue::integer(rows.count));
  return success();
}

static LogicalResult executeBroadcast(Operation *op, Frame &frame) {
  auto broadcast = cast<tile::BroadcastOp>(op);
  RankedTensorType type = broadcast.getResult().getType();
  auto result = makeTile(frame, type);
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    Lanes<T> lanes(frame.get(broadcast.getSource()), type.getShape());
    T *target = result->data<T>();
    int64_t columns = type.getDimSize(1);
    for (int64_t r = 0; r < type.getDimSize(0); ++r, target += columns) {
      const T *row = lanes.row(r);
      if (lanes.columnStride == 1)
        std::copy_n(row, columns, target);
      else
        std::fill_n(target, columns, *row);
    }
  });
  frame.set(broadcast.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

static LogicalResult executeDiagonals(Operation *op, Frame &frame) {
  auto diagonals = cast<tile::DiagonalsOp>(op);
  const Array &source = frame.getArray(diagonals.getSource());
  auto result = makeTile(frame, diagonals.getResult().getType());
  int64_t rows = result->getShape()[0], columns = result->getShape()[1];
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    const T *first = source.data<T>();
    T *target = result->data<T>();
    for (int64_t r = 0; r < rows; ++r, target += columns)
      std::copy_n(first + rows - 1 - r, columns, target);
  });
  frame.set(diagonals.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

template <typename T>
static T reducePair(tile::ReduceKind kind, IntegerWrap wrap, T a, T b) {
  if (kind == tile::ReduceKind::Max)
    return a > b || a != a ? a : b;
  if (kind == tile::ReduceKind::Min)
    return a < b || a != a ? a : b;
  if constexpr (std::is_same_v<T, int64_t>)
    return wrap(int64_t(uint64_t(a) + uint64_t(b)));
  else
    return a + b;
}

static LogicalResult executeReduce(Operation *op, Frame &frame) {
  auto reduce = cast<tile::ReduceOp>(op);
  const Array &source = frame.getArray(reduce.getSource());
  auto result = makeTile(frame, reduce.getResult().getType());
  ArrayRef<int64_t> from = source.getShape(), to = result->getShape();
  IntegerWrap wrap = getWrap(reduce.getResult().getType());
  tile::ReduceKind kind = reduce.getKind();
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    const T *in = source.data<T>();
    T *out = result->data<T>();
    for (int64_t r = 0; r < from[0]; ++r, in += from[1]) {
      T *row = out + (r % to[0]) * to[1];
      // The elements of the first `to` rows and columns initialise the results.
      int64_t first = r < to[0] ? to[1] : 0, target = 0;
      std::copy_n(in, first, row);
      for (int64_t c = first; c < from[1]; ++c) {
        row[target] = reducePair(kind, wrap, row[target], in[c]);
        target = target + 1 == to[1] ? 0 : target + 1;
      }
    }
  });
  if (result->getStorage() != Storage::Int)
    roundInPlace(frame, reduce.getResult().getType(), *result);
  frame.set(reduce.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

FailureOr<std::shared_ptr<Array>>
fovea::interp::multiply(Frame &frame, Operation *op, const Array &a,
                        const Array &b, const Array &acc, bool transposeB,
                        RankedTensorType type) {
  auto result = makeTile(frame, type);
  if (a.getStorage() != result->getStorage()) {
    frame.fail(op) << "cannot execute a dot of integers or f64";
    return failure();
  }
  int64_t m = type.getDimSize(0), n = type.getDimSize(1);
  int64_t k = a.getShape()[1];
  withFloatStorage(frame, type, [&](auto like) {
    using T = decltype(like);
    const T *right = b.data<T>();
    std::unique_ptr<T[]> transposed;
    if (transposeB) {
      transposed.reset(new T[k * n]);
      transpose(right, transposed.get(), n, k);
      right = transposed.get();
    }
    std::copy_n(acc.data<T>(), m * n, result->data<T>());
    multiplyAdd(a.data<T>(), right, result->data<T>(), m, n, k);
  });
  return result;
}

std::shared_ptr<Array> fovea::interp::transpose(const Array &array) {
  int64_t rows = array.getShape()[0], columns = array.getShape()[1];
  int64_t shape[] = {columns, rows};
  auto result = std::make_shared<Array>(shape, array.getStorage());
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        result->data<T>()[c * rows + r] = array.data<T>()[r * columns + c];
  });
  return result;
}

std::shared_ptr<Array>
fovea::interp::takeColumns(const Array &array, int64_t first, int64_t count) {
  int64_t rows = array.getShape()[0], columns = array.getShape()[1];
  int64_t shape[] = {rows, count};
  auto result = std::make_shared<Array>(shape, array.getStorage());
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(array.data<T>() + r * columns + first, count,
                  result->data<T>() + r * count);
  });
  return result;
}

static LogicalResult executeDot(Operation *op, Frame &frame) {
  auto dot = cast<tile::DotOp>(op);
  const Array *left = &frame.getArray(dot.getA());
  std::shared_ptr<Array> rows, transposedLeft;
  // Rows of a transposed operand are stored as columns.
  if (std::optional<uint64_t> first = dot.getFirstRow()) {
    rows = takeColumns(*left, *first, dot.getResult().getType().getDimSize(0));
    left = rows.get();
  }
  if (dot.getTransposeA()) {
    transposedLeft = transpose(*left);
    left = transposedLeft.get();
  }
  const Array *right = &frame.getArray(dot.getB());
  std::shared_ptr<Array> part;
  if (std::optional<uint64_t> first = dot.getFirstColumn()) {
    part = takeColumns(*right, *first, dot.getResult().getType().getDimSize(1));
    right = part.get();
  }
  auto result = multiply(frame, op, *left, *right, frame.getArray(dot.getAcc()),
                         dot.getTransposeB(), dot.getResult().getType());
  if (failed(result))
    return failure();
  frame.set(dot.getResult(), RuntimeValue::array(std::move(*result)));
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

GroupTable::GroupTable(Frame &frame, Value table, OperandRange indices) {
  if (!table)
    return;
  memory = &frame.get(table).getMemRef();
  for (auto [dim, operand] : llvm::enumerate(indices.drop_back())) {
    int64_t index = frame.getInteger(operand);
    isOutside |= index < 0 || index >= memory->sizes[dim];
    offset += index * memory->strides[dim];
  }
  first = frame.getInteger(indices.back());
}

int64_t GroupTable::lookup(int64_t group) const {
  int64_t entry = std::min(first + group, memory->sizes.back() - 1), index;
  if (isOutside || entry < 0)
    return -1;
  readElements(memory->kind,
               memory->at(offset + entry * memory->strides.back()), 1, 1,
               &index);
  return index;
}

namespace {
/// The position of a tile in a memref.
class Box {
public:
  Box(Frame &frame, const MemRefView &memref, OperandRange indices,
      const tile::BoxDims &dims, ArrayRef<int64_t> extents, Value limit,
      const GroupTable &table = {})
      : memref(memref), dims(dims), rows(extents[0]), table(table) {
    for (Value index : indices)
      start.push_back(frame.getInteger(index));
    bounds.assign(memref.sizes.begin(), memref.sizes.end());
    if (limit && dims.hasGroups())
      rows = std::clamp<int64_t>(frame.getInteger(limit) - start[dims.row], 0,
                                 rows);
    else if (limit)
      bounds[dims.row] = std::min(bounds[dims.row], frame.getInteger(limit));
    for (size_t dim = 0; dim < memref.sizes.size(); ++dim) {
      int64_t index = start[dim];
      if (dims.contains(dim) || int64_t(dim) == dims.group)
        continue;
      isOutside = index < 0 || index >= bounds[dim];
      if (isOutside)
        return;
      offset += index * memref.strides[dim];
    }
    end = extents[1];
    if (dims.column == -1)
      return;
    int64_t first = start[dims.column], bound = bounds[dims.column];
    // Far out of bounds, subtractions might overflow.
    isOutside = first <= -end || first >= bound;
    if (isOutside)
      return;
    begin = std::max<int64_t>(0, -first);
    end = std::min(end, bound - first);
    stride = memref.strides[dims.column];
  }

  /// Calls `visit(row, first, count, address)` for each row that has elements
  /// in the memref: the range of columns, and the address of the first one.
  template <typename Visit>
  void forEachRow(Visit visit) const {
    if (isOutside)
      return;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t place = offset;
      if (row % dims.foldExtent >= dims.foldCount)
        continue;
      if (dims.hasGroups()
              ? !addGroupedRow(place, row)
              : !addCoordinate(place, dims.row, row / dims.foldExtent) ||
                    !addCoordinate(place, dims.fold, row % dims.foldExtent))
        continue;
      if (dims.inFragments && dims.column == -1) {
        visit(
            row, 0, 1,
            memref.at(offset + dims.getFragmentOffset(start[dims.row] + row)));
        continue;
      }
      if (dims.inFragments) {
        place -= getSpread(row);
        for (int64_t column = begin; column < end; ++column)
          visit(row, column, 1,
                memref.at(place +
                          dims.getFragmentOffset(start[dims.column] + column)));
        continue;
      }
      if (dims.column != -1)
        place += (start[dims.column] + begin) * stride;
      visit(row, begin, end - begin, memref.at(place));
    }
  }

  /// Distance of adjacent columns in elements.
  int64_t getStride() const { return stride; }

private:
  /// The difference between a row's offset by the memref's stride and its
  /// offset within a fragment.
  int64_t getSpread(int64_t row) const {
    if (dims.row == -1)
      return 0;
    int64_t inBlock = (start[dims.row] + row) % tile::BoxDims::kFragmentRows;
    return inBlock * memref.strides[dims.row] -
           dims.getFragmentRowOffset(inBlock);
  }

  /// Adds the offset of a row with an index of its group; returns false if it
  /// is out of bounds.
  bool addGroupedRow(int64_t &place, int64_t row) const {
    if (table.memory) {
      int64_t inSequence = start[dims.row] + row, n = dims.groupRows;
      if (inSequence < 0)
        return false;
      return addIndex(place, dims.group, table.lookup(inSequence / n)) &&
             addIndex(place, dims.row, inSequence % n);
    }
    size_t at = dims.getGroupIndex(row / dims.groupRows, memref.sizes.size());
    int64_t distance = start[at] - start[dims.group];
    return addCoordinate(place, dims.group, distance) &&
           addCoordinate(place, dims.row, row % dims.groupRows);
  }

  /// Adds the offset of a coordinate along a dimension; returns false if it is
  /// out of bounds.
  bool addCoordinate(int64_t &place, int64_t dim, int64_t distance) const {
    if (dim == -1)
      return true;
    // Unsigned arithmetic wraps, and coordinates far out of bounds stay so.
    return addIndex(place, dim, uint64_t(start[dim]) + uint64_t(distance));
  }

  bool addIndex(int64_t &place, int64_t dim, int64_t index) const {
    if (index < 0 || index >= bounds[dim])
      return false;
    place += index * memref.strides[dim];
    return true;
  }

  const MemRefView &memref;
  const tile::BoxDims &dims;
  int64_t rows, begin = 0, end, stride = 0, offset = 0;
  GroupTable table;
  bool isOutside = false;
  SmallVector<int64_t, 5> start, bounds;
};
} // namespace

std::shared_ptr<Array>
fovea::interp::loadBox(Frame &frame, Value source, OperandRange indices,
                       const tile::BoxDims &dims, Value limit,
                       const GroupTable &table, RankedTensorType type) {
  const MemRefView &memref = frame.get(source).getMemRef();
  Box box(frame, memref, indices, dims, type.getShape(), limit, table);
  auto result = makeTile(frame, type);
  int64_t columns = type.getDimSize(1);
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    T *target = result->data<T>();
    std::fill_n(target, result->getNumElements(), T(0));
    box.forEachRow(
        [&](int64_t row, int64_t first, int64_t count, char *address) {
          readElements(memref.kind, address, box.getStride(), count,
                       target + row * columns + first);
        });
  });
  return result;
}

LogicalResult fovea::interp::checkFragments(Operation *op, Frame &frame,
                                            Value memory, OperandRange indices,
                                            const tile::BoxDims &dims,
                                            ArrayRef<int64_t> extents) {
  if (!dims.inFragments)
    return success();
  const MemRefView &memref = frame.get(memory).getMemRef();
  const std::array<int64_t, 2> memoryDims = {dims.row, dims.column};
  for (auto [t, dim] : llvm::enumerate(memoryDims)) {
    if (dim == -1)
      continue;
    int64_t block = dims.isVector() ? tile::BoxDims::kFragmentElements
                    : t == 0        ? tile::BoxDims::kFragmentRows
                                    : tile::BoxDims::kFragmentColumns;
    int64_t first = frame.getInteger(indices[dim]), size = memref.sizes[dim];
    if (first < 0 || first % block != 0 || first > size - extents[t])
      return frame.fail(op)
             << "tiles in fragments must start at a multiple of " << block
             << " and be within the memref, found " << extents[t]
             << " elements from " << first << " on, of " << size;
  }
  return success();
}

static LogicalResult executeLoad(Operation *op, Frame &frame) {
  auto load = cast<tile::LoadOp>(op);
  if (failed(checkFragments(op, frame, load.getSource(), load.getIndices(),
                            load.getBoxDims(),
                            load.getResult().getType().getShape())))
    return failure();
  frame.set(load.getResult(),
            RuntimeValue::array(loadBox(
                frame, load.getSource(), load.getIndices(), load.getBoxDims(),
                load.getLimit(),
                GroupTable(frame, load.getTable(), load.getTableIndices()),
                load.getResult().getType())));
  return success();
}

/// Writes the rows of a tile that are in bounds, or adds them to the contents.
static void writeBox(const MemRefView &memref, const Box &box,
                     const Array &value, std::optional<RowRange> rows,
                     bool add) {
  int64_t columns = value.getShape()[1];
  withStorage(value.getStorage(), [&](auto like) {
    using T = decltype(like);
    box.forEachRow([&](int64_t row, int64_t first, int64_t count,
                       char *address) {
      if (rows && (row < rows->first || row >= rows->first + rows->count))
        return;
      const T *source = value.data<T>() + row * columns + first;
      SmallVector<T> sums;
      if (add) {
        sums.resize(count);
        readElements(memref.kind, address, box.getStride(), count, sums.data());
        for (int64_t index = 0; index < count; ++index)
          sums[index] += source[index];
        source = sums.data();
      }
      writeElements(memref.kind, source, count, address, box.getStride());
    });
  });
}

void fovea::interp::storeBox(Frame &frame, const Array &value, Value target,
                             OperandRange indices, const tile::BoxDims &dims,
                             Value limit, std::optional<RowRange> rows,
                             bool add) {
  const MemRefView &memref = frame.get(target).getMemRef();
  Box box(frame, memref, indices, dims, value.getShape(), limit);
  writeBox(memref, box, value, rows, add);
}

namespace {
/// A store with copies of all its operands.
struct PreparedStore {
  PreparedStore(Frame &frame, std::shared_ptr<const Array> value, Value target,
                OperandRange indices, const tile::BoxDims &dims)
      : value(std::move(value)), memref(frame.get(target).getMemRef()),
        dims(dims), box(frame, memref, indices, this->dims,
                        this->value->getShape(), /*limit=*/Value()) {}

  std::shared_ptr<const Array> value;
  MemRefView memref;
  tile::BoxDims dims;
  Box box;
};
} // namespace

std::function<void()> fovea::interp::prepareStore(
    Frame &frame, std::shared_ptr<const Array> value, Value target,
    OperandRange indices, const tile::BoxDims &dims, RowRange rows, bool add) {
  auto store = std::make_shared<PreparedStore>(frame, std::move(value), target,
                                               indices, dims);
  return [store, rows, add] {
    writeBox(store->memref, store->box, *store->value, rows, add);
  };
}

static LogicalResult executeStore(Operation *op, Frame &frame) {
  auto store = cast<tile::StoreOp>(op);
  if (failed(checkFragments(op, frame, store.getTarget(), store.getIndices(),
                            store.getBoxDims(),
                            store.getValue().getType().getShape())))
    return failure();
  // A warp group only stores the rows that it owns.
  RowRange rows = getOwnedRows(frame, store.getValue().getType());
  storeBox(frame, frame.getArray(store.getValue()), store.getTarget(),
           store.getIndices(), store.getBoxDims(), store.getLimit(), rows,
           store.getAdd());
  return success();
}

static LogicalResult executeStream(Operation *op, Frame &frame) {
  auto stream = cast<tile::StreamOp>(op);
  frame.set(stream.getResult(), frame.get(stream.getValue()));
  return success();
}

static LogicalResult executeTranspose(Operation *op, Frame &frame) {
  auto transposition = cast<tile::TransposeOp>(op);
  frame.set(transposition.getResult(),
            RuntimeValue::array(
                transpose(frame.getArray(transposition.getSource()))));
  return success();
}

/// Kernels of a launch run one at a time, so waits for earlier kernels are
/// no-ops.
static LogicalResult executeNothing(Operation *, Frame &) { return success(); }

static LogicalResult executeRandom(Operation *op, Frame &frame) {
  auto random = cast<tile::RandomOp>(op);
  int64_t first[] = {frame.getInteger(random.getRow()),
                     frame.getInteger(random.getColumn())};
  int64_t dim = random.getDim();
  for (int64_t position : first)
    if (position < 0)
      return frame.fail(op)
             << "positions must not be negative, found " << position;
  if (first[dim] % generator::kNeighbours != 0)
    return frame.fail(op) << "the position along dimension " << dim
                          << " must be a multiple of " << generator::kNeighbours
                          << ", found " << first[dim];
  uint64_t key = frame.getInteger(random.getKey()),
           stream = frame.getInteger(random.getStream());
  auto result = makeTile(frame, random.getType());
  int64_t columns = result->getShape()[1];
  for (int64_t n = 0; n < result->getNumElements(); ++n) {
    int64_t position[] = {first[0] + n / columns, first[1] + n % columns};
    result->data<int64_t>()[n] =
        generator::numberAt(key, stream, position[1 - dim], position[dim]);
  }
  frame.set(random.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

namespace {
/// Addresses of a tile's elements in gathers and scatters.
class Places {
public:
  /// The first `firstDim` dimensions of the memref have no indices.
  Places(Frame &frame, Value memref, OperandRange operands, Value keep,
         ArrayRef<int64_t> shape, unsigned firstDim = 0)
      : memref(frame.get(memref).getMemRef()), firstDim(firstDim),
        mask(keep ? frame.get(keep) : RuntimeValue::integer(1), shape) {
    for (Value index : operands)
      indices.emplace_back(frame.get(index), shape);
  }

  /// The offset of an element; none if it is masked or out of bounds.
  std::optional<int64_t> find(int64_t row, int64_t column) const {
    if (mask.row(row)[column * mask.columnStride] == 0)
      return std::nullopt;
    int64_t offset = 0;
    for (auto [number, lanes] : llvm::enumerate(indices)) {
      int64_t index = lanes.row(row)[column * lanes.columnStride];
      unsigned dim = firstDim + number;
      if (index < 0 || index >= memref.sizes[dim])
        return std::nullopt;
      offset += index * memref.strides[dim];
    }
    return offset;
  }

  const MemRefView &memref;

private:
  unsigned firstDim;
  SmallVector<Lanes<int64_t>, 4> indices;
  Lanes<int64_t> mask;
};
} // namespace

static LogicalResult executeGather(Operation *op, Frame &frame) {
  auto gather = cast<tile::GatherOp>(op);
  RankedTensorType type = gather.getResult().getType();
  Places places(frame, gather.getSource(), gather.getIndices(),
                gather.getMask(), type.getShape());
  auto result = makeTile(frame, type);
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    T *target = result->data<T>();
    for (int64_t r = 0; r < type.getDimSize(0); ++r)
      for (int64_t c = 0; c < type.getDimSize(1); ++c, ++target) {
        *target = T(0);
        if (std::optional<int64_t> offset = places.find(r, c))
          readElements(places.memref.kind, places.memref.at(*offset), 1, 1,
                       target);
      }
  });
  frame.set(gather.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

/// Adds `x` to an exact sum, whose first integer is at `offset`.
static void addExactly(const MemRefView &sums, int64_t offset, float x) {
  exactsum::Summand summand = exactsum::split(x);
  char *target = sums.at(offset + summand.bin * sums.strides.front());
  int64_t sum;
  readElements(sums.kind, target, 1, 1, &sum);
  sum = int64_t(uint64_t(sum) + uint64_t(summand.value));
  writeElements(sums.kind, &sum, 1, target, 1);
}

static LogicalResult executeScatter(Operation *op, Frame &frame) {
  auto scatter = cast<tile::ScatterOp>(op);
  RankedTensorType type = scatter.getValue().getType();
  Places places(frame, scatter.getTarget(), scatter.getIndices(),
                scatter.getMask(), type.getShape(),
                /*firstDim=*/scatter.getExact() ? 1 : 0);
  const Array &value = frame.getArray(scatter.getValue());
  RowRange rows = getOwnedRows(frame, type);
  llvm::DenseSet<int64_t> written;
  return withStorage(value.getStorage(), [&](auto like) -> LogicalResult {
    using T = decltype(like);
    const T *source = value.data<T>();
    for (int64_t r = 0; r < type.getDimSize(0); ++r)
      for (int64_t c = 0; c < type.getDimSize(1); ++c, ++source) {
        std::optional<int64_t> offset = places.find(r, c);
        if (!offset)
          continue;
        if (!scatter.getAdd() && !written.insert(*offset).second)
          return frame.fail(op) << "element (" << r << ", " << c
                                << ") has the same address as another one";
        if (r < rows.first || r >= rows.first + rows.count)
          continue;
        if (scatter.getExact()) {
          addExactly(places.memref, *offset, *source);
          continue;
        }
        char *target = places.memref.at(*offset);
        T value = *source;
        if (scatter.getAdd()) {
          T before;
          readElements(places.memref.kind, target, 1, 1, &before);
          value += before;
        }
        writeElements(places.memref.kind, &value, 1, target, 1);
      }
    return success();
  });
}

//===----------------------------------------------------------------------===//
// IfAnyOp
//===----------------------------------------------------------------------===//

namespace {
/// The body is executed even if no condition holds, to check its contract to
/// leave such rows unchanged. Bodies with side effects are an exception.
class IfAnyActivation : public Activation {
public:
  explicit IfAnyActivation(tile::IfAnyOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    SmallVector<bool> rows = findRows(frame.getArray(op.getCondition()));
    if (!terminator) {
      for (Value init : op.getInits())
        next.values.push_back(frame.get(init));
      if (llvm::is_contained(rows, true) || isMemoryEffectFree(op))
        next.region = &op.getBody();
      return success();
    }
    for (auto [index, init] : llvm::enumerate(op.getInits()))
      if (failed(checkRows(frame, frame.getArray(init),
                           yielded[index].getArray(), rows, index)))
        return failure();
    next.values.assign(yielded.begin(), yielded.end());
    return success();
  }

private:
  /// The rows whose condition holds in any column.
  static SmallVector<bool> findRows(const Array &condition) {
    int64_t columns = condition.getShape()[1];
    const int64_t *flags = condition.data<int64_t>();
    SmallVector<bool> rows;
    for (int64_t r = 0; r < condition.getShape()[0]; ++r, flags += columns)
      rows.push_back(llvm::any_of(ArrayRef(flags, columns),
                                  [](int64_t flag) { return flag != 0; }));
    return rows;
  }

  LogicalResult checkRows(Frame &frame, const Array &before, const Array &after,
                          ArrayRef<bool> rows, int64_t result) {
    int64_t columns = before.getShape()[1];
    return withStorage(before.getStorage(), [&](auto like) -> LogicalResult {
      using T = decltype(like);
      for (int64_t r = 0; r < before.getShape()[0]; ++r) {
        if (rows[r])
          continue;
        const T *x = before.data<T>() + r * columns;
        const T *y = after.data<T>() + r * columns;
        for (int64_t c = 0; c < columns; ++c)
          if (x[c] != y[c] && !(x[c] != x[c] && y[c] != y[c]))
            return frame.fail(op)
                   << "body changes row " << r << " of result #" << result
                   << ", whose condition is false: column " << c << " from "
                   << double(x[c]) << " to " << double(y[c]);
      }
      return success();
    });
  }

  tile::IfAnyOp op;
};
} // namespace

void fovea::interp::registerTileHandlers(InterpreterRegistry &registry) {
  registry.add<tile::IotaOp>(executeIota);
  registry.add<tile::BallotOp>(executeBallot);
  registry.add<tile::RampOp>(executeRamp);
  registry.add<tile::OwnedRowsOp>(executeHeldRows);
  registry.add<tile::BroadcastOp>(executeBroadcast);
  registry.add<tile::DiagonalsOp>(executeDiagonals);
  registry.add<tile::ReduceOp>(executeReduce);
  registry.add<tile::DotOp>(executeDot);
  registry.add<tile::LoadOp>(executeLoad);
  registry.add<tile::RandomOp>(executeRandom);
  registry.add<tile::StoreOp>(executeStore);
  registry.add<tile::StreamOp>(executeStream);
  registry.add<tile::TransposeOp>(executeTranspose);
  registry.add<launch::AllowOverlapOp>(executeNothing);
  registry.add<launch::AwaitPreviousOp>(executeNothing);
  registry.add<tile::GatherOp>(executeGather);
  registry.add<tile::ScatterOp>(executeScatter);
  registry.addRegionOp<tile::IfAnyOp, IfAnyActivation>();
}
