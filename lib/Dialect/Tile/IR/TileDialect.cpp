//===- TileDialect.cpp - The tile dialect and its attributes -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::tile;

#include "fovea/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "fovea/Dialect/Tile/IR/TileEnums.cpp.inc"

#include "fovea/Dialect/Tile/IR/TileAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  bool isSplat = isRegisterTile(type) && isa<SplatElementsAttr>(value);
  if (!isSplat && !isa<IntegerAttr>(value))
    return nullptr;
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

/// Far above what any chip holds: types beyond it are mistakes, better said
/// here than by whatever allocates them.
static constexpr int64_t kMaxTileExtent = 65536;

bool fovea::tile::isRegisterTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.hasStaticShape() &&
         isa_and_nonnull<RegisterEncodingAttrInterface>(tensor.getEncoding());
}

LogicalResult fovea::tile::verifyTiles(Operation *kernel) {
  auto isTileOrNoTensor = [](Type type) {
    return !isa<TensorType>(type) || isRegisterTile(type);
  };
  WalkResult result = kernel->walk([&](Operation *op) -> WalkResult {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (!isTileOrNoTensor(argument.getType()))
            return emitError(argument.getLoc())
                   << "a kernel's tensors must be register tiles, found "
                   << argument.getType();
    for (Type type : op->getResultTypes())
      if (!isTileOrNoTensor(type))
        return op->emitOpError(
                   "a kernel's tensors must be register tiles, found ")
               << type;
    ElementsAttr value;
    if (matchPattern(op, m_Constant(&value)) &&
        isRegisterTile(value.getType()) && !isa<SplatElementsAttr>(value))
      return op->emitOpError("a constant register tile must be a splat; tiles "
                             "that vary come from tile.iota or from memory");
    return success();
  });
  return failure(result.wasInterrupted());
}

bool fovea::tile::makesTile(Operation *op, function_ref<bool(Type)> isTile) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isTile(op->getResult(0).getType()) && isMemoryEffectFree(op) &&
         llvm::none_of(op->getOperandTypes(), isTile);
}

void fovea::tile::makeTilesForEachUse(Operation *kernel,
                                      function_ref<bool(Type)> isTile) {
  SmallVector<Operation *> made;
  kernel->walk([&](Operation *op) {
    if (makesTile(op, isTile))
      made.push_back(op);
  });
  for (Operation *op : made) {
    OpBuilder b(op);
    SmallVector<OpOperand *> uses(llvm::make_pointer_range(op->getUses()));
    for (OpOperand *use : ArrayRef(uses).drop_front(uses.empty() ? 0 : 1))
      use->set(b.clone(*op)->getResult(0));
  }
}

RankedTensorType fovea::tile::tileLike(RankedTensorType like,
                                       ArrayRef<int64_t> shape,
                                       Type elementType) {
  return RankedTensorType::get(shape, elementType, like.getEncoding());
}

LogicalResult
fovea::tile::verifyRegisterTile(ArrayRef<int64_t> shape,
                                function_ref<InFlightDiagnostic()> emitError) {
  if (shape.size() != 2)
    return emitError() << "a register tile must have rank 2, found rank "
                       << shape.size();
  for (int64_t size : shape)
    if (ShapedType::isDynamic(size) || size <= 0 || size > kMaxTileExtent)
      return emitError() << "a register tile must have static extents in [1, "
                         << kMaxTileExtent << "]";
  return success();
}

LogicalResult
RegAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                        function_ref<InFlightDiagnostic()> emitError) const {
  return verifyRegisterTile(shape, emitError);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

LogicalResult TensorAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, Access access,
                                 RankedTensorType type, ArrayAttr dims,
                                 int64_t alignment) {
  if (int64_t(dims.size()) != type.getRank())
    return emitError() << "tensor '" << name << "' has rank " << type.getRank()
                       << " but " << dims.size() << " dimension names";
  if (!llvm::all_of(dims, [](Attribute dim) { return isa<StringAttr>(dim); }))
    return emitError() << "dimension names of tensor '" << name
                       << "' must be strings";
  if (!type.getElementType().isIntOrFloat())
    return emitError() << "tensor '" << name
                       << "' must have integer or float elements, found "
                       << type.getElementType();
  if (alignment <= 0 || !llvm::isPowerOf2_64(alignment))
    return emitError() << "alignment of tensor '" << name
                       << "' must be a power of two, found " << alignment;
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static LogicalResult expectType(function_ref<InFlightDiagnostic()> emitError,
                                StringRef what, Type found,
                                function_ref<bool(Type)> matches,
                                StringRef expected) {
  if (matches(found))
    return success();
  return emitError() << what << " must be " << expected << ", found " << found;
}

static FailureOr<TensorAttr>
findTensor(function_ref<InFlightDiagnostic()> emitError, ArrayAttr tensors,
           StringRef name) {
  if (TensorAttr tensor = lookupTensor(tensors, name))
    return tensor;
  emitError() << "no tensor is named '" << name << "'";
  return failure();
}

LogicalResult MemRefParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type,
    ArrayAttr tensors) const {
  auto tensor = findTensor(emitError, tensors, getTensor());
  if (failed(tensor))
    return failure();
  auto memref = dyn_cast<MemRefType>(type);
  RankedTensorType host = tensor->getType();
  if (!memref || memref.getElementType() != host.getElementType() ||
      memref.getRank() != host.getRank() ||
      getOrder().size() != memref.getRank())
    return emitError() << "argument for tensor '" << getTensor()
                       << "' must be a memref of rank " << host.getRank()
                       << " of " << host.getElementType() << ", found " << type;
  BitVector seen(host.getRank());
  for (int64_t dim : getOrder().asArrayRef()) {
    if (dim < 0 || dim >= host.getRank() || seen.test(dim))
      return emitError() << "order of tensor '" << getTensor()
                         << "' must be a permutation";
    seen.set(dim);
  }
  for (auto [dim, size] : llvm::enumerate(memref.getShape()))
    if (size != host.getDimSize(getOrder()[dim]))
      return emitError() << "argument for tensor '" << getTensor()
                         << "' does not have its sizes, found " << memref
                         << " for " << host;
  return success();
}
void MemRefParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "memref");
  json.attribute("tensor", getTensor());
}

static bool isPointer(Type type) { return isa<LLVM::LLVMPointerType>(type); }
static bool isI32(Type type) { return type.isSignlessInteger(32); }
static bool isI64(Type type) { return type.isSignlessInteger(64); }

LogicalResult PointerParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type,
    ArrayAttr tensors) const {
  if (failed(findTensor(emitError, tensors, getTensor())))
    return failure();
  return expectType(emitError, "pointer parameter", type, isPointer,
                    "a pointer");
}
void PointerParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "pointer");
  json.attribute("tensor", getTensor());
}

LogicalResult
SizeParameterAttr::verifyParameter(function_ref<InFlightDiagnostic()> emitError,
                                   Type type, ArrayAttr tensors) const {
  if (llvm::none_of(tensors.getAsRange<TensorAttr>(), [&](TensorAttr tensor) {
        return llvm::is_contained(
            tensor.getDims().getAsValueRange<StringAttr>(), getSize());
      }))
    return emitError() << "no dimension is named '" << getSize() << "'";
  return expectType(emitError, "size parameter", type, isI32, "i32");
}
void SizeParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "size");
  json.attribute("size", getSize());
  json.attribute("type", "i32");
}

LogicalResult
StrideParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                            StringRef, int64_t, int64_t bits) {
  if (bits == 32 || bits == 64)
    return success();
  return emitError() << "a stride has 32 or 64 bits, found " << bits;
}

LogicalResult StrideParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type,
    ArrayAttr tensors) const {
  auto tensor = findTensor(emitError, tensors, getTensor());
  if (failed(tensor))
    return failure();
  if (getDim() < 0 || getDim() >= tensor->getType().getRank())
    return emitError() << "tensor '" << getTensor() << "' has no dimension "
                       << getDim();
  if (getBits() == 32)
    return expectType(emitError, "stride parameter", type, isI32, "i32");
  return expectType(emitError, "stride parameter", type, isI64, "i64");
}
void StrideParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "stride");
  json.attribute("tensor", getTensor());
  json.attribute("dim", getDim());
  json.attribute("type", getBits() == 32 ? "i32" : "i64");
}

/// What a CUtensorMap can say.
static constexpr int64_t kMaxMapRank = 5, kMaxBoxExtent = 256, kMapGranule = 16;

LogicalResult
TensorMapParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef tensor, DenseI64ArrayAttr order,
                               DenseI64ArrayAttr box, int64_t swizzle) {
  int64_t rank = order.size();
  if (rank < 1 || rank > kMaxMapRank)
    return emitError() << "tensor map of '" << tensor << "' must have 1 to "
                       << kMaxMapRank << " dimensions, found " << rank;
  BitVector seen(rank);
  for (int64_t dim : order.asArrayRef()) {
    if (dim < 0 || dim >= rank || seen.test(dim))
      return emitError() << "tensor map of '" << tensor
                         << "' must list each of the dimensions 0 to "
                         << rank - 1 << " once, found " << order;
    seen.set(dim);
  }
  if (box.size() != rank)
    return emitError() << "box of tensor map of '" << tensor << "' must have "
                       << rank << " extents, found " << box.size();
  for (int64_t extent : box.asArrayRef())
    if (extent < 1 || extent > kMaxBoxExtent)
      return emitError() << "box of tensor map of '" << tensor
                         << "' must have extents in [1, " << kMaxBoxExtent
                         << "], found " << extent;
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "swizzle of tensor map of '" << tensor
                       << "' must be 0, 32, 64 or 128 bytes, found " << swizzle;
  return success();
}

LogicalResult TensorMapParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type,
    ArrayAttr tensors) const {
  auto tensor = findTensor(emitError, tensors, getTensor());
  if (failed(tensor))
    return failure();
  RankedTensorType host = tensor->getType();
  if (host.getRank() != getOrder().size())
    return emitError() << "tensor map of '" << getTensor()
                       << "' must have the tensor's " << host.getRank()
                       << " dimensions, found " << getOrder().size();
  // A truth value takes a byte.
  unsigned bits = host.getElementTypeBitWidth();
  if (!llvm::is_contained({1u, 8u, 16u, 32u, 64u}, bits))
    return emitError() << "tensor map of '" << getTensor()
                       << "' must have elements of 1, 2, 4 or 8 bytes, found "
                       << host.getElementType();
  int64_t rowBytes = getBox()[0] * llvm::divideCeil(bits, 8u);
  if (rowBytes % kMapGranule != 0)
    return emitError() << "box of tensor map of '" << getTensor()
                       << "' must have rows of a multiple of " << kMapGranule
                       << " bytes, found " << rowBytes;
  if (getSwizzle() != 0 && rowBytes > getSwizzle())
    return emitError() << "box of tensor map of '" << getTensor()
                       << "' must have rows of at most the swizzle's "
                       << getSwizzle() << " bytes, found " << rowBytes;
  return expectType(
      emitError, "tensor map parameter", type,
      [](Type found) {
        auto pointer = dyn_cast<LLVM::LLVMPointerType>(found);
        return pointer && pointer.getAddressSpace() == 0;
      },
      "'!llvm.ptr'");
}
void TensorMapParameterAttr::writeJSON(llvm::json::OStream &json) const {
  auto numbers = [&](StringRef name, DenseI64ArrayAttr values) {
    json.attributeArray(name, [&] {
      for (int64_t value : values.asArrayRef())
        json.value(value);
    });
  };
  json.attribute("kind", "tensor_map");
  json.attribute("tensor", getTensor());
  numbers("dims", getOrder());
  numbers("box", getBox());
  json.attribute("swizzle", getSwizzle());
}

/// Hosts keep one workspace for each of many launches.
static constexpr int64_t kMaxWorkspaceBytes = 65536;

LogicalResult
WorkspaceParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t bytes) {
  if (bytes < 1 || bytes > kMaxWorkspaceBytes)
    return emitError() << "a workspace must have 1 to " << kMaxWorkspaceBytes
                       << " bytes, found " << bytes;
  return success();
}
LogicalResult WorkspaceParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type, ArrayAttr) const {
  constexpr unsigned kGlobalMemory = 1;
  return expectType(
      emitError, "workspace parameter", type,
      [](Type found) {
        auto pointer = dyn_cast<LLVM::LLVMPointerType>(found);
        return pointer && (pointer.getAddressSpace() == 0 ||
                           pointer.getAddressSpace() == kGlobalMemory);
      },
      "a pointer to global memory");
}
void WorkspaceParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "workspace");
  json.attribute("bytes", getBytes());
}

LogicalResult ScalarParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type, ArrayAttr) const {
  Type expected = getType();
  return expectType(
      emitError, "scalar parameter", type,
      [&](Type found) {
        return found == expected || (expected.isIndex() && isI64(found));
      },
      "of the type that it names");
}
void ScalarParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "scalar");
  json.attribute("name", getName());
  std::string type;
  llvm::raw_string_ostream(type) << getType();
  json.attribute("type", getType().isIndex() ? "i64" : type);
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

SmallVector<StringRef> MultipleAttr::getSizeNames() const {
  return {getSize(), getOf()};
}
void MultipleAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "multiple");
  json.attribute("size", getSize());
  json.attribute("of", getOf());
}

LogicalResult AtMostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef size, int64_t limit) {
  if (limit < 0)
    return emitError() << "limit of size '" << size
                       << "' must not be negative, found " << limit;
  return success();
}
SmallVector<StringRef> AtMostAttr::getSizeNames() const { return {getSize()}; }
void AtMostAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "at_most");
  json.attribute("size", getSize());
  json.attribute("limit", getLimit());
}

LogicalResult AtLeastAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef size, int64_t limit) {
  if (limit < 0)
    return emitError() << "limit of size '" << size
                       << "' must not be negative, found " << limit;
  return success();
}
SmallVector<StringRef> AtLeastAttr::getSizeNames() const { return {getSize()}; }
void AtLeastAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "at_least");
  json.attribute("size", getSize());
  json.attribute("limit", getLimit());
}

LogicalResult CoversAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef size, int64_t block, StringRef) {
  if (block < 1)
    return emitError() << "blocks counted by size '" << size
                       << "' must be positive, found " << block;
  return success();
}
SmallVector<StringRef> CoversAttr::getSizeNames() const {
  return {getSize(), getOf()};
}
void CoversAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "covers");
  json.attribute("size", getSize());
  json.attribute("block", getBlock());
  json.attribute("of", getOf());
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

LogicalResult ContentsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef tensor, StringRef, bool ascending,
                                   int64_t block, StringRef entries) {
  if (block < 0)
    return emitError() << "blocks that '" << tensor
                       << "' numbers must be positive, found " << block;
  if (ascending && block != 0)
    return emitError() << "'" << tensor << "' is either ascending or lists";
  return success();
}
void ContentsAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("tensor", getTensor());
  json.attribute("of", getOf());
  if (getAscending())
    json.attribute("ascending", true);
  if (getBlock() == 0)
    return;
  json.attribute("block", getBlock());
  json.attribute("entries", getEntries());
}

/// Whether `tensor` exists, of i32, with `rank` dimensions if that is not -1.
static LogicalResult verifyIntegers(AbiOp abi, StringRef name, int64_t rank) {
  TensorAttr tensor = lookupTensor(abi.getTensors(), name);
  if (!tensor)
    return abi.emitOpError("no tensor is named '") << name << "'";
  RankedTensorType type = tensor.getType();
  if (!type.getElementType().isInteger(32) || type.getRank() == 0)
    return abi.emitOpError("contents are of i32 tensors, found '")
           << name << "' of " << type;
  if (rank != -1 && type.getRank() != rank)
    return abi.emitOpError("entries of lists need a tensor of rank ")
           << rank << ", found '" << name << "' of " << type;
  return success();
}

/// Checks what is said of a tensor's contents, given all dimensions' names.
static LogicalResult verifyContents(AbiOp abi, ContentsAttr contents,
                                    const llvm::StringMap<int64_t> &sizes) {
  if (!sizes.contains(contents.getOf()))
    return abi.emitOpError("no dimension is named '")
           << contents.getOf() << "', found in " << contents;
  if (failed(verifyIntegers(abi, contents.getTensor(), -1)))
    return failure();
  if (contents.getBlock() == 0)
    return success();
  RankedTensorType lists =
      lookupTensor(abi.getTensors(), contents.getTensor()).getType();
  return verifyIntegers(abi, contents.getEntries(), lists.getRank() - 1);
}

//===----------------------------------------------------------------------===//
// AbiOp
//===----------------------------------------------------------------------===//

TensorAttr fovea::tile::lookupTensor(ArrayAttr tensors, StringRef name) {
  for (Attribute attr : tensors)
    if (auto tensor = dyn_cast<TensorAttr>(attr))
      if (tensor.getName() == name)
        return tensor;
  return {};
}

LogicalResult AbiOp::verify() {
  llvm::StringSet<> names;
  llvm::StringMap<int64_t> sizes;
  for (Attribute attr : getTensors()) {
    auto tensor = dyn_cast<TensorAttr>(attr);
    if (!tensor)
      return emitOpError("expected #tile.tensor attributes, found ") << attr;
    if (!names.insert(tensor.getName()).second)
      return emitOpError("two tensors are named '") << tensor.getName() << "'";
    for (auto [name, size] :
         llvm::zip_equal(tensor.getDims().getAsValueRange<StringAttr>(),
                         tensor.getType().getShape())) {
      auto [known, isNew] = sizes.try_emplace(name, size);
      if (known->second != size)
        return emitOpError("dimension '")
               << name << "' has two sizes in the tensors' types";
    }
  }
  for (Attribute attr : getParameters())
    if (!isa<ParameterAttrInterface>(attr))
      return emitOpError("expected parameter attributes, found ") << attr;
  for (StringRef size : getGridSizes().getAsValueRange<StringAttr>())
    if (!sizes.contains(size))
      return emitOpError("no dimension is named '") << size << "'";
  for (Attribute attr :
       getConstraints().value_or(ArrayAttr::get(getContext(), {}))) {
    auto constraint = dyn_cast<ConstraintAttrInterface>(attr);
    if (!constraint)
      return emitOpError("expected constraint attributes, found ") << attr;
    for (StringRef size : constraint.getSizeNames())
      if (!sizes.contains(size))
        return emitOpError("no dimension is named '")
               << size << "', found in " << attr;
  }
  for (Attribute attr :
       getContents().value_or(ArrayAttr::get(getContext(), {}))) {
    auto contents = dyn_cast<ContentsAttr>(attr);
    if (!contents)
      return emitOpError("expected #tile.contents attributes, found ") << attr;
    if (failed(verifyContents(*this, contents, sizes)))
      return failure();
  }
  AffineMap grid = getGrid();
  if (grid.getNumDims() != 0 || grid.getNumSymbols() != getGridSizes().size() ||
      grid.getNumResults() != 1)
    return emitOpError("grid must be one expression in one symbol for each of "
                       "the ")
           << getGridSizes().size() << " sizes, found " << getGridAttr();
  if (auto version = getGenerator())
    if (static_cast<int64_t>(*version) != fovea::generator::kVersion)
      return emitOpError("generator ")
             << static_cast<int64_t>(*version) << " is not known, expected "
             << fovea::generator::kVersion;
  if (static_cast<int64_t>(getThreads()) <= 0 || getThreads() > 1024)
    return emitOpError("threads must be in [1, 1024], found ") << getThreads();
  if (static_cast<int64_t>(getSharedMemory()) < 0)
    return emitOpError("shared_memory must not be negative");
  // What a multiprocessor holds, what a chip's cluster has at most.
  constexpr uint64_t kMaxPersistent = 32, kMaxCluster = 16;
  if (auto persistent = getPersistent())
    if (*persistent < 1 || *persistent > kMaxPersistent)
      return emitOpError("persistent must be in [1, ")
             << kMaxPersistent << "], found "
             << static_cast<int64_t>(*persistent);
  if (getCluster() < 1 || getCluster() > kMaxCluster)
    return emitOpError("cluster must be in [1, ")
           << kMaxCluster << "], found " << static_cast<int64_t>(getCluster());
  return success();
}

/// Whoever draws a kernel's numbers again is told which ones they are.
static LogicalResult verifyGenerator(AbiOp abi, FunctionOpInterface kernel) {
  auto disagrees = [&](RandomOp random) {
    return random.getGenerator() != abi.getGenerator();
  };
  RandomOp found;
  kernel.walk([&](RandomOp random) {
    found = random;
    return disagrees(random) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found || !disagrees(found))
    return success();
  InFlightDiagnostic diag = abi.emitOpError("must say 'generator(")
                            << found.getGenerator() << ")', since '"
                            << abi.getKernel() << "' draws such numbers";
  diag.attachNote(found.getLoc()) << "here";
  return diag;
}

LogicalResult AbiOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel)
    return emitOpError("no kernel is named '") << getKernel() << "'";
  if (lookupAbi(kernel) != *this)
    return emitOpError("is the second one of kernel '") << getKernel() << "'";
  if (kernel.getNumArguments() != getParameters().size())
    return emitOpError("has ")
           << getParameters().size() << " parameters, but '" << getKernel()
           << "' has " << kernel.getNumArguments() << " arguments";
  for (auto [index, attr] : llvm::enumerate(getParameters()))
    if (failed(cast<ParameterAttrInterface>(attr).verifyParameter(
            [&, index = index] {
              return emitOpError() << "parameter #" << index << ": ";
            },
            kernel.getArgumentTypes()[index], getTensors())))
      return failure();
  if (failed(verifyPrologue()) || failed(verifyGenerator(*this, kernel)))
    return failure();
  return verifyTiles(kernel);
}

AbiOp fovea::tile::lookupAbi(Operation *kernel) {
  StringAttr name = SymbolTable::getSymbolName(kernel);
  for (AbiOp abi : kernel->getBlock()->getOps<AbiOp>())
    if (abi.getKernelAttr().getAttr() == name)
      return abi;
  return {};
}

AbiOp fovea::tile::requireAbi(Operation *kernel) {
  AbiOp abi = lookupAbi(kernel);
  if (!abi)
    kernel->emitError("kernel has no 'tile.abi' beside it");
  return abi;
}
