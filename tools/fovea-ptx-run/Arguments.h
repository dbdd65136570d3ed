//===- Arguments.h - Kernel arguments of the command line -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_PTXRUN_ARGUMENTS_H
#define FOVEA_TOOLS_PTXRUN_ARGUMENTS_H

#include "fovea/PTX/Device.h"

#include <optional>

namespace fovea::ptx {

/// An element type: f64, f32, f16, bf16, u8 to u64, or s8 to s64.
struct ElementFormat {
  std::string name;
  unsigned bytes = 0;
  bool isFloat = false, isSigned = false;
};

/// One argument: a scalar or device memory.
struct Argument {
  std::string name;
  ElementFormat format;
  /// The bytes of the parameter.
  std::vector<uint8_t> bytes;
  /// Memory: its address and number of elements.
  std::optional<uint64_t> address;
  uint64_t count = 0;
};

/// Parses `[NAME=]SPEC` and allocates the memory that it requires:
///
///   u32:7  f32:1.5                a scalar
///   f32[4]:1,2,3,4                memory with these elements, repeated
///   f32[4]:iota  f32[4]:random    0, 1, 2 ...; values from -1 to 1
///   f32[4]:small                  integers from -3 to 3
///   f32[4]                        uninitialised memory
///   f32[4]@FILE                   memory with the bytes of a file
///   map:NAME:64x32:box=32x8:swizzle=128[:strides=256][:outside=nan]
///                                 a tensor map of an earlier argument, the
///                                 contiguous dimension first
///   at:NAME[+BYTES]               the address of an earlier argument
///   zeros:128                     that many zero bytes, by value
///   struct:at:NAME;u32:7;zeros:4  numbers and addresses, laid out as in C
llvm::Expected<Argument> parseArgument(llvm::StringRef text, Device &device,
                                       llvm::ArrayRef<Argument> before);

/// Prints the elements on one line, in the syntax of an argument.
llvm::Expected<std::string> printElements(const Argument &argument,
                                          const Device &device);

} // namespace fovea::ptx

#endif // FOVEA_TOOLS_PTXRUN_ARGUMENTS_H
