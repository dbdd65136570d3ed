//===- KeyRange.cpp - Ranges of keys --------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyRange.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

KeyRange KeyRange::when(Value condition) {
  if (matchPattern(condition, m_Zero()))
    return empty();
  if (matchPattern(condition, m_One()))
    return all();
  return {false, condition, {}, {}};
}

Value KeyRangeBuilder::getLength() {
  if (!length)
    length = KeyLengthOp::create(b.getBuilder(), b.getLoc());
  return length;
}

KeyRange KeyRangeBuilder::dropGuard(KeyRange x) {
  if (!x.guard)
    return x;
  Value lo = x.lo ? x.lo : b.constant(0), hi = x.hi ? x.hi : getLength();
  return {false,
          {},
          b.select(x.guard, lo, getLength()),
          b.select(x.guard, hi, b.constant(0))};
}

KeyRange KeyRangeBuilder::intersect(KeyRange x, KeyRange y) {
  if (x.isEmpty || y.isEmpty)
    return KeyRange::empty();
  auto both = [](Value p, Value q, auto combine) -> Value {
    return p && q ? combine(p, q) : (p ? p : q);
  };
  KeyRange result;
  result.guard = both(x.guard, y.guard,
                      [&](Value p, Value q) { return b.logicalAnd(p, q); });
  result.lo = both(x.lo, y.lo, [&](Value p, Value q) { return b.max(p, q); });
  result.hi = both(x.hi, y.hi, [&](Value p, Value q) { return b.min(p, q); });
  return result;
}

/// True if the range is all keys or no key, depending on a condition.
static bool isCondition(const KeyRange &x) {
  return !x.isEmpty && x.guard && !x.lo && !x.hi;
}

KeyRange KeyRangeBuilder::choose(Value condition, KeyRange x, KeyRange y) {
  if (matchPattern(condition, m_One()))
    return x;
  if (matchPattern(condition, m_Zero()))
    return y;
  if (y.isEmpty || x.isEmpty) {
    Value guard = x.isEmpty ? b.logicalNot(condition) : condition;
    return intersect(KeyRange::when(guard), x.isEmpty ? y : x);
  }
  if (isCondition(x) && isCondition(y))
    return KeyRange::when(b.select(condition, x.guard, y.guard));
  if ((isCondition(x) && y.isAll()) || (x.isAll() && isCondition(y))) {
    Value yes = b.boolean(true);
    return KeyRange::when(
        b.select(condition, x.guard ? x.guard : yes, y.guard ? y.guard : yes));
  }
  x = dropGuard(x);
  y = dropGuard(y);
  auto pick = [&](Value p, Value q, auto unbounded) -> Value {
    if (!p && !q)
      return {};
    return b.select(condition, p ? p : unbounded(), q ? q : unbounded());
  };
  KeyRange result;
  result.lo = pick(x.lo, y.lo, [&] { return b.constant(0); });
  result.hi = pick(x.hi, y.hi, [&] { return getLength(); });
  return result;
}

/// True if both ranges extend to the same end of the sequence, so that their
/// hull is their union.
static bool shareEnd(const KeyRange &x, const KeyRange &y) {
  return !x.guard && !y.guard && ((!x.lo && !y.lo) || (!x.hi && !y.hi));
}

KeyRange KeyRangeBuilder::hull(KeyRange x, KeyRange y) {
  if (x.isEmpty || y.isEmpty)
    return x.isEmpty ? y : x;
  if (isCondition(x) && isCondition(y))
    return KeyRange::when(b.logicalOr(x.guard, y.guard));
  if (isCondition(x))
    return choose(x.guard, KeyRange::all(), y);
  if (isCondition(y))
    return choose(y.guard, KeyRange::all(), x);
  numInexact += !shareEnd(x, y);
  x = dropGuard(x);
  y = dropGuard(y);
  KeyRange result;
  if (x.lo && y.lo)
    result.lo = b.min(x.lo, y.lo);
  if (x.hi && y.hi)
    result.hi = b.max(x.hi, y.hi);
  return result;
}

KeyRange KeyRangeBuilder::join(KeyRange x, KeyRange y) {
  // The hull is the union in these cases.
  if (x.isEmpty || y.isEmpty || isCondition(x) || isCondition(y) ||
      shareEnd(x, y))
    return hull(x, y);
  ++numInexact;
  x = dropGuard(x);
  y = dropGuard(y);
  for (KeyRange *range : {&x, &y}) {
    range->lo = range->lo ? range->lo : b.constant(0);
    range->hi = range->hi ? range->hi : getLength();
  }
  // An empty range does not touch another range in a way that extends it.
  Value touch = b.le(b.max(x.lo, y.lo), b.min(x.hi, y.hi));
  Value first = b.le(b.sub(y.hi, y.lo), b.sub(x.hi, x.lo));
  KeyRange result;
  result.lo = b.select(touch, b.min(x.lo, y.lo), b.select(first, x.lo, y.lo));
  result.hi = b.select(touch, b.max(x.hi, y.hi), b.select(first, x.hi, y.hi));
  return result;
}
