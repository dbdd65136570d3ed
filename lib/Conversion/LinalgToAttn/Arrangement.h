//===- Arrangement.h - Axes of batch, heads and rows ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_ARRANGEMENT_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_ARRANGEMENT_H

#include "Match.h"
#include "Regroup.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea::raising {

/// The operands of attn.forward, and the axes of its dimensions.
struct Arrangement {
  AxisList batch, keyHeads, queryHeads, queries, keys, head, valueHead;
  attn::Layout layout = attn::Layout::BHSD;
  Place query, key, value, output;
  /// The constant factor of Q and K.
  double scale = 1.0;

  Groups getGroups(const AxisList &heads, const AxisList &sequence,
                   const AxisList &width) const {
    if (layout == attn::Layout::BSHD)
      return {batch, sequence, heads, width};
    return {batch, heads, sequence, width};
  }
  Groups getQueryGroups() const { return getGroups(queryHeads, queries, head); }
  Groups getKeyGroups() const { return getGroups(keyHeads, keys, head); }
  Groups getValueGroups() const { return getGroups(keyHeads, keys, valueHead); }
  Groups getOutputGroups() const {
    return getGroups(queryHeads, queries, valueHead);
  }
};

/// Determines the operands and the axes of their dimensions. nullopt with a
/// reason in `missed`, or if an axis must be split first.
std::optional<Arrangement> arrange(Match &match, std::optional<Missed> &missed);

/// The last tensor that only permutes the second contraction's result.
Place findOutput(Match &match, const Arrangement &arrangement);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_ARRANGEMENT_H
