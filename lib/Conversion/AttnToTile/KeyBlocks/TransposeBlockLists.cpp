//===- TransposeBlockLists.cpp - Lists of blocks, by keys -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has some blocks of keys. It looks at 32 blocks of queries at a time, a
// lane at each, and walks their rows of the list: a vote on each entry says
// which of the 32 list a block of keys. What was found before, and the lanes
// before one's own, say where in the turned list a block of queries goes. So
// nothing is added up in memory, and the order is the same each time.
//
// Counts and indices are a caller's data, which nobody checked: counts are
// clamped to the row, and no index but that of a block of keys is looked for.
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/TransposeBlockLists.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

// Blocks of keys of a warp, and blocks of queries that it looks at together.
static constexpr int64_t kKeyBlocks = 4, kWordBits = tile::BallotOp::kColumns;
static constexpr unsigned kQuery = 0, kKey = 1;
static constexpr int64_t kBatchDim = 0, kHeadDim = 1, kRowDim = 2,
                         kEntryDim = 3, kSequenceDim = 2;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Extents of memory with an entry for each block of keys.
static SmallVector<AffineExpr> getExtents(attn::AttentionOpInterface op,
                                          SizeExpressions &sizes) {
  return {sizes.getSize(kBatchDim), sizes.getSize(kHeadDim),
          sizes.getSize(kKey, kSequenceDim).ceilDiv(op.getKeyBlock())};
}

/// Memory for counts and indices of a list.
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

/// Memory for its bits. One word at least: it is read even if there is no
/// query.
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
                                 attn::AttentionOpInterface op, bool asBits) {
  TransposeBlockLists turned(op);
  for (unsigned list = 0; list < op.getBlockLists().size(); list += 2)
    turned.memory.push_back(asBits ? declareBits(kb, op, list)
                                   : declareList(kb, op, list));
  return turned;
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
                   /*areTurned=*/true};
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
/// Turns one list: into a list, or into bits, which lie in place of counts.
class ListTurning {
public:
  ListTurning(OpBuilder &b, Location loc, BlockLists::List list,
              BlockLists::List turned)
      : b(b), loc(loc), list(list), turned(turned) {}

  /// How many groups of blocks of keys there are.
  Value emitCount();
  /// Turns what is listed of group `number`.
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
  /// Which of the blocks of queries, a column tile, list each of the group's
  /// blocks of keys: a bit for each, i32.
  SmallVector<Value> emitWords(Value queryBlocks);
  /// Adds the blocks of queries that `word` has to a turned list that has
  /// `count` of them; gives how many it has then.
  Value emitAppended(Value queryBlocks, Value word, Value keyBlock,
                     Value count);
  /// The blocks of keys, and `values` of them, column tiles of which the first
  /// lanes count.
  struct OfKeyBlocks {
    Value values, places, exist;
  };
  OfKeyBlocks emitOfKeyBlocks(ValueRange values);
  void emitCounts(ValueRange counts);
  /// Word `number` of each of the group's blocks of keys.
  void emitBits(ValueRange words, Value number);

  OpBuilder &b;
  Location loc;
  BlockLists::List list, turned;
  /// Number of the group's first block of keys; the numbers of lanes.
  Value batch, head, firstBlock, lanes;
};
} // namespace

Value ListTurning::emitGroups() {
  return make<arith::CeilDivUIOp>(size(turned.counts, kRowDim),
                                  index(kKeyBlocks));
}

Value ListTurning::emitCount() {
  Value heads = make<arith::MulIOp>(size(turned.counts, kBatchDim),
                                    size(turned.counts, kHeadDim));
  return make<arith::MulIOp>(heads, emitGroups());
}

SmallVector<Value> ListTurning::emitWords(Value queryBlocks) {
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

Value ListTurning::emitAppended(Value queryBlocks, Value word, Value keyBlock,
                                Value count) {
  Value bits = widen(word), one = widen(integer(1));
  Value isIn = make<arith::CmpIOp>(
      arith::CmpIPredicate::ne,
      make<arith::AndIOp>(make<arith::ShRUIOp>(bits, lanes), one),
      widen(integer(0)));
  Value lanesBefore = make<arith::SubIOp>(make<arith::ShLIOp>(one, lanes), one);
  Value place = make<arith::AddIOp>(
      make<math::CtPopOp>(make<arith::AndIOp>(bits, lanesBefore)),
      widen(count));
  tile::ScatterOp::create(b, loc, queryBlocks, turned.indices,
                          ValueRange{batch, head, keyBlock, place}, isIn);
  return make<arith::AddIOp>(count, make<math::CtPopOp>(word));
}

ListTurning::OfKeyBlocks ListTurning::emitOfKeyBlocks(ValueRange values) {
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

void ListTurning::emitCounts(ValueRange counts) {
  OfKeyBlocks of = emitOfKeyBlocks(counts);
  tile::ScatterOp::create(b, loc, of.values, turned.counts,
                          ValueRange{batch, head, of.places}, of.exist);
  // Whoever looks ahead reads the first entry of an empty list.
  Value zero = widen(integer(0));
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, of.values, zero);
  tile::ScatterOp::create(b, loc, zero, turned.indices,
                          ValueRange{batch, head, of.places, index(0)},
                          make<arith::AndIOp>(of.exist, isEmpty));
}

void ListTurning::emitBits(ValueRange words, Value number) {
  OfKeyBlocks of = emitOfKeyBlocks(words);
  tile::ScatterOp::create(b, loc, of.values, turned.counts,
                          ValueRange{batch, head, of.places, number}, of.exist);
}

void ListTurning::emitGroup(Value number) {
  Value groups = emitGroups(), heads = size(turned.counts, kHeadDim);
  firstBlock = make<arith::MulIOp>(make<arith::RemUIOp>(number, groups),
                                   index(kKeyBlocks));
  Value headOfAll = make<arith::DivUIOp>(number, groups);
  head = make<arith::RemUIOp>(headOfAll, heads);
  batch = make<arith::DivUIOp>(headOfAll, heads);
  lanes = make<tile::IotaOp>(tileType(b.getI32Type()), 1);

  bool areBits = !turned.indices;
  // Rows of the list that stand for no query are not looked at; bits of such
  // are not either, by who reads them.
  Value queryBlocks = areBits
                          ? make<arith::MulIOp>(size(turned.counts, kEntryDim),
                                                index(kWordBits))
                          : size(turned.indices, kEntryDim);
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
  // For each list the operands, then the memory; last, what sizes are of.
  SmallVector<unsigned> arguments;
  SmallVector<Attribute> sizes;
  AffineExpr ctas = getAffineConstantExpr(0, context);
  attn::AttentionOpInterface attention = op;
  unsigned operand = attention.getBlockLists().getBeginOperandIndex();
  for (const auto &turned : memory) {
    arguments.append({operand, operand + 1});
    llvm::append_range(arguments, turned);
    operand += 2;
    auto scratch = cast<launch::ScratchMemRefParameterAttr>(
        main.getParameters()[turned.front()]);
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
    ListTurning turning(b, loc, {argument(0), argument(1)},
                        {argument(2), argument(3)});
    // Numbers of the groups of a list before are above all counts, unsigned.
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
