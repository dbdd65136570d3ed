//===- LaunchAttrs.td - Attributes of the launch dialect ---*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHATTRS_TD
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHATTRS_TD

include "fovea/Dialect/Launch/IR/LaunchBase.td"
include "fovea/Dialect/Launch/IR/LaunchEnums.td"
include "fovea/Dialect/Launch/IR/LaunchInterfaces.td"

def Launch_TensorAttr : Launch_Attr<"Tensor", "tensor"> {
  let summary = "a tensor that the host passes";
  let description = [{
    Name, access, type in the host's order of dimensions, and the dimensions'
    names. Dimensions with one name have one size. `alignment` is what the
    pointer, and every stride but the innermost, must be a multiple of, in
    bytes; the innermost stride of a tensor with alignment above its element
    size must be 1. A kernel reads a tensor (`read`), writes each element that
    it is to have once (`write`), or adds to what the host has put there
    (`accumulate`).

    Example: `#launch.tensor<"q", read, tensor<?x?x?x64xbf16>, ["B", "Hq", "Sq", "D"], 16>`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name in launches and metadata">:$name,
    AttrParameter<"::fovea::launch::Access", "whether the kernel reads, writes or adds to it">:$access,
    AttrParameter<"::mlir::RankedTensorType", "its element type and sizes; sizes that the host says are dynamic">:$type,
    AttrParameter<"::mlir::ArrayAttr", "the name of each dimension">:$dims,
    AttrParameter<"int64_t", "bytes that the pointer and the outer strides are multiples of">:$alignment);
  let assemblyFormat = [{
    `<` $name `,` $access `,` $type `,` $dims `,` $alignment `>`
  }];
  let genVerifyDecl = 1;
}

class Launch_Parameter<string attrName, string attrMnemonic>
    : Launch_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<ParameterAttrInterface>]>;

def Launch_MemRefParameterAttr : Launch_Parameter<"MemRefParameter", "memref"> {
  let summary = "a whole tensor, as a memref argument";
  let description = [{
    The kernel's argument is a memref over the tensor `tensor`, whose dimension
    `d` is the host's dimension `order[d]`. Refined by `warp-to-nvvm`.
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    AttrParameter<"::mlir::DenseI64ArrayAttr", "the tensor's dimension for each of the memref's">:$order);
  let assemblyFormat = "`<` $tensor `,` $order `>`";
  let extraClassDeclaration = "bool isFinal() const { return false; }";
}

def Launch_PointerParameterAttr : Launch_Parameter<"PointerParameter", "pointer"> {
  let summary = "a tensor's address, 64 bits";
  let parameters = (ins StringRefParameter<"the tensor's name">:$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Launch_SizeParameterAttr : Launch_Parameter<"SizeParameter", "size"> {
  let summary = "the size of the dimension with a name, in elements, i32";
  let parameters = (ins StringRefParameter<"the dimension's name">:$size);
  let assemblyFormat = "`<` $size `>`";
}

def Launch_StrideParameterAttr : Launch_Parameter<"StrideParameter", "stride"> {
  let summary = "a tensor's stride along a host dimension, in elements";
  let description = [{
    An integer of `bits` bits, 64 if not said. A stride of 32 bits lets a kernel
    form an address in one instruction; the host checks that it fits.

    Example: `#launch.stride<"q", 2, 32>`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    AttrParameter<"int64_t", "the tensor's dimension, from 0">:$dim,
    DefaultValuedParameter<"int64_t", "64", "the integer's width: 32 or 64">:$bits);
  let assemblyFormat = "`<` $tensor `,` $dim (`,` $bits^)? `>`";
  let genVerifyDecl = 1;
}

def Launch_ScalarParameterAttr : Launch_Parameter<"ScalarParameter", "scalar"> {
  let summary = "a scalar that the host passes by value";
  let parameters = (ins
    StringRefParameter<"the scalar's name">:$name,
    AttrParameter<"::mlir::Type", "its type">:$type);
  let assemblyFormat = "`<` $name `,` $type `>`";
}

def Launch_TensorMapParameterAttr : Launch_Parameter<"TensorMapParameter", "tensor_map"> {
  let summary = "a tensor as a CUtensorMap, by value";
  let description = [{
    What the copy engine of sm_90 and later reads or writes a tensor through.
    `order` lists the host's dimensions as the map has them, innermost first;
    `box` is what one copy moves, in elements along each dimension of the map;
    `swizzle` is the span in bytes of the pattern that the copy's rows have in
    shared memory: 0 (none), 32, 64 or 128. Elements outside the tensor are read
    as zero and not written.

    The kernel's argument is a `!llvm.ptr` to the map's 128 bytes.

    Example: `#launch.tensor_map<"k", [3, 2, 1, 0], box = [64, 128, 1, 1], swizzle = 128>`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    AttrParameter<"::mlir::DenseI64ArrayAttr", "the tensor's dimension for each of the map's, innermost first">:$order,
    AttrParameter<"::mlir::DenseI64ArrayAttr", "elements that one copy moves along each dimension of the map">:$box,
    AttrParameter<"int64_t", "the span of the pattern in shared memory, in bytes; 0: none">:$swizzle);
  let assemblyFormat = [{
    `<` $tensor `,` $order `,` `box` `=` $box `,` `swizzle` `=` $swizzle `>`
  }];
  let genVerifyDecl = 1;
}

def Launch_WorkspaceParameterAttr : Launch_Parameter<"WorkspaceParameter", "workspace"> {
  let summary = "memory that is zero when a kernel starts";
  let description = [{
    The address, a multiple of 32, of `bytes` bytes of device memory. They are
    zero when the kernel starts, no other launch uses them while it runs, and
    the kernel leaves them zero: the counter of a dynamic tile scheduler.

    Example: `#launch.workspace<4>`
  }];
  let parameters = (ins AttrParameter<"int64_t", "how much memory, in bytes">:$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

def Launch_ScratchMemRefParameterAttr
    : Launch_Parameter<"ScratchMemRefParameter", "scratch_memref"> {
  let summary = "scratch memory of a launch, as a memref argument";
  let description = [{
    Memory that one launch has for itself, called `name`: all kernels of the
    launch that name it share it. What it holds at the start is not said; with
    `zeroed` it is zero, to be added to. The kernel's argument is a contiguous memref whose extents are the results of
    `extents`, expressions in the sizes named in `sizes`. Refined by
    `warp-to-nvvm`.

    Example: `#launch.scratch_memref<"least", ["B", "Skv"] affine_map<()[b, s] -> (b, s ceildiv 128)>>`
  }];
  let parameters = (ins
    StringRefParameter<"the memory's name, one for all kernels of a launch">:$name,
    AttrParameter<"::mlir::ArrayAttr", "the sizes that `extents` takes, by name">:$sizes,
    AttrParameter<"::mlir::AffineMapAttr", "the memref's extents, in elements">:$extents,
    DefaultValuedParameter<"bool", "false", "whether it is zero at the start">:$zeroed);
  let assemblyFormat = [{
    `<` $name `,` $sizes $extents (`zeroed` `=` $zeroed^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isFinal() const { return false; }
    /// How much of it a memref of such elements needs.
    ::fovea::launch::ScratchParameterAttr getBytes(::mlir::Type element) const;
  }];
}

def Launch_ScratchParameterAttr : Launch_Parameter<"ScratchParameter", "scratch"> {
  let summary = "the address of scratch memory of a launch";
  let description = [{
    As `#launch.scratch_memref`, as a pointer: a multiple of 256. `bytes` is an
    expression in the sizes named in `sizes`.

    Example: `#launch.scratch<"least", ["B", "Skv"] affine_map<()[b, s] -> (b * (s ceildiv 128) * 4)>>`
  }];
  let parameters = (ins
    StringRefParameter<"the memory's name, one for all kernels of a launch">:$name,
    AttrParameter<"::mlir::ArrayAttr", "the sizes that `bytes` takes, by name">:$sizes,
    AttrParameter<"::mlir::AffineMapAttr", "how much memory, in bytes">:$bytes,
    DefaultValuedParameter<"bool", "false", "whether it is zero at the start">:$zeroed);
  let assemblyFormat = [{
    `<` $name `,` $sizes $bytes (`zeroed` `=` $zeroed^)? `>`
  }];
  let genVerifyDecl = 1;
}

class Launch_Constraint<string attrName, string attrMnemonic>
    : Launch_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<ConstraintAttrInterface>]>;

def Launch_MultipleAttr : Launch_Constraint<"Multiple", "multiple"> {
  let summary = "one size is a multiple of another";
  let description = [{
    The size named `size` is a positive multiple of the one named `of`, or both
    are 0.

    Example: `#launch.multiple<"Hq", of "Hkv">`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the size that is a multiple">:$size,
    StringRefParameter<"the name of the size that divides it">:$of);
  let assemblyFormat = "`<` $size `,` `of` $of `>`";
}

def Launch_AtMostAttr : Launch_Constraint<"AtMost", "at_most"> {
  let summary = "one size is bounded";
  let description = [{
    The size named `size` is at most `limit`, so that coordinates fit the type
    that the kernel computes them in.

    Example: `#launch.at_most<"Sq", 1073741824>`
  }];
  let parameters = (ins
    StringRefParameter<"the size's name">:$size,
    AttrParameter<"int64_t", "the largest that it may be">:$limit);
  let assemblyFormat = "`<` $size `,` $limit `>`";
  let genVerifyDecl = 1;
}

def Launch_AtLeastAttr : Launch_Constraint<"AtLeast", "at_least"> {
  let summary = "one size is not too small";
  let description = [{
    The size named `size` is at least `limit`, so that elements which the kernel
    reads unasked exist.

    Example: `#launch.at_least<"full_index.3", 1>`
  }];
  let parameters = (ins
    StringRefParameter<"the size's name">:$size,
    AttrParameter<"int64_t", "the least that it may be">:$limit);
  let assemblyFormat = "`<` $size `,` $limit `>`";
  let genVerifyDecl = 1;
}

def Launch_CoversAttr : Launch_Constraint<"Covers", "covers"> {
  let summary = "as many blocks as cover another size";
  let description = [{
    The size named `size` counts blocks of `block`, and these cover the size named
    `of`: `size * block >= of`.

    Example: `#launch.covers<"Qblocks", block = 128, of "Sq">`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the size that counts blocks">:$size,
    AttrParameter<"int64_t", "elements of a block">:$block,
    StringRefParameter<"the name of the size that the blocks cover">:$of);
  let assemblyFormat = "`<` $size `,` `block` `=` $block `,` `of` $of `>`";
  let genVerifyDecl = 1;
}

def Launch_ContentsAttr : Launch_Attr<"Contents", "contents"> {
  let summary = "what the integers in a tensor should be";
  let description = [{
    A kernel reads nothing outside of tensors, whatever integers it is given, but
    only such make sense to it; a host checks them if asked to.

    The integers in `tensor` are from 0 to the size named `of`; if `ascending`,
    none is less than the one before it. With `block`, rows of `tensor` are lists:
    in each row along the last dimension, the first ones, as many as `entries` has
    at the same place, are different numbers of blocks of `block` of that size.

    Examples: `#launch.contents<"cu_q", of "Sq" ascending = true>`,
    `#launch.contents<"full_index", of "Skv" block = 128 entries = "full_count">`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    StringRefParameter<"the name of the size that the integers are bounded by">:$of,
    DefaultValuedParameter<"bool", "false", "whether none is less than the one before it">:$ascending,
    DefaultValuedParameter<"int64_t", "0", "elements of a block whose number is listed; 0: no lists">:$block,
    StringRefParameter<"the name of the tensor that says how long each list is", "\"\"">:$entries);
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

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHATTRS_TD
