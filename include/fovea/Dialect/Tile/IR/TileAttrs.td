//===- TileAttrs.td - Attributes of the tile dialect -------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_TILEATTRS_TD
#define FOVEA_DIALECT_TILE_IR_TILEATTRS_TD

include "fovea/Dialect/Tile/IR/TileBase.td"
include "fovea/Dialect/Tile/IR/TileEnums.td"
include "fovea/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Tile_RegAttr
    : Tile_Attr<"Reg", "reg",
                [RegisterEncodingAttrInterface,
                 DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "a tile in registers, no matter where";
  let description = [{
    The encoding of tiles before `warp-assign-layouts` says which thread holds
    what.
  }];
}

def Tile_TensorAttr : Tile_Attr<"Tensor", "tensor"> {
  let summary = "a tensor that the host passes";
  let description = [{
    Name, access, type in the host's order of dimensions, and the dimensions'
    names. Dimensions with one name have one size. `alignment` is what the
    pointer, and every stride but the innermost, must be a multiple of, in
    bytes; the innermost stride of a tensor with alignment above its element
    size must be 1. A kernel reads a tensor (`read`), writes each element that
    it is to have once (`write`), or adds to what the host has put there
    (`accumulate`: `tile.store add`).

    Example: `#tile.tensor<"q", read, tensor<?x?x?x64xbf16>, ["B", "Hq", "Sq", "D"], 16>`
  }];
  let parameters = (ins
    StringRefParameter<>:$name,
    "::fovea::tile::Access":$access,
    "::mlir::RankedTensorType":$type,
    "::mlir::ArrayAttr":$dims,
    "int64_t":$alignment);
  let assemblyFormat = [{
    `<` $name `,` $access `,` $type `,` $dims `,` $alignment `>`
  }];
  let genVerifyDecl = 1;
}

class Tile_Parameter<string attrName, string attrMnemonic>
    : Tile_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<ParameterAttrInterface>]>;

def Tile_MemRefParameterAttr : Tile_Parameter<"MemRefParameter", "memref"> {
  let summary = "a whole tensor, as a memref argument";
  let description = [{
    The kernel's argument is a memref over the tensor `tensor`, whose dimension
    `d` is the host's dimension `order[d]`. Refined by `warp-to-nvvm`.
  }];
  let parameters = (ins StringRefParameter<>:$tensor,
                        "::mlir::DenseI64ArrayAttr":$order);
  let assemblyFormat = "`<` $tensor `,` $order `>`";
  let extraClassDeclaration = "bool isFinal() const { return false; }";
}

def Tile_PointerParameterAttr : Tile_Parameter<"PointerParameter", "pointer"> {
  let summary = "a tensor's address, 64 bits";
  let parameters = (ins StringRefParameter<>:$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Tile_SizeParameterAttr : Tile_Parameter<"SizeParameter", "size"> {
  let summary = "the size of the dimension with a name, in elements, i32";
  let parameters = (ins StringRefParameter<>:$size);
  let assemblyFormat = "`<` $size `>`";
}

def Tile_StrideParameterAttr : Tile_Parameter<"StrideParameter", "stride"> {
  let summary = "a tensor's stride along a host dimension, in elements";
  let description = [{
    An integer of `bits` bits, 64 if not said. A stride of 32 bits lets a kernel
    form an address in one instruction; the host checks that it fits.

    Example: `#tile.stride<"q", 2, 32>`
  }];
  let parameters = (ins StringRefParameter<>:$tensor, "int64_t":$dim,
                        DefaultValuedParameter<"int64_t", "64">:$bits);
  let assemblyFormat = "`<` $tensor `,` $dim (`,` $bits^)? `>`";
  let genVerifyDecl = 1;
}

def Tile_ScalarParameterAttr : Tile_Parameter<"ScalarParameter", "scalar"> {
  let summary = "a scalar that the host passes by value";
  let parameters = (ins StringRefParameter<>:$name, "::mlir::Type":$type);
  let assemblyFormat = "`<` $name `,` $type `>`";
}

def Tile_TensorMapParameterAttr : Tile_Parameter<"TensorMapParameter", "tensor_map"> {
  let summary = "a tensor as a CUtensorMap, by value";
  let description = [{
    What the copy engine of sm_90 and later reads or writes a tensor through.
    `order` lists the host's dimensions as the map has them, innermost first;
    `box` is what one copy moves, in elements along each dimension of the map;
    `swizzle` is the span in bytes of the pattern that the copy's rows have in
    shared memory: 0 (none), 32, 64 or 128. Elements outside the tensor are read
    as zero and not written.

    The kernel's argument is a `!llvm.ptr` to the map's 128 bytes.

    Example: `#tile.tensor_map<"k", [3, 2, 1, 0], box = [64, 128, 1, 1], swizzle = 128>`
  }];
  let parameters = (ins StringRefParameter<>:$tensor,
                        "::mlir::DenseI64ArrayAttr":$order,
                        "::mlir::DenseI64ArrayAttr":$box,
                        "int64_t":$swizzle);
  let assemblyFormat = [{
    `<` $tensor `,` $order `,` `box` `=` $box `,` `swizzle` `=` $swizzle `>`
  }];
  let genVerifyDecl = 1;
}

def Tile_WorkspaceParameterAttr : Tile_Parameter<"WorkspaceParameter", "workspace"> {
  let summary = "memory that is zero when a kernel starts";
  let description = [{
    The address, a multiple of 32, of `bytes` bytes of device memory. They are
    zero when the kernel starts, no other launch uses them while it runs, and
    the kernel leaves them zero: the counter of a dynamic tile scheduler.

    Example: `#tile.workspace<4>`
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

def Tile_ScratchMemRefParameterAttr
    : Tile_Parameter<"ScratchMemRefParameter", "scratch_memref"> {
  let summary = "scratch memory of a launch, as a memref argument";
  let description = [{
    Memory that one launch has for itself, called `name`: what it holds at the
    start is not said, and all kernels of the launch that name it share it. The
    kernel's argument is a contiguous memref whose extents are the results of
    `extents`, expressions in the sizes named in `sizes`. Refined by
    `warp-to-nvvm`.

    Example: `#tile.scratch_memref<"least", ["B", "Skv"] affine_map<()[b, s] -> (b, s ceildiv 128)>>`
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::ArrayAttr":$sizes,
                        "::mlir::AffineMapAttr":$extents);
  let assemblyFormat = "`<` $name `,` $sizes $extents `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isFinal() const { return false; }
    /// How much of it a memref of such elements needs.
    ::fovea::tile::ScratchParameterAttr getBytes(::mlir::Type element) const;
  }];
}

def Tile_ScratchParameterAttr : Tile_Parameter<"ScratchParameter", "scratch"> {
  let summary = "the address of scratch memory of a launch";
  let description = [{
    As `#tile.scratch_memref`, as a pointer: a multiple of 256. `bytes` is an
    expression in the sizes named in `sizes`.

    Example: `#tile.scratch<"least", ["B", "Skv"] affine_map<()[b, s] -> (b * (s ceildiv 128) * 4)>>`
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::ArrayAttr":$sizes,
                        "::mlir::AffineMapAttr":$bytes);
  let assemblyFormat = "`<` $name `,` $sizes $bytes `>`";
  let genVerifyDecl = 1;
}

class Tile_Constraint<string attrName, string attrMnemonic>
    : Tile_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<ConstraintAttrInterface>]>;

def Tile_MultipleAttr : Tile_Constraint<"Multiple", "multiple"> {
  let summary = "one size is a multiple of another";
  let description = [{
    The size named `size` is a positive multiple of the one named `of`, or both
    are 0.

    Example: `#tile.multiple<"Hq", of "Hkv">`
  }];
  let parameters = (ins StringRefParameter<>:$size, StringRefParameter<>:$of);
  let assemblyFormat = "`<` $size `,` `of` $of `>`";
}

def Tile_AtMostAttr : Tile_Constraint<"AtMost", "at_most"> {
  let summary = "one size is bounded";
  let description = [{
    The size named `size` is at most `limit`, so that coordinates fit the type
    that the kernel computes them in.

    Example: `#tile.at_most<"Sq", 1073741824>`
  }];
  let parameters = (ins StringRefParameter<>:$size, "int64_t":$limit);
  let assemblyFormat = "`<` $size `,` $limit `>`";
  let genVerifyDecl = 1;
}

def Tile_AtLeastAttr : Tile_Constraint<"AtLeast", "at_least"> {
  let summary = "one size is not too small";
  let description = [{
    The size named `size` is at least `limit`, so that elements which the kernel
    reads unasked exist.

    Example: `#tile.at_least<"full_index.3", 1>`
  }];
  let parameters = (ins StringRefParameter<>:$size, "int64_t":$limit);
  let assemblyFormat = "`<` $size `,` $limit `>`";
  let genVerifyDecl = 1;
}

def Tile_CoversAttr : Tile_Constraint<"Covers", "covers"> {
  let summary = "as many blocks as cover another size";
  let description = [{
    The size named `size` counts blocks of `block`, and these cover the size named
    `of`: `size * block >= of`.

    Example: `#tile.covers<"Qblocks", block = 128, of "Sq">`
  }];
  let parameters = (ins StringRefParameter<>:$size, "int64_t":$block,
                        StringRefParameter<>:$of);
  let assemblyFormat = "`<` $size `,` `block` `=` $block `,` `of` $of `>`";
  let genVerifyDecl = 1;
}

def Tile_ContentsAttr : Tile_Attr<"Contents", "contents"> {
  let summary = "what the integers in a tensor should be";
  let description = [{
    A kernel reads nothing outside of tensors, whatever integers it is given, but
    only such make sense to it; a host checks them if asked to.

    The integers in `tensor` are from 0 to the size named `of`; if `ascending`,
    none is less than the one before it. With `block`, rows of `tensor` are lists:
    in each row along the last dimension, the first ones, as many as `entries` has
    at the same place, are different numbers of blocks of `block` of that size.

    Examples: `#tile.contents<"cu_q", of "Sq" ascending = true>`,
    `#tile.contents<"full_index", of "Skv" block = 128 entries = "full_count">`
  }];
  let parameters = (ins StringRefParameter<>:$tensor, StringRefParameter<>:$of,
                        DefaultValuedParameter<"bool", "false">:$ascending,
                        DefaultValuedParameter<"int64_t", "0">:$block,
                        StringRefParameter<"", "\"\"">:$entries);
  let assemblyFormat = [{
    `<` $tensor `,` `of` $of (`ascending` `=` $ascending^)?
    (`block` `=` $block^ `entries` `=` $entries)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Writes it as a JSON object's members.
    void writeJSON(::llvm::json::OStream &json) const;
  }];
}

#endif // FOVEA_DIALECT_TILE_IR_TILEATTRS_TD
