//===- PreprocessTerms.cpp - Query terms of score_mod ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/PreprocessTerms.h"

#include "Regions/RegionToTile.h"

using namespace mlir;
using namespace fovea;

bool fovea::areQueryTermsApart(const BackwardKernel &kernel) {
  attn::BackwardOp op = kernel.op;
  return kernel.part.addsQuery && !op.getScoreMod().empty();
}

FailureOr<Value> fovea::emitQueryTerms(const BackwardKernel &kernel,
                                       const QueryPlace &place) {
  if (!areQueryTermsApart(kernel))
    return Value();
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  OpBuilder &b = kb.builder;
  const BackwardKernelPlan &part = kernel.part;
  // The whole score_mod is evaluated for arbitrary keys and scores; the terms
  // that depend on those are dead code.
  RegionContext context =
      kernel.makeContext(place.head, place.first, kb.constant(0));
  OpBuilder invariant = b;
  FailureOr<AffineScore> form =
      RegionToTile(b, context)
          .cloneScoreMod(op.getScoreMod(),
                         scaleProducts(kb, op, kernel.splatScore(0.0)),
                         invariant);
  if (failed(form))
    return failure();
  AffineScoreEmitter emitter(b, invariant, kb.getLoc(), part.getRows(),
                             part.getColumns());
  Value terms = emitter.emit(form->takeOfQueries(/*areRows=*/true),
                             /*sidesFirst=*/true);
  RankedTensorType type = kb.tileType(part.getRows(), 1, b.getF32Type());
  if (terms && terms.getType() != type)
    terms = kb.make<tile::BroadcastOp>(type, terms);
  return terms;
}
