//===- WarpPlaces.cpp - Lane and register of a tile element -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/WarpPlaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

static ThreadLayoutAttrInterface getLayout(RankedTensorType tile) {
  return dyn_cast_if_present<ThreadLayoutAttrInterface>(tile.getEncoding());
}

bool WarpPlaces::isFor(RankedTensorType tile) {
  ThreadLayoutAttrInterface layout = getLayout(tile);
  return layout && layout.getRowWarps() != 0;
}

WarpPlaces::Steps WarpPlaces::getSteps(RankedTensorType tile, int64_t dim) {
  Steps steps;
  if (tile.getDimSize(dim) == 1)
    return steps;
  ThreadLayoutAttrInterface layout = getLayout(tile);
  // The last mask divides the period into halves, the one before it into
  // quarters.
  int64_t distance = layout.getPeriod(dim);
  SmallVector<int64_t> masks = *layout.getLanesOfPeriod(dim);
  for (int64_t mask : llvm::reverse(masks))
    steps.emplace_back(mask, distance /= 2);
  return steps;
}

WarpPlaces::WarpPlaces(RankedTensorType tile)
    : rowSteps(getSteps(tile, 0)), columnSteps(getSteps(tile, 1)) {
  ThreadLayoutAttrInterface layout = getLayout(tile);
  for (auto offset : llvm::zip(layout.getOffsets(tile.getShape(), 0),
                               layout.getOffsets(tile.getShape(), 1))) {
    Element element(std::get<0>(offset), std::get<1>(offset));
    numbers.emplace(element, offsets.size());
    offsets.push_back(element);
  }
}

WarpPlaces::Element WarpPlaces::getElement(Place place) const {
  Element element = offsets[place.number];
  for (auto [mask, distance] : rowSteps)
    element.first += place.lane & mask ? distance : 0;
  for (auto [mask, distance] : columnSteps)
    element.second += place.lane & mask ? distance : 0;
  return element;
}

WarpPlaces::Place WarpPlaces::getPlace(Element element) const {
  int64_t lane = 0;
  auto take = [&](const Steps &steps, int64_t &coordinate) {
    for (auto [mask, distance] : steps) {
      if (!(coordinate & distance))
        continue;
      lane |= mask;
      coordinate -= distance;
    }
  };
  take(rowSteps, element.first);
  take(columnSteps, element.second);
  return {lane, numbers.at(element)};
}

SmallVector<int64_t> warp::getFreePermutation(RankedTensorType from,
                                              RankedTensorType to) {
  WarpPlaces before(from), after(to);
  // The columns of a lane's first row, in register order.
  auto listColumns = [](const WarpPlaces &places, int64_t lane) {
    SmallVector<int64_t> columns;
    int64_t row = places.getElement({lane, 0}).first;
    for (int64_t number = 0; number < places.getNumElements(); ++number)
      if (auto element = places.getElement({lane, number});
          element.first == row)
        columns.push_back(element.second);
    return columns;
  };
  SmallVector<int64_t> permutation(from.getDimSize(1), 0);
  for (int64_t lane = 0; lane < kLanes; ++lane)
    for (auto [source, target] :
         llvm::zip_equal(listColumns(before, lane), listColumns(after, lane)))
      permutation[target] = source;
  return permutation;
}
