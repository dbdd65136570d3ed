//===- TensorMemoryAccess.h - Access to a CTA's tensor memory ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_TENSORMEMORYACCESS_H
#define FOVEA_LIB_PTX_TENSORMEMORYACCESS_H

#include "Machine.h"

#include "fovea/PTX/Units/InstructionDescriptor.h"

namespace fovea::ptx {

/// The index of a cell in Cta::tensor.
inline uint32_t tensorCell(unsigned lane, unsigned column) {
  return column * 128 + lane;
}

/// Checks that the cells of an instruction are allocated, and records the
/// accesses.
class TensorAccess {
public:
  /// Accesses of work that the lane, or the warp with it, issues.
  TensorAccess(Warp &warp, const Inst &inst, unsigned lane, const Stamp &stamp);
  /// Accesses one cell; returns false after reporting an error.
  bool touch(Cta &cta, unsigned lane, unsigned column, bool write);
  /// Accesses `count` lanes of a column; `lane` is a multiple of 4.
  bool touchLanes(Cta &cta, unsigned lane, unsigned count, unsigned column,
                  bool write);

private:
  Warp &warp;
  const Inst &inst;
  Knowledge knowledge;
  Access access;
};

/// Reads a cell, which must have been written and passed TensorAccess::touch.
bool readCell(Warp &warp, const Inst &inst, const Cta &cta, unsigned lane,
              unsigned column, uint32_t &value);
void writeCell(Cta &cta, unsigned lane, unsigned column, uint32_t value);

/// The stamp of a product that a lane issues, whose accumulator is at `d`.
Stamp makeProductStamp(Warp &warp, const Inst &inst, unsigned lane, uint32_t d,
                       const InstructionDescriptor &descriptor, unsigned group);
/// The stamp of a tcgen05.cp that a lane issues.
Stamp makeCopyStamp(Warp &warp, const Inst &inst, unsigned lane);
/// Issues a product or a copy, in order with earlier ones of its pipeline.
void issueTensorWork(Warp &warp, const Inst &inst, const Stamp &stamp,
                     llvm::StringRef what, std::function<bool()> finish);
/// 'tcgen05.fence::before_thread_sync'.
void publishTensorWork(Warp &warp, uint32_t mask);
/// The knowledge that a commit by the lane publishes, and the outstanding work
/// of the lane that it tracks.
Knowledge commitTensorWork(Warp &warp, unsigned lane,
                           llvm::SmallVectorImpl<uint64_t> &after);

/// Takes .cta_group::1 or 2.
unsigned takeCtaGroup(Build &build);
/// Finds the CTAs of a group, the even one first; reports a missing pair.
bool findGroup(Warp &warp, const Inst &inst, unsigned group, Cta *ctas[2]);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_TENSORMEMORYACCESS_H
