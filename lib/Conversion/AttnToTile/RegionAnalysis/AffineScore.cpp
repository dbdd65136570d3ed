//===- AffineScore.cpp - Scores as affine sums ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/AffineScore.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

AffineScore AffineScore::of(Value value) {
  AffineScore form;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    form.uniform.push_back({value, {}});
  else if (type.getDimSize(1) == 1)
    form.rows.push_back({value, {}});
  else if (type.getDimSize(0) == 1)
    form.columns.push_back({value, {}});
  else
    form.full.push_back({value, {}});
  return form;
}

AffineScore AffineScore::ofDiagonals(Value value) {
  AffineScore form;
  form.diagonals.push_back({value, {}});
  return form;
}

void AffineScore::add(const AffineScore &other, double sign) {
  auto addTerms = [&](SmallVectorImpl<Term> &to, ArrayRef<Term> from) {
    for (Term term : from) {
      term.factor.constant *= sign;
      to.push_back(term);
    }
  };
  auto addFactors = [&](SmallVectorImpl<Factor> &to, ArrayRef<Factor> from) {
    for (Factor factor : from)
      to.push_back({factor.constant * sign, factor.scalar, factor.loc});
  };
  addTerms(full, other.full);
  addTerms(columns, other.columns);
  addTerms(rows, other.rows);
  addTerms(uniform, other.uniform);
  addTerms(diagonals, other.diagonals);
  addFactors(columnSteps, other.columnSteps);
  addFactors(rowSteps, other.rowSteps);
}

void AffineScore::setLoc(Location loc) {
  auto set = [&](Factor &factor) {
    if (!factor.loc)
      factor.loc = loc;
  };
  for (auto *terms : {&full, &columns, &rows, &uniform, &diagonals})
    for (Term &term : *terms)
      set(term.factor);
  for (auto *steps : {&columnSteps, &rowSteps})
    for (Factor &factor : *steps)
      set(factor);
}

AffineScore AffineScore::takeOfQueries(bool areRows) {
  AffineScore taken;
  std::swap(areRows ? taken.rows : taken.columns, areRows ? rows : columns);
  std::swap(areRows ? taken.rowSteps : taken.columnSteps,
            areRows ? rowSteps : columnSteps);
  bool hasKeySteps = !(areRows ? columnSteps : rowSteps).empty();
  auto stays = [&](const Term &term) { return term.isOfBlock && hasKeySteps; };
  llvm::copy_if(uniform, std::back_inserter(taken.uniform),
                [&](const Term &term) { return !stays(term); });
  llvm::erase_if(uniform, [&](const Term &term) { return !stays(term); });
  return taken;
}

//===----------------------------------------------------------------------===//
// Factored-out terms
//===----------------------------------------------------------------------===//

static bool isConstant(const Factor &factor) { return !factor.scalar; }

/// Larger terms must not initialize an accumulator: it rounds at each step of
/// the product, and the error in P would approach that of rounding P to bf16.
/// In units of the score.
static constexpr double kLargestStart = 4096.0;

/// The constant factor that the exponential can absorb: that of the first full
/// term with a positive constant factor; 1 if there is none.
static double findLeading(ArrayRef<Term> terms) {
  for (const Term &term : terms) {
    double constant = term.factor.constant;
    if (isConstant(term.factor) && constant > 1e-5 && constant < 1e5)
      return constant;
  }
  return 1.0;
}

using SameValues = llvm::DenseMap<std::pair<Value, Value>, bool>;

/// True if two scalars are structurally equivalent: each version of a block has
/// its own clone of them. Compares each pair once, however often ops share
/// operands.
static bool isSame(Value left, Value right, SameValues &known) {
  if (left == right)
    return true;
  auto result = dyn_cast_or_null<OpResult>(left);
  auto other = dyn_cast_or_null<OpResult>(right);
  if (!result || !other || result.getResultNumber() != other.getResultNumber())
    return false;
  if (auto found = known.find({left, right}); found != known.end())
    return found->second;
  bool isEquivalent = OperationEquivalence::isEquivalentTo(
      result.getOwner(), other.getOwner(),
      [&](Value a, Value b) { return success(isSame(a, b, known)); },
      /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
  known.try_emplace({left, right}, isEquivalent);
  return isEquivalent;
}

/// True if the row steps are finite wherever the other terms are.
static bool cancels(const AffineScore &form) {
  return llvm::all_of(form.rowSteps, [&](Factor row) {
    return isConstant(row) ||
           llvm::any_of(form.columnSteps, [&](Factor column) {
             return column.scalar == row.scalar;
           });
  });
}

LeftOut LeftOut::of(ArrayRef<AffineScore> forms, bool mayStartDot) {
  const AffineScore &general = forms.back();
  LeftOut leftOut;
  SameValues known;
  bool isCommon = llvm::all_of(forms, [&](const AffineScore &form) {
    return cancels(form) &&
           llvm::equal(form.rowSteps, general.rowSteps,
                       [&](const Factor &a, const Factor &b) {
                         return a.constant == b.constant &&
                                isSame(a.scalar, b.scalar, known);
                       });
  });
  if (isCommon)
    leftOut.rowSteps = general.rowSteps;
  auto withoutRows = [&](AffineScore form) {
    if (isCommon)
      form.rowSteps.clear();
    return form;
  };
  double leading = findLeading(general.full);
  bool isProduct = llvm::all_of(forms, [&](const AffineScore &form) {
    return form.full.size() == 1 && withoutRows(form).size() == 1;
  });
  // The leading term must be the product itself: a function of it, such as its
  // multiple by a value per query, has no accumulator.
  leftOut.startsDot = mayStartDot && forms.size() == 1 &&
                      general.full.size() == 1 &&
                      general.full.front().value.getDefiningOp<tile::DotOp>() &&
                      isConstant(general.full.front().factor) &&
                      general.full.front().factor.constant == leading &&
                      withoutRows(general).isProgression();
  if (isProduct || leftOut.startsDot)
    leftOut.scale = leading;
  return leftOut;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Value AffineScoreEmitter::constant(double value) {
  return arith::ConstantOp::create(invariant, loc,
                                   invariant.getF32FloatAttr(value));
}

Value AffineScoreEmitter::emit(Factor factor) {
  if (!factor.scalar)
    return constant(factor.constant);
  if (factor.constant == 1.0)
    return factor.scalar;
  return arith::MulFOp::create(invariant, getLoc(factor), factor.scalar,
                               constant(factor.constant));
}

Value AffineScoreEmitter::emitSum(ArrayRef<Factor> factors) {
  Value sum;
  double constants = 0.0;
  for (Factor factor : factors) {
    if (!factor.scalar) {
      constants += factor.constant;
      continue;
    }
    Value value = emit(factor);
    sum = sum ? arith::AddFOp::create(invariant, getLoc(factor), sum, value)
                    .getResult()
              : value;
  }
  if (!sum)
    return constant(constants);
  if (constants == 0.0)
    return sum;
  return arith::AddFOp::create(invariant, loc, sum, constant(constants));
}

Value AffineScoreEmitter::widen(Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return tile::BroadcastOp::create(b, loc, type, value);
}

Value AffineScoreEmitter::accumulate(Value total, Value value, Factor factor,
                                     RankedTensorType type) {
  Location loc = getLoc(factor);
  value = widen(value, type);
  bool isOne = !factor.scalar && factor.constant == 1.0;
  if (isOne && !total)
    return value;
  if (isOne)
    return arith::AddFOp::create(b, loc, value, widen(total, type));
  Value factors = factor.scalar
                      ? widen(emit(factor), type)
                      : arith::ConstantOp::create(
                            b, loc,
                            DenseElementsAttr::get(
                                type, static_cast<float>(factor.constant)))
                            .getResult();
  if (!total)
    return arith::MulFOp::create(b, loc, value, factors);
  return math::FmaOp::create(b, loc, value, factors, widen(total, type));
}

AffineScore AffineScoreEmitter::scale(const AffineScore &form, Factor by) {
  AffineScore scaled = form;
  auto apply = [&](Factor &factor) {
    factor.constant *= by.constant;
    if (!factor.scalar)
      factor.scalar = by.scalar;
    else if (by.scalar)
      factor.scalar =
          arith::MulFOp::create(invariant, loc, factor.scalar, by.scalar);
  };
  for (auto *terms : {&scaled.full, &scaled.columns, &scaled.rows,
                      &scaled.uniform, &scaled.diagonals})
    for (Term &term : *terms)
      apply(term.factor);
  for (auto *steps : {&scaled.columnSteps, &scaled.rowSteps})
    for (Factor &factor : *steps)
      apply(factor);
  return scaled;
}

Value AffineScoreEmitter::emitUniform(const AffineScore &form) {
  Value total;
  for (const Term &term : form.uniform) {
    Value value = term.value;
    if (term.factor.scalar || term.factor.constant != 1.0)
      value = arith::MulFOp::create(b, getLoc(term.factor), value,
                                    emit(term.factor));
    total = total ? arith::AddFOp::create(b, getLoc(term.factor), total, value)
                        .getResult()
                  : value;
  }
  return total;
}

Value AffineScoreEmitter::emitColumns(const AffineScore &form, Value start) {
  RankedTensorType type = tileType(1, numColumns);
  Value total = start;
  if (!form.columnSteps.empty())
    total = tile::RampOp::create(b, getLoc(form.columnSteps.front()), type,
                                 total ? total : constant(0.0),
                                 emitSum(form.columnSteps), 1);
  for (const Term &term : form.columns)
    total = accumulate(total, term.value, term.factor, type);
  return total;
}

Value AffineScoreEmitter::emitDiagonals(const AffineScore &form, Value start) {
  RankedTensorType type = tileType(1, numRows + numColumns);
  Value total = start;
  for (const Term &term : form.diagonals)
    total = accumulate(total, term.value, term.factor, type);
  return tile::DiagonalsOp::create(b, getLoc(form.diagonals.front().factor),
                                   tileType(numRows, numColumns), total);
}

Value AffineScoreEmitter::emitRows(const AffineScore &form, Value start) {
  RankedTensorType type = tileType(numRows, 1);
  Value total;
  if (!form.rowSteps.empty())
    total = tile::RampOp::create(b, getLoc(form.rowSteps.front()), type,
                                 start ? start : constant(0.0),
                                 emitSum(form.rowSteps), 0);
  for (const Term &term : form.rows)
    total = accumulate(total, term.value, term.factor, type);
  return total;
}

Value AffineScoreEmitter::emit(const AffineScore &form, bool sidesFirst) {
  bool startsRows = sidesFirst && !form.rowSteps.empty();
  Value start = emitUniform(form), none;
  Value columns = emitColumns(form, startsRows ? none : start),
        rows = emitRows(form, startsRows ? start : none);
  bool hasColumns = !form.columns.empty() || !form.columnSteps.empty();
  bool hasRows = rows != nullptr;
  bool hasDiagonals = !form.diagonals.empty();
  if (form.full.empty() && !hasDiagonals && !(hasColumns && hasRows)) {
    if (hasRows && columns) // a scalar
      return arith::AddFOp::create(b, loc, rows,
                                   widen(columns, tileType(numRows, 1)));
    return hasRows ? rows : columns;
  }
  RankedTensorType type = tileType(numRows, numColumns);
  // The sum of relative-position and column terms has a register per element;
  // added before the full terms it would be live throughout.
  bool addsColumnsLast = hasDiagonals && hasColumns && !(sidesFirst && hasRows);
  Value total = columns;
  if (hasDiagonals) {
    // Uniform terms cost less when added per relative position.
    total = emitDiagonals(form, hasColumns ? Value() : columns);
    if (hasColumns && !addsColumnsLast)
      total = accumulate(columns, total, {}, type);
  }
  if (hasRows && sidesFirst)
    total = accumulate(total, rows, {}, type);
  for (const Term &term : form.full)
    total = accumulate(total, term.value, term.factor, type);
  if (addsColumnsLast)
    total = accumulate(total, columns, {}, type);
  if (hasRows && !sidesFirst)
    total = accumulate(widen(total, type), rows, {}, type);
  return total;
}

AffineScore AffineScoreEmitter::reduce(AffineScore form, const LeftOut &leftOut,
                                       bool &hasLeading) {
  if (!leftOut.rowSteps.empty())
    form.rowSteps.clear();
  auto isLeading = [&](const Term &term) {
    return isConstant(term.factor) && term.factor.constant == leftOut.scale;
  };
  auto *leading = llvm::find_if(form.full, isLeading);
  hasLeading = leading != form.full.end();
  if (hasLeading)
    std::swap(*leading, form.full.front());
  if (leftOut.scale != 1.0)
    form = scale(form, {1.0 / leftOut.scale, {}});
  if (hasLeading)
    form.full.front().factor = {1.0, {}, form.full.front().factor.loc};
  return form;
}

Value AffineScoreEmitter::emitScore(AffineScore form, const LeftOut &leftOut) {
  bool hasLeading;
  form = reduce(form, leftOut, hasLeading);
  // A term with a factor takes a single FMA if another term precedes it.
  auto isPlain = [](const Term &term) {
    return isConstant(term.factor) && term.factor.constant == 1.0;
  };
  if (!hasLeading)
    std::partition(form.full.begin(), form.full.end(), isPlain);
  return widen(emit(form), tileType(numRows, numColumns));
}

void AffineScoreEmitter::startFromDiagonals(AffineScore &form,
                                            tile::DotOp dot) {
  // Division by such a factor neither overflows nor loses bits.
  constexpr double kLargestFactor = 0x1p64;
  // Terms of rows and columns are added first, as they may cancel.
  bool hasRows = !form.rows.empty() || !form.rowSteps.empty();
  if (form.diagonals.empty() || form.full.size() != 1 || hasRows)
    return;
  Term product = form.full.front();
  double size = std::fabs(product.factor.constant);
  if (product.value != dot.getResult() || !isConstant(product.factor) ||
      !(size >= 1 / kLargestFactor && size <= kLargestFactor))
    return;
  AffineScore start;
  std::swap(start.diagonals, form.diagonals);
  start = scale(start, {1.0 / product.factor.constant, {}});
  dot.getAccMutable().assign(emitDiagonals(start, /*start=*/Value()));
  dot->moveAfter(dot.getAcc().getDefiningOp());
}

Value AffineScoreEmitter::emitIsWithin(const AffineScore &progression,
                                       double most) {
  auto size = [&](Value value) {
    return math::AbsFOp::create(b, loc, value).getResult();
  };
  Value start = emitUniform(progression);
  if (!start)
    start = constant(0.0);
  Value end = math::FmaOp::create(b, loc, emitSum(progression.columnSteps),
                                  constant(double(numColumns - 1)), start);
  // Ordered: NaN is not within.
  auto isWithin = [&](Value value) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, size(value),
                                 constant(most))
        .getResult();
  };
  return arith::AndIOp::create(b, loc, isWithin(start), isWithin(end));
}

Value AffineScoreEmitter::emitScoreByDot(AffineScore form,
                                         const LeftOut &leftOut,
                                         tile::DotOp dot) {
  bool hasLeading;
  form = reduce(form, leftOut, hasLeading);
  form.full.clear();
  RankedTensorType type = tileType(numRows, numColumns);
  Value isWithin = emitIsWithin(form, kLargestStart / leftOut.scale);
  // Chooses by whether the initial value is within bounds.
  auto choose = [&](auto emitWithin, auto emitBeyond) {
    auto branch = scf::IfOp::create(b, loc, type, isWithin,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, ValueRange{emitWithin()});
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, loc, ValueRange{emitBeyond()});
    return branch.getResult(0);
  };
  auto emitSummand = [&] { return widen(emit(form), type); };
  Value start = choose(emitSummand, [&] { return dot.getAcc(); });
  dot.getAccMutable().assign(start);
  dot->moveAfter(start.getDefiningOp());
  return choose([&] { return dot.getResult(); },
                [&] {
                  return arith::AddFOp::create(b, loc, dot.getResult(),
                                               emitSummand())
                      .getResult();
                });
}
