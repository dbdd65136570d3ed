//===- ScalarizeTiles.cpp - Scalar code for tile elements -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coordinate is `base + offset`, where the base belongs to the thread and the
// offset is a constant of the layout. Constants are applied last: a difference
// of two coordinates is a difference of bases plus a constant, and a comparison
// is one of that difference with a constant. So elements share all parts that
// are not constant.
//
// Bases and offsets of coordinates are non-negative, and their sums are
// positions below 2^31: differences of two bases fit in 32 bits.
//
//===----------------------------------------------------------------------===//

#include "Tiles/ScalarizeTiles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fovea;

// Minimum number of elements; shorter vectors fit into the registers.
static constexpr int64_t kLeastElements = 8;
// Comparisons whose results are the bits of one word.
static constexpr int64_t kWordBits = 32;

static warp::ThreadLayoutAttrInterface getLayout(RankedTensorType type) {
  return cast<warp::ThreadLayoutAttrInterface>(type.getEncoding());
}

static bool isShort(RankedTensorType type) {
  return getLayout(type).getNumElements(type.getShape()) < kLeastElements;
}

/// Returns true if a thread holds at least a word of consecutive columns.
static bool holdsRows(RankedTensorType type) {
  return getLayout(type).holdsWholeRows() && type.getDimSize(1) >= kWordBits;
}

bool ElementEmitter::isEmitted(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type && type.getElementType().isInteger() && !isShort(type);
}

/// Returns true if each element of the op's result is computed from the
/// elements at the same position. Excludes bitcasts of floats, which exist as
/// vectors with the floats, and short vectors computed from row statistics.
static bool isComputed(Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumRegions() != 0 ||
      op->getNumResults() != 1 || isa<arith::BitcastOp>(op))
    return false;
  return !isShort(cast<RankedTensorType>(op->getResult(0).getType())) ||
         llvm::none_of(op->getOperandTypes(), [](Type type) {
           return isa<FloatType>(getElementTypeOrSelf(type));
         });
}

SmallVector<int64_t> fovea::getBroadcastRegisters(tile::BroadcastOp op) {
  RankedTensorType result = op.getResult().getType();
  auto source = cast<RankedTensorType>(op.getSource().getType());
  auto layout = getLayout(result);
  std::map<std::pair<int64_t, int64_t>, int64_t> registers;
  auto rows = layout.getOffsets(source.getShape(), 0),
       columns = layout.getOffsets(source.getShape(), 1);
  for (auto [index, pair] : llvm::enumerate(llvm::zip(rows, columns)))
    registers.try_emplace({std::get<0>(pair), std::get<1>(pair)}, index);
  SmallVector<int64_t> sources;
  for (auto [row, column] : llvm::zip(layout.getOffsets(result.getShape(), 0),
                                      layout.getOffsets(result.getShape(), 1)))
    sources.push_back(registers.at({source.getDimSize(0) == 1 ? 0 : row,
                                    source.getDimSize(1) == 1 ? 0 : column}));
  return sources;
}

//===----------------------------------------------------------------------===//
// Elements of tiles
//===----------------------------------------------------------------------===//

Element ElementEmitter::lookup(Value tile, unsigned index) {
  if (!isa<RankedTensorType>(tile.getType()))
    return wrap(b.getRemappedValue(tile));
  if (auto found = written.known.find({tile, index});
      found != written.known.end())
    return found->second;
  Element element = make(tile, index);
  written.known.try_emplace({tile, index}, element);
  return element;
}

Value ElementEmitter::extract(Value vector, unsigned index) {
  DenseElementsAttr splat;
  if (matchPattern(vector, m_Constant(&splat)) && splat.isSplat())
    return getConstant(splat.getSplatValue<TypedAttr>());
  if (auto elements = vector.getDefiningOp<vector::FromElementsOp>())
    return elements.getElements()[index];
  Operation *&op = written.extracted[vector];
  if (!op)
    op = vector::ToElementsOp::create(b, loc, vector);
  return op->getResult(index);
}

Element ElementEmitter::makeConstant(DenseElementsAttr splat) {
  if (!splat.getElementType().isInteger() ||
      splat.getElementType().isInteger(1))
    return wrap(getConstant(splat.getSplatValue<TypedAttr>()));
  return {{}, splat.getSplatValue<APInt>()};
}

Element ElementEmitter::makeIota(tile::IotaOp op, unsigned index) {
  RankedTensorType type = op.getResult().getType();
  SmallVector<int64_t> &offsets = written.sources[op];
  if (offsets.empty())
    offsets = getLayout(type).getOffsets(type.getShape(), op.getDim());
  return {coordinates.getBase(op.getResult()),
          APInt(type.getElementTypeBitWidth(), offsets[index]),
          /*isShared=*/true};
}

ArrayRef<int64_t> ElementEmitter::getSources(tile::BroadcastOp op) {
  SmallVector<int64_t> &registers = written.sources[op];
  if (registers.empty())
    registers = getBroadcastRegisters(op);
  return registers;
}

Element ElementEmitter::make(Value tile, unsigned index) {
  Operation *op = tile.getDefiningOp();
  DenseElementsAttr splat;
  if (matchPattern(tile, m_Constant(&splat)) && splat.isSplat())
    return makeConstant(splat);
  if (auto iota = dyn_cast_or_null<tile::IotaOp>(op))
    return makeIota(iota, index);
  if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(op)) {
    Value source = broadcast.getSource();
    return isa<RankedTensorType>(source.getType())
               ? lookup(source, getSources(broadcast)[index])
               : lookup(source, 0);
  }
  if (op && isComputed(op))
    return apply(op, llvm::map_to_vector(op->getOperands(), [&](Value operand) {
                   return lookup(operand, index);
                 }));
  return wrap(extract(b.getRemappedValue(tile), index));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static bool isExact(arith::IntegerOverflowFlags flags) {
  return bitEnumContainsAll(flags, arith::IntegerOverflowFlags::nsw);
}

static bool isFlag(Operation *op) {
  return getElementTypeOrSelf(op->getResult(0).getType()).isInteger(1);
}

Element ElementEmitter::apply(Operation *op, ArrayRef<Element> operands) {
  llvm::SaveAndRestore<Location> place(loc, op->getLoc());
  using Result = std::optional<Element>;
  auto getConstantOperand = [&]() -> std::optional<APInt> {
    if (operands[1].base)
      return std::nullopt;
    return operands[1].offset;
  };
  Result result =
      TypeSwitch<Operation *, Result>(op)
          .Case([&](arith::AddIOp sum) {
            return add(operands[0], operands[1],
                       isExact(sum.getOverflowFlags()));
          })
          .Case([&](arith::SubIOp difference) {
            return subtract(operands[0], operands[1],
                            isExact(difference.getOverflowFlags()));
          })
          .Case([&](arith::DivUIOp) -> Result {
            auto by = getConstantOperand();
            if (!by || !by->isPowerOf2())
              return std::nullopt;
            return shiftRight(operands[0], by->logBase2());
          })
          .Case([&](arith::RemUIOp) -> Result {
            auto by = getConstantOperand();
            if (!by || !by->isPowerOf2())
              return std::nullopt;
            return mask(operands[0], *by - 1);
          })
          .Case([&](arith::ShRUIOp) -> Result {
            auto by = getConstantOperand();
            if (!by || by->uge(by->getBitWidth()))
              return std::nullopt;
            return shiftRight(operands[0], by->getZExtValue());
          })
          .Case([&](arith::OrIOp) -> Result {
            return combineBits<arith::OrIOp>(operands[0], operands[1]);
          })
          .Case([&](arith::AndIOp) -> Result {
            if (isFlag(op))
              return combineBits<arith::AndIOp>(operands[0], operands[1]);
            auto bits = getConstantOperand();
            return bits ? mask(operands[0], *bits) : std::nullopt;
          })
          .Case([&](arith::CmpIOp compared) {
            auto tile = cast<RankedTensorType>(compared.getType());
            return compare(compared.getPredicate(), operands[0], operands[1],
                           holdsRows(tile));
          })
          .Default([](Operation *) { return std::nullopt; });
  return result ? *result : clone(op, operands);
}

Element ElementEmitter::clone(Operation *op, ArrayRef<Element> operands) {
  SmallVector<Value> values = llvm::map_to_vector(
      operands, [&](const Element &element) { return materialize(element); });
  return wrap(getOnce(op, 0, values, [&]() {
    OperationState state(op->getLoc(), op->getName(), values,
                         getElementTypeOrSelf(op->getResult(0).getType()),
                         op->getAttrs());
    return b.create(state)->getResult(0);
  }));
}

bool ElementEmitter::hasNonNegativeBase(const Element &x) {
  return x.base && x.isExact && coordinates.bits.get(x.base).isNonNegative();
}

bool ElementEmitter::isCoordinate(const Element &x) {
  return hasNonNegativeBase(x) && x.offset.isNonNegative();
}

bool ElementEmitter::isDisjoint(const Element &x) {
  return x.isShared && x.offset.isSubsetOf(coordinates.bits.get(x.base).Zero);
}

std::optional<Element> ElementEmitter::add(const Element &x, const Element &y,
                                           bool isExact) {
  if (!x.base)
    return y.base ? add(y, x, isExact) : std::nullopt;
  bool overflows;
  APInt offset = x.offset.sadd_ov(y.offset, overflows);
  if (overflows)
    return std::nullopt;
  if (!y.base)
    return Element{x.base, offset, x.isShared, x.isExact && isExact};
  if (!x.isShared && !y.isShared)
    return std::nullopt;
  isExact &= isCoordinate(x) && isCoordinate(y);
  return Element{emit<arith::AddIOp>(y.base, x.base, isExact), offset,
                 /*isShared=*/true, isExact};
}

std::optional<Element>
ElementEmitter::subtract(const Element &x, const Element &y, bool isExact) {
  bool overflows;
  APInt offset = x.offset.ssub_ov(y.offset, overflows);
  if (!x.base || overflows || !(x.isShared || y.isShared || !y.base))
    return std::nullopt;
  if (!y.base) {
    isExact |= isCoordinate(x) && y.offset.isNonNegative();
    return Element{x.base, offset, x.isShared, x.isExact && isExact};
  }
  isExact = isCoordinate(x) && isCoordinate(y);
  return Element{emit<arith::SubIOp>(x.base, y.base, isExact), offset,
                 /*isShared=*/true, isExact};
}

std::optional<Element> ElementEmitter::shiftRight(const Element &x,
                                                  unsigned by) {
  if (!isDisjoint(x))
    return std::nullopt;
  APInt bits = APInt::getAllOnes(x.offset.getBitWidth()).shl(by);
  APInt offset = x.offset.lshr(by);
  if (bits.isSubsetOf(coordinates.bits.get(x.base).Zero))
    return Element{{}, offset};
  Value distance = getConstant(APInt(bits.getBitWidth(), by));
  return Element{emit<arith::ShRUIOp>(x.base, distance), offset,
                 /*isShared=*/true};
}

std::optional<Element> ElementEmitter::mask(const Element &x,
                                            const APInt &bits) {
  if (!isDisjoint(x))
    return std::nullopt;
  APInt offset = x.offset & bits;
  if (bits.isSubsetOf(coordinates.bits.get(x.base).Zero))
    return Element{{}, offset};
  return Element{emit<arith::AndIOp>(x.base, getConstant(bits)), offset,
                 /*isShared=*/true};
}

static bool isUnsigned(arith::CmpIPredicate predicate) {
  return predicate >= arith::CmpIPredicate::ult;
}

static bool isEquality(arith::CmpIPredicate predicate) {
  return predicate == arith::CmpIPredicate::eq ||
         predicate == arith::CmpIPredicate::ne;
}

/// For non-negative numbers signed and unsigned order agree.
static arith::CmpIPredicate getSigned(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::ult:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::ule:
    return arith::CmpIPredicate::sle;
  case arith::CmpIPredicate::ugt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::uge:
    return arith::CmpIPredicate::sge;
  default:
    return predicate;
  }
}

/// Compares coordinates of a row with a scalar of any sign: a scalar that is
/// too small for any of them is replaced by the largest such one, so that the
/// difference does not overflow.
std::optional<Element>
ElementEmitter::compareWithBound(arith::CmpIPredicate predicate,
                                 const Element &x, const Element &y) {
  bool isStrict = predicate == arith::CmpIPredicate::slt ||
                  predicate == arith::CmpIPredicate::sge;
  if (!x.isShared || !isCoordinate(x) || !y.base || !y.offset.isZero() ||
      y.offset.getBitWidth() != kWordBits || isEquality(predicate) ||
      isUnsigned(predicate) || hasNonNegativeBase(y))
    return std::nullopt;
  Value bound = emit<arith::MaxSIOp>(
      y.base, getConstant(APInt(kWordBits, isStrict ? 0 : -1, true)));
  Value shared = emit<arith::SubIOp>(x.base, bound);
  return wrap(emitBitTest(predicate, shared, -x.offset));
}

std::optional<Element> ElementEmitter::compare(arith::CmpIPredicate predicate,
                                               const Element &x,
                                               const Element &y, bool inRow) {
  // Words for a rarely executed branch would take registers from the others.
  if (inRow && !isa<scf::IfOp>(b.getInsertionBlock()->getParentOp()))
    if (std::optional<Element> test = compareWithBound(predicate, x, y))
      return test;
  // LLVM simplifies comparisons of `base | offset`.
  if ((!x.isShared && !y.isShared) || (!y.base && isDisjoint(x)))
    return std::nullopt;
  bool overflows;
  APInt bound = y.offset.ssub_ov(x.offset, overflows);
  if (!x.base || overflows)
    return std::nullopt;
  // Equality is correct even if sums overflow.
  bool isComparable =
      isEquality(predicate) ||
      (y.base ? hasNonNegativeBase(x) && hasNonNegativeBase(y) : x.isExact);
  if (isUnsigned(predicate))
    isComparable &= isCoordinate(x) && y.offset.isNonNegative();
  if (!isComparable)
    return std::nullopt;
  Value shared = x.base;
  if (y.base) {
    bool isExact = hasNonNegativeBase(x) && hasNonNegativeBase(y);
    shared = emit<arith::SubIOp>(x.base, y.base, isExact);
  }
  predicate = getSigned(predicate);
  if (inRow && !isEquality(predicate) && bound.getBitWidth() == kWordBits)
    return wrap(emitBitTest(predicate, shared, bound));
  return wrap(emitCompare(predicate, shared, bound));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Element ElementEmitter::wrap(Value value) {
  Type type = value.getType();
  if (!type.isInteger() || type.isInteger(1))
    return {value};
  return {value, APInt::getZero(type.getIntOrFloatBitWidth())};
}

Value ElementEmitter::materialize(const Element &x) {
  if (!x.base)
    return getConstant(x.offset);
  if (x.offset.isZero())
    return x.base;
  Value offset = getConstant(x.offset);
  if (isDisjoint(x))
    return getOnce(TypeID::get<LLVM::OrOp>().getAsOpaquePointer(), 0,
                   {x.base, offset}, [&]() -> Value {
                     return LLVM::OrOp::create(b, loc, x.base, offset,
                                               /*isDisjoint=*/true);
                   });
  return emit<arith::AddIOp>(x.base, offset, x.isExact);
}

Value ElementEmitter::getConstant(TypedAttr value) {
  Value &constant = written.constants[value];
  if (!constant)
    constant = arith::ConstantOp::create(b, loc, value);
  return constant;
}

Value ElementEmitter::getConstant(const APInt &value) {
  return getConstant(
      b.getIntegerAttr(b.getIntegerType(value.getBitWidth()), value));
}

Value ElementEmitter::getOnce(const void *kind, unsigned detail,
                              ArrayRef<Value> operands,
                              function_ref<Value()> make) {
  WrittenElements::Key key{kind, detail, {}};
  for (Value operand : operands)
    std::get<2>(key).push_back(operand.getAsOpaquePointer());
  Value &value = written.emitted[key];
  if (!value)
    value = make();
  return value;
}

template <typename Op>
Value ElementEmitter::emit(Value x, Value y) {
  return getOnce(TypeID::get<Op>().getAsOpaquePointer(), 0, {x, y},
                 [&]() -> Value { return Op::create(b, loc, x, y); });
}

template <typename Op>
Value ElementEmitter::emit(Value x, Value y, bool isExact) {
  auto flags = isExact ? arith::IntegerOverflowFlags::nsw
                       : arith::IntegerOverflowFlags::none;
  return getOnce(TypeID::get<Op>().getAsOpaquePointer(), isExact, {x, y},
                 [&]() -> Value { return Op::create(b, loc, x, y, flags); });
}

Value ElementEmitter::emitCompare(arith::CmpIPredicate predicate, Value x,
                                  const APInt &y) {
  Value bound = getConstant(y);
  return getOnce(TypeID::get<arith::CmpIOp>().getAsOpaquePointer(),
                 unsigned(predicate), {x, bound}, [&]() -> Value {
                   return arith::CmpIOp::create(b, loc, predicate, x, bound);
                 });
}

Value ElementEmitter::emitBitTest(arith::CmpIPredicate predicate, Value x,
                                  const APInt &y) {
  // With y = 32 w + k and s = x - 32 w, `x <= y` is `k >= s`: the word has ones
  // from bit s on, all of them if s is negative, and none from 32 on. The other
  // predicates shift by one more or are the complement.
  int64_t bit = y.urem(kWordBits);
  bool isBelow = predicate == arith::CmpIPredicate::sle ||
                 predicate == arith::CmpIPredicate::slt;
  bool shiftsMore = predicate == arith::CmpIPredicate::slt ||
                    predicate == arith::CmpIPredicate::sge;
  int64_t start = y.getSExtValue() - bit - shiftsMore;
  Value first = emit<arith::SubIOp>(
      x, getConstant(APInt(kWordBits, start, /*isSigned=*/true)));
  // LLVM's shifts are undefined for 32 and more, those of PTX are not.
  Value word = getOnce(
      TypeID::get<LLVM::InlineAsmOp>().getAsOpaquePointer(), 0, {first},
      [&]() -> Value {
        Value shift = arith::MaxSIOp::create(b, loc, first,
                                             getConstant(APInt(kWordBits, 0)));
        return LLVM::InlineAsmOp::create(
                   b, loc, TypeRange{b.getI32Type()}, ValueRange{shift},
                   "shl.b32 $0, -1, $1;", "=r,r", /*has_side_effects=*/false,
                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                   /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr)
            .getResult(0);
      });
  if (!isBelow)
    word = emit<arith::XOrIOp>(word, getConstant(APInt::getAllOnes(kWordBits)));
  return emitBit(word, bit);
}

Value ElementEmitter::emitBit(Value word, int64_t bit) {
  Value single = getConstant(APInt::getOneBitSet(kWordBits, bit));
  Value isSet =
      emitCompare(arith::CmpIPredicate::ne, emit<arith::AndIOp>(word, single),
                  APInt(kWordBits, 0));
  written.bits[isSet] = {word, bit};
  return isSet;
}

template <typename Op>
std::optional<Element> ElementEmitter::combineBits(const Element &x,
                                                   const Element &y) {
  auto left = written.bits.find(x.base), right = written.bits.find(y.base);
  if (left == written.bits.end() || right == written.bits.end() ||
      left->second.second != right->second.second)
    return std::nullopt;
  int64_t bit = left->second.second;
  return wrap(emitBit(emit<Op>(left->second.first, right->second.first), bit));
}
