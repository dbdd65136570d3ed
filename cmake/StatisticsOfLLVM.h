//===- StatisticsOfLLVM.h - Statistics as the libraries have them -*- C++ -*-=//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included first when assertions are enabled. A pass's statistics have other
// members with assertions than without, and the LLVM libraries, which construct
// them, are built without.
//
//===----------------------------------------------------------------------===//

#ifndef NDEBUG
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif
