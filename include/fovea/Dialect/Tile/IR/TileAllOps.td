//===- TileAllOps.td - All ops of the tile dialect ---------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Input of the generated reference. C++ declares the semaphore ops in a
// separate header, Semaphores.h.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEALLOPS_TD
#define FOVEA_DIALECT_TILE_IR_TILEALLOPS_TD

include "fovea/Dialect/Tile/IR/TileOps.td"
include "fovea/Dialect/Tile/IR/TileSemaphoreOps.td"

#endif // FOVEA_DIALECT_TILE_IR_TILEALLOPS_TD
