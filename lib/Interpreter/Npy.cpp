//===- Npy.cpp - Tensors in .npy files --------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and writes headers of .npy files, and converts between numpy's types
// and element kinds.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Npy.h"

#include "fovea/Support/Untrusted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace fovea::interp;

static constexpr llvm::StringLiteral kMagic("\x93NUMPY");

StringRef fovea::interp::getName(ElementKind kind) {
  static constexpr StringRef kNames[] = {"i1",   "i8",       "i16",    "i32",
                                         "i64",  "f8E4M3FN", "f8E5M2", "f16",
                                         "bf16", "f32",      "f64"};
  return kNames[static_cast<unsigned>(kind)];
}

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

namespace {
/// The contents of a header, which is the text of a Python dictionary.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  SmallVector<int64_t, 4> shape;
};

/// Parses the three entries of a header. Not a parser of Python: it rejects
/// text that numpy does not write.
class HeaderReader {
public:
  explicit HeaderReader(StringRef text) : text(text.trim()) {}

  bool read(Header &header) {
    if (!consume("{"))
      return false;
    unsigned seen = 0;
    while (!consume("}")) {
      std::string key;
      if (!readString(key) || !consume(":"))
        return false;
      bool valid = key == "descr"           ? readString(header.descr)
                   : key == "fortran_order" ? readBool(header.fortranOrder)
                   : key == "shape"         ? readShape(header.shape)
                                            : false;
      if (!valid)
        return false;
      ++seen;
      consume(",");
    }
    return seen == 3 && text.trim().empty();
  }

private:
  bool consume(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool readString(std::string &result) {
    text = text.ltrim();
    if (text.empty() || (text[0] != '\'' && text[0] != '"'))
      return false;
    size_t end = text.find(text[0], 1);
    if (end == StringRef::npos)
      return false;
    result = text.slice(1, end).str();
    text = text.drop_front(end + 1);
    return true;
  }
  bool readBool(bool &result) {
    result = consume("True");
    return result || consume("False");
  }
  bool readShape(SmallVectorImpl<int64_t> &shape) {
    if (!consume("("))
      return false;
    while (!consume(")")) {
      int64_t size;
      text = text.ltrim();
      if (text.consumeInteger(10, size) || size < 0)
        return false;
      shape.push_back(size);
      consume(",");
    }
    return true;
  }

  StringRef text;
};
} // namespace

/// Returns true if numpy's `descr` denotes elements of `kind`, little-endian if
/// byte order matters.
static bool holds(StringRef descr, ElementKind kind,
                  std::optional<ElementKind> uint16Is) {
  if (descr.size() < 3 || descr[0] == '>')
    return false;
  StringRef type = descr.drop_front();
  if (kind == uint16Is && type == "u2")
    return true;
  switch (kind) {
  case ElementKind::I1:
    return type == "b1";
  case ElementKind::I8:
    return type == "i1" || type == "u1";
  case ElementKind::I16:
    return type == "i2" || type == "u2";
  case ElementKind::I32:
    return type == "i4" || type == "u4";
  case ElementKind::I64:
    return type == "i8" || type == "u8";
  case ElementKind::F8E4M3FN:
  case ElementKind::F8E5M2:
    return type == "V1" || type == "u1" || type == "f1";
  case ElementKind::F16:
    return type == "f2";
  case ElementKind::BF16:
    return type == "V2";
  case ElementKind::F32:
    return type == "f4";
  case ElementKind::F64:
    return type == "f8";
  }
  return false;
}

static StringRef getDescr(ElementKind kind,
                          std::optional<ElementKind> asUint16) {
  if (kind == asUint16)
    return "<u2";
  switch (kind) {
  case ElementKind::I1:
    return "|b1";
  case ElementKind::I8:
    return "|i1";
  case ElementKind::I16:
    return "<i2";
  case ElementKind::I32:
    return "<i4";
  case ElementKind::I64:
    return "<i8";
  case ElementKind::F8E4M3FN:
  case ElementKind::F8E5M2:
    return "|V1";
  case ElementKind::F16:
    return "<f2";
  case ElementKind::BF16:
    return "|V2";
  case ElementKind::F32:
    return "<f4";
  case ElementKind::F64:
    return "<f8";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

FailureOr<HostTensor>
fovea::interp::readNpy(StringRef path, ElementKind kind,
                       std::optional<ElementKind> uint16Is,
                       std::string &error) {
  auto fail = [&](const Twine &message) {
    error = (path + ": " + message).str();
    return failure();
  };
  auto file = readRegularFile(path);
  if (!file)
    return fail("cannot read: " + llvm::toString(file.takeError()));
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.starts_with(kMagic) || bytes.size() < 10)
    return fail("not a .npy file");
  unsigned version = uint8_t(bytes[6]);
  if (version < 1 || version > 3)
    return fail("unknown .npy format " + Twine(version) + ", expected 1 to 3");
  unsigned start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return fail("truncated in the header");
  uint64_t length = version == 1
                        ? llvm::support::endian::read16le(bytes.data() + 8)
                        : llvm::support::endian::read32le(bytes.data() + 8);
  if (bytes.size() - start < length)
    return fail("truncated in the header");
  Header header;
  if (!HeaderReader(bytes.substr(start, length)).read(header))
    return fail("header is malformed");
  if (!holds(header.descr, kind, uint16Is)) {
    std::string hint;
    if ((kind == ElementKind::BF16 || kind == ElementKind::F16) &&
        StringRef(header.descr).ends_with("u2"))
      hint = ("; with --dtype=" + getName(kind) + ", uint16 is read as " +
              getName(kind))
                 .str();
    else if (StringRef(header.descr).starts_with(">"))
      hint = "; only little-endian elements are read";
    return fail("expected elements of " + getName(kind) + ", found '" +
                header.descr + "'" + hint);
  }
  if (header.fortranOrder && header.shape.size() > 1)
    return fail("expected elements in C order, found Fortran order; save "
                "numpy.ascontiguousarray(...)");
  StringRef data = bytes.substr(start + length);
  auto size = HostTensor::getByteSize(kind, header.shape, data.size());
  if (failed(size))
    return fail("truncated: its shape needs more than the " +
                Twine(data.size()) + " bytes that follow the header");
  if (uint64_t(*size) != data.size())
    return fail("has " + Twine(data.size()) +
                " bytes of elements, its shape "
                "needs " +
                Twine(*size));
  HostTensor tensor(kind, header.shape);
  std::memcpy(tensor.data(), data.data(), *size);
  return tensor;
}

LogicalResult fovea::interp::writeNpy(StringRef path, const HostTensor &tensor,
                                      std::optional<ElementKind> asUint16,
                                      std::string &error) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code) {
    error = (path + ": cannot write: " + code.message()).str();
    return failure();
  }
  std::string header;
  llvm::raw_string_ostream text(header);
  text << "{'descr': '" << getDescr(tensor.getKind(), asUint16)
       << "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.getShape())
    text << size << ",";
  text << "), }";
  // The elements start at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  char length[2];
  llvm::support::endian::write16le(length, uint16_t(header.size()));
  out << kMagic << '\1' << '\0' << StringRef(length, 2) << header
      << StringRef(tensor.data(), tensor.getNumBytes());
  out.close();
  if (out.has_error()) {
    error = (path + ": cannot write: " + out.error().message()).str();
    out.clear_error();
    return failure();
  }
  return success();
}
