//===- Described.td - Regions with a text ------------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `Arg` and `Res` are to operands and results: a line that says what a
// region is for. The reference shows it (scripts/ods_reference.py).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_DESCRIBED_TD
#define FOVEA_SUPPORT_DESCRIBED_TD

include "mlir/IR/OpBase.td"

class Described<Region region, string text>
    : Region<region.predicate, region.summary> {
  string meaning = text;
}

class DescribedRegions<Region region, string text> : VariadicRegion<region> {
  string meaning = text;
}

#endif // FOVEA_SUPPORT_DESCRIBED_TD
