//===- Semaphores.h - Ordered accumulation by CTAs --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_SEMAPHORES_H
#define FOVEA_DIALECT_TILE_IR_SEMAPHORES_H

#include "fovea/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "fovea/Dialect/Tile/IR/TileSemaphoreOps.h.inc"

#endif // FOVEA_DIALECT_TILE_IR_SEMAPHORES_H
