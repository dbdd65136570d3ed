//===- InstructionDescriptor.h - Matrix instructions ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_INSTRUCTIONDESCRIPTOR_H
#define FOVEA_PTX_UNITS_INSTRUCTIONDESCRIPTOR_H

#include "fovea/PTX/Units/MatrixDescriptor.h"
#include "fovea/PTX/Units/Numeric.h"

#include "llvm/Support/Error.h"

namespace fovea::ptx {

//===----------------------------------------------------------------------===//
// tcgen05.mma
//===----------------------------------------------------------------------===//

enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4,
};

/// Takes "f16", "mxf4nvf4" and so on: what follows ".kind::".
llvm::Expected<MmaKind> parseMmaKind(llvm::StringRef name);
llvm::StringRef getName(MmaKind kind);

/// Kinds that scale A and B by blocks.
bool hasBlockScales(MmaKind kind);

/// tcgen05.mma's instruction descriptor, decoded.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::F16;
  ElementType aType = ElementType::F16;
  ElementType bType = ElementType::F16;
  /// F32, F16 or S32.
  ElementType dType = ElementType::F32;
  unsigned m = 0, n = 0, k = 0;
  bool negateA = false, negateB = false;
  MajorDim aMajor = MajorDim::K, bMajor = MajorDim::K;
  /// i8: results are clamped.
  bool saturate = false;
  bool sparse = false;
  unsigned sparsitySelector = 0;
  /// .ws: as the two bits give it: 0, 8, 16 or 32.
  unsigned maximumShift = 0;
  /// Kinds with block scales.
  ElementType scaleType = ElementType::UE8M0;
  unsigned scaleAId = 0, scaleBId = 0;
};

/// Takes the bits apart. Reserved bits and values that the kind lacks are
/// errors that name the field. `sparse` says whether the instruction is
/// tcgen05.mma.sp, which must agree with the descriptor.
llvm::Expected<InstructionDescriptor>
decodeInstructionDescriptor(uint32_t bits, MmaKind kind, bool sparse = false);

/// The inverse, for tests and tools.
uint32_t encodeInstructionDescriptor(const InstructionDescriptor &descriptor);

/// Whether there is such an instruction: m and n against kind, .cta_group
/// (1 or 2) and .ws. Sparse instructions and k = 96 are named as not modelled.
llvm::Error checkMmaShape(const InstructionDescriptor &descriptor,
                          unsigned ctaGroup, bool weightStationary = false);

/// The part of A (of both CTAs' 2 for .cta_group::2) that one CTA's descriptor
/// or tensor memory holds: rows of A, columns of B.
inline unsigned getRowsPerCTA(const InstructionDescriptor &d, unsigned group) {
  return d.m / group;
}
inline unsigned getColumnsPerCTA(const InstructionDescriptor &d,
                                 unsigned group) {
  return d.n / group;
}

/// A's or B's part in one CTA as a shared-memory tile.
OperandTile getOperandTileA(const InstructionDescriptor &d, unsigned ctaGroup);
OperandTile getOperandTileB(const InstructionDescriptor &d, unsigned ctaGroup);

/// Scale vectors: .scale_vec::1X, 2X and 4X, or .block32 and .block16 (`name`
/// as after the last "::", "1X", or as after the '.', "block16"; empty for the
/// kind's default). The number of scales in a row of A.
llvm::Expected<unsigned> getScaleChunks(const InstructionDescriptor &d,
                                        llvm::StringRef name);

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// wgmma.mma_async: m is 64. `dType`: F32, F16 or S32.
struct WgmmaShape {
  unsigned n = 0, k = 0;
  ElementType dType = ElementType::F32;
  ElementType aType = ElementType::F16;
  ElementType bType = ElementType::F16;
};

llvm::Error checkWgmma(const WgmmaShape &shape);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_INSTRUCTIONDESCRIPTOR_H
