//===- Arguments.cpp - Kernel arguments of the command line ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "fovea/PTX/Units/Numeric.h"
#include "fovea/PTX/Units/TensorMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

static llvm::Error refuse(const Twine &message) {
  return makeError("argument", message);
}

static std::optional<ElementFormat> parseFormat(StringRef name) {
  ElementFormat format;
  format.name = name.str();
  StringRef rest = name;
  unsigned bits;
  if (rest.consume_front("bf") || rest.consume_front("f"))
    format.isFloat = true;
  else if (rest.consume_front("s"))
    format.isSigned = true;
  else if (!rest.consume_front("u"))
    return std::nullopt;
  if (rest.getAsInteger(10, bits) ||
      (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return std::nullopt;
  format.bytes = bits / 8;
  if (format.isFloat && bits < 16)
    return std::nullopt;
  return format;
}

static ElementType elementOf(const ElementFormat &format) {
  return format.name == "f64"   ? ElementType::F64
         : format.name == "f32" ? ElementType::F32
         : format.name == "f16" ? ElementType::F16
                                : ElementType::BF16;
}

static void encode(const ElementFormat &format, double value, uint8_t *to) {
  uint64_t bits = format.isFloat ? convertFromDouble(value, elementOf(format))
                                 : uint64_t(int64_t(value));
  memcpy(to, &bits, format.bytes);
}

static bool encodeText(const ElementFormat &format, StringRef text,
                       uint8_t *to) {
  text = text.trim();
  if (format.isFloat) {
    double value;
    if (text == "nan")
      value = NAN;
    else if (text == "inf" || text == "-inf")
      value = text == "inf" ? INFINITY : -INFINITY;
    else if (text.getAsDouble(value))
      return false;
    encode(format, value, to);
    return true;
  }
  int64_t number;
  uint64_t positive;
  if (text.getAsInteger(0, number)) {
    if (text.getAsInteger(0, positive))
      return false;
    number = int64_t(positive);
  }
  memcpy(to, &number, format.bytes);
  return true;
}

/// The n-th number of a reproducible pseudorandom sequence.
static uint64_t scramble(uint64_t n, uint64_t salt) {
  uint64_t x = (n + 1) * 0x9e3779b97f4a7c15ull + salt * 0xd1b54a32d192ed03ull;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ x >> 27;
}

static llvm::Error fill(const ElementFormat &format, StringRef how,
                        uint64_t salt, uint64_t count,
                        std::vector<uint8_t> &bytes) {
  bytes.resize(count * format.bytes);
  uint8_t *to = bytes.data();
  if (how == "iota" || how == "random" || how == "small") {
    for (uint64_t n = 0; n < count; ++n) {
      uint64_t bits = scramble(n, salt);
      double value = how == "iota"    ? double(n)
                     : how == "small" ? double(bits % 7) - 3
                                      : double(int64_t(bits) >> 11) * 0x1p-52;
      encode(format, value, to + n * format.bytes);
    }
    return llvm::Error::success();
  }
  llvm::SmallVector<StringRef> items;
  how.split(items, ',');
  for (uint64_t n = 0; n < count; ++n)
    if (!encodeText(format, items[n % items.size()], to + n * format.bytes))
      return refuse("expected a value of type " + format.name + ", found '" +
                    items[n % items.size()] + "'");
  return llvm::Error::success();
}

static bool parseExtents(StringRef text, llvm::SmallVectorImpl<uint64_t> &to) {
  llvm::SmallVector<StringRef> items;
  text.split(items, 'x');
  for (StringRef item : items)
    if (item.getAsInteger(10, to.emplace_back()))
      return false;
  return to.size() <= kMaxTensorRank;
}

static TensorDataType dataTypeOf(const ElementFormat &format) {
  if (format.isFloat)
    return format.name == "f64"   ? TensorDataType::Float64
           : format.name == "f32" ? TensorDataType::Float32
           : format.name == "f16" ? TensorDataType::Float16
                                  : TensorDataType::BFloat16;
  switch (format.bytes) {
  case 1:
    return TensorDataType::UInt8;
  case 2:
    return TensorDataType::UInt16;
  case 4:
    return format.isSigned ? TensorDataType::Int32 : TensorDataType::UInt32;
  }
  return format.isSigned ? TensorDataType::Int64 : TensorDataType::UInt64;
}

static llvm::Expected<Argument> parseMap(StringRef text,
                                         llvm::ArrayRef<Argument> before) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ':');
  TensorMap map;
  const Argument *memory = nullptr;
  for (const Argument &argument : before)
    if (!parts.empty() && argument.name == parts[0] && argument.address)
      memory = &argument;
  llvm::SmallVector<uint64_t> sizes, box, strides;
  if (!memory || parts.size() < 3 || !parseExtents(parts[1], sizes))
    return refuse("expected a tensor map such as map:NAME:64x32:box=32x8 of an "
                  "earlier memory argument, found '" +
                  text + "'");
  unsigned swizzle = 0;
  for (StringRef part : llvm::ArrayRef(parts).drop_front(2)) {
    auto [key, value] = part.split('=');
    if (key == "box" && parseExtents(value, box))
      continue;
    if (key == "strides" && parseExtents(value, strides))
      continue;
    if (key == "swizzle" && !value.getAsInteger(10, swizzle))
      continue;
    if (key == "outside" && value == "nan") {
      map.fillNaN = true;
      continue;
    }
    return refuse("unknown field '" + part + "' of a tensor map");
  }
  map.type = dataTypeOf(memory->format);
  map.rank = sizes.size();
  map.address = *memory->address;
  if (box.size() != map.rank ||
      (!strides.empty() && strides.size() + 1 != map.rank))
    return refuse("sizes, box and strides must have the same rank");
  uint64_t stride = memory->format.bytes;
  for (unsigned d = 0; d < map.rank; ++d) {
    map.sizes[d] = sizes[d];
    map.box[d] = box[d];
    map.elementStrides[d] = 1;
    map.strides[d] = d && !strides.empty() ? strides[d - 1] : stride;
    stride = map.strides[d] * sizes[d];
  }
  map.swizzle = swizzle == 128  ? SwizzleMode::B128
                : swizzle == 64 ? SwizzleMode::B64
                : swizzle == 32 ? SwizzleMode::B32
                                : SwizzleMode::None;
  Argument result;
  alignas(64) uint8_t bytes[kTensorMapBytes];
  if (llvm::Error error = encodeTensorMap(map, bytes))
    return std::move(error);
  result.bytes.assign(bytes, bytes + kTensorMapBytes);
  return result;
}

static llvm::Expected<Argument> parseMemory(Argument argument, StringRef text,
                                            Device &device, uint64_t salt) {
  auto [count, rest] = text.split(']');
  if (count.getAsInteger(10, argument.count))
    return refuse("expected a number of elements, found '" + count + "'");
  uint64_t size = argument.count * argument.format.bytes;
  llvm::Expected<uint64_t> address = device.allocate(size, 256, argument.name);
  if (!address)
    return address.takeError();
  argument.address = *address;
  argument.bytes.resize(8);
  memcpy(argument.bytes.data(), &*address, 8);
  std::vector<uint8_t> contents;
  if (rest.consume_front("@")) {
    auto file = llvm::MemoryBuffer::getFile(rest, false, false);
    if (!file)
      return refuse(rest + ": " + file.getError().message());
    StringRef bytes = (*file)->getBuffer();
    if (bytes.size() != size)
      return refuse(rest + " has " + Twine(bytes.size()) + " bytes, expected " +
                    Twine(size));
    contents.assign(bytes.bytes_begin(), bytes.bytes_end());
  } else if (rest.consume_front(":")) {
    if (llvm::Error error =
            fill(argument.format, rest, salt, argument.count, contents))
      return std::move(error);
  } else if (!rest.empty()) {
    return refuse("unexpected '" + rest + "' after the number of elements");
  } else {
    return argument;
  }
  if (llvm::Error error =
          device.write(*address, contents.data(), contents.size()))
    return std::move(error);
  return argument;
}

/// Lays out numbers and addresses as C does.
static llvm::Expected<Argument> parseStruct(Argument argument, StringRef text,
                                            Device &device,
                                            llvm::ArrayRef<Argument> before) {
  llvm::SmallVector<StringRef> fields;
  text.split(fields, ';');
  size_t largest = 1;
  std::vector<uint8_t> &bytes = argument.bytes;
  for (StringRef field : fields) {
    StringRef kind = field.take_until([](char c) { return c == ':'; });
    if (kind != "at" && kind != "zeros" && !parseFormat(kind))
      return refuse("expected a number, at: or zeros: as a field, found '" +
                    field + "'");
    llvm::Expected<Argument> value = parseArgument(field, device, before);
    if (!value)
      return value.takeError();
    size_t alignment = kind == "zeros" ? 1 : value->bytes.size();
    largest = std::max(largest, alignment);
    bytes.resize(llvm::alignTo(bytes.size(), alignment));
    llvm::append_range(bytes, value->bytes);
  }
  bytes.resize(llvm::alignTo(bytes.size(), largest));
  return argument;
}

llvm::Expected<Argument>
fovea::ptx::parseArgument(StringRef text, Device &device,
                          llvm::ArrayRef<Argument> before) {
  Argument argument;
  StringRef spec = text;
  size_t equals = text.find('='), colon = text.find_first_of(":[");
  if (equals < colon) {
    argument.name = text.substr(0, equals).str();
    spec = text.substr(equals + 1);
  } else {
    argument.name = "arg" + std::to_string(before.size());
  }
  StringRef rest = spec;
  if (rest.consume_front("map:")) {
    llvm::Expected<Argument> map = parseMap(rest, before);
    if (map)
      map->name = argument.name;
    return map;
  }
  if (rest.consume_front("at:")) {
    auto [name, offset] = rest.split('+');
    uint64_t address = 0;
    if (!offset.empty() && offset.getAsInteger(0, address))
      return refuse("expected a number of bytes, found '" + offset + "'");
    for (const Argument &known : before)
      if (known.name == name && known.address) {
        address += *known.address;
        argument.bytes.resize(8);
        memcpy(argument.bytes.data(), &address, 8);
        return argument;
      }
    return refuse("expected an earlier memory argument '" + name + "' for '" +
                  text + "'");
  }
  if (rest.consume_front("zeros:")) {
    unsigned count;
    if (rest.getAsInteger(10, count) || count > 1 << 16)
      return refuse("expected a number of bytes, found '" + rest + "'");
    argument.bytes.resize(count);
    return argument;
  }
  if (rest.consume_front("struct:"))
    return parseStruct(std::move(argument), rest, device, before);
  size_t end = spec.find_first_of(":[");
  std::optional<ElementFormat> format = parseFormat(spec.substr(0, end));
  if (!format || end == StringRef::npos)
    return refuse("expected TYPE:NUMBER or TYPE[COUNT]:ELEMENTS, found '" +
                  text + "'");
  argument.format = *format;
  rest = spec.substr(end + 1);
  if (spec[end] == '[')
    return parseMemory(std::move(argument), rest, device, before.size());
  argument.bytes.resize(format->bytes);
  if (!encodeText(*format, rest, argument.bytes.data()))
    return refuse("expected a value of type " + format->name + ", found '" +
                  rest + "'");
  return argument;
}

llvm::Expected<std::string> fovea::ptx::printElements(const Argument &argument,
                                                      const Device &device) {
  if (!argument.address)
    return refuse("argument '" + argument.name + "' is not memory");
  const ElementFormat &format = argument.format;
  std::vector<uint8_t> bytes(argument.count * format.bytes);
  if (llvm::Error error =
          device.read(*argument.address, bytes.data(), bytes.size()))
    return std::move(error);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (uint64_t n = 0; n < argument.count; ++n) {
    uint64_t bits = 0;
    memcpy(&bits, bytes.data() + n * format.bytes, format.bytes);
    os << (n ? " " : "");
    unsigned width = format.bytes * 8;
    if (format.isFloat) {
      double value = convertToDouble(bits, elementOf(format));
      char buffer[40];
      snprintf(buffer, sizeof buffer, "%.9g", value);
      os << buffer;
    } else if (format.isSigned) {
      os << int64_t(bits << (64 - width)) / (int64_t(1) << (64 - width));
    } else {
      os << bits;
    }
  }
  return text;
}
