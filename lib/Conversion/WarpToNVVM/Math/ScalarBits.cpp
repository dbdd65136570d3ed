//===- ScalarBits.cpp - Known bits of a thread's integers -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Infers the known bits of integers op by op, with LLVM's KnownBits.
//
//===----------------------------------------------------------------------===//

#include "Math/ScalarBits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;
using llvm::KnownBits;

// Coordinates are short sums; deeper expressions are treated as unknown.
static constexpr unsigned kMostDepth = 16;

// Of a CTA.
static constexpr int64_t kMaxThreads = 1024;

static unsigned getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

KnownBits ScalarBits::get(Value value, unsigned depth) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  unsigned width = getWidth(value.getType());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return KnownBits::makeConstant(constant);
  if (auto loop = scf::getForInductionVarOwner(value);
      loop && depth < kMostDepth) {
    KnownBits bits(width);
    bits.Zero.setLowBits(
        std::min(get(loop.getLowerBound(), depth + 1).countMinTrailingZeros(),
                 get(loop.getStep(), depth + 1).countMinTrailingZeros()));
    return bits;
  }
  Operation *op = value.getDefiningOp();
  // Results of loops and branches, which may have many, are unknown.
  if (!op || op->getNumResults() != 1 || depth == kMostDepth)
    return KnownBits(width);
  KnownBits bits = infer(op, depth);
  known.try_emplace(value, bits);
  return bits;
}

KnownBits ScalarBits::infer(Operation *op, unsigned depth) {
  unsigned width = getWidth(op->getResult(0).getType());
  auto operand = [&](unsigned index) {
    return get(op->getOperand(index), depth + 1);
  };
  auto hasNoOverflow = [](auto sum) {
    return bitEnumContainsAll(sum.getOverflowFlags(),
                              arith::IntegerOverflowFlags::nsw);
  };
  return TypeSwitch<Operation *, KnownBits>(op)
      .Case([&](gpu::ThreadIdOp) {
        KnownBits bits(width);
        bits.Zero.setBitsFrom(llvm::Log2_64_Ceil(getThreads(op)));
        return bits;
      })
      .Case([&](arith::AndIOp) { return operand(0) & operand(1); })
      .Case<arith::OrIOp, LLVM::OrOp>(
          [&](auto) { return operand(0) | operand(1); })
      .Case([&](arith::AddIOp sum) {
        return KnownBits::add(operand(0), operand(1), hasNoOverflow(sum));
      })
      .Case([&](arith::SubIOp sum) {
        return KnownBits::sub(operand(0), operand(1), hasNoOverflow(sum));
      })
      .Case(
          [&](arith::MulIOp) { return KnownBits::mul(operand(0), operand(1)); })
      .Case(
          [&](arith::ShLIOp) { return KnownBits::shl(operand(0), operand(1)); })
      .Case([&](arith::ShRUIOp) {
        return KnownBits::lshr(operand(0), operand(1));
      })
      .Case([&](arith::DivUIOp) {
        return KnownBits::udiv(operand(0), operand(1));
      })
      .Case([&](arith::RemUIOp) {
        return KnownBits::urem(operand(0), operand(1));
      })
      .Case([&](arith::MaxSIOp) {
        return KnownBits::smax(operand(0), operand(1));
      })
      .Case([&](arith::MinSIOp) {
        return KnownBits::smin(operand(0), operand(1));
      })
      .Case([&](arith::MaxUIOp) {
        return KnownBits::umax(operand(0), operand(1));
      })
      .Case([&](arith::MinUIOp) {
        return KnownBits::umin(operand(0), operand(1));
      })
      .Case(
          [&](arith::SelectOp) { return operand(1).intersectWith(operand(2)); })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](auto) { return operand(0).sextOrTrunc(width); })
      .Case<arith::IndexCastUIOp, arith::ExtUIOp>(
          [&](auto) { return operand(0).zextOrTrunc(width); })
      .Default([&](Operation *) { return KnownBits(width); });
}

bool fovea::isMultipleOf(Value value, int64_t divisor) {
  assert(llvm::isPowerOf2_64(divisor) && "expected a power of two");
  ScalarBits bits([](Operation *) { return kMaxThreads; });
  return bits.get(value).countMinTrailingZeros() >= llvm::Log2_64(divisor);
}
