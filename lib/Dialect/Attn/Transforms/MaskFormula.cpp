//===- MaskFormula.cpp - Print bounds as formulas -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskRemarks.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

namespace {
/// Prints the expression of a value, up to a limit.
class FormulaPrinter {
public:
  std::string print(Value value, bool isOperand = false);
  std::string printCompare(arith::CmpIOp op, arith::CmpIPredicate predicate);

private:
  std::string printArgument(BlockArgument argument);
  std::string printOp(Operation *op, bool &isAtom);
  std::string printSum(arith::AddIOp op);
  std::string printInfix(Operation *op, StringRef symbol);
  std::string printCall(Operation *op, StringRef name);
  std::string printElement(Value tensor, ValueRange indices);
  template <typename ExtremeOp>
  std::string printExtreme(ExtremeOp op, StringRef name);

  /// The number of values still to be printed; shared values count each time.
  unsigned budget = 40;
};
} // namespace

static constexpr StringLiteral kMore = "...";

std::string FormulaPrinter::printArgument(BlockArgument argument) {
  static constexpr StringLiteral kNames[] = {"b", "h", "i0", "i1", "j0", "j1"};
  auto op = cast<AttentionOpInterface>(argument.getOwner()->getParentOp());
  unsigned count = argument.getOwner()->getNumArguments(),
           leading = count - op.getCaptures().size();
  unsigned number = argument.getArgNumber();
  if (number >= leading)
    return op.getCaptureName(number - leading);
  if (argument.getParentRegion() == &op.getMaskMod()) {
    static constexpr StringLiteral kPair[] = {"b", "h", "i", "j"};
    return kPair[number].str();
  }
  // query_bounds is evaluated for the keys j0 to j1.
  auto backward = dyn_cast<BackwardOp>(op.getOperation());
  bool isOfQueries =
      backward && argument.getParentRegion() == &backward.getQueryBounds();
  return kNames[isOfQueries && number > 1 ? number + 2 : number].str();
}

std::string FormulaPrinter::printInfix(Operation *op, StringRef symbol) {
  return print(op->getOperand(0), true) + " " + symbol.str() + " " +
         print(op->getOperand(1), true);
}

std::string FormulaPrinter::printSum(arith::AddIOp op) {
  APInt constant;
  if (matchPattern(op.getRhs(), m_ConstantInt(&constant)) &&
      constant.isNegative())
    return print(op.getLhs(), true) + " - " +
           toString(constant.abs(), 10, /*Signed=*/false);
  return printInfix(op, "+");
}

/// Flattens nested minima and maxima.
std::string FormulaPrinter::printCall(Operation *op, StringRef name) {
  std::string text;
  SmallVector<Value> operands(llvm::reverse(op->getOperands()));
  while (!operands.empty()) {
    Value operand = operands.pop_back_val();
    Operation *inner = operand.getDefiningOp();
    if (inner && inner->getName() == op->getName()) {
      llvm::append_range(operands, llvm::reverse(inner->getOperands()));
      continue;
    }
    text += (text.empty() ? "" : ", ") + print(operand);
  }
  return name.str() + "(" + text + ")";
}

std::string FormulaPrinter::printCompare(arith::CmpIOp op,
                                         arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::eq:
    return printInfix(op, "==");
  case Predicate::ne:
    return printInfix(op, "!=");
  case Predicate::slt:
  case Predicate::ult:
    return printInfix(op, "<");
  case Predicate::sle:
  case Predicate::ule:
    return printInfix(op, "<=");
  case Predicate::sgt:
  case Predicate::ugt:
    return printInfix(op, ">");
  case Predicate::sge:
  case Predicate::uge:
    return printInfix(op, ">=");
  }
  llvm_unreachable("unknown predicate");
}

std::string FormulaPrinter::printElement(Value tensor, ValueRange indices) {
  std::string text;
  for (Value index : indices)
    text += (text.empty() ? "" : ", ") + print(index);
  return print(tensor, true) + "[" + text + "]";
}

/// Prints a slice: min(doc[b, j0..j1]).
template <typename ExtremeOp>
std::string FormulaPrinter::printExtreme(ExtremeOp op, StringRef name) {
  std::string text;
  auto others = op.getIndices().begin();
  int64_t rank = op.getIndices().size() + 1, dim = op.getDim();
  for (int64_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") +
            (i == dim ? print(op.getFirst()) + ".." + print(op.getLast())
                      : print(*others++));
  return name.str() + "(" + print(op.getTensor(), true) + "[" + text + "])";
}

std::string FormulaPrinter::printOp(Operation *op, bool &isAtom) {
  isAtom = false;
  auto atom = [&](std::string text) {
    isAtom = true;
    return text;
  };
  using Text = std::string;
  bool isBool = op->getResult(0).getType().isInteger(1);
  return TypeSwitch<Operation *, Text>(op)
      .Case([&](arith::AddIOp sum) { return printSum(sum); })
      .Case([&](arith::SubIOp) { return printInfix(op, "-"); })
      .Case([&](arith::MulIOp) { return printInfix(op, "*"); })
      .Case<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return printInfix(op, "//"); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return printInfix(op, "%"); })
      .Case([&](arith::AndIOp) { return printInfix(op, isBool ? "and" : "&"); })
      .Case([&](arith::OrIOp) { return printInfix(op, isBool ? "or" : "|"); })
      .Case([&](arith::CmpIOp compare) {
        return printCompare(compare, compare.getPredicate());
      })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [&](auto) { return atom(printCall(op, "min")); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto) { return atom(printCall(op, "max")); })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](auto) { return atom(printCall(op, "ceildiv")); })
      .Case([&](arith::XOrIOp) {
        return isBool && matchPattern(op->getOperand(1), m_One())
                   ? "not " + print(op->getOperand(0), true)
                   : printInfix(op, isBool ? "!=" : "^");
      })
      .Case([&](arith::SelectOp select) {
        return print(select.getTrueValue(), true) + " if " +
               print(select.getCondition(), true) + " else " +
               print(select.getFalseValue(), true);
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(
          [&](auto) { return atom(print(op->getOperand(0), true)); })
      .Case([&](tensor::ExtractOp extract) {
        return atom(printElement(extract.getTensor(), extract.getIndices()));
      })
      .Case([&](BlockMinOp extreme) {
        return atom(printExtreme(extreme, "min"));
      })
      .Case([&](BlockMaxOp extreme) {
        return atom(printExtreme(extreme, "max"));
      })
      .Case([&](KeyLengthOp) { return atom("key_length"); })
      .Case([&](QueryLengthOp) { return atom("query_length"); })
      .Default([&](Operation *) {
        return atom(printCall(op, op->getName().stripDialect()));
      });
}

std::string FormulaPrinter::print(Value value, bool isOperand) {
  if (budget == 0)
    return kMore.str();
  --budget;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return printArgument(argument);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (value.getType().isInteger(1))
      return constant.isZero() ? "false" : "true";
    return toString(constant, 10, /*Signed=*/true);
  }
  bool isAtom;
  std::string text = printOp(value.getDefiningOp(), isAtom);
  return isOperand && !isAtom ? "(" + text + ")" : text;
}

std::string fovea::attn::printComparison(arith::CmpIOp op,
                                         arith::CmpIPredicate predicate) {
  return FormulaPrinter().printCompare(op, predicate);
}

std::string fovea::attn::printFormula(Value value, bool isOperand) {
  return FormulaPrinter().print(value, isOperand);
}
