//===- TransposeBlockLists.cpp - Transposed block-sparse lists ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp of the preprocess kernel transposes the entries of a few key
// blocks. It processes 32 query blocks at a time: each lane iterates over one
// query block's list, and ballots collect, per key block, a bitmap of the lanes
// that list it. The index of a query block in the transposed list is the count
// from earlier query blocks plus the number of set bits of lower lanes. Nothing
// is accumulated in memory, so the order is deterministic.
//
// Counts and indices are unchecked user data: counts are clamped to the row,
// and indices are only compared with existing key blocks.
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/TransposeBlockLists.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

// Key blocks of a warp, and query blocks that it processes together.
static constexpr int64_t kKeyBlocks = 4, kWordBits = tile::BallotOp::kColumns;
static constexpr unsigned kQuery = 0, kKey = 1;
static constexpr int64_t kBatchDim = 0, kHeadDim = 1, kRowDim = 2,
                         kEntryDim = 3, kSequenceDim = 2;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Extents of memory with an entry per key block.
static SmallVector<AffineExpr> getExtents(attn::AttentionOpInterface op,
                                          SizeExpressions &sizes) {
  return {sizes.getSize(kBatchDim), sizes.getSize(kHeadDim),
          sizes.getSize(kKey, kSequenceDim).ceilDiv(op.getKeyBlock())};
}

/// Declares memory for the counts and indices of a list.
static SmallVector<unsigned, 2>
declareList(KernelBuilder &kb, attn::AttentionOpInterface op, unsigned list) {
  SizeExpressions sizes(kb, op.getBlockLists().getBeginOperandIndex() + list);
  SmallVector<AffineExpr> extents = getExtents(op, sizes);
  auto nameOf = [&](unsigned of) {
    return (op.getBlockListName(of) + "_turned").str();
  };
  Type i32 = kb.builder.getI32Type();
  unsigned counts =
      declareScratch(kb, nameOf(list), sizes.getNames(), extents, i32);
  extents.push_back(
      sizes.getSize(kQuery, kSequenceDim).ceilDiv(op.getQueryBlock()));
  unsigned indices =
      declareScratch(kb, nameOf(list + 1), sizes.getNames(), extents, i32);
  return {counts, indices};
}

/// Declares memory for the bitmap of a list. At least one word: it is read even
/// if there is no query.
static SmallVector<unsigned, 2>
declareBits(KernelBuilder &kb, attn::AttentionOpInterface op, unsigned list) {
  SizeExpressions sizes(kb, op.getBlockLists().getBeginOperandIndex() + list);
  SmallVector<AffineExpr> extents = getExtents(op, sizes);
  AffineExpr queries = sizes.getSize(kQuery, kSequenceDim);
  AffineExpr one = getAffineConstantExpr(1, queries.getContext());
  extents.push_back(queries.ceilDiv(op.getQueryBlock()).ceilDiv(kWordBits) +
                    one.floorDiv(queries + 1));
  std::string name = (op.getBlockListName(list + 1) + "_bits").str();
  return {declareScratch(kb, name, sizes.getNames(), extents,
                         kb.builder.getI32Type())};
}

TransposeBlockLists TransposeBlockLists::declare(KernelBuilder &kb,
                                                 attn::AttentionOpInterface op,
                                                 bool asBits) {
  TransposeBlockLists transposed(op);
  for (unsigned list = 0; list < op.getBlockLists().size(); list += 2)
    transposed.memory.push_back(asBits ? declareBits(kb, op, list)
                                       : declareList(kb, op, list));
  return transposed;
}

BlockLists TransposeBlockLists::get(KernelBuilder &kb) const {
  attn::AttentionOpInterface attention = op;
  auto list = [&](unsigned index) -> BlockLists::List {
    return {kb.kernel.getArgument(memory[index][0]),
            kb.kernel.getArgument(memory[index][1])};
  };
  BlockLists lists{list(0),
                   {},
                   attention.getKeyBlock(),
                   attention.getQueryBlock(),
                   /*areTransposed=*/true};
  if (memory.size() > 1)
    lists.full = list(1);
  return lists;
}

BlockBits TransposeBlockLists::getBits(KernelBuilder &kb) const {
  attn::AttentionOpInterface attention = op;
  BlockBits bits{kb.kernel.getArgument(memory[0][0]),
                 {},
                 attention.getKeyBlock(),
                 attention.getQueryBlock()};
  if (memory.size() > 1)
    bits.full = kb.kernel.getArgument(memory[1][0]);
  return bits;
}

//===----------------------------------------------------------------------===//
// The kernel that fills it
//===----------------------------------------------------------------------===//

namespace {
/// Transposes one list into a list, or into a bitmap in place of counts.
class ListTransposer {
public:
  ListTransposer(OpBuilder &b, Location loc, BlockLists::List list,
                 BlockLists::List transposed)
      : b(b), loc(loc), list(list), transposed(transposed) {}

  /// Number of groups of key blocks.
  Value emitCount();
  /// Transposes the entries of group `number`.
  void emitGroup(Value number);

private:
  template <typename OpTy, typename... Args>
  Value make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...)->getResult(0);
  }
  Value index(int64_t value) { return make<arith::ConstantIndexOp>(value); }
  Value integer(int64_t value) { return make<arith::ConstantIntOp>(value, 32); }
  Value toInteger(Value of) {
    return make<arith::IndexCastOp>(b.getI32Type(), of);
  }
  Value size(Value memref, int64_t dim) {
    return make<memref::DimOp>(memref, dim);
  }
  RankedTensorType tileType(Type element) {
    return RankedTensorType::get({1, kWordBits}, element,
                                 tile::RegAttr::get(b.getContext()));
  }
  Value widen(Value value) {
    return make<tile::BroadcastOp>(tileType(value.getType()), value);
  }
  Value emitGroups();
  /// The query blocks (a column tile) that list each of the group's key blocks:
  /// a bitmap per key block, i32.
  SmallVector<Value> emitWords(Value queryBlocks);
  /// Appends the query blocks in `word` to a transposed list with `count`
  /// entries; returns the new count.
  Value emitAppended(Value queryBlocks, Value word, Value keyBlock,
                     Value count);
  /// The group's key blocks and a value for each, as column tiles whose first
  /// lanes are valid.
  struct OfKeyBlocks {
    Value values, places, exist;
  };
  OfKeyBlocks emitOfKeyBlocks(ValueRange values);
  void emitCounts(ValueRange counts);
  /// Stores word `number` of each of the group's key blocks.
  void emitBits(ValueRange words, Value number);

  OpBuilder &b;
  Location loc;
  BlockLists::List list, transposed;
  /// Index of the group's first key block; the lane indices.
  Value batch, head, firstBlock, lanes;
};
} // namespace

Value ListTransposer::emitGroups() {
  return make<arith::CeilDivUIOp>(size(transposed.counts, kRowDim),
                                  index(kKeyBlocks));
}

Value ListTransposer::emitCount() {
  Value heads = make<arith::MulIOp>(size(transposed.counts, kBatchDim),
                                    size(transposed.counts, kHeadDim));
  return make<arith::MulIOp>(heads, emitGroups());
}

SmallVector<Value> ListTransposer::emitWords(Value queryBlocks) {
  RankedTensorType type = tileType(b.getI32Type());
  Value width = widen(toInteger(size(list.indices, kEntryDim)));
  Value counts = make<tile::GatherOp>(type, list.counts,
                                      ValueRange{batch, head, queryBlocks},
                                      /*mask=*/Value());
  counts = make<arith::MinSIOp>(counts, width);
  auto hasEntry = [&](Value entry) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, widen(entry), counts);
  };
  SmallVector<Value> inits(1 + kKeyBlocks, integer(0));
  SmallVector<Type> types(inits.size(), b.getI32Type());
  SmallVector<Location> locs(inits.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, inits);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value entry = before->getArgument(0);
  Value some =
      make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                          make<tile::BallotOp>(hasEntry(entry)), integer(0));
  scf::ConditionOp::create(b, loc, some, before->getArguments());

  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  entry = after->getArgument(0);
  Value exists = hasEntry(entry);
  Value number = make<tile::GatherOp>(
      type, list.indices,
      ValueRange{batch, head, queryBlocks,
                 make<arith::IndexCastOp>(b.getIndexType(), entry)},
      /*mask=*/exists);
  SmallVector<Value> next = {make<arith::AddIOp>(entry, integer(1))};
  for (int64_t block = 0; block < kKeyBlocks; ++block) {
    Value wanted = make<arith::AddIOp>(toInteger(firstBlock), integer(block));
    Value isIt =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, number, widen(wanted));
    Value found = make<tile::BallotOp>(make<arith::AndIOp>(isIt, exists));
    next.push_back(make<arith::OrIOp>(after->getArgument(1 + block), found));
  }
  scf::YieldOp::create(b, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front());
}

Value ListTransposer::emitAppended(Value queryBlocks, Value word,
                                   Value keyBlock, Value count) {
  Value bits = widen(word), one = widen(integer(1));
  Value isIn = make<arith::CmpIOp>(
      arith::CmpIPredicate::ne,
      make<arith::AndIOp>(make<arith::ShRUIOp>(bits, lanes), one),
      widen(integer(0)));
  Value lanesBefore = make<arith::SubIOp>(make<arith::ShLIOp>(one, lanes), one);
  Value place = make<arith::AddIOp>(
      make<math::CtPopOp>(make<arith::AndIOp>(bits, lanesBefore)),
      widen(count));
  tile::ScatterOp::create(b, loc, queryBlocks, transposed.indices,
                          ValueRange{batch, head, keyBlock, place}, isIn);
  return make<arith::AddIOp>(count, make<math::CtPopOp>(word));
}

ListTransposer::OfKeyBlocks ListTransposer::emitOfKeyBlocks(ValueRange values) {
  Value all = widen(values.front());
  for (auto [block, value] : llvm::enumerate(values.drop_front()))
    all = make<arith::SelectOp>(make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                    lanes,
                                                    widen(integer(1 + block))),
                                widen(value), all);
  Value isOne = make<arith::CmpIOp>(arith::CmpIPredicate::slt, lanes,
                                    widen(integer(kKeyBlocks)));
  Value places = make<arith::AddIOp>(lanes, widen(toInteger(firstBlock)));
  return {all, places, isOne};
}

void ListTransposer::emitCounts(ValueRange counts) {
  OfKeyBlocks of = emitOfKeyBlocks(counts);
  tile::ScatterOp::create(b, loc, of.values, transposed.counts,
                          ValueRange{batch, head, of.places}, of.exist);
  // Prefetching iterations read the first entry of an empty list.
  Value zero = widen(integer(0));
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, of.values, zero);
  tile::ScatterOp::create(b, loc, zero, transposed.indices,
                          ValueRange{batch, head, of.places, index(0)},
                          make<arith::AndIOp>(of.exist, isEmpty));
}

void ListTransposer::emitBits(ValueRange words, Value number) {
  OfKeyBlocks of = emitOfKeyBlocks(words);
  tile::ScatterOp::create(b, loc, of.values, transposed.counts,
                          ValueRange{batch, head, of.places, number}, of.exist);
}

void ListTransposer::emitGroup(Value number) {
  Value groups = emitGroups(), heads = size(transposed.counts, kHeadDim);
  firstBlock = make<arith::MulIOp>(make<arith::RemUIOp>(number, groups),
                                   index(kKeyBlocks));
  Value headOfAll = make<arith::DivUIOp>(number, groups);
  head = make<arith::RemUIOp>(headOfAll, heads);
  batch = make<arith::DivUIOp>(headOfAll, heads);
  lanes = make<tile::IotaOp>(tileType(b.getI32Type()), 1);

  bool areBits = !transposed.indices;
  // Rows past the last query block are not processed; readers ignore their
  // bits.
  Value queryBlocks =
      areBits ? make<arith::MulIOp>(size(transposed.counts, kEntryDim),
                                    index(kWordBits))
              : size(transposed.indices, kEntryDim);
  SmallVector<Value> inits;
  if (!areBits)
    inits.assign(kKeyBlocks, integer(0));
  auto loop = scf::ForOp::create(b, loc, index(0), queryBlocks,
                                 index(kWordBits), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value first = loop.getInductionVar();
    Value numbers = make<arith::AddIOp>(lanes, widen(toInteger(first)));
    SmallVector<Value> words = emitWords(numbers), next;
    if (areBits)
      emitBits(words, make<arith::DivUIOp>(first, index(kWordBits)));
    for (auto [block, count] : llvm::enumerate(loop.getRegionIterArgs()))
      next.push_back(emitAppended(numbers, words[block],
                                  make<arith::AddIOp>(firstBlock, index(block)),
                                  count));
    if (!areBits)
      scf::YieldOp::create(b, loc, next);
  }
  if (!areBits)
    emitCounts(loop.getResults());
}

void TransposeBlockLists::buildKernel(const KernelBuilder &kb,
                                      launch::AbiOp main) const {
  MLIRContext *context = main.getContext();
  Location loc = main.getLoc();
  OpBuilder b(context);
  // Per list the operands, then the memory; last the operands that define
  // sizes.
  SmallVector<unsigned> arguments;
  SmallVector<Attribute> sizes;
  AffineExpr ctas = getAffineConstantExpr(0, context);
  attn::AttentionOpInterface attention = op;
  unsigned operand = attention.getBlockLists().getBeginOperandIndex();
  for (const auto &transposed : memory) {
    arguments.append({operand, operand + 1});
    llvm::append_range(arguments, transposed);
    operand += 2;
    auto scratch = cast<launch::ScratchMemRefParameterAttr>(
        main.getParameters()[transposed.front()]);
    AffineMap extents = scratch.getExtents().getValue();
    AffineExpr groups = extents.getResult(kBatchDim) *
                        extents.getResult(kHeadDim) *
                        extents.getResult(kRowDim).ceilDiv(kKeyBlocks);
    ctas = ctas + groups.shiftSymbols(extents.getNumSymbols(), sizes.size());
    llvm::append_range(sizes, scratch.getSizes());
  }
  unsigned end = arguments.size();
  arguments.append({kQuery, kKey});
  ScheduleFields fields;
  fields.tileM = kKeyBlocks;
  fields.tileN = kWordBits;
  fields.warps = fields.stages = 1;
  gpu::GPUFuncOp kernel =
      beginHelperKernel(b, kb, main,
                        {"lists", arguments, b.getArrayAttr(sizes), ctas,
                         makePlan(context, fields)});
  Value number =
      gpu::BlockIdOp::create(b, loc, b.getIndexType(), gpu::Dimension::x);
  unsigned ofList = 2 + memory.front().size();
  for (unsigned first = 0; first < end; first += ofList) {
    auto argument = [&](unsigned number) -> Value {
      return number < ofList ? kernel.getArgument(first + number) : Value();
    };
    ListTransposer turning(b, loc, {argument(0), argument(1)},
                           {argument(2), argument(3)});
    // Indices of an earlier list's groups wrap around to above all counts.
    Value count = turning.emitCount();
    Value isMine =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, count);
    auto branch = scf::IfOp::create(b, loc, isMine, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    turning.emitGroup(number);
    b.setInsertionPointAfter(branch);
    number = arith::SubIOp::create(b, loc, number, count);
  }
  gpu::ReturnOp::create(b, loc);
}
