//===- MatrixUnits.cpp - Properties of MMA units ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements `MatrixUnitAttrInterface` for mma.sync, wgmma and tcgen05: the
// shapes, element types and layouts that planners and passes query.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

using EmitError = function_ref<InFlightDiagnostic()>;

/// The operand layout for an accumulator in MMA fragments: for 16-bit elements
/// it is the accumulator's layout, for other widths an `#warp.operand`.
static Attribute getFragmentOperand(Attribute accumulator, int64_t bits) {
  if (bits == 16)
    return accumulator;
  if (!OperandAttr::isFor(bits))
    return {};
  return OperandAttr::get(accumulator.getContext(), accumulator, bits);
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

int64_t MmaSyncUnitAttr::getGroupWarps() const { return 1; }
int64_t MmaSyncUnitAttr::getGroupRows() const { return 16; }
/// The columns of one product are the reduction dimension of the next, in steps
/// of 16.
int64_t MmaSyncUnitAttr::getColumnStep() const { return 16; }
/// The limit for tiles.
int64_t MmaSyncUnitAttr::getMostColumns() const { return 1024; }
bool MmaSyncUnitAttr::multiplies(int64_t elementBits) const {
  return elementBits == 16 || elementBits == 32;
}
/// An instruction sums 32 bytes. The columns of one product are also the
/// reduction dimension of the next.
int64_t MmaSyncUnitAttr::getSumStep(int64_t elementBits) const {
  return std::max<int64_t>(getColumnStep(), 256 / elementBits);
}
bool MmaSyncUnitAttr::isAsynchronous() const { return false; }
Attribute MmaSyncUnitAttr::getLayout(EmitError emitError, int64_t warps,
                                     int64_t columnWarps) const {
  return MmaSyncAttr::getChecked(emitError, getContext(), warps / columnWarps,
                                 columnWarps);
}
Attribute MmaSyncUnitAttr::getOperandLayout(Attribute accumulator,
                                            int64_t elementBits) const {
  // A lane does not hold all columns of its rows.
  if (cast<MmaSyncAttr>(accumulator).getColumnWarps() != 1)
    return {};
  // For f32, dots take k in the order in which lanes hold accumulator columns.
  return elementBits == 32 ? accumulator
                           : getFragmentOperand(accumulator, elementBits);
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

int64_t WgmmaUnitAttr::getGroupWarps() const { return kGroupWarps; }
int64_t WgmmaUnitAttr::getGroupRows() const { return kGroupRows; }
int64_t WgmmaUnitAttr::getColumnStep() const { return 16; }
int64_t WgmmaUnitAttr::getMostColumns() const { return 256; }
bool WgmmaUnitAttr::multiplies(int64_t elementBits) const {
  return elementBits == 8 || elementBits == 16;
}
bool WgmmaUnitAttr::takesOnes() const { return true; }
Attribute WgmmaUnitAttr::getLayout(EmitError emitError, int64_t warps,
                                   int64_t columnWarps) const {
  if (columnWarps != 1) {
    emitError() << "wgmma accumulators keep complete rows in a warp group: "
                   "'column_warps' must be 1, found "
                << columnWarps;
    return {};
  }
  return WgmmaAttr::getChecked(emitError, getContext(),
                               warps / getGroupWarps());
}
Attribute WgmmaUnitAttr::getOperandLayout(Attribute accumulator,
                                          int64_t elementBits) const {
  return getFragmentOperand(accumulator, elementBits);
}

//===----------------------------------------------------------------------===//
// tcgen05
//===----------------------------------------------------------------------===//

int64_t Tcgen05UnitAttr::getGroupWarps() const { return kGroupWarps; }
int64_t Tcgen05UnitAttr::getGroupRows() const { return kTmemRows; }
int64_t Tcgen05UnitAttr::getColumnStep() const { return 32; }
int64_t Tcgen05UnitAttr::getMostColumns() const { return 256; }
bool Tcgen05UnitAttr::multiplies(int64_t elementBits) const {
  return elementBits == 16;
}
/// Computed operands go through tensor memory.
bool Tcgen05UnitAttr::readsRegisters() const { return false; }
bool Tcgen05UnitAttr::accumulatesInMemory() const { return true; }
/// A role's warp group holds the rows of one accumulator, whatever the number
/// of warps of all roles.
Attribute Tcgen05UnitAttr::getLayout(EmitError emitError, int64_t warps,
                                     int64_t columnWarps) const {
  if (columnWarps == 1 && warps % getGroupWarps() == 0)
    return ThreadRowsAttr::get(getContext());
  emitError() << "accumulators in tensor memory are read by whole warp groups: "
                 "'column_warps' must be 1 and 'warps' a multiple of "
              << getGroupWarps() << ", found " << columnWarps << " and "
              << warps;
  return {};
}
