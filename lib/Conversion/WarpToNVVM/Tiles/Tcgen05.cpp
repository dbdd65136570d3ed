//===- Tcgen05.cpp - Tensor memory and dots into it -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers loads and stores of tensor memory to tcgen05.ld and tcgen05.st, and
// dots that accumulate there to tcgen05.mma with their descriptors. An address
// of tensor memory has the column in its lower and the lane, which is the row,
// in its upper 16 bits. Barriers.cpp orders accesses of different roles.
//
//===----------------------------------------------------------------------===//

#include "Tiles/PanelWalk.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

// Columns of one load or store: more need more registers at a time, and ptxas
// cannot overlap their instructions.
static constexpr int64_t kAccessColumns = 32;
// Bits of a column, and of an address below the lane.
static constexpr int64_t kColumnBits = 32, kLaneShift = 16;

/// Splits `columns` into accesses: powers of two.
static SmallVector<int64_t> getAccesses(int64_t columns) {
  SmallVector<int64_t> accesses;
  while (columns > 0) {
    accesses.push_back(
        std::min(kAccessColumns, int64_t(llvm::bit_floor(uint64_t(columns)))));
    columns -= accesses.back();
  }
  return accesses;
}

static Value emitAdd(OpBuilder &b, Location loc, Value value, int64_t by) {
  return by == 0 ? value
                 : arith::AddIOp::create(b, loc, value, emitI32(b, loc, by))
                       .getResult();
}

namespace {
struct TmemAllocLowering : OpConversionPattern<warp::TmemAllocOp> {
  TmemAllocLowering(const TypeConverter &converter, MLIRContext *context,
                    const Specialization &roles)
      : OpConversionPattern(converter, context), roles(roles) {}

  LogicalResult
  matchAndRewrite(warp::TmemAllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!roles.tensorMemory)
      return op.emitOpError("needs a kernel with roles");
    // The address exists after the barrier that precedes the roles.
    rewriter.setInsertionPointAfterValue(roles.tensorMemory);
    rewriter.replaceOp(
        op, emitAdd(rewriter, op.getLoc(), roles.tensorMemory, op.getColumn()));
    return success();
  }

private:
  const Specialization &roles;
};

struct TmemViewLowering : OpConversionPattern<warp::TmemViewOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::TmemViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, emitAdd(rewriter, op.getLoc(), adaptor.getSource(), op.getFrom()));
    return success();
  }
};

/// An access of a role's warp group to a matrix, with one row per thread.
template <typename Op>
struct AccessLowering : OpConversionPattern<Op> {
  AccessLowering(const TypeConverter &converter, MLIRContext *context,
                 const Specialization &roles)
      : OpConversionPattern<Op>(converter, context), roles(roles) {}

protected:
  LogicalResult check(Op op, RankedTensorType tile) const;
  /// The address of the warp's lanes.
  Value emitLanes(OpBuilder &b, Location loc, const Role &role,
                  Value address) const;

  const Specialization &roles;
};

struct TmemLoadLowering : AccessLowering<warp::TmemLoadOp> {
  TmemLoadLowering(const TypeConverter &converter, MLIRContext *context,
                   const Specialization &roles, bool reduces,
                   LoadedMaxima &maxima)
      : AccessLowering(converter, context, roles), reduces(reduces),
        maxima(maxima) {}

  LogicalResult
  matchAndRewrite(warp::TmemLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  bool reduces;
  LoadedMaxima &maxima;
};

struct TmemStoreLowering : AccessLowering<warp::TmemStoreOp> {
  using AccessLowering::AccessLowering;

  LogicalResult
  matchAndRewrite(warp::TmemStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

template <typename Op>
LogicalResult AccessLowering<Op>::check(Op op, RankedTensorType tile) const {
  const Role *role = roles.getRole(op);
  if (!role || role->warps != kGroupWarps || role->firstWarp % kGroupWarps != 0)
    return op.emitOpError(
               "accesses 128 lanes of tensor memory: expected a role "
               "of one warp group that starts at a multiple of ")
           << kGroupWarps << " warps";
  if (cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding())
          .holdsWholeRows())
    return success();
  return op.emitOpError("expected a tile with one row per thread, found ")
         << tile;
}

template <typename Op>
Value AccessLowering<Op>::emitLanes(OpBuilder &b, Location loc,
                                    const Role &role, Value address) const {
  Value lanes = arith::MulIOp::create(
      b, loc, role.warp, emitI32(b, loc, int64_t(kLanes) << kLaneShift));
  return arith::AddIOp::create(b, loc, address, lanes);
}

/// Returns true if the maxima of the tile's rows are computed.
static bool needsMaxima(warp::TmemLoadOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    auto reduce = dyn_cast<tile::ReduceOp>(user);
    return reduce && reduce.getKind() == tile::ReduceKind::Max &&
           reduce.getDim() == 1 &&
           reduce.getResult().getType().getDimSize(1) == 1 &&
           reduce.getSource().getType().getElementType().isF32();
  });
}

/// All loads and their wait are one text: the registers are undefined before
/// the wait, and NVVM's ops leave LLVM free to move their uses above it. NVVM
/// has no op for loads with maxima.
LogicalResult
TmemLoadLowering::matchAndRewrite(warp::TmemLoadOp op, OpAdaptor adaptor,
                                  ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  RankedTensorType tile = op.getType();
  if (failed(check(op, tile)))
    return failure();
  int64_t columns = warp::getTmemColumns(op.getSource().getType());
  SmallVector<int64_t> accesses = getAccesses(columns);
  // A maximum is one of at least two columns.
  bool hasMaxima = reduces && accesses.back() > 1 && needsMaxima(op);
  // Outputs: the columns, then the maxima.
  int64_t outputs = columns + (hasMaxima ? accesses.size() : 0);
  std::string text, constraints;
  SmallVector<Value> addresses;
  Value first =
      emitLanes(rewriter, loc, *roles.getRole(op), adaptor.getSource());
  int64_t column = 0;
  for (auto [index, count] : llvm::enumerate(accesses)) {
    text += (hasMaxima ? "tcgen05.ld.red" : "tcgen05.ld") +
            std::string(".sync.aligned.32x32b.x") + std::to_string(count) +
            (hasMaxima ? ".max.NaN.f32 {" : ".b32 {");
    for (int64_t word = column; word < column + count; ++word)
      text += (word == column ? "$" : ", $") + std::to_string(word);
    text += "}";
    if (hasMaxima)
      text += ", $" + std::to_string(columns + index);
    text += ", [$" + std::to_string(outputs + index) + "];\n\t";
    addresses.push_back(emitAdd(rewriter, loc, first, column));
    column += count;
  }
  text += "tcgen05.wait::ld.sync.aligned;";
  for (int64_t output = 0; output < outputs; ++output)
    constraints += "=r,";
  for (size_t index = 0; index < addresses.size(); ++index)
    constraints += "r,";
  SmallVector<Type> types(outputs, rewriter.getI32Type());
  SmallVector<Value> words =
      emitAsm(rewriter, loc, text, constraints + "~{memory}", addresses, types);
  for (Value word : ArrayRef(words).drop_front(columns))
    maxima[op.getResult()].push_back(
        LLVM::BitcastOp::create(rewriter, loc, rewriter.getF32Type(), word));
  auto packed = VectorType::get({columns}, rewriter.getI32Type());
  Value vector = vector::FromElementsOp::create(
      rewriter, loc, packed, ArrayRef(words).take_front(columns));
  rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(
      op, getTypeConverter()->convertType(tile), vector);
  return success();
}

/// The wait for the stores precedes the arrival that publishes them.
LogicalResult
TmemStoreLowering::matchAndRewrite(warp::TmemStoreOp op, OpAdaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  if (failed(check(op, op.getValue().getType())))
    return failure();
  int64_t columns = warp::getTmemColumns(op.getTarget().getType());
  Type word = rewriter.getI32Type();
  auto words = vector::ToElementsOp::create(
      rewriter, loc,
      LLVM::BitcastOp::create(rewriter, loc, VectorType::get({columns}, word),
                              adaptor.getValue()));
  Value first =
      emitLanes(rewriter, loc, *roles.getRole(op), adaptor.getTarget());
  int64_t column = 0;
  for (int64_t count : getAccesses(columns)) {
    Value address =
        emitTensorPointer(rewriter, loc, emitAdd(rewriter, loc, first, column));
    SmallVector<Value> part(words.getResults().slice(column, count));
    Value value = part.front();
    if (count > 1)
      value = vector::FromElementsOp::create(
          rewriter, loc, VectorType::get({count}, word), part);
    NVVM::Tcgen05StOp::create(rewriter, loc, /*unpack=*/false,
                              NVVM::Tcgen05LdStShape::SHAPE_32X32B, address,
                              value, /*offset=*/Value());
    column += count;
  }
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

namespace {
/// The instructions of one dot, by the elected thread of its role.
struct DotIntoLowering : OpConversionPattern<warp::DotIntoOp> {
  DotIntoLowering(const TypeConverter &converter, MLIRContext *context,
                  const Specialization &roles)
      : OpConversionPattern(converter, context), roles(roles) {}

  LogicalResult
  matchAndRewrite(warp::DotIntoOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  LogicalResult check(warp::DotIntoOp op) const;

  const Specialization &roles;
};
} // namespace

/// A descriptor's upper half (PTX ISA, tcgen05 shared memory descriptor): the
/// stride, a fixed 0b001 and the swizzle, which follows the panel's row.
static int64_t getUpperHalf(const PanelWalk &walk) {
  int64_t swizzle = walk.rowBytes == 128 ? 2 : walk.rowBytes == 64 ? 4 : 6;
  return walk.getStride() | 1 << (46 - 32) | swizzle << (61 - 32);
}

/// The instruction descriptor of kind::f16 (PTX ISA, tcgen05 instruction
/// descriptor): an f32 accumulator, the element types, whether `b` is
/// contiguous along its columns, and the shape.
static int64_t getInstructionDescriptor(Type element, bool isTransposed,
                                        int64_t rows, int64_t columns) {
  int64_t type = element.isBF16() ? 1 : 0;
  return 1 << 4 | type << 7 | type << 10 | int64_t(isTransposed) << 16 |
         columns / 8 << 17 | rows / 16 << 24;
}

LogicalResult DotIntoLowering::check(warp::DotIntoOp op) const {
  const Role *role = roles.getRole(op);
  if (!role || !role->isSingleWarp)
    return op.emitOpError("needs a role that only issues asynchronous ops");
  Type element = op.getB().getType().getElementType();
  if (!element.isF16() && !element.isBF16())
    return op.emitOpError("tcgen05 multiplies f16 or bf16, found ") << element;
  MemRefType acc = op.getAcc().getType();
  int64_t columns = acc.getDimSize(1),
          sum = cast<MemRefType>(op.getA().getType()).getDimSize(1),
          step = PanelWalk::kStepBytes / getBytes(element);
  if (columns % 16 == 0 && columns <= 256 && sum % step == 0)
    return success();
  return op.emitOpError(
             "tcgen05 needs a multiple of 16 columns up to 256 and a "
             "sum over a multiple of ")
         << step << ", found " << acc << " and a sum over " << sum;
}

/// The descriptor of step `step`.
static Value emitDescriptor(OpBuilder &b, Location loc, Value lower,
                            const PanelWalk &walk, int64_t step) {
  Value low = emitAdd(b, loc, lower, walk.getAdvanceTo(step));
  Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), low);
  return arith::OrIOp::create(b, loc, wide,
                              emitI64(b, loc, getUpperHalf(walk) << 32));
}

LogicalResult
DotIntoLowering::matchAndRewrite(warp::DotIntoOp op, OpAdaptor adaptor,
                                 ConversionPatternRewriter &b) const {
  if (failed(check(op)))
    return failure();
  Location loc = op.getLoc();
  auto left = cast<MemRefType>(op.getA().getType());
  MemRefType right = op.getB().getType(), acc = op.getAcc().getType();
  bool isShared = warp::isSharedBuffer(left);
  const Role &role = *roles.getRole(op);
  PanelWalk rightWalk = getPanelWalk(right, op.getTransposeB()), leftWalk{};
  FailureOr<SharedView> rightView = getSharedView(op, op.getB());
  if (failed(rightView))
    return failure();
  Value lowB = emitLowerHalf(b, loc, *rightView, rightWalk, role), lowA;
  if (isShared) {
    leftWalk = getPanelWalk(left, /*sumAlongColumns=*/true);
    FailureOr<SharedView> view = getSharedView(op, op.getA());
    if (failed(view))
      return failure();
    lowA = emitLowerHalf(b, loc, *view, leftWalk, role);
  }
  Type element = right.getElementType();
  int64_t stepElements = PanelWalk::kStepBytes / getBytes(element);
  auto branch = scf::IfOp::create(b, loc, role.leader,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value target = emitTensorPointer(b, loc, adaptor.getAcc());
  Value shape =
      emitI32(b, loc,
              getInstructionDescriptor(element, !op.getTransposeB(),
                                       acc.getDimSize(0), acc.getDimSize(1)));
  for (int64_t step = 0; step * stepElements < left.getDimSize(1); ++step) {
    // A step of a first operand in tensor memory spans 32 bytes of a row.
    Value a =
        isShared ? emitDescriptor(b, loc, lowA, leftWalk, step)
                 : emitTensorPointer(
                       b, loc,
                       emitAdd(b, loc, adaptor.getA(),
                               step * PanelWalk::kStepBytes * 8 / kColumnBits));
    Value accumulate =
        step == 0 ? op.getAccumulate()
                  : arith::ConstantIntOp::create(b, loc, 1, 1).getResult();
    NVVM::Tcgen05MMAOp::create(
        b, loc, NVVM::Tcgen05MMAKind::F16, NVVM::CTAGroupKind::CTA_1,
        NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false, target, a,
        emitDescriptor(b, loc, lowB, rightWalk, step), shape, accumulate,
        /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
  }
  b.eraseOp(op);
  return success();
}

void fovea::populateTensorMemoryPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const Specialization &roles,
                                         bool reducesLoads,
                                         LoadedMaxima &maxima) {
  patterns.add<TmemViewLowering>(converter, patterns.getContext());
  patterns.add<TmemAllocLowering, TmemStoreLowering, DotIntoLowering>(
      converter, patterns.getContext(), roles);
  patterns.add<TmemLoadLowering>(converter, patterns.getContext(), roles,
                                 reducesLoads, maxima);
}
