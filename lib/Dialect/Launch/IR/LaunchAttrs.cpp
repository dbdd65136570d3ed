//===- LaunchAttrs.cpp - Attributes of the launch dialect -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace fovea::launch;

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
                         << "' must list each of the dimensions 0 to "
                         << host.getRank() - 1 << " once, found " << getOrder();
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
  return emitError() << "a stride must have 32 or 64 bits, found " << bits;
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

/// Limits of a CUtensorMap.
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
  // An i1 is stored as a byte.
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

/// Hosts keep one workspace per outstanding launch.
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

LogicalResult WorkspaceMemRefParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type, ArrayAttr) const {
  return expectType(
      emitError, "workspace parameter", type,
      [](Type found) {
        auto memref = dyn_cast<MemRefType>(found);
        return memref && memref.getRank() == 1 && memref.hasStaticShape() &&
               memref.getLayout().isIdentity() &&
               memref.getElementType().isIntOrFloat() &&
               memref.getNumElements() *
                       memref.getElementType().getIntOrFloatBitWidth() <=
                   8 * kMaxWorkspaceBytes;
      },
      "a static memref with one dimension of integers or floats, at most "
      "65536 bytes");
}
void WorkspaceMemRefParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "workspace_memref");
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

SmallVector<StringRef> OneMoreAttr::getSizeNames() const {
  return {getSize(), getThan()};
}
void OneMoreAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "one_more");
  json.attribute("size", getSize());
  json.attribute("of", getThan());
}

LogicalResult CoversAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef size, int64_t block, StringRef) {
  if (block < 1)
    return emitError() << "block size of size '" << size
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
                                   int64_t block, StringRef entries,
                                   int64_t times, int64_t page,
                                   StringRef offsets) {
  for (auto [name, size] : {std::pair("block", block), {"page", page}})
    if (size < 0)
      return emitError() << name << " size of '" << tensor
                         << "' must be positive, found " << size;
  if (times < 1)
    return emitError() << "factor of the size of '" << tensor
                       << "' must be positive, found " << times;
  int kinds = int(ascending) + int(block != 0) + int(page != 0);
  if (kinds > 1)
    return emitError() << "'" << tensor
                       << "' must be one of ascending, block lists and page "
                          "tables, found "
                       << kinds;
  if (entries.empty() != (block == 0 && page == 0))
    return emitError() << "'entries' of '" << tensor
                       << "' must be given for block lists and page tables "
                          "only";
  if (!offsets.empty() && page == 0)
    return emitError() << "'offsets' of '" << tensor
                       << "' must be given for page tables only";
  return success();
}
void ContentsAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("tensor", getTensor());
  json.attribute("of", getOf());
  if (getTimes() != 1)
    json.attribute("times", getTimes());
  if (getAscending())
    json.attribute("ascending", true);
  if (getBlock() != 0)
    json.attribute("block", getBlock());
  if (getPage() != 0)
    json.attribute("page", getPage());
  if (!getEntries().empty())
    json.attribute("entries", getEntries());
  if (!getOffsets().empty())
    json.attribute("offsets", getOffsets());
}
