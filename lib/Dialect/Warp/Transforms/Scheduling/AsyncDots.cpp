//===- AsyncDots.cpp - Asynchronous dots ----------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the conversion between synchronous and asynchronous dots.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/AsyncDots.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

DotWaitOp fovea::warp::makeAsync(DotOp dot) {
  OpBuilder b(dot);
  auto issued =
      DotOp::create(b, dot.getLoc(), dot.getA(), dot.getB(), dot.getAcc(),
                    dot.getOnes(), dot.getTransposeA(), dot.getTransposeB(),
                    /*async=*/true, dot.getNameAttr(), dot.getFirstRowAttr(),
                    dot.getFirstColumnAttr());
  auto wait = DotWaitOp::create(b, dot.getLoc(), issued.getResult(),
                                ValueRange(), ValueRange());
  dot.getResult().replaceAllUsesWith(wait.getResult());
  dot.erase();
  return wait;
}

void fovea::warp::makeSync(DotWaitOp wait) {
  auto issued = wait.getPending().getDefiningOp<DotOp>();
  OpBuilder b(issued);
  auto dot = DotOp::create(
      b, issued.getLoc(), issued.getA(), issued.getB(), issued.getAcc(),
      issued.getOnes(), issued.getTransposeA(), issued.getTransposeB(),
      /*async=*/false, issued.getNameAttr(), issued.getFirstRowAttr(),
      issued.getFirstColumnAttr());
  wait.getResult().replaceAllUsesWith(dot.getResult());
  wait.erase();
  issued.erase();
}
