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

/// Parses the suffix of ".kind::": "f16", "mxf4nvf4" and so on.
llvm::Expected<MmaKind> parseMmaKind(llvm::StringRef name);
llvm::StringRef getName(MmaKind kind);

/// True for kinds with block scales of A and B.
bool hasBlockScales(MmaKind kind);

/// The decoded instruction descriptor of tcgen05.mma.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::F16;
  ElementType aType = ElementType::F16;
  ElementType bType = ElementType::F16;
  /// F32, F16 or S32.
  ElementType dType = ElementType::F32;
  unsigned m = 0, n = 0, k = 0;
  bool negateA = false, negateB = false;
  MajorDim aMajor = MajorDim::K, bMajor = MajorDim::K;
  /// i8: results saturate.
  bool saturate = false;
  bool sparse = false;
  unsigned sparsitySelector = 0;
  /// .ws: the maximum shift of the two-bit field: 0, 8, 16 or 32.
  unsigned maximumShift = 0;
  /// For kinds with block scales.
  ElementType scaleType = ElementType::UE8M0;
  unsigned scaleAId = 0, scaleBId = 0;
};

/// Decodes a descriptor. Nonzero reserved bits and values that the kind does
/// not support are errors that name the field. `sparse` is true for
/// tcgen05.mma.sp and must agree with the descriptor.
llvm::Expected<InstructionDescriptor>
decodeInstructionDescriptor(uint32_t bits, MmaKind kind, bool sparse = false);

/// The inverse of decodeInstructionDescriptor, for tests and tools.
uint32_t encodeInstructionDescriptor(const InstructionDescriptor &descriptor);

/// Checks that the instruction exists: m and n for the kind, .cta_group (1 or
/// 2) and .ws. Sparse instructions and k = 96 are reported as not modelled.
llvm::Error checkMmaShape(const InstructionDescriptor &descriptor,
                          unsigned ctaGroup, bool weightStationary = false);

/// Rows of A and columns of B that the descriptor or tensor memory of one CTA
/// holds; with .cta_group::2 each CTA holds half.
inline unsigned getRowsPerCTA(const InstructionDescriptor &d, unsigned group) {
  return d.m / group;
}
inline unsigned getColumnsPerCTA(const InstructionDescriptor &d,
                                 unsigned group) {
  return d.n / group;
}

/// The shared-memory tile of A or B in one CTA.
OperandTile getOperandTileA(const InstructionDescriptor &d, unsigned ctaGroup);
OperandTile getOperandTileB(const InstructionDescriptor &d, unsigned ctaGroup);

/// Number of scales per row of A. `name` is the scale vector size: "1X", "2X"
/// or "4X" of .scale_vec, or "block32" or "block16"; empty for the kind's
/// default.
llvm::Expected<unsigned> getScaleChunks(const InstructionDescriptor &d,
                                        llvm::StringRef name);

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// A shape of wgmma.mma_async; m is 64. `dType` is F32, F16 or S32.
struct WgmmaShape {
  unsigned n = 0, k = 0;
  ElementType dType = ElementType::F32;
  ElementType aType = ElementType::F16;
  ElementType bType = ElementType::F16;
};

llvm::Error checkWgmma(const WgmmaShape &shape);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_INSTRUCTIONDESCRIPTOR_H
