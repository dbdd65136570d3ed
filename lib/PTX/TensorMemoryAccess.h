//===- TensorMemoryAccess.h - Tensor memory of a CTA ----------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_TENSORMEMORYACCESS_H
#define FOVEA_LIB_PTX_TENSORMEMORYACCESS_H

#include "Machine.h"

namespace fovea::ptx {

/// The index of a cell in Cta::tensor.
inline uint32_t tensorCell(unsigned lane, unsigned column) {
  return column * 128 + lane;
}

/// Whether the cells of an instruction are all allocated; watches them too.
class TensorAccess {
public:
  /// By agent `agent` in its `epoch`. Work of the same agent is in order where
  /// `ordered`.
  TensorAccess(Warp &warp, const Inst &inst, uint16_t agent, uint32_t epoch,
               bool ordered);
  /// One cell; false when an error was reported.
  bool touch(Cta &cta, unsigned lane, unsigned column, bool write);
  /// `count` lanes of a column, from a multiple of 4 on.
  bool touchLanes(Cta &cta, unsigned lane, unsigned count, unsigned column,
                  bool write);

private:
  Warp &warp;
  const Inst &inst;
  Knowledge knowledge;
  Access access;
};

/// Reads a cell that must have been written, of a place that
/// `TensorAccess::touch` has found to be there.
bool readCell(Warp &warp, const Inst &inst, const Cta &cta, unsigned lane,
              unsigned column, uint32_t &value);
void writeCell(Cta &cta, unsigned lane, unsigned column, uint32_t value);

/// Takes .cta_group::1 or 2.
unsigned takeCtaGroup(Build &build);
/// The CTAs of a group, the even one first; reports a pair that isn't there.
bool findGroup(Warp &warp, const Inst &inst, unsigned group, Cta *ctas[2]);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_TENSORMEMORYACCESS_H
