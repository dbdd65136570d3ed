//===- GlobalAddress.cpp - Single elements in memory ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits addresses and predicated accesses of single elements in global memory,
// for gathers, scatters, scalars and semaphores.
//
//===----------------------------------------------------------------------===//

#include "Memory/GlobalAddress.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace fovea;

Place fovea::restrict(OpBuilder &b, Location loc, Place place,
                      Value predicate) {
  place.predicate =
      place.predicate
          ? arith::AndIOp::create(b, loc, place.predicate, predicate)
                .getResult()
          : predicate;
  return place;
}

bool fovea::isOfLane(Value index) { return index.getType().isInteger(32); }

/// Compares unsigned, so that negative indices are out of bounds.
static Value emitIsInside(OpBuilder &b, Location loc, Value index, Value size) {
  if (!isOfLane(index))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                 emitToI64(b, loc, index), size);
  constexpr int64_t kPast = int64_t(std::numeric_limits<int32_t>::max()) + 1;
  Value limit = arith::MinUIOp::create(b, loc, size, emitI64(b, loc, kPast));
  return arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ult, index,
      arith::TruncIOp::create(b, loc, b.getI32Type(), limit));
}

/// Adds the offset of the per-lane indices, or of the uniform ones, to
/// `address`. The result is meaningless for negative per-lane indices.
static Value emitAddress(OpBuilder &b, Location loc, const GlobalView &view,
                         Value address, ValueRange indices, bool ofLanes) {
  Value distance;
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides)) {
    if (isOfLane(index) != ofLanes)
      continue;
    Value wide =
        ofLanes
            ? arith::ExtUIOp::create(b, loc, b.getI64Type(), index).getResult()
            : emitToI64(b, loc, index);
    Value step = arith::MulIOp::create(b, loc, wide, stride);
    distance = distance
                   ? arith::AddIOp::create(b, loc, distance, step).getResult()
                   : step;
  }
  if (!distance)
    return address;
  return LLVM::GEPOp::create(b, loc, address.getType(), getMemoryType(view),
                             address, ArrayRef<LLVM::GEPArg>{distance});
}

Place fovea::locateElement(OpBuilder &b, Location loc, const GlobalView &view,
                           ValueRange indices) {
  Value inside;
  for (auto [index, size] : llvm::zip_equal(indices, view.sizes)) {
    Value isInside = emitIsInside(b, loc, index, size);
    inside = inside
                 ? arith::AndIOp::create(b, loc, inside, isInside).getResult()
                 : isInside;
  }
  // The uniform part comes first, so that it can be hoisted out of loops.
  Value address =
      emitAddress(b, loc, view, view.pointer, indices, /*ofLanes=*/false);
  return {emitAddress(b, loc, view, address, indices, /*ofLanes=*/true),
          inside};
}

Value fovea::emitLoad(OpBuilder &b, Location loc, Place place, Type type,
                      bool isOrdered) {
  if (!place.predicate)
    return LLVM::LoadOp::create(b, loc, type, place.address);
  // A predicated instruction accesses no memory if the predicate is false, and
  // needs no branch.
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isWide = bits == 64, isByte = bits == 8;
  Type asmType = isWide       ? b.getI64Type()
                 : bits == 32 ? b.getI32Type()
                              : b.getI16Type();
  std::string width = isByte ? "u8" : "b" + std::to_string(bits);
  std::string reg = isWide ? "b64" : bits == 32 ? "b32" : "b16";
  std::string text = "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, $2, 0;\n\tmov." +
                     reg + " $0, 0;\n\t@p ld.global." + width +
                     " $0, [$1];\n\t}";
  std::string constraint = isWide       ? "=&l,l,r"
                           : bits == 32 ? "=r,l,r"
                                        : "=h,l,r";
  if (isOrdered)
    constraint += ",~{memory}";
  Value flag = arith::ExtUIOp::create(b, loc, b.getI32Type(), place.predicate);
  Value raw = LLVM::InlineAsmOp::create(
                  b, loc, TypeRange{asmType}, ValueRange{place.address, flag},
                  text, constraint, /*has_side_effects=*/isOrdered,
                  /*is_align_stack=*/false, LLVM::TailCallKind::None,
                  /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr)
                  .getResult(0);
  if (isByte)
    return LLVM::TruncOp::create(b, loc, type, raw);
  return LLVM::BitcastOp::create(b, loc, type, raw);
}

void fovea::emitStore(OpBuilder &b, Location loc, Place place, Value value) {
  if (!place.predicate) {
    LLVM::StoreOp::create(b, loc, value, place.address);
    return;
  }
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  Value raw = LLVM::BitcastOp::create(b, loc, b.getIntegerType(bits), value);
  bool isByte = bits == 8;
  if (isByte)
    raw = LLVM::ZExtOp::create(b, loc, b.getI16Type(), raw);
  std::string width = isByte ? "u8" : "b" + std::to_string(bits);
  std::string text = "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, $2, 0;\n\t@p "
                     "st.global." +
                     width + " [$0], $1;\n\t}";
  std::string constraint = bits == 64   ? "l,l,r"
                           : bits == 32 ? "l,r,r"
                                        : "l,h,r";
  Value flag = arith::ExtUIOp::create(b, loc, b.getI32Type(), place.predicate);
  LLVM::InlineAsmOp::create(b, loc, TypeRange{},
                            ValueRange{place.address, raw, flag}, text,
                            constraint, /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
}

SmallVector<Value> fovea::emitWideLoad(OpBuilder &b, Location loc, Place place,
                                       int64_t bytes) {
  std::string text =
      "ld.global.v4.b32 {$0, $1, $2, $3}, [$4+" + std::to_string(bytes) + "];";
  std::string constraints = "=r,=r,=r,=r,l";
  SmallVector<Value> operands = {place.address};
  if (place.predicate) {
    text = "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\tmov.b32 $2, 0;\n\t"
           "mov.b32 $3, 0;\n\t@$5 " +
           text;
    constraints += ",b";
    operands.push_back(place.predicate);
  }
  SmallVector<Type> types(4, b.getI32Type());
  return emitAsm(b, loc, text, constraints + ",~{memory}", operands, types);
}

void fovea::emitWideStore(OpBuilder &b, Location loc, Place place,
                          int64_t bytes, ArrayRef<Value> words) {
  SmallVector<Value> operands = {place.address};
  llvm::append_range(operands, words);
  std::string text =
      "st.global.v4.b32 [$0+" + std::to_string(bytes) + "], {$1, $2, $3, $4};";
  std::string constraints = "l,r,r,r,r";
  if (place.predicate) {
    text = "@$5 " + text;
    constraints += ",b";
    operands.push_back(place.predicate);
  }
  emitAsm(b, loc, text, constraints + ",~{memory}", operands);
}

void fovea::emitAdd(OpBuilder &b, Location loc, Place place,
                    ValueRange values) {
  bool isInteger = values.front().getType().isInteger(64);
  std::string text =
      isInteger            ? "red.global.add.u64 [$0], $1;"
      : values.size() == 4 ? "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"
      : values.size() == 2 ? "red.global.add.v2.f32 [$0], {$1, $2};"
                           : "red.global.add.f32 [$0], $1;";
  std::string constraints = "l";
  for (size_t index = 0; index < values.size(); ++index)
    constraints += isInteger ? ",l" : ",f";
  SmallVector<Value> operands = {place.address};
  llvm::append_range(operands, values);
  if (place.predicate) {
    std::string flag = "$" + std::to_string(operands.size());
    text = "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " + flag + ", 0;\n\t@p " +
           text + "\n\t}";
    constraints += ",r";
    operands.push_back(
        arith::ExtUIOp::create(b, loc, b.getI32Type(), place.predicate));
  }
  emitAsm(b, loc, text, constraints, operands);
}

Value fovea::fromMemory(OpBuilder &b, Location loc, Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                               arith::ConstantIntOp::create(b, loc, 0, 8));
}

Value fovea::toMemory(OpBuilder &b, Location loc, Value value) {
  if (!value.getType().isInteger(1))
    return value;
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
}
