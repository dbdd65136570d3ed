//===- DefaultTarget.h - The default target ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_DEFAULTTARGET_H
#define FOVEA_SUPPORT_DEFAULTTARGET_H

namespace fovea {

/// The target of all tools, pipelines and passes, and of the C API, if the user
/// names none. `DEFAULT_TARGET` of the Python package has the same value.
inline constexpr char kDefaultTarget[] = "sm_90a";

} // namespace fovea

#endif // FOVEA_SUPPORT_DEFAULTTARGET_H
