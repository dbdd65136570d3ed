//===- RowPartition.cpp - Values that depend on rows ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPartition.h"

#include "fovea/Support/Carried.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea::tile;

//===----------------------------------------------------------------------===//
// Equivalence classes of tile dimensions
//===----------------------------------------------------------------------===//

std::optional<unsigned> RowPartition::lookup(Value value, unsigned dim) const {
  auto found = numbers.find(value);
  if (found == numbers.end())
    return std::nullopt;
  return found->second + dim;
}

void RowPartition::join(Value a, unsigned dimOfA, Value b, unsigned dimOfB) {
  std::optional<unsigned> left = lookup(a, dimOfA), right = lookup(b, dimOfB);
  if (left && right)
    classes.join(*left, *right);
}

void RowPartition::joinTiles(ValueRange values) {
  Value first;
  for (Value value : values) {
    if (!isRegisterTile(value.getType()))
      continue;
    if (!first)
      first = value;
    // A dimension that is broadcast relates nothing.
    auto type = cast<RankedTensorType>(value.getType()),
         other = cast<RankedTensorType>(first.getType());
    for (unsigned dim : {0u, 1u})
      if (type.getDimSize(dim) == other.getDimSize(dim))
        join(first, dim, value, dim);
  }
}

void RowPartition::joinEach(ValueRange left, ValueRange right) {
  for (auto [a, b] : llvm::zip_equal(left, right))
    joinTiles({a, b});
}

void RowPartition::joinOp(Operation *op) {
  if (auto dot = dyn_cast<DotOp>(op)) {
    unsigned rowsOfA = dot.getTransposeA() ? 1 : 0,
             columnsOfB = dot.getTransposeB() ? 0 : 1;
    joinTiles({dot.getAcc(), dot.getResult()});
    if (!dot.getFirstRow())
      join(dot.getResult(), 0, dot.getA(), rowsOfA);
    if (!dot.getFirstColumn())
      join(dot.getResult(), 1, dot.getB(), columnsOfB);
    join(dot.getA(), 1 - rowsOfA, dot.getB(), 1 - columnsOfB);
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    unsigned kept = 1 - reduce.getDim();
    join(reduce.getSource(), kept, reduce.getResult(), kept);
  } else if (auto transposition = dyn_cast<TransposeOp>(op)) {
    for (unsigned dim : {0, 1})
      join(transposition.getSource(), dim, transposition.getResult(), 1 - dim);
  } else if (!forEachCarried(op, [&](ValueRange from, ValueRange to) {
               joinEach(from, to);
             })) {
    joinOther(op);
  }
}

void RowPartition::joinOther(Operation *op) {
  if (auto branch = dyn_cast<IfAnyOp>(op)) {
    Block &body = branch.getBody().front();
    joinEach(branch.getInits(), branch.getResults());
    joinEach(branch.getInits(), body.getArguments());
    joinEach(branch.getInits(), body.getTerminator()->getOperands());
    for (Value init : branch.getInits())
      join(branch.getCondition(), 0, init, 0);
  } else if (!isa<DiagonalsOp>(op) && op->getNumRegions() == 0 &&
             !op->hasTrait<OpTrait::IsTerminator>()) {
    SmallVector<Value> values(op->getResults());
    llvm::append_range(values, op->getOperands());
    joinTiles(values);
  }
}

//===----------------------------------------------------------------------===//
// The class of the rows
//===----------------------------------------------------------------------===//

LogicalResult RowPartition::findRows(Operation *kernel, int64_t parts) {
  DotOp first;
  WalkResult walk = kernel->walk([&](DotOp dot) -> WalkResult {
    unsigned found = classes.findLeader(*lookup(dot.getResult(), 0));
    if (!first) {
      first = dot;
      rows = found;
    }
    if (found == rows)
      return WalkResult::advance();
    InFlightDiagnostic diag = dot.emitError(
        "rows can't be split: this dot and another one have different rows");
    diag.attachNote(first.getLoc()) << "the other dot";
    return diag;
  });
  if (walk.wasInterrupted())
    return failure();
  if (!first)
    return success();
  int64_t extent = first.getResult().getType().getDimSize(0);
  if (extent % parts != 0)
    return first.emitError("rows can't be split: ")
           << extent << " rows are not a multiple of " << parts << " parts";
  partRows = extent / parts;
  return success();
}

bool RowPartition::hasRows(Value value) const {
  std::optional<unsigned> number = lookup(value, 0);
  return number && classes.findLeader(*number) == rows;
}

LogicalResult RowPartition::checkOp(Operation *op) {
  constexpr StringLiteral message = "rows can't be split: ";
  auto isColumns = [&](Value value) {
    std::optional<unsigned> number = lookup(value, 1);
    return number && classes.findLeader(*number) == rows;
  };
  if (auto dot = dyn_cast<DotOp>(op))
    if (hasRows(dot.getB()) || isColumns(dot.getB()) || isColumns(dot.getA()))
      return op->emitError(message) << "this dot sums over them";
  // An op without tile operands takes any role that its user requires.
  for (Value result : op->getResults())
    if (isColumns(result) && !makesTile(op))
      return op->emitError(message) << "this tile has them as columns";
  if (auto reduce = dyn_cast<ReduceOp>(op))
    if (reduce.getDim() == 0 && hasRows(reduce.getSource()))
      return op->emitError(message) << "this reduction combines them";
  if (auto diagonals = dyn_cast<DiagonalsOp>(op))
    if (hasRows(diagonals.getResult()))
      return op->emitError(message)
             << "relative positions of this tile span several parts";
  if (auto known = dyn_cast<RowsOpInterface>(op)) {
    Value tile = known.getRowTile();
    if (tile && hasRows(tile) && partRows % known.getRowUnit() != 0)
      return op->emitError(message)
             << partRows << " rows of a part are not a multiple of the fold's "
             << known.getRowUnit();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    if (isPartitioned(loop.getLowerBound()) ||
        isPartitioned(loop.getUpperBound()) || isPartitioned(loop.getStep()))
      return op->emitError(message)
             << "the trip count of this loop depends on them";
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    if (isPartitioned(loop.getConditionOp().getCondition()) ||
        llvm::any_of(loop.getBeforeArguments(),
                     [&](Value value) { return isPartitioned(value); }))
      return op->emitError(message)
             << "this loop carries values that depend on them";
  if (!isa<scf::IfOp, IfAnyOp>(op) || !concerns(op))
    return success();
  // Each part gets its own clone.
  WalkResult walk = op->walk([&](Operation *nested) -> WalkResult {
    if (nested->getNumRegions() != 0 || isMemoryEffectFree(nested) ||
        hasSingleEffect<MemoryEffects::Read>(nested) || concerns(nested))
      return WalkResult::advance();
    return nested->emitError(message)
           << "this op has side effects but would be cloned for each part";
  });
  return failure(walk.wasInterrupted());
}

LogicalResult RowPartition::checkRows(Operation *kernel) {
  WalkResult walk = kernel->walk([&](Operation *op) -> WalkResult {
    return op == kernel ? success() : checkOp(op);
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Values that depend on the rows
//===----------------------------------------------------------------------===//

bool RowPartition::concerns(Operation *op) const {
  WalkResult walk = op->walk([&](Operation *nested) {
    auto is = [&](Value value) { return isPartitioned(value); };
    return llvm::any_of(nested->getOperands(), is) ||
                   llvm::any_of(nested->getResults(), is)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Propagates along values that are the same under several names: if one of
/// them is partitioned, or `all` is set, all are.
bool RowPartition::spreadAlong(ArrayRef<ValueRange> carried, bool all) {
  bool changed = false;
  for (unsigned index = 0; index < carried.front().size(); ++index) {
    bool any = all || llvm::any_of(carried, [&](ValueRange values) {
                 return isPartitioned(values[index]);
               });
    if (!any)
      continue;
    // The first range is used here but defined elsewhere.
    for (ValueRange values : carried.drop_front())
      changed |= parted.insert(values[index]).second;
  }
  return changed;
}

bool RowPartition::spread(Operation *op) {
  bool changed = false;
  auto along = [&](std::initializer_list<ValueRange> carried,
                   bool all = false) { changed |= spreadAlong(carried, all); };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    ValueRange arguments = loop.getRegionIterArgs(),
               results = loop.getResults();
    along({loop.getInits(), arguments, results});
    along({loop.getYieldedValues(), arguments, results});
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    along({loop.getInits(), loop.getBeforeArguments()});
    along({loop.getConditionOp().getArgs(), loop.getAfterArguments(),
           loop.getResults()});
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    bool all = isPartitioned(branch.getCondition());
    along({branch.thenYield().getOperands(), branch.getResults()}, all);
    if (branch.elseBlock())
      along({branch.elseYield().getOperands(), branch.getResults()}, all);
  } else if (auto branch = dyn_cast<IfAnyOp>(op)) {
    Block &body = branch.getBody().front();
    along({branch.getInits(), body.getArguments(), branch.getResults()},
          isPartitioned(branch.getCondition()));
    along({body.getTerminator()->getOperands(), branch.getResults()});
  } else if (llvm::any_of(op->getOperands(), [&](Value operand) {
               return isPartitioned(operand);
             })) {
    for (Value result : op->getResults())
      changed |= parted.insert(result).second;
  }
  return changed;
}

void RowPartition::findPartitioned(Operation *kernel) {
  for (auto [value, number] : numbers)
    if (hasRows(value))
      parted.insert(value);
  // Each part owns its own rows.
  kernel->walk([&](OwnedRowsOp held) {
    if (cast<RankedTensorType>(held.getTile()).getDimSize(0) % partRows == 0)
      parted.insert_range(held->getResults());
  });
  for (bool changed = true; changed;) {
    changed = false;
    kernel->walk([&](Operation *op) {
      if (op != kernel)
        changed |= spread(op);
    });
  }
}

LogicalResult RowPartition::compute(Operation *kernel, int64_t parts) {
  makeTilesForEachUse(kernel);
  unsigned next = 0;
  auto number = [&](Value value) {
    if (isRegisterTile(value.getType()) &&
        numbers.try_emplace(value, next).second)
      next += 2;
  };
  kernel->walk([&](Operation *op) {
    llvm::for_each(op->getResults(), number);
    for (Region &region : op->getRegions())
      llvm::for_each(region.getArguments(), number);
  });
  classes.grow(next);
  kernel->walk([&](Operation *op) {
    if (op != kernel)
      joinOp(op);
  });
  if (failed(findRows(kernel, parts)))
    return failure();
  if (partRows == 0)
    return success();
  findPartitioned(kernel);
  return checkRows(kernel);
}
