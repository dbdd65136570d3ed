//===- Differentiate.cpp - Reverse-mode differentiation -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Analysis/DifferentiableOpInterface.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fovea;

#include "fovea/Analysis/DifferentiableOpInterface.cpp.inc"

//===----------------------------------------------------------------------===//
// AdjointBuilder
//===----------------------------------------------------------------------===//

AdjointBuilder::AdjointBuilder(OpBuilder &builder, ArrayRef<Value> by,
                               ElementSink addElement)
    : builder(builder), loc(builder.getUnknownLoc()), sink(addElement),
      active(by.begin(), by.end()), requested(by.begin(), by.end()) {}

void AdjointBuilder::propagate(Operation *op) {
  // Ops in regions may use values from outside that are not operands.
  WalkResult walk = op->walk([&](Operation *inner) {
    return llvm::any_of(inner->getOperands(),
                        [&](Value operand) { return isActive(operand); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (!walk.wasInterrupted())
    return;
  for (Value result : op->getResults())
    if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
      active.insert(result);
}

void AdjointBuilder::add(Value value, const Choices &among,
                         function_ref<Value()> emit) {
  if (!isActive(value))
    return;
  Adjoint term{emit(), among};
  assert(term.value.getType() == value.getType() &&
         "adjoints have the value's type");
  Terms &terms = adjoints[value];
  auto *other = llvm::find_if(
      terms, [&](const Adjoint &each) { return isSummedAtOnce(each, term); });
  if (other != terms.end())
    *other = sum(*other, term);
  else
    terms.push_back(term);
}

void AdjointBuilder::addIf(Value value, function_ref<Value()> condition,
                           bool holds, Value adjoint) {
  if (!isActive(value))
    return;
  Choices among = choices;
  among.emplace_back(condition(), holds);
  add(value, among, [&] { return adjoint; });
}

void AdjointBuilder::addElement(Value tensor, ValueRange indices,
                                Value adjoint) {
  if (requested.contains(tensor))
    sink(loc, tensor, indices, choose(adjoint, choices));
  else if (isActive(tensor))
    adjoints.try_emplace(tensor);
}

Value AdjointBuilder::lookup(Value value) {
  auto found = adjoints.find(value);
  if (found == adjoints.end() || found->second.empty())
    return {};
  const Adjoint &adjoint = settle(found->second);
  return choose(adjoint.value, adjoint.choices);
}

Value AdjointBuilder::enter(Operation *op) {
  loc = op->getLoc();
  const Adjoint &adjoint = settle(adjoints.find(op->getResult(0))->second);
  choices = adjoint.choices;
  return adjoint.value;
}

Value AdjointBuilder::choose(Value value, const Choices &among) {
  for (auto [condition, holds] : llvm::reverse(among))
    value = holds ? select(condition, value, zero(value))
                  : select(condition, zero(value), value);
  return value;
}

/// True if two different lists of choices differ only in the value of the last
/// one.
template <typename ListT>
static bool areSidesOfOne(const ListT &a, const ListT &b) {
  return a.size() == b.size() && a.back().first == b.back().first &&
         ArrayRef(a).drop_back() == ArrayRef(b).drop_back();
}

AdjointBuilder::Adjoint AdjointBuilder::sum(const Adjoint &a,
                                            const Adjoint &b) {
  if (a.choices == b.choices)
    return {add(a.value, b.value), a.choices};
  // Both sides of one choice: a single select.
  if (areSidesOfOne(a.choices, b.choices)) {
    Choices common(a.choices);
    auto [condition, isA] = common.pop_back_val();
    return {isA ? select(condition, a.value, b.value)
                : select(condition, b.value, a.value),
            common};
  }
  return {add(choose(a.value, a.choices), choose(b.value, b.choices)), {}};
}

bool AdjointBuilder::isSummedAtOnce(const Adjoint &a, const Adjoint &b) {
  constexpr size_t kFewChoices = 8;
  return a.choices.size() + b.choices.size() <= kFewChoices ||
         a.choices == b.choices || areSidesOfOne(a.choices, b.choices);
}

/// A value that each op of a long chain may choose has a term for each op, with
/// the choices of all later ops. The terms with most choices lose their last
/// choice first, so that the sum of all terms with one choice is selected once.
const AdjointBuilder::Adjoint &AdjointBuilder::settle(Terms &terms) {
  while (terms.size() > 1) {
    auto take = [&](Adjoint *place) {
      std::swap(*place, terms.back());
      return terms.pop_back_val();
    };
    Adjoint term =
        take(llvm::max_element(terms, [](const Adjoint &a, const Adjoint &b) {
          return a.choices.size() < b.choices.size();
        }));
    auto *other = llvm::find_if(terms, [&](const Adjoint &each) {
      return areSidesOfOne(each.choices, term.choices);
    });
    if (other != terms.end()) {
      term = sum(take(other), term);
    } else {
      auto last = term.choices.pop_back_val();
      term.value = choose(term.value, {last});
    }
    auto *same = llvm::find_if(terms, [&](const Adjoint &each) {
      return each.choices == term.choices;
    });
    if (same != terms.end())
      *same = sum(*same, term);
    else
      terms.push_back(term);
  }
  return terms.front();
}

Value AdjointBuilder::constant(Value like, double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(like.getType(), value));
}

Value AdjointBuilder::integer(Value like, int64_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(like.getType(), value));
}

Value AdjointBuilder::add(Value a, Value b) {
  return create<arith::AddFOp>(a, b);
}

Value AdjointBuilder::sub(Value a, Value b) {
  return create<arith::SubFOp>(a, b);
}

/// A constant that can be factored out of products.
static std::optional<double> getFactor(Value value) {
  constexpr double kLargest = 0x1p20;
  FloatAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  double factor = constant.getValueAsDouble();
  if (std::abs(factor) > kLargest || std::abs(factor) < 1 / kLargest)
    return std::nullopt;
  return factor;
}

AdjointBuilder::Multiple AdjointBuilder::getMultiple(Value adjoint) {
  auto found = multiples.find(adjoint);
  return found == multiples.end() ? Multiple{adjoint, 1.0} : found->second;
}

Value AdjointBuilder::emitMultiple(Multiple multiple) {
  constexpr double kLargest = 0x1p60;
  Value factor = constant(multiple.of, multiple.factor);
  if (matchPattern(factor, m_OneFloat()))
    return multiple.of;
  Value product = create<arith::MulFOp>(multiple.of, factor);
  // The product of many factors could overflow f32.
  if (std::abs(multiple.factor) < kLargest &&
      std::abs(multiple.factor) > 1 / kLargest)
    multiples.try_emplace(product, multiple);
  return product;
}

Value AdjointBuilder::mul(Value a, Value b) {
  auto [of, factor] = getMultiple(a);
  if (std::optional<double> constant = getFactor(b))
    return emitMultiple({of, factor * *constant});
  return emitMultiple({create<arith::MulFOp>(of, b), factor});
}

Value AdjointBuilder::div(Value a, Value b) {
  auto [of, factor] = getMultiple(a);
  std::optional<double> constant = getFactor(b);
  if (constant && factor != 1.0)
    return emitMultiple({of, factor / *constant});
  Value quotient = create<arith::DivFOp>(of, b);
  if (!constant)
    return emitMultiple({quotient, factor});
  multiples.try_emplace(quotient, Multiple{of, 1 / *constant});
  return quotient;
}

Value AdjointBuilder::neg(Value a) { return create<arith::NegFOp>(a); }

Value AdjointBuilder::scale(Value a, double factor) {
  return mul(a, constant(a, factor));
}

Value AdjointBuilder::mulUnlessZero(Value adjoint, Value slope) {
  Value none = zero(adjoint);
  return select(cmp(arith::CmpFPredicate::OEQ, adjoint, none), none,
                mul(adjoint, slope));
}

Value AdjointBuilder::cmp(arith::CmpFPredicate predicate, Value a, Value b) {
  return create<arith::CmpFOp>(predicate, a, b);
}

Value AdjointBuilder::select(Value condition, Value a, Value b) {
  return create<arith::SelectOp>(condition, a, b);
}

Value AdjointBuilder::logicalAnd(Value a, Value b) {
  return create<arith::AndIOp>(a, b);
}

Value AdjointBuilder::logicalOr(Value a, Value b) {
  return create<arith::OrIOp>(a, b);
}

//===----------------------------------------------------------------------===//
// Reverse mode
//===----------------------------------------------------------------------===//

/// Propagates the adjoint of the op's result to its operands.
static LogicalResult reverse(Operation *op, AdjointBuilder &adjoints,
                             Operation *asker) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  // Tensors have adjoints of elements only, which are not propagated by rules.
  if (!differentiable || op->getNumResults() != 1 ||
      !isa<FloatType>(op->getResult(0).getType())) {
    InFlightDiagnostic diag = op->emitError("'")
                              << op->getName() << "' has no derivative rule";
    diag.attachNote(asker->getLoc())
        << "'" << asker->getName() << "' needs its derivative";
    return diag;
  }
  differentiable.addAdjoints(adjoints, adjoints.enter(op));
  return success();
}

FailureOr<SmallVector<Value>>
fovea::differentiate(OpBuilder &builder, Value output, Value seed,
                     ArrayRef<Value> by, AdjointBuilder::ElementSink addElement,
                     Operation *asker) {
  // Emitted ops are after these.
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::make_range(builder.getBlock()->begin(),
                                        builder.getInsertionPoint()))
    ops.push_back(&op);

  AdjointBuilder adjoints(builder, by, addElement);
  for (Operation *op : ops)
    adjoints.propagate(op);
  adjoints.setLoc(output.getLoc());
  adjoints.add(output, [&] { return seed; });
  for (Operation *op : llvm::reverse(ops))
    if (llvm::any_of(op->getResults(),
                     [&](Value result) { return adjoints.isNeeded(result); }) &&
        failed(reverse(op, adjoints, asker)))
      return failure();
  adjoints.setLoc(output.getLoc());
  return llvm::map_to_vector(
      by, [&](Value value) { return adjoints.lookup(value); });
}
