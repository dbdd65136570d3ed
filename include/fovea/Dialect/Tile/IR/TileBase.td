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
  let summary = "The computation of one CTA on register tiles";
  let description = [{
    The `tile` dialect describes the computation of one CTA on register tiles:
    loads, stores, dots, reductions and the online softmax. It has no threads,
    warps, shared memory, barriers or layouts. A kernel is a `gpu.func` whose
    memory operands are memrefs. The `launch.abi` op in the same module
    describes its launch interface.

    A *register tile* is a static rank-2 tensor whose encoding places it in
    registers: `tensor<128x64xf32, #tile.reg>`, or an encoding of the `warp`
    dialect after layouts are assigned. A *row tile* `Mx1` holds one value per
    row and a *column tile* `1xN` one value per column; `tile.broadcast` expands
    both to `MxN`. Elementwise arithmetic uses upstream `arith` and `math` ops.
    Tile constants must be splats. Tensors without an encoding are not register
    tiles and are not allowed in kernels.
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
