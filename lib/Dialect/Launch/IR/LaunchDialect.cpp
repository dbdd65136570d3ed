//===- LaunchDialect.cpp - The launch dialect -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/LaunchCall.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::launch;

#include "fovea/Dialect/Launch/IR/LaunchDialect.cpp.inc"
#include "fovea/Dialect/Launch/IR/LaunchEnums.cpp.inc"

#include "fovea/Dialect/Launch/IR/LaunchAttrInterfaces.cpp.inc"
#include "fovea/Dialect/Launch/IR/LaunchOpInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Launch/IR/LaunchAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Launch/IR/LaunchOps.cpp.inc"

void LaunchDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Launch/IR/LaunchAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Launch/IR/LaunchOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Launch/IR/LaunchCallOps.cpp.inc"
      >();
}
