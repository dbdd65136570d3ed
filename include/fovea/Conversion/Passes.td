//===- Passes.td - Passes from one level to the next -------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_CONVERSION_PASSES_TD
#define FOVEA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToTile : Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Turn attention functions into tile programs";
  let description = [{
    Each `func.func` that holds one attn op on its own arguments, and returns
    its results, becomes a `gpu.module` with one kernel, a `gpu.func` of the
    function's name, and the `tile.abi` that says how to call it. A CTA computes
    one tile of queries of one head of one batch entry; the KV loop appears as
    one `tile.softmax_sum`. Regions are cloned onto tiles. The function goes if
    nothing refers to it, else it stays as a declaration.

    Functions with other ops beside an attn op are left to `attn-outline`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"",
           "Chip to compile for">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "'auto', or fields of the schedule to override, for example "
           "\"tile_n=32,stages=3\"">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::math::MathDialect",
                           "::fovea::tile::TileDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels made">
  ];
}

#endif // FOVEA_CONVERSION_PASSES_TD
