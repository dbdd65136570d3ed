//===- Described.td - Regions with a description -----------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions with a one-line description, like `Arg` and `Res` for operands and
// results. scripts/ods_reference.py adds it to the reference.
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
