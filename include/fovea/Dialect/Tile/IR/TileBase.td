//===- TileBase.td - The tile dialect ----------------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEBASE_TD
#define FOVEA_DIALECT_TILE_IR_TILEBASE_TD

include "fovea/Support/Described.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fovea::tile";
  let summary = "What one CTA computes";
  let description = [{
    The `tile` dialect says what one CTA computes on register tiles: loads,
    stores, dots, reductions, the running softmax. It knows no threads, warps,
    shared memory, barriers or layouts. A kernel is a `gpu.func` whose memory is
    memrefs; `launch.abi` beside it says how a host calls it.

    A *register tile* is a static tensor of rank 2 whose encoding says that it
    lives in registers: `tensor<128x64xf32, #tile.reg>`, or, once layouts are
    assigned, an encoding of the `warp` dialect. A *row tile* `Mx1` holds one
    value a row, a *column tile* `1xN` one value a column; `tile.broadcast`
    widens them. Elementwise arithmetic is upstream `arith` and `math`; constants
    are splats. A tensor without encoding is no tile and does not occur in
    kernels.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::fovea::launch::LaunchDialect",
                           "::fovea::plan::PlanDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

class Tile_Attr<string attrName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, attrName, traits> {
  let mnemonic = attrMnemonic;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_AnyTile
    : Type<CPred<"::fovea::tile::isRegisterTile($_self)">, "register tile",
           "::mlir::RankedTensorType">;
class Tile_TileOf<string pred, string what>
    : Type<And<[Tile_AnyTile.predicate,
                CPred<"::mlir::cast<::mlir::RankedTensorType>($_self).getElementType()" # pred>]>,
           "register tile of " # what, "::mlir::RankedTensorType">;
def Tile_F32Tile : Tile_TileOf<".isF32()", "f32">;
def Tile_I1Tile : Tile_TileOf<".isInteger(1)", "i1">;

#endif // FOVEA_DIALECT_TILE_IR_TILEBASE_TD
