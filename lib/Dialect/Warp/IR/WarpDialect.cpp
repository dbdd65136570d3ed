//===- WarpDialect.cpp - The warp dialect and its ops -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers the dialect and implements verifiers, folders and memory effects of
// its ops on buffers, copies, dots and columns. Other files implement roles,
// output, tensor memory and layouts.
//
//===----------------------------------------------------------------------===//

#include "CopyVerifier.h"

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Dialect/Warp/IR/WarpPlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::warp;

#include "fovea/Dialect/Warp/IR/WarpDialect.cpp.inc"

#include "fovea/Dialect/Warp/IR/WarpAttrInterfaces.cpp.inc"
#include "fovea/Dialect/Warp/IR/WarpOpInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Warp/IR/WarpAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "fovea/Dialect/Warp/IR/WarpTypes.cpp.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Warp/IR/WarpOps.cpp.inc"

void WarpDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Warp/IR/WarpAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fovea/Dialect/Warp/IR/WarpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Warp/IR/WarpOps.cpp.inc"
      >();
}

Operation *WarpDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

bool fovea::warp::isSharedBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.hasStaticShape() && memref.getLayout().isIdentity() &&
         memref.getRank() >= 2 &&
         isa_and_nonnull<SharedAttr>(memref.getMemorySpace());
}

// The widest and the narrowest swizzle pattern.
static constexpr int64_t kMostRowBytes = 128, kLeastRowBytes = 32;

int64_t fovea::warp::getDividingRowBytes(int64_t columns, int64_t bits) {
  int64_t bytes = kMostRowBytes;
  while (bytes > kLeastRowBytes && columns * bits / 8 % bytes != 0)
    bytes /= 2;
  return bytes;
}

int64_t fovea::warp::getBoxRowBytes(int64_t columns, int64_t bits) {
  int64_t bytes = kMostRowBytes;
  while (bytes > kLeastRowBytes && columns * bits / 8 <= bytes / 2)
    bytes /= 2;
  return bytes;
}

int64_t fovea::warp::getBoxPanelColumns(int64_t columns, int64_t bits) {
  return getBoxRowBytes(columns, bits) * 8 / bits;
}

int64_t fovea::warp::getRowBytes(MemRefType type) {
  return cast<SharedAttr>(type.getMemorySpace()).getRowBytes();
}

int64_t fovea::warp::getPanelColumns(MemRefType type) {
  return getRowBytes(type) * 8 / type.getElementTypeBitWidth();
}

int64_t fovea::warp::getCtas(MemRefType type) {
  return cast<SharedAttr>(type.getMemorySpace()).getCtas();
}

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rowBytes, int64_t ctas) {
  if (rowBytes != 32 && rowBytes != 64 && rowBytes != kMostRowBytes)
    return emitError() << "rows of a panel must have 32, 64 or "
                       << kMostRowBytes << " bytes, found " << rowBytes;
  if (ctas < 1)
    return emitError() << "'ctas' must be at least 1, found " << ctas;
  return success();
}

static LogicalResult verifyCount(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef least, StringRef most, int64_t found,
                                 int64_t limit) {
  if (found < 1)
    return emitError() << least << ", found " << found;
  if (found > limit)
    return emitError() << most << " " << limit << ", found " << found;
  return success();
}

LogicalResult PipelineType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t stages) {
  return verifyCount(emitError, "a pipeline must have at least one stage",
                     "the stages of a pipeline must be at most", stages,
                     kMostStages);
}

LogicalResult TurnsType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t groups) {
  return verifyCount(emitError,
                     "a ping-pong order must have at least one warp group",
                     "the warp groups of a ping-pong order must be at most",
                     groups, kMaxPingPongGroups);
}

LogicalResult MailboxType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t slots) {
  return verifyCount(emitError, "a mailbox must have at least one slot",
                     "the slots of a mailbox must be at most", slots,
                     kMostStages);
}

bool fovea::warp::isRowVector(MemRefType type) {
  return type.getShape().back() == 1;
}

bool fovea::warp::isVector(MemRefType type) {
  return isRowVector(type) || (type.getDimSize(type.getRank() - 2) == 1 &&
                               type.getElementTypeBitWidth() == 32);
}

int64_t fovea::warp::getStorageBytes(MemRefType type) {
  int64_t panel = getPanelColumns(type);
  ArrayRef<int64_t> shape = type.getShape();
  // One element per row is a vector, which needs no panels.
  uint64_t elements =
      isRowVector(type) ? 1 : llvm::alignTo(shape.back(), panel);
  for (int64_t size : shape.drop_back(2))
    elements = llvm::SaturatingMultiply(elements, uint64_t(size));
  elements = llvm::SaturatingMultiply(elements, uint64_t(getRowsOfCta(type)));
  uint64_t bits = llvm::SaturatingMultiply(
      elements, uint64_t(type.getElementTypeBitWidth()));
  return std::min<uint64_t>(bits / 8, kTooManyBytes);
}

int64_t fovea::warp::getRowsOfCta(MemRefType type) {
  return type.getDimSize(type.getRank() - 2) / getCtas(type);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static LogicalResult verifyOffset(Operation *op, MemRefType type,
                                  std::optional<uint64_t> offset) {
  int64_t alignment = getStorageAlignment(type);
  if (offset && (*offset % alignment != 0 || int64_t(*offset) < 0))
    return op->emitOpError("offset must be a multiple of ")
           << alignment << " bytes, found " << int64_t(*offset);
  return success();
}

// Swizzling of panels uses address bits below 1024. A vector is not swizzled
// and is read 16 bytes at a time.
int64_t fovea::warp::getStorageAlignment(MemRefType type) {
  return isVector(type) ? 16 : kSharedAlignment;
}

static LogicalResult verifyExtents(Operation *op, MemRefType type) {
  for (int64_t extent : type.getShape())
    if (extent < 1 || extent > fovea::tile::kMaxTileExtent)
      return op->emitOpError("extents must be in [1, ")
             << fovea::tile::kMaxTileExtent << "], found " << type;
  return success();
}

LogicalResult AllocOp::verify() {
  MemRefType type = getBuffer().getType();
  if (failed(verifyExtents(*this, type)))
    return failure();
  if (!type.getElementType().isIntOrFloat() ||
      !llvm::is_contained({8u, 16u, 32u}, type.getElementTypeBitWidth()))
    return emitOpError("elements must have 8, 16 or 32 bits, found ")
           << type.getElementType();
  int64_t rows = type.getDimSize(type.getRank() - 2), ctas = getCtas(type);
  if (rows % ctas != 0)
    return emitOpError("rows must be a multiple of 'ctas' = ")
           << ctas << ", found " << rows;
  return verifyOffset(*this, getBuffer().getType(), getOffset());
}

LogicalResult OnesOp::verify() {
  MemRefType type = getBuffer().getType();
  if (!type.getElementType().isF16() && !type.getElementType().isBF16())
    return emitOpError("elements must be f16 or bf16, found ")
           << type.getElementType();
  if (type.getRank() != 2)
    return emitOpError("buffer must have rank 2, found ") << type;
  if (failed(verifyExtents(*this, type)))
    return failure();
  return verifyOffset(*this, getBuffer().getType(), getOffset());
}

LogicalResult StageOp::verify() {
  MemRefType buffer = getBuffer().getType(), result = getType();
  if (buffer.getShape().drop_front() != result.getShape() ||
      buffer.getElementType() != result.getElementType() ||
      buffer.getMemorySpace() != result.getMemorySpace())
    return emitOpError("result must be the buffer without its first "
                       "dimension, found ")
           << buffer << " to " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Data movement and dots
//===----------------------------------------------------------------------===//

LogicalResult fovea::warp::verifyCopy(Operation *op, CopySide global,
                                      CopySide buffer, size_t numIndices,
                                      ArrayRef<int64_t> dims,
                                      std::optional<ArrayRef<int64_t>> fold) {
  MemRefType memory = global.type, tile = buffer.type;
  if (isSharedBuffer(memory) || isTmemBuffer(memory))
    return op->emitOpError()
           << global.name << " must be in global memory, found " << memory;
  if (int64_t(numIndices) != memory.getRank())
    return op->emitOpError("needs ")
           << memory.getRank() << " indices, found " << numIndices;
  if (memory.getElementType() != tile.getElementType())
    return op->emitOpError() << global.name << " and " << buffer.name
                             << " must have the same element type, found "
                             << memory << " and " << tile;
  if (tile.getRank() != 2)
    return op->emitOpError()
           << buffer.name << " must have rank 2, found " << tile;
  if (dims.size() != 2 || dims[0] == dims[1] ||
      llvm::any_of(dims, [&](int64_t dim) {
        return dim < 0 || dim >= memory.getRank();
      }))
    return op->emitOpError("dims must be two different dimensions of the ")
           << global.name;
  return tile::verifyFold(op, memory, dims, fold, tile.getDimSize(0));
}

/// A vector in fragment order is contiguous in memory.
static LogicalResult verifyFragments(CopyOp op) {
  auto source = cast<MemRefType>(op.getSource().getType());
  MemRefType target = op.getTarget().getType();
  if (int64_t(op.getIndices().size()) != source.getRank() ||
      source.getElementType() != target.getElementType())
    return op.emitOpError("needs an index for each dimension of the source and "
                          "the target's element type, found ")
           << source << " and " << target;
  if (op.getDims().size() != 2 || op.getDims()[0] != -1 ||
      op.getDims()[1] != source.getRank() - 1 || target.getRank() != 2 ||
      target.getDimSize(0) != 1 ||
      target.getDimSize(1) % fovea::tile::BoxDims::kFragmentElements != 0)
    return op.emitOpError("'fragments' copies one row along the last "
                          "dimension, a multiple of ")
           << fovea::tile::BoxDims::kFragmentElements
           << " elements, found dims " << op.getDimsAttr() << " and " << target;
  if (!source.getLayout().isIdentity() || op.getLimit() || op.getFold() ||
      op.getGroups())
    return op.emitOpError("'fragments' needs contiguous memory, no 'limit', no "
                          "'fold' and no 'groups'");
  return success();
}

LogicalResult CopyOp::verify() {
  if (getFragments())
    return verifyFragments(*this);
  auto source = cast<MemRefType>(getSource().getType());
  if (failed(verifyCopy(*this, {"source", source},
                        {"target", getTarget().getType()}, source.getRank(),
                        getDims(), getFold())))
    return failure();
  return tile::verifyGroups(*this, source, getDims(), getFold(), getGroups(),
                            getTable(), getTableIndices(),
                            getTarget().getType().getDimSize(0),
                            getIndices().size());
}

LogicalResult ZeroRowsOp::verify() {
  if (getBuffer().getType().getRank() != 2)
    return emitOpError("buffer must have rank 2, found ")
           << getBuffer().getType();
  return success();
}

LogicalResult LocalLoadOp::verify() {
  MemRefType source = getSource().getType();
  RankedTensorType result = getType();
  SmallVector<int64_t> shape(source.getShape());
  if (getTranspose())
    std::reverse(shape.begin(), shape.end());
  if (getTranspose() && source.getElementTypeBitWidth() != 8)
    return emitOpError("'transpose' needs elements of 8 bits, found ")
           << source;
  if (ArrayRef(shape) == result.getShape() &&
      source.getElementType() == result.getElementType())
    return success();
  return emitOpError() << "buffer and tile must have the same "
                       << (getTranspose() ? "element type and swapped extents"
                                          : "shape and element type")
                       << ", found " << source << " and " << result;
}

LogicalResult
DotOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType tile = getDeliveredType(adaptor.getAcc().getType());
  if (!tile)
    return emitOptionalError(loc, "accumulator of a dot must be a tile");
  if (adaptor.getAsync())
    types.push_back(PendingType::get(context, tile));
  else
    types.push_back(tile);
  return success();
}

/// The buffer of ones takes the place of the panel after the only panel of `b`.
static LogicalResult verifyOnes(DotOp op) {
  if (!op.getOnes())
    return success();
  MemRefType ones = op.getOnes().getType(), b = op.getB().getType();
  if (ones.getRank() != 2 || b.getRank() != 2 ||
      ones.getElementType() != b.getElementType() ||
      ones.getMemorySpace() != b.getMemorySpace())
    return op.emitOpError(
               "'ones' must have the element type and panels of 'b', "
               "found ")
           << ones << " and " << b;
  int64_t panel = getPanelColumns(b);
  if (op.getTransposeB() || b.getDimSize(1) != panel ||
      ones.getDimSize(1) > panel)
    return op.emitOpError("'ones' needs a 'b' of one panel that is not "
                          "transposed, found ")
           << b;
  return success();
}

/// An accumulator that is an outstanding dot is consumed and must have no other
/// use.
static LogicalResult verifyConsumed(DotOp dot) {
  Value acc = dot.getAcc();
  if (!isa<PendingType>(acc.getType()))
    return success();
  for (OpOperand &use : acc.getUses()) {
    Operation *user = use.getOwner();
    // Uses in other blocks may be in another branch.
    if (!isa<DotOp, DotWaitOp>(user) || user == dot ||
        user->getBlock() != dot->getBlock())
      continue;
    InFlightDiagnostic diag = dot.emitOpError(
        "accumulates into an outstanding dot whose result has another use");
    diag.attachNote(user->getLoc()) << "other use here";
    return diag;
  }
  return success();
}

LogicalResult DotOp::verify() {
  auto a = cast<ShapedType>(getA().getType());
  MemRefType b = getB().getType();
  RankedTensorType acc = getTileType();
  if (isa<PendingType>(getAcc().getType()) && !getAsync())
    return emitOpError("accumulates into an outstanding dot: expected 'async'");
  if (failed(verifyOnes(*this)) || failed(verifyConsumed(*this)))
    return failure();
  if (a.getRank() != 2 || b.getRank() != 2)
    return emitOpError("operands must have rank 2, found ")
           << a << " and " << b;
  if (a.getElementType() != b.getElementType())
    return emitOpError("operands must have the same element type, found ")
           << a << " and " << b;
  int64_t k = b.getDimSize(getTransposeB() ? 1 : 0),
          n = b.getDimSize(getTransposeB() ? 0 : 1);
  if (std::optional<uint64_t> first = getFirstColumn()) {
    if (getOnes())
      return emitOpError("cannot combine 'ones' and 'columns'");
    if (failed(tile::verifyColumns(*this, b, acc, getTransposeB(), *first)))
      return failure();
    n = acc.getDimSize(1);
  }
  if (getTransposeA() && tile::isRegisterTile(a))
    return emitOpError(
               "needs a transposed first operand in shared memory, found ")
           << a;
  int64_t rows = a.getDimSize(getTransposeA() ? 1 : 0),
          depth = a.getDimSize(getTransposeA() ? 0 : 1);
  if (std::optional<uint64_t> first = getFirstRow()) {
    if (failed(tile::verifyRows(*this, a, acc, getTransposeA(), *first)))
      return failure();
    rows = acc.getDimSize(0);
  }
  if (depth != k || acc.getDimSize(0) != rows ||
      acc.getDimSize(1) != n + getNumOnes()) {
    InFlightDiagnostic diag =
        emitOpError("shapes do not form a matrix product: ");
    diag << a << ", " << b << " and " << acc;
    if (getNumOnes())
      diag << " with " << getNumOnes() << " columns of ones";
    return diag;
  }
  return success();
}

LogicalResult
DotWaitOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                            ValueRange operands, DictionaryAttr attributes,
                            OpaqueProperties properties, RegionRange regions,
                            SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto pending = dyn_cast<PendingType>(adaptor.getPending().getType());
  if (!pending)
    return emitOptionalError(loc,
                             "a wait needs the result of an asynchronous dot");
  types.push_back(pending.getTile());
  llvm::append_range(types, adaptor.getHeld().getTypes());
  return success();
}

LogicalResult
BeginSumOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto tile = dyn_cast<RankedTensorType>(adaptor.getTile().getType());
  if (!tile)
    return emitOptionalError(loc, "an accumulation must start with a tile");
  types.push_back(PendingType::get(context, tile));
  return success();
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

LogicalResult ExtractColumnsOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  if (source.getDimSize(0) != result.getDimSize(0) ||
      source.getElementType() != result.getElementType() ||
      source.getEncoding() != result.getEncoding())
    return emitOpError("result must have the source's rows, elements and "
                       "layout, found ")
           << source << " to " << result;
  int64_t from = getFrom();
  if (from < 0 || from > source.getDimSize(1) - result.getDimSize(1))
    return emitOpError() << result.getDimSize(1) << " columns from column "
                         << from << " on are not all among the source's "
                         << source.getDimSize(1);
  return success();
}

OpFoldResult ExtractColumnsOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getSource()))
    return splat.resizeSplat(getType());
  auto concat = getSource().getDefiningOp<ConcatColumnsOp>();
  if (!concat)
    return {};
  int64_t from = 0;
  for (Value part : concat.getParts()) {
    if (from == int64_t(getFrom()) && part.getType() == getType())
      return part;
    from += cast<RankedTensorType>(part.getType()).getDimSize(1);
  }
  return {};
}

/// Returns the tile of which `parts` are all columns in order, or null.
static Value findWhole(OperandRange parts, Type type) {
  Value whole;
  int64_t from = 0;
  for (Value part : parts) {
    auto extract = part.getDefiningOp<ExtractColumnsOp>();
    if (!extract || int64_t(extract.getFrom()) != from ||
        extract.getSource().getType() != type ||
        (whole && whole != extract.getSource()))
      return {};
    whole = extract.getSource();
    from += extract.getType().getDimSize(1);
  }
  return whole;
}

OpFoldResult ConcatColumnsOp::fold(FoldAdaptor adaptor) {
  if (getParts().size() == 1)
    return getParts().front();
  if (Value whole = findWhole(getParts(), getType()))
    return whole;
  Attribute value;
  for (Attribute part : adaptor.getParts()) {
    auto splat = dyn_cast_if_present<SplatElementsAttr>(part);
    if (!splat || (value && value != splat.getSplatValue<Attribute>()))
      return {};
    value = splat.getSplatValue<Attribute>();
  }
  return value ? DenseElementsAttr::get(getType(), value) : OpFoldResult();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  // Within one layout, the free permutation is the identity, too.
  if (getSource().getType() == getType())
    return getSource();
  // A conversion of a conversion, unless columns were permuted.
  auto before = getSource().getDefiningOp<ConvertLayoutOp>();
  if (!before || before.getPermuted() || getPermuted())
    return {};
  getSourceMutable().assign(before.getSource());
  return getResult();
}

namespace {
/// A loop that only converts a carried tile carries the converted one: a lane
/// then keeps whole words from one iteration to the next.
struct CarryConverted : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvertLayoutOp op,
                                PatternRewriter &rewriter) const override {
    auto carried = dyn_cast<BlockArgument>(op.getSource());
    auto loop = carried
                    ? dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp())
                    : scf::ForOp();
    if (!loop || carried == loop.getInductionVar() || !carried.hasOneUse())
      return failure();
    auto isSame = [&](Operation *user) {
      auto other = dyn_cast<ConvertLayoutOp>(user);
      return other && other.getType() == op.getType() &&
             other.getPermuted() == op.getPermuted();
    };
    OpResult result = loop.getTiedLoopResult(carried);
    if (!llvm::all_of(result.getUsers(), isSame))
      return failure();
    OpOperand *init = loop.getTiedLoopInit(carried),
              *next = loop.getTiedLoopYieldedValue(carried);
    auto convert = [&](OpOperand &operand) {
      rewriter.setInsertionPoint(operand.getOwner());
      Value converted = ConvertLayoutOp::create(
          rewriter, op.getLoc(), op.getType(), operand.get(), op.getPermuted());
      rewriter.modifyOpInPlace(operand.getOwner(),
                               [&] { operand.set(converted); });
    };
    convert(*init);
    convert(*next);
    Type type = op.getType();
    rewriter.modifyOpInPlace(loop, [&] {
      carried.setType(type);
      result.setType(type);
    });
    SmallVector<Operation *> after(result.getUsers());
    for (Operation *user : after)
      rewriter.replaceOp(user, result);
    rewriter.replaceOp(op, carried);
    return success();
  }
};
} // namespace

void ConvertLayoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<CarryConverted>(context);
}

LogicalResult ConvertLayoutOp::verify() {
  for (RankedTensorType type : {getSource().getType(), getType()})
    if (!WarpPlaces::isFor(type))
      return emitOpError("needs layouts that divide rows among warps, found ")
             << type;
  auto getWarps = [](RankedTensorType type) {
    return cast<ThreadLayoutAttrInterface>(type.getEncoding()).getRowWarps();
  };
  int64_t from = getWarps(getSource().getType()), to = getWarps(getType());
  if (from != to)
    return emitOpError("cannot move rows between warps: found layouts of ")
           << from << " and " << to
           << " warps, expected a stream ('tile.stream')";
  return success();
}

LogicalResult ConcatColumnsOp::verify() {
  RankedTensorType result = getType();
  int64_t columns = 0;
  for (Value part : getParts()) {
    auto type = cast<RankedTensorType>(part.getType());
    if (type.getDimSize(0) != result.getDimSize(0) ||
        type.getElementType() != result.getElementType() ||
        type.getEncoding() != result.getEncoding())
      return emitOpError("parts must have the result's rows, elements and "
                         "layout, found ")
             << type << " and " << result;
    columns += type.getDimSize(1);
  }
  if (columns != result.getDimSize(1))
    return emitOpError("parts must have as many columns as the result, found ")
           << columns << " and " << result.getDimSize(1);
  return success();
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void CopyOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  for (OpOperand &table : getTableMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &table);
  effects.emplace_back(MemoryEffects::Write::get(), &getTargetMutable());
}

void ZeroRowsOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}

void LocalLoadOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

namespace {
/// The queue of the MMA units: dots complete in the order of their issue.
struct DotQueueResource : SideEffects::Resource::Base<DotQueueResource> {
  StringRef getName() final { return "dot queue"; }
};
} // namespace

void DotOp::getEffects(Effects &effects) {
  if (isSharedBuffer(getA().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getAMutable());
  effects.emplace_back(MemoryEffects::Read::get(), &getBMutable());
  if (getOnes())
    effects.emplace_back(MemoryEffects::Read::get(), &getOnesMutable()[0]);
  if (getAsync())
    effects.emplace_back(MemoryEffects::Write::get(), DotQueueResource::get());
}

void AwaitReadsOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), DotQueueResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), DotQueueResource::get());
}

void DotWaitOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), DotQueueResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), DotQueueResource::get());
}

// Synchronisation orders all memory accesses.
static void synchronizes(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
void ProducerAcquireOp::getEffects(Effects &effects) { synchronizes(effects); }
void ProducerCommitOp::getEffects(Effects &effects) { synchronizes(effects); }
void ConsumerWaitOp::getEffects(Effects &effects) { synchronizes(effects); }
void ConsumerReleaseOp::getEffects(Effects &effects) { synchronizes(effects); }
void BeginTurnOp::getEffects(Effects &effects) { synchronizes(effects); }
void EndTurnOp::getEffects(Effects &effects) { synchronizes(effects); }
void NextWorkOp::getEffects(Effects &effects) { synchronizes(effects); }
void FetchWorkOp::getEffects(Effects &effects) { synchronizes(effects); }
void FinishWorkOp::getEffects(Effects &effects) { synchronizes(effects); }
void SyncLanesOp::getEffects(Effects &effects) { synchronizes(effects); }
void SendOp::getEffects(Effects &effects) { synchronizes(effects); }
void ReceiveOp::getEffects(Effects &effects) { synchronizes(effects); }
