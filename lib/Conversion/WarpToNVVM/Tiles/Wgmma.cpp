//===- Wgmma.cpp - Dots as wgmma.mma_async ----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers dots of warp groups with operands in shared memory to wgmma
// instructions, with their descriptors, waits and register constraints. One dot
// is one inline assembly text, so that its fence, instructions and commit stay
// together.
//
//===----------------------------------------------------------------------===//

#include "Tiles/PanelWalk.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

// wgmma.mma_async.m64nNkK reduces over 32 bytes of a row (PTX ISA, asynchronous
// warpgroup instructions).
static constexpr int64_t kRows = 64, kStepBytes = PanelWalk::kStepBytes,
                         kMostColumns = 256;
// Instructions of a dot that is too wide for one start at whole panels of any
// width for 16-bit elements. Columns of 8-bit elements are rows of the buffer.
static constexpr int64_t kPartColumns = 64;
// Registers that an instruction needs besides its accumulators, of those that
// the launch gives a thread. With fewer, ptxas rejects it (C7602), whatever the
// role's budget.
static constexpr int64_t kBesideAccumulators = 32;
// Minimum number of values before a wait for which combining their signs pays
// off.
static constexpr size_t kManyValues = 16;
// Maximum count of wgmma.wait_group.
static constexpr int64_t kMostInFlight = 7;
// Addresses in a descriptor are in units of 16 bytes.
static constexpr int64_t kUnit = PanelWalk::kUnit,
                         kAddressMask = PanelWalk::kAddressMask;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// The name of an element type in PTX; empty if wgmma does not multiply it.
static StringRef getTypeName(Type element) {
  return llvm::TypeSwitch<Type, StringRef>(element)
      .Case([](Float16Type) { return "f16"; })
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float8E4M3FNType) { return "e4m3"; })
      .Case([](Float8E5M2Type) { return "e5m2"; })
      .Default([](Type) { return ""; });
}

namespace {
/// The PTX text of one dot with its numbered operands.
class ProductText {
public:
  /// `most` is the maximum number of columns per instruction.
  ProductText(int64_t columns, int64_t most, Type element, bool transposeA,
              bool transposeB)
      : columns(columns), most(most), type(getTypeName(element)),
        elementBytes(getBytes(element)), transposeA(transposeA),
        transposeB(transposeB) {}

  std::string get(int64_t steps, bool startsAtZero, int64_t words,
                  const PanelWalk *left, const PanelWalk &right) const;

private:
  static std::string list(int64_t first, int64_t count);
  std::string getOrders(bool hasLeft) const;
  std::string getColumns(int64_t first, int64_t count, int64_t steps,
                         bool startsAtZero, int64_t words,
                         const PanelWalk *left, const PanelWalk &right) const;

  int64_t columns, most;
  StringRef type;
  int64_t elementBytes;
  bool transposeA, transposeB;
};

struct WgmmaDotLowering : OpConversionPattern<warp::DotOp> {
  WgmmaDotLowering(const TypeConverter &converter, MLIRContext *context,
                   const Specialization &roles)
      : OpConversionPattern(converter, context), roles(roles) {}

  LogicalResult
  matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  LogicalResult check(warp::DotOp op) const;
  FailureOr<Value> emitDescriptor(OpBuilder &b, warp::DotOp op, Value memref,
                                  const PanelWalk &walk, bool isLeft) const;

  const Specialization &roles;
};

/// Warp groups own contiguous rows in their order, if the layout distributes
/// rows over them.
struct HeldRowsLowering : OpConversionPattern<tile::OwnedRowsOp> {
  HeldRowsLowering(const TypeConverter &converter, MLIRContext *context,
                   const Specialization &roles)
      : OpConversionPattern(converter, context), roles(roles) {}

  LogicalResult
  matchAndRewrite(tile::OwnedRowsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  const Specialization &roles;
};

struct DotWaitLowering : OpConversionPattern<warp::DotWaitOp> {
  DotWaitLowering(const TypeConverter &converter, MLIRContext *context,
                  const WaitCounts &counts, int64_t sharedMemory)
      : OpConversionPattern(converter, context), counts(counts),
        sharedMemory(sharedMemory) {}

  LogicalResult
  matchAndRewrite(warp::DotWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  void emitKeepBeforeWait(OpBuilder &b, Location loc, ValueRange tiles) const;

  const WaitCounts &counts;
  int64_t sharedMemory;
};

/// The accumulators stay in their registers, so the wait has no results.
struct AwaitReadsLowering : OpConversionPattern<warp::AwaitReadsOp> {
  AwaitReadsLowering(const TypeConverter &converter, MLIRContext *context,
                     const WaitCounts &counts)
      : OpConversionPattern(converter, context), counts(counts) {}

  LogicalResult
  matchAndRewrite(warp::AwaitReadsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  const WaitCounts &counts;
};

struct BeginSumLowering : OpConversionPattern<warp::BeginSumOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::BeginSumOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getTile());
    return success();
  }
};
} // namespace

std::string ProductText::list(int64_t first, int64_t count) {
  std::string text;
  for (int64_t index = first; index < first + count; ++index)
    text += (index == first ? "$" : ", $") + std::to_string(index);
  return text;
}

/// The orders of the operands in shared memory. Operands of 8 bits have one
/// order only, and no immediates (PTX ISA, wgmma.mma_async).
std::string ProductText::getOrders(bool hasLeft) const {
  if (elementBytes == 1)
    return "";
  return std::string(!hasLeft     ? ""
                     : transposeA ? ", 1"
                                  : ", 0") +
         (transposeB ? ", 0" : ", 1");
}

/// The text of all k-steps for `count` columns from `first` on.
std::string ProductText::getColumns(int64_t first, int64_t count, int64_t steps,
                                    bool startsAtZero, int64_t words,
                                    const PanelWalk *left,
                                    const PanelWalk &right) const {
  int64_t registers = columns / 2;
  // Operands: outputs; as many tied inputs unless the dot starts at zero; the
  // first operand's words or descriptor; the second operand's descriptor.
  int64_t leftAt = startsAtZero ? registers : 2 * registers;
  int64_t rightAt = leftAt + (left ? 1 : words);
  std::string shape = "wgmma.mma_async.sync.aligned.m64n" +
                      std::to_string(count) + "k" +
                      std::to_string(kStepBytes / elementBytes) + ".f32." +
                      type.str() + "." + type.str();
  std::string text;
  for (int64_t step = 0; step < steps; ++step) {
    auto add = [&](StringRef name, int64_t operand, int64_t advance) {
      text += "add.s64 " + name.str() + ", $" + std::to_string(operand) + ", " +
              std::to_string(advance) + ";\n\t";
    };
    std::string operand = "a";
    if (left)
      add("a", leftAt, left->getAdvanceTo(step));
    else
      operand = "{" + list(leftAt + 4 * step, 4) + "}";
    add("b", rightAt, right.getAdvanceTo(step, first));
    text += shape + " {" + list(first / 2, count / 2) + "}, " + operand +
            ", b, " + (startsAtZero && step == 0 ? "z" : "o") + ", 1, 1" +
            getOrders(left) + ";\n\t";
  }
  return text;
}

/// Fence, all k-steps and commit in one text: no instruction can be placed in
/// between, and LLVM never sees intermediate accumulators. The registers of a
/// wide dot are those of its parts, in order.
std::string ProductText::get(int64_t steps, bool startsAtZero, int64_t words,
                             const PanelWalk *left,
                             const PanelWalk &right) const {
  std::string text = "{\n\t.reg .b64 a, b;\n\t.reg .pred z, o;\n\t"
                     "setp.ne.b32 z, 0, 0;\n\tsetp.eq.b32 o, 0, 0;\n\t"
                     "wgmma.fence.sync.aligned;\n\t";
  int64_t part = columns;
  if (columns > most)
    part = llvm::alignTo(llvm::divideCeil(columns, 2), kPartColumns);
  for (int64_t first = 0; first < columns; first += part)
    text += getColumns(first, std::min(part, columns - first), steps,
                       startsAtZero, words, left, right);
  return text + "wgmma.commit_group.sync.aligned;\n\t}";
}

/// A descriptor's upper half. The swizzle follows the panel's row: layout type
/// 1, 2 or 3 for 128, 64 or 32 bytes.
static int64_t getUpperHalf(const PanelWalk &walk) {
  int64_t swizzle = walk.rowBytes == 128 ? 1 : walk.rowBytes == 64 ? 2 : 3;
  return swizzle << 30 | walk.getStride();
}

FailureOr<Value> WgmmaDotLowering::emitDescriptor(OpBuilder &b, warp::DotOp op,
                                                  Value memref,
                                                  const PanelWalk &walk,
                                                  bool isLeft) const {
  FailureOr<SharedView> view = getSharedView(op, memref);
  if (failed(view))
    return failure();
  Location loc = op.getLoc();
  // A warp group's rows of the result: rows of the buffer, or columns, one
  // panel of them.
  int64_t ofGroup =
      walk.sumAlongColumns ? kRows * walk.rowBytes : walk.getPanelBytes();
  // Only the lower half differs between stages, so one register suffices.
  Value lower = emitLowerHalf(b, loc, *view, walk, *roles.getRole(op),
                              isLeft ? ofGroup : 0);
  return arith::OrIOp::create(
             b, loc, arith::ExtUIOp::create(b, loc, b.getI64Type(), lower),
             emitI64(b, loc, getUpperHalf(walk) << 32))
      .getResult();
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

static void append(std::string &constraints, StringRef constraint,
                   int64_t count = 1) {
  for (int64_t index = 0; index < count; ++index) {
    if (!constraints.empty())
      constraints += ",";
    constraints += constraint;
  }
}

/// Constraints of `count` outputs with tied inputs, all of one kind.
static std::string getTied(StringRef kind, int64_t count) {
  std::string constraints;
  append(constraints, ("=" + kind).str(), count);
  for (int64_t index = 0; index < count; ++index)
    append(constraints, std::to_string(index));
  return constraints;
}

static SmallVector<Value> toElements(OpBuilder &b, Location loc, Value vector) {
  auto elements = vector::ToElementsOp::create(b, loc, vector);
  return SmallVector<Value>(elements.getResults());
}

/// Elements as 32-bit words, in layout order.
static SmallVector<Value> toWords(OpBuilder &b, Location loc, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  auto words = VectorType::get({bits / 32}, b.getI32Type());
  return toElements(b, loc, LLVM::BitcastOp::create(b, loc, words, vector));
}

/// Passes a tile through an assembly text, each register tied to itself. 32-bit
/// registers only.
static Value emitThrough(OpBuilder &b, Location loc, StringRef text,
                         Value vector) {
  auto type = cast<VectorType>(vector.getType());
  bool isNarrow = type.getElementTypeBitWidth() < 32;
  SmallVector<Value> registers =
      isNarrow ? toWords(b, loc, vector) : toElements(b, loc, vector);
  Type element = registers.front().getType();
  std::string constraints =
      getTied(element.isF32() ? "f" : "r", registers.size());
  append(constraints, "~{memory}");
  SmallVector<Type> types(registers.size(), element);
  SmallVector<Value> results =
      emitAsm(b, loc, text, constraints, registers, types);
  auto packed = VectorType::get({int64_t(results.size())}, element);
  Value tile = vector::FromElementsOp::create(b, loc, packed, results);
  return isNarrow ? LLVM::BitcastOp::create(b, loc, type, tile).getResult()
                  : tile;
}

/// Waits until at most `younger` dots are outstanding.
static std::string getWaitText(int64_t younger) {
  return "wgmma.wait_group.sync.aligned " +
         std::to_string(std::min(younger, kMostInFlight)) + ";";
}

/// Waits for a tile that is used from here on. The tile is a result of the
/// wait, so that no use moves before it.
static Value emitWait(OpBuilder &b, Location loc, int64_t younger, Value tile) {
  return emitThrough(b, loc, getWaitText(younger), tile);
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

/// Returns true if the first operand, in registers, has uses after the issue.
static bool isReadAfterIssue(warp::DotOp op) {
  return op.getAsync() &&
         llvm::any_of(op.getA().getUsers(), [&](Operation *user) {
           Operation *place = op->getBlock()->findAncestorOpInBlock(*user);
           return place && op->isBeforeInBlock(place);
         });
}

/// Extent of a dot's reduction dimension.
static int64_t getSum(warp::DotOp op) {
  return cast<ShapedType>(op.getA().getType())
      .getDimSize(op.getTransposeA() ? 0 : 1);
}

/// Elements that one instruction reduces over.
static int64_t getStep(warp::DotOp op) {
  return kStepBytes / getBytes(op.getB().getType().getElementType());
}

LogicalResult WgmmaDotLowering::check(warp::DotOp op) const {
  const Role *role = roles.getRole(op);
  if (!role || role->isSingleWarp)
    return op.emitOpError("wgmma needs a role of whole warp groups");
  auto layout = cast<warp::WgmmaAttr>(op.getTileType().getEncoding());
  int64_t warps = role->warps * roles.clusterSize;
  if (warps != kGroupWarps * layout.getGroups())
    return op.emitOpError("needs tiles of as many warp groups as its role has: "
                          "found tiles of ")
           << layout.getGroups() << " warp groups in role '"
           << role->name.getValue() << "' of " << warps << " warps";
  Type element = op.getB().getType().getElementType();
  if (getTypeName(element).empty())
    return op.emitOpError(
               "wgmma multiplies f16, bf16, f8E4M3FN or f8E5M2, found ")
           << element;
  if (getBytes(element) == 1 && (op.getTransposeA() || !op.getTransposeB()))
    return op.emitOpError("wgmma sums 8-bit operands along their columns: "
                          "expected 'transpose_b' and no 'transpose_a', found ")
           << op.getA().getType() << " and " << op.getB().getType();
  int64_t columns = op.getTileType().getDimSize(1);
  int64_t sum = getSum(op), step = getStep(op);
  if (op.getTileType().getDimSize(0) != kRows * layout.getGroups() ||
      columns % 8 != 0 || columns > kMostColumns || sum % step != 0)
    return op.emitOpError("wgmma needs ")
           << kRows << " rows a warp group, a multiple of 8 columns up to "
           << kMostColumns << " and a sum over a multiple of " << step
           << ", found " << op.getTileType() << " and a sum over " << sum;
  if (auto left = dyn_cast<MemRefType>(op.getA().getType())) {
    if (op.getTransposeA() && warp::getPanelColumns(left) != kRows)
      return op.emitOpError("wgmma reads a transposed first operand in panels "
                            "of ")
             << kRows << " columns, found " << left;
    if (int64_t first = op.getFirstRow().value_or(0); first % kRows != 0)
      return op.emitOpError("wgmma needs a first row that is a multiple of ")
             << kRows << ", found " << first;
  }
  if (int64_t first = op.getFirstColumn().value_or(0),
      panel = warp::getPanelColumns(op.getB().getType());
      first % panel != 0)
    return op.emitOpError("wgmma needs a first column that is a multiple "
                          "of ")
           << panel << ", found " << first;
  if (op.getOnes() && op.getOnes().getType().getDimSize(0) < step)
    return op.emitOpError("wgmma needs ")
           << step << " rows of ones, found " << op.getOnes().getType();
  // A buffer's rows are the result's rows or columns, or the reduction
  // dimension.
  assert(op.getB().getType().getDimSize(0) % PanelWalk::kPatternRows == 0);
  return success();
}

/// Bytes from the second operand's buffer to the ones after it.
static FailureOr<int64_t> getDistanceToOnes(warp::DotOp op) {
  auto ones = op.getOnes().getDefiningOp<warp::OnesOp>();
  if (!ones || !ones.getOffset()) {
    op.emitOpError("'ones' must be the result of a 'warp.ones' with an "
                   "'offset'");
    return failure();
  }
  FailureOr<SharedView> view = getSharedView(op, op.getB());
  if (failed(view))
    return failure();
  int64_t end = *view->buffer.getOffset() +
                warp::getStorageBytes(view->buffer.getBuffer().getType());
  int64_t distance = *ones.getOffset() - *view->buffer.getOffset();
  if (int64_t(*ones.getOffset()) < end || distance / kUnit > kAddressMask) {
    op.emitOpError("'ones' must be after 'b' in shared memory, found offsets ")
        << *ones.getOffset() << " and " << *view->buffer.getOffset();
    return failure();
  }
  return distance;
}

LogicalResult
WgmmaDotLowering::matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                                  ConversionPatternRewriter &rewriter) const {
  if (!isa<warp::WgmmaAttr>(op.getTileType().getEncoding()))
    return failure();
  if (failed(check(op)))
    return failure();
  Location loc = op.getLoc();
  Value start = op.getAcc();
  if (auto begin = start.getDefiningOp<warp::BeginSumOp>())
    start = begin.getTile();
  bool startsAtZero = matchPattern(start, m_AnyZeroFloat());
  int64_t columns = op.getTileType().getDimSize(1);
  int64_t registers = columns / 2;

  std::string constraints;
  SmallVector<Value> operands;
  if (startsAtZero) {
    append(constraints, "=f", registers);
  } else {
    constraints = getTied("f", registers);
    operands = toElements(rewriter, loc, adaptor.getAcc());
  }
  std::optional<PanelWalk> left;
  int64_t words = 0;
  int64_t sum = getSum(op);
  if (auto memref = dyn_cast<MemRefType>(op.getA().getType())) {
    left = getPanelWalk(memref, /*sumAlongColumns=*/!op.getTransposeA());
    left->first = op.getFirstRow().value_or(0);
    FailureOr<Value> descriptor =
        emitDescriptor(rewriter, op, op.getA(), *left, /*isLeft=*/true);
    if (failed(descriptor))
      return failure();
    operands.push_back(*descriptor);
    append(constraints, "l");
  } else {
    // Registers of an outstanding dot must not be read (PTX ISA,
    // wgmma.mma_async). Later uses of the tile read the original registers; the
    // dot reads copies.
    Value tile = adaptor.getA();
    if (isReadAfterIssue(op))
      tile = emitThrough(rewriter, loc, "", tile);
    SmallVector<Value> all = toWords(rewriter, loc, tile);
    words = all.size();
    llvm::append_range(operands, all);
    append(constraints, "r", words);
  }
  PanelWalk right = getPanelWalk(op.getB().getType(), op.getTransposeB());
  right.first = op.getFirstColumn().value_or(0);
  if (op.getOnes()) {
    FailureOr<int64_t> toOnes = getDistanceToOnes(op);
    if (failed(toOnes))
      return failure();
    right.toOnes = *toOnes;
  }
  FailureOr<Value> descriptor =
      emitDescriptor(rewriter, op, op.getB(), right, /*isLeft=*/false);
  if (failed(descriptor))
    return failure();
  operands.push_back(*descriptor);
  append(constraints, "l");
  append(constraints, "~{memory}");

  int64_t most = std::min(2 * (roles.launchedRegisters - kBesideAccumulators),
                          kMostColumns);
  // Ones extend a dot that is one panel wide.
  ProductText text(columns, op.getOnes() ? kMostColumns : most,
                   op.getB().getType().getElementType(), op.getTransposeA(),
                   op.getTransposeB());
  SmallVector<Type> types(registers, rewriter.getF32Type());
  SmallVector<Value> results =
      emitAsm(rewriter, loc,
              text.get(sum / getStep(op), startsAtZero, words,
                       left ? &*left : nullptr, right),
              constraints, operands, types);
  Value tile = vector::FromElementsOp::create(
      rewriter, loc, VectorType::get({registers}, rewriter.getF32Type()),
      results);
  if (!op.getAsync())
    tile = emitWait(rewriter, loc, 0, tile);
  rewriter.replaceOp(op, tile);
  return success();
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

WaitCounts::WaitCounts(gpu::GPUFuncOp kernel) {
  kernel.walk([&](Operation *op) {
    auto wait = dyn_cast<warp::DotWaitOpInterface>(op);
    if (!wait || failed(warp::findDots(wait.getPending())))
      return;
    // A lower count than possible only waits longer. An accumulation that has
    // not begun has nothing to wait for.
    counts[op] =
        warp::countYoungerDots(wait.getPending(), op).value_or(kMostInFlight);
  });
}

FailureOr<int64_t> WaitCounts::get(Operation *wait) const {
  auto found = counts.find(wait);
  if (found == counts.end())
    return wait->emitOpError(
        "expected an outstanding dot that is passed through "
        "loops and branches only");
  return found->second;
}

/// ptxas sees no reason to keep work before a wait, and moves the wait up. A
/// store under a condition that is never true (a negative value where none
/// exists) depends on the work and stays before the wait. A branch or trap
/// would make ptxas serialise the MMAs (C7518).
void DotWaitLowering::emitKeepBeforeWait(OpBuilder &b, Location loc,
                                         ValueRange tiles) const {
  SmallVector<Value> operands;
  for (Value tile : tiles)
    llvm::append_range(operands, toElements(b, loc, tile));
  if (operands.empty())
    return;
  std::string text = "{\n\t.reg .pred p;\n\t";
  std::string constraints;
  if (operands.size() < kManyValues) {
    text += "setp.lt.f32 p, $0, 0f00000000;\n\t";
    for (size_t index = 1; index < operands.size(); ++index)
      text += "setp.lt.or.f32 p, $" + std::to_string(index) +
              ", 0f00000000, p;\n\t";
    append(constraints, "f", operands.size());
  } else {
    // One instruction combines the signs of two more values.
    for (Value &operand : operands)
      operand = LLVM::BitcastOp::create(b, loc, b.getI32Type(), operand);
    text += ".reg .b32 s;\n\tmov.b32 s, $0;\n\t";
    for (size_t index = 1; index < operands.size(); index += 2)
      text += "lop3.b32 s, s, $" + std::to_string(index) + ", $" +
              std::to_string(std::min(index + 1, operands.size() - 1)) +
              ", 0xFE;\n\t";
    text += "setp.lt.s32 p, s, 0;\n\t";
    append(constraints, "r", operands.size());
  }
  text += "@p st.volatile.shared.u32 [$" + std::to_string(operands.size()) +
          "], 0;\n\t}";
  // The last bytes of shared memory are unused.
  operands.push_back(
      emitSharedAddress(b, loc, sharedMemory - warp::kSpareSharedBytes));
  append(constraints, "r");
  append(constraints, "~{memory}");
  emitAsm(b, loc, text, constraints, operands);
}

/// Copies 32-bit registers with an instruction that ptxas does not see through:
/// it would coalesce moves.
static Value emitCopies(OpBuilder &b, Location loc, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  auto words = VectorType::get(type.getShape(), b.getI32Type());
  std::string text;
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    std::string name = "$" + std::to_string(index);
    text += "prmt.b32 " + name + ", " + name + ", " + name + ", 0x3210;\n\t";
  }
  Value copies =
      emitThrough(b, loc, text, LLVM::BitcastOp::create(b, loc, words, vector));
  return LLVM::BitcastOp::create(b, loc, type, copies);
}

/// Returns true if a 32-bit tile is only loop-carried to the next iteration. It
/// was computed in the registers of a dot, which the next iteration needs for
/// another dot. Without copies ptxas would compute it in other registers before
/// the wait, where operands of dots fill the registers, and spill. After the
/// wait they are free.
static bool isCarried(Value held) {
  return cast<RankedTensorType>(held.getType()).getElementTypeBitWidth() ==
             32 &&
         held.hasOneUse() && isa<scf::YieldOp>(*held.user_begin()) &&
         isa<scf::ForOp>((*held.user_begin())->getParentOp());
}

LogicalResult
DotWaitLowering::matchAndRewrite(warp::DotWaitOp op, OpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  if (!isa<warp::WgmmaAttr>(op.getResult().getType().getEncoding()))
    return op.emitOpError("supports wgmma dots only, found ")
           << op.getResult().getType();
  FailureOr<int64_t> younger = counts.get(op);
  if (failed(younger))
    return failure();
  for (Value held : op.getHeld())
    if (unsigned bits =
            cast<RankedTensorType>(held.getType()).getElementTypeBitWidth();
        !llvm::is_contained({8u, 16u, 32u}, bits))
      return op.emitOpError("expected held elements of 8, 16 or 32 bits, "
                            "found ")
             << held.getType();
  emitKeepBeforeWait(rewriter, loc, adaptor.getAbove());
  SmallVector<Value> results = {
      emitWait(rewriter, loc, *younger, adaptor.getPending())};
  for (auto [held, result] :
       llvm::zip_equal(adaptor.getHeld(), op.getHeldResults()))
    results.push_back(isCarried(result) ? emitCopies(rewriter, loc, held)
                                        : emitThrough(rewriter, loc, "", held));
  rewriter.replaceOp(op, results);
  return success();
}

LogicalResult
AwaitReadsLowering::matchAndRewrite(warp::AwaitReadsOp op, OpAdaptor,
                                    ConversionPatternRewriter &rewriter) const {
  if (!isa<warp::WgmmaAttr>(op.getPending().getType().getTile().getEncoding()))
    return op.emitOpError("supports wgmma dots only, found ")
           << op.getPending().getType();
  FailureOr<int64_t> younger = counts.get(op);
  if (failed(younger))
    return failure();
  NVVM::WgmmaWaitGroupSyncOp::create(rewriter, op.getLoc(),
                                     std::min(*younger, kMostInFlight));
  rewriter.eraseOp(op);
  return success();
}

LogicalResult
HeldRowsLowering::matchAndRewrite(tile::OwnedRowsOp op, OpAdaptor,
                                  ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  RankedTensorType type = op.getTile();
  auto layout = dyn_cast<warp::ThreadLayoutAttrInterface>(type.getEncoding());
  if (!layout)
    return op.emitOpError("tile has no layout; run 'warp-assign-layouts' "
                          "first");
  int64_t rows = layout.getGroupRows(type.getShape());
  Value first = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value count = arith::ConstantIndexOp::create(rewriter, loc, rows);
  if (rows != type.getDimSize(0)) {
    const Role *role = roles.getRole(op);
    if (!role)
      return op.emitOpError("must be in a role: its warp groups own ")
             << rows << " rows each";
    Value number = role->emitGroup(rewriter, loc);
    // Group indices run through the cluster.
    if (roles.rank)
      number = arith::AddIOp::create(
          rewriter, loc, number,
          arith::MulIOp::create(
              rewriter, loc, roles.rank,
              emitI32(rewriter, loc, role->warps / kGroupWarps)));
    Value group = arith::IndexCastOp::create(rewriter, loc,
                                             rewriter.getIndexType(), number);
    first = arith::MulIOp::create(rewriter, loc, group, count);
  }
  rewriter.replaceOp(op, {first, count});
  return success();
}

void fovea::populateWgmmaPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  const Specialization &roles,
                                  launch::AbiOp abi, const WaitCounts &counts) {
  patterns.add<WgmmaDotLowering, HeldRowsLowering>(
      converter, patterns.getContext(), roles);
  patterns.add<BeginSumLowering>(converter, patterns.getContext());
  patterns.add<AwaitReadsLowering>(converter, patterns.getContext(), counts);
  patterns.add<DotWaitLowering>(converter, patterns.getContext(), counts,
                                abi.getSharedMemory());
}
