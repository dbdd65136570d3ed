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
  let summary = "a tensor operand of a launch";
  let description = [{
    Holds the name, the access, the type in host dimension order and the names
    of the dimensions. Dimensions with the same name have the same size. The
    pointer and all strides except the innermost must be multiples of
    `alignment` bytes. If `alignment` is larger than the element size, the
    innermost stride must be 1. A kernel reads a tensor (`read`), writes each
    element of the result once (`write`), adds to the contents that the host
    initialised (`accumulate`), or overwrites some of them (`update`).

    Example: `#launch.tensor<"q", read, tensor<?x?x?x64xbf16>, ["B", "Hq", "Sq", "D"], 16>`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name in launches and metadata">:$name,
    AttrParameter<"::fovea::launch::Access", "access by the kernel: read, write, accumulate or update">:$access,
    AttrParameter<"::mlir::RankedTensorType", "element type and sizes; sizes that are known at the launch only are dynamic">:$type,
    AttrParameter<"::mlir::ArrayAttr", "the name of each dimension">:$dims,
    AttrParameter<"int64_t", "alignment of the pointer and the outer strides, in bytes">:$alignment);
  let assemblyFormat = [{
    `<` $name `,` $access `,` $type `,` $dims `,` $alignment `>`
  }];
  let genVerifyDecl = 1;
}

class Launch_Parameter<string attrName, string attrMnemonic>
    : Launch_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<ParameterAttrInterface>]>;

def Launch_MemRefParameterAttr : Launch_Parameter<"MemRefParameter", "memref"> {
  let summary = "a tensor as a memref argument";
  let description = [{
    The kernel's argument is a memref over the tensor `tensor`. Its dimension
    `d` is host dimension `order[d]`. `warp-to-nvvm` replaces this parameter by
    pointers, sizes and strides.
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    AttrParameter<"::mlir::DenseI64ArrayAttr", "the host dimension of each memref dimension">:$order);
  let assemblyFormat = "`<` $tensor `,` $order `>`";
  let extraClassDeclaration = "bool isFinal() const { return false; }";
}

def Launch_PointerParameterAttr : Launch_Parameter<"PointerParameter", "pointer"> {
  let summary = "the 64-bit address of a tensor";
  let parameters = (ins StringRefParameter<"the tensor's name">:$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Launch_SizeParameterAttr : Launch_Parameter<"SizeParameter", "size"> {
  let summary = "the size of a named dimension, in elements, i32";
  let parameters = (ins StringRefParameter<"the dimension's name">:$size);
  let assemblyFormat = "`<` $size `>`";
}

def Launch_StrideParameterAttr : Launch_Parameter<"StrideParameter", "stride"> {
  let summary = "the stride of a host dimension of a tensor, in elements";
  let description = [{
    An integer of `bits` bits, 64 by default. A 32-bit stride lets a kernel
    compute an address in one instruction; the host checks that the stride fits.

    Example: `#launch.stride<"q", 2, 32>`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    AttrParameter<"int64_t", "the host dimension">:$dim,
    DefaultValuedParameter<"int64_t", "64", "width of the integer: 32 or 64">:$bits);
  let assemblyFormat = "`<` $tensor `,` $dim (`,` $bits^)? `>`";
  let genVerifyDecl = 1;
}

def Launch_ScalarParameterAttr : Launch_Parameter<"ScalarParameter", "scalar"> {
  let summary = "a scalar passed by value";
  let parameters = (ins
    StringRefParameter<"the scalar's name">:$name,
    AttrParameter<"::mlir::Type", "its type">:$type);
  let assemblyFormat = "`<` $name `,` $type `>`";
}

def Launch_TensorMapParameterAttr : Launch_Parameter<"TensorMapParameter", "tensor_map"> {
  let summary = "a tensor as a CUtensorMap, passed by value";
  let description = [{
    The TMA descriptor of a tensor, on sm_90 and later. `order` lists the host
    dimensions in the order of the map, innermost first. `box` is the TMA box:
    the number of elements per copy along each dimension of the map. `swizzle`
    is the swizzle span of rows in shared memory in bytes: 0 (none), 32, 64 or
    128. Elements outside the tensor are read as zero and not written.

    The kernel's argument is a `!llvm.ptr` to the 128 bytes of the map.

    Example: `#launch.tensor_map<"k", [3, 2, 1, 0], box = [64, 128, 1, 1], swizzle = 128>`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    AttrParameter<"::mlir::DenseI64ArrayAttr", "the host dimension of each map dimension, innermost first">:$order,
    AttrParameter<"::mlir::DenseI64ArrayAttr", "elements per copy along each dimension of the map">:$box,
    AttrParameter<"int64_t", "swizzle span in bytes; 0: none">:$swizzle);
  let assemblyFormat = [{
    `<` $tensor `,` $order `,` `box` `=` $box `,` `swizzle` `=` $swizzle `>`
  }];
  let genVerifyDecl = 1;
}

def Launch_WorkspaceParameterAttr : Launch_Parameter<"WorkspaceParameter", "workspace"> {
  let summary = "zero-initialised workspace of a kernel";
  let description = [{
    The address, a multiple of 32, of `bytes` bytes of device memory. The memory
    is zero when the kernel starts, is not used by other launches while the
    kernel runs, and must be zero again when the kernel ends. It contains the
    counter of the dynamic tile scheduler, or the counters of `tile.arrive`.

    Example: `#launch.workspace<4>`
  }];
  let parameters = (ins AttrParameter<"int64_t", "size in bytes">:$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

def Launch_WorkspaceMemRefParameterAttr
    : Launch_Parameter<"WorkspaceMemRefParameter", "workspace_memref"> {
  let summary = "zero-initialised workspace as a memref argument";
  let description = [{
    Like `#launch.workspace`, as a memref with one dimension, whose type
    determines its size. `warp-to-nvvm` replaces this parameter by
    `#launch.workspace`.

    Example: `#launch.workspace_memref`, for an argument `memref<256xi32>`
  }];
  let extraClassDeclaration = [{
    bool isFinal() const { return false; }
  }];
}

def Launch_ScratchMemRefParameterAttr
    : Launch_Parameter<"ScratchMemRefParameter", "scratch_memref"> {
  let summary = "scratch memory of a launch as a memref argument";
  let description = [{
    Memory that is private to one launch. All kernels of the launch that use
    `name` share it. Its initial contents are unspecified, or zero with
    `zeroed`. The kernel's argument is a contiguous memref whose extents are the
    results of `extents`, expressions in the sizes `sizes`. The size `ctas` is
    the number of CTAs of the launch's main kernel, along x. `warp-to-nvvm`
    replaces this parameter by `#launch.scratch`.

    Example: `#launch.scratch_memref<"least", ["B", "Skv"] affine_map<()[b, s] -> (b, s ceildiv 128)>>`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the memory, shared by all kernels of a launch">:$name,
    AttrParameter<"::mlir::ArrayAttr", "the names of the sizes in `extents`">:$sizes,
    AttrParameter<"::mlir::AffineMapAttr", "the extents of the memref, in elements">:$extents,
    DefaultValuedParameter<"bool", "false", "true if the memory is zero initially">:$zeroed);
  let assemblyFormat = [{
    `<` $name `,` $sizes $extents (`zeroed` `=` $zeroed^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isFinal() const { return false; }
    /// The size that a memref with these elements needs.
    ::fovea::launch::ScratchParameterAttr getBytes(::mlir::Type element) const;
  }];
}

def Launch_ScratchParameterAttr : Launch_Parameter<"ScratchParameter", "scratch"> {
  let summary = "scratch memory of a launch as a pointer";
  let description = [{
    Like `#launch.scratch_memref`, as a pointer that is a multiple of 256.
    `bytes` is an expression in the sizes `sizes`.

    Example: `#launch.scratch<"least", ["B", "Skv"] affine_map<()[b, s] -> (b * (s ceildiv 128) * 4)>>`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the memory, shared by all kernels of a launch">:$name,
    AttrParameter<"::mlir::ArrayAttr", "the names of the sizes in `bytes`">:$sizes,
    AttrParameter<"::mlir::AffineMapAttr", "size in bytes">:$bytes,
    DefaultValuedParameter<"bool", "false", "true if the memory is zero initially">:$zeroed);
  let assemblyFormat = [{
    `<` $name `,` $sizes $bytes (`zeroed` `=` $zeroed^)? `>`
  }];
  let genVerifyDecl = 1;
}

class Launch_Constraint<string attrName, string attrMnemonic>
    : Launch_Attr<attrName, attrMnemonic,
                [DeclareAttrInterfaceMethods<ConstraintAttrInterface>]>;

def Launch_MultipleAttr : Launch_Constraint<"Multiple", "multiple"> {
  let summary = "a size must be a multiple of another";
  let description = [{
    Size `size` must be a multiple of size `of`. If `of` is 0, `size` must be 0
    as well.

    Example: `#launch.multiple<"Hq", of "Hkv">`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the constrained size">:$size,
    StringRefParameter<"the name of the divisor">:$of);
  let assemblyFormat = "`<` $size `,` `of` $of `>`";
}

def Launch_AtMostAttr : Launch_Constraint<"AtMost", "at_most"> {
  let summary = "a size has an upper bound";
  let description = [{
    Size `size` must be at most `limit`, so that coordinates fit into the type
    in which the kernel computes them.

    Example: `#launch.at_most<"Sq", 1073741824>`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the size">:$size,
    AttrParameter<"int64_t", "the largest allowed value">:$limit);
  let assemblyFormat = "`<` $size `,` $limit `>`";
  let genVerifyDecl = 1;
}

def Launch_AtLeastAttr : Launch_Constraint<"AtLeast", "at_least"> {
  let summary = "a size has a lower bound";
  let description = [{
    Size `size` must be at least `limit`, because the kernel reads that many
    elements unconditionally.

    Example: `#launch.at_least<"full_index.3", 1>`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the size">:$size,
    AttrParameter<"int64_t", "the smallest allowed value">:$limit);
  let assemblyFormat = "`<` $size `,` $limit `>`";
  let genVerifyDecl = 1;
}

def Launch_OneMoreAttr : Launch_Constraint<"OneMore", "one_more"> {
  let summary = "a size is one more than another size";
  let description = [{
    Size `size` must be size `than` plus one: it counts the offsets of `than`
    sequences and the end of the last one.

    Example: `#launch.one_more<"B+1", than "B">`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the constrained size">:$size,
    StringRefParameter<"the name of the smaller size">:$than);
  let assemblyFormat = "`<` $size `,` `than` $than `>`";
}

def Launch_CoversAttr : Launch_Constraint<"Covers", "covers"> {
  let summary = "a number of blocks must cover another size";
  let description = [{
    Size `size` counts blocks of `block` elements that must cover size `of`:
    `size * block >= of`.

    Example: `#launch.covers<"Qblocks", block = 128, of "Sq">`
  }];
  let parameters = (ins
    StringRefParameter<"the name of the size that counts blocks">:$size,
    AttrParameter<"int64_t", "elements per block">:$block,
    StringRefParameter<"the name of the covered size">:$of);
  let assemblyFormat = "`<` $size `,` `block` `=` $block `,` `of` $of `>`";
  let genVerifyDecl = 1;
}

def Launch_ContentsAttr : Launch_Attr<"Contents", "contents"> {
  let summary = "the valid contents of an integer tensor";
  let description = [{
    Kernels never access memory outside of tensors, whatever these integers are,
    but results are specified for valid contents only. Hosts check the contents
    on request.

    The integers in `tensor` must be from 0 to `times` size `of`. With
    `ascending`, they must not decrease. With `block`, each row of `tensor` along
    the last dimension is a list of block indices. The length of the list is the
    element of `entries` at the same position. The indices in a list must be
    different and denote blocks of `block` elements of that size.

    With `page`, each row of `tensor` along the last dimension is a page table.
    The element of `entries` at the same position is a number of keys, and the
    integers of the pages of `page` rows that hold these keys must be below that
    size. They may repeat; integers of other pages may have any value. With
    `offsets`, too, `tensor` is one list of the page tables: the one of position
    `b` begins at `offsets[b]` and ends before `offsets[b + 1]`, and must have
    enough pages.

    Examples: `#launch.contents<"cu_q", of "Sq" ascending = true>`,
    `#launch.contents<"full_index", of "Skv" block = 128 entries = "full_count">`,
    `#launch.contents<"lengths", of "P" times = 64>`,
    `#launch.contents<"page_table", of "pages" page = 64 entries = "lengths">`
  }];
  let parameters = (ins
    StringRefParameter<"the tensor's name">:$tensor,
    StringRefParameter<"the name of the size that bounds the integers">:$of,
    DefaultValuedParameter<"bool", "false", "true if the integers must not decrease">:$ascending,
    DefaultValuedParameter<"int64_t", "0", "elements per block of the block lists; 0: no lists">:$block,
    StringRefParameter<"the name of the tensor with the lengths of the lists, or the keys of the page tables", "\"\"">:$entries,
    DefaultValuedParameter<"int64_t", "1", "the factor of the size that bounds the integers">:$times,
    DefaultValuedParameter<"int64_t", "0", "rows per page of the page tables; 0: no page tables">:$page,
    StringRefParameter<"the name of the tensor with the starts of page tables in one list", "\"\"">:$offsets);
  let assemblyFormat = [{
    `<` $tensor `,` `of` $of (`times` `=` $times^)?
    (`ascending` `=` $ascending^)? (`block` `=` $block^)? (`page` `=` $page^)?
    (`entries` `=` $entries^)? (`offsets` `=` $offsets^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Writes the members of its JSON object.
    void writeJSON(::llvm::json::OStream &json) const;
  }];
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHATTRS_TD
