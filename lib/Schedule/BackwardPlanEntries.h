//===- BackwardPlanEntries.h - What plans of gradients say ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_BACKWARDPLANENTRIES_H
#define FOVEA_LIB_SCHEDULE_BACKWARDPLANENTRIES_H

#include "fovea/Dialect/Plan/IR/Plan.h"
#include "fovea/Schedule/BackwardPlans.h"

#include "mlir/IR/Builders.h"

namespace fovea {

/// Makes the entries of a plan whose kernel has tiles of keys.
struct BackwardPlanEntries {
  explicit BackwardPlanEntries(mlir::MLIRContext *context) : b(context) {}

  /// What comes with another stream is staged, too.
  plan::StreamAttr stream(llvm::StringRef name, int64_t stages,
                          llvm::StringRef with = "", bool isStaged = false);
  /// One whose ring's position is counted for it alone.
  plan::StreamAttr alone(llvm::StringRef name, int64_t stages);
  /// Those numbers by distance, each by its name: there may be more than memory
  /// has room for.
  void addDiagonals(llvm::SmallVectorImpl<plan::StreamAttr> &streams,
                    const BackwardProblem &problem, bool readsEarly = false);
  /// Derivatives by scores, which leave for the product for dQ, and what else
  /// leaves for sums by distance. Who has that product adds to those.
  void addDerivatives(llvm::SmallVectorImpl<plan::StreamAttr> &streams,
                      int64_t stages, const BackwardProblem &problem);

  plan::DotAttr ahead(llvm::StringRef name, bool isCarried = false,
                      bool addsToSummand = false);
  plan::DotAttr eachAbove(llvm::StringRef name);
  /// The product for dQ's first part, under which sums by distance are found.
  llvm::SmallVector<plan::DotAttr> lateQuery(const BackwardProblem &problem);

  /// A store by the copy engine, through a buffer of its own or a stream's.
  plan::StoreAttr copied(llvm::StringRef name, llvm::StringRef over = "");
  /// A store that adds under the next round's first product.
  plan::StoreAttr late(llvm::StringRef name);
  /// How what is added to dQ's sums gets to memory, where it is not direct.
  llvm::SmallVector<plan::StoreAttr> sums(plan::OutputPath output);

  plan::RoleAttr role(llvm::StringRef name, int64_t warps, int64_t registers,
                      llvm::ArrayRef<llvm::StringRef> owns);
  /// Who copies, in a warp group of which one warp works, and others. Where
  /// tiles take turns, two more of its warps do: one asks for turns ahead of
  /// time, one ends them when additions are done. Who adds waits for neither.
  /// Where scores take numbers by distance, one more finds those.
  llvm::SmallVector<plan::RoleAttr>
  roles(int64_t loadRegisters, const BackwardProblem &problem,
        llvm::ArrayRef<plan::RoleAttr> others);

  mlir::Builder b;
};

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_BACKWARDPLANENTRIES_H
