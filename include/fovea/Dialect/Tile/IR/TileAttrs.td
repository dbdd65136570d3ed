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

def Tile_WorkSchedule : I32EnumAttr<"WorkSchedule", "how tiles are dealt to CTAs", [
    I32EnumAttrCase<"Single", 0, "single">,
    I32EnumAttrCase<"Static", 1, "static">,
    I32EnumAttrCase<"Dynamic", 2, "dynamic">
  ]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_Recurrence : I32EnumAttr<"RecurrenceKind", "recurrence of a softmax loop", [
    I32EnumAttrCase<"ThreePass", 0, "three_pass">,
    I32EnumAttrCase<"Normalized", 1, "normalized">,
    I32EnumAttrCase<"Deferred", 2, "deferred">,
    I32EnumAttrCase<"Conditional", 3, "conditional">,
    I32EnumAttrCase<"Lazy", 4, "lazy">
  ]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_OutputPath : I32EnumAttr<"OutputPath", "how tiles of output get to memory", [
    I32EnumAttrCase<"Direct", 0, "direct">,
    I32EnumAttrCase<"Tma", 1, "tma">
  ]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "the choices that shape a kernel's code";
  let description = [{
    Made in one place (see `fovea/Target/Schedule.h`) and overridable with
    `--schedule`. Fields with a default are printed only where they differ.

    | field | meaning | unit | default |
    |---|---|---|---|
    | tile_m | queries a CTA holds | rows | |
    | tile_n | keys of one loop step | rows | |
    | warps | warps that compute | | |
    | stages | buffers of V, and of K unless `key_stages` says else | | |
    | query_in_registers | Q's fragments stay in registers | 0 or 1 | |
    | min_blocks | CTAs that one SM should hold; bounds the registers | | |
    | key_stages | buffers of K; 0: as `stages` | | 0 |
    | query_stages | buffers of Q: with 2, the next tile's Q arrives early | | 1 |
    | producer_registers | budget of a thread of the role that copies; 0: all warps copy and compute | registers | 0 |
    | consumer_registers | budget of a thread of the roles that compute | registers | 0 |
    | overlap | the next block's scores are in flight under this one's softmax | 0 or 1 | 0 |
    | chain | the next tile's first scores are issued with this one's last product: before it (1, needs two query buffers) or behind it (2) | 0, 1 or 2 | 0 |
    | ping_pong | warp groups take turns at the matrix units | 0 or 1 | 0 |
    | softmax_part | share of a block's columns exponentiated before the wait for the last product; 100: all | per cent | 100 |
    | work | how tiles are dealt out: `single` (one a CTA), `static` (every n-th), `dynamic` (a counter) | | single |
    | recurrence | of the softmax loop | | deferred |
    | tau | growth of a row's maximum, in powers of two, that the `conditional` and `lazy` recurrences leave alone | | 8 |
    | sum_by_dot | row sums by the matrix units, from weights as rounded for them | 0 or 1 | 0 |
    | add_by_dot | what a score_mod adds to scores is where the matrix units start | 0 or 1 | 0 |
    | cluster | neighbouring CTAs that share copies of K and V, each with `tile_m` queries | 1 or 2 | 1 |
    | score_stages | buffers of what score_mod reads of captured tensors block by block; 0: threads read it from global memory, element by element | | 0 |
    | classify | roles find the blocks that kv_classify shows while they run, instead of visiting the range of kv_bounds | 0 or 1 | 0 |
    | exp2_by_fma | share of a block's weights whose exponentials are polynomials, on FMA units instead of the special-function unit | per cent | 0 |
    | output | how tiles of output get to memory: `direct` (threads store them), `tma` (through shared memory, by the copy engine) | | direct |
    | output_stages | buffers that `output = tma` has for itself; 0: the query's, once its scores are done | 0 or 1 | 0 |
    | longest_first | packed sequences are taken by their number of keys, the most first, as a prologue sorts them; 0: in the caller's order | 0 or 1 | 0 |
    | in_flight | sums over a loop (dots `c`) issue their next product before the last one is done | 0 or 1 | 0 |
    | row_tiles | tiles of 128 rows that a CTA works on in turn, with accumulators in tensor memory and a role each that computes; 0: accumulators in registers | | 0 |
  }];
  let parameters = (ins "int64_t":$tile_m, "int64_t":$tile_n, "int64_t":$warps,
                        "int64_t":$stages, "int64_t":$query_in_registers,
                        "int64_t":$min_blocks,
    DefaultValuedParameter<"int64_t", "0">:$key_stages,
    DefaultValuedParameter<"int64_t", "1">:$query_stages,
    DefaultValuedParameter<"int64_t", "0">:$producer_registers,
    DefaultValuedParameter<"int64_t", "0">:$consumer_registers,
    DefaultValuedParameter<"int64_t", "0">:$overlap,
    DefaultValuedParameter<"int64_t", "0">:$chain,
    DefaultValuedParameter<"int64_t", "0">:$ping_pong,
    DefaultValuedParameter<"int64_t", "100">:$softmax_part,
    DefaultValuedParameter<"::fovea::tile::WorkSchedule",
                           "::fovea::tile::WorkSchedule::Single">:$work,
    DefaultValuedParameter<"::fovea::tile::RecurrenceKind",
                           "::fovea::tile::RecurrenceKind::Deferred">:$recurrence,
    DefaultValuedParameter<"int64_t", "8">:$tau,
    DefaultValuedParameter<"int64_t", "0">:$sum_by_dot,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "0">:$score_stages,
    DefaultValuedParameter<"int64_t", "0">:$classify,
    DefaultValuedParameter<"int64_t", "0">:$exp2_by_fma,
    DefaultValuedParameter<"int64_t", "0">:$add_by_dot,
    DefaultValuedParameter<"::fovea::tile::OutputPath",
                           "::fovea::tile::OutputPath::Direct">:$output,
    DefaultValuedParameter<"int64_t", "0">:$output_stages,
    DefaultValuedParameter<"int64_t", "0">:$longest_first,
    DefaultValuedParameter<"int64_t", "0">:$in_flight,
    DefaultValuedParameter<"int64_t", "0">:$row_tiles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether it has registers for two roles: one copies, the other computes.
    bool hasRoles() const;
    /// Whether the copy engine brings tiles, in boxes of whole panels, instead
    /// of threads.
    bool copiesByEngine() const;
    /// The matrix unit that dots are for.
    ::fovea::tile::MatrixUnit getMatrixUnit() const;
    /// Whether loops over blocks run at least once, so that what a round begins
    /// can be begun before them.
    bool visitsAtLeastOnce() const;
    /// Queries that a cluster works on at a time.
    int64_t getClusterRows() const { return getTileM() * getCluster(); }
    /// What it says of the stream, dot or store with a name, which may be null:
    /// the one place that knows which names its fields speak of.
    ::fovea::tile::StreamPlan getStream(::mlir::StringAttr name) const;
    ::fovea::tile::DotPlan getDot(::mlir::StringAttr name) const;
    ::fovea::tile::StorePlan getStore(::mlir::StringAttr name) const;
  }];
}

def Tile_RoleAttr : Tile_Attr<"Role", "role"> {
  let summary = "a group of warps, and what it is responsible for";
  let description = [{
    `warps` warps, a multiple of four (warp groups) or less than four, whose threads may use
    `registers` registers, run what has one of the names in `owns`: they fill
    these streams, issue these dots, make these stores. All else follows from
    that (`warp-specialize`). A name has one owner.

    Example: `#tile.role<"load", warps = 4, registers = 24, owns = ["q", "k", "v"]>`
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$warps,
                        "int64_t":$registers, "::mlir::ArrayAttr":$owns);
  let assemblyFormat = [{
    `<` $name `,` `warps` `=` $warps `,` `registers` `=` $registers `,`
    `owns` `=` $owns `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool ownsName(::mlir::StringAttr name) const;
  }];
}

def Tile_Access : I32EnumAttr<"Access", "what a kernel does with a tensor", [
    I32EnumAttrCase<"Read", 0, "read">,
    I32EnumAttrCase<"Write", 1, "write">,
    I32EnumAttrCase<"Accumulate", 2, "accumulate">
  ]> {
  let cppNamespace = "::fovea::tile";
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
