//===- PlanAttrs.td - The plan dialect and its attributes --*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_PLAN_IR_PLANATTRS_TD
#define FOVEA_DIALECT_PLAN_IR_PLANATTRS_TD

include "fovea/Dialect/Plan/IR/PlanInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::fovea::plan";
  let summary = "How a kernel is to be made";
  let description = [{
    The `plan` dialect says, in one attribute, how a kernel computes what its
    program says: which matrix unit multiplies, which streams of boxes go between
    global memory and the chip, how dots are issued, how stores are made, which
    roles there are. It is made once, before there is a tile program, by the
    planner of a matrix unit (`fovea/Schedule`); passes read it, and change it where
    they can't do what it says.

    A plan speaks of streams, dots and stores by the names that ops of the
    kernel have. What is said of `score` is said of `score.0` as well, unless
    that has an entry of its own. It knows no op, and no kernel: programs of all
    kinds have the same plans.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Attr<string attrName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Plan_Dialect, attrName, traits> {
  let mnemonic = attrMnemonic;
}

class Plan_Entry<string attrName, string attrMnemonic, string fields>
    : Plan_Attr<attrName, attrMnemonic> {
  let parameters = (ins
    AttrParameter<"::mlir::StringAttr", "the name of the ops that it speaks of">:$name,
    AttrParameter<fields, "what it says, see the table">:$fields);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Plan_StreamAttr : Plan_Entry<"Stream", "stream", "::fovea::plan::StreamPlan"> {
  let summary = "boxes that come one after the other";
  let description = [{
    What all ops that fill one flow of boxes have in common.

    | field | meaning | default |
    |---|---|---|
    | stages | buffers of the ring | 1 |
    | staged | it comes through memory on chip even if no dot reads it there | |
    | over | the dot in whose accumulator, once that is read, it lies; else in a buffer in shared memory. Parts of a family lie in those of the part alike | |
    | with | the stream whose pipeline brings it, too: one wait and one release for both, and its stages. Both are copied in one block; where this one lies is known where that one is copied | |
    | counts_alone | the position of its ring is counted for it alone. Else rings with as many stages that go on in the same loop have one position, and the loop carries it once | |
    | read_early | threads read it ahead of the fence behind what they stored last, so that both are waited for at once; else where they need it | |

    Example: `#plan.stream<"k", stages = 3>`
  }];
}

def Plan_DotAttr : Plan_Entry<"Dot", "dot", "::fovea::plan::DotPlan"> {
  let summary = "how a dot is issued, and its operands are computed";
  let description = [{
    | field | meaning | unit | default |
    |---|---|---|---|
    | a_in_registers | a first operand that is loaded is kept in registers | | |
    | ahead | its loop issues it so many blocks early | blocks | 0 |
    | carried | it alone is early then, in flight around its loop: what is computed from its result stays in its block | | |
    | adds_to_summand | the matrix units add what its result is added to | | |
    | in_flight | its loop issues it before the last round's is done | | |
    | wait_late | its role waits for it where its result is used first, not where it is issued | | |
    | operand_above | share of a register operand's columns that are computed before the wait for the dot that reads the one before it | per cent | 100 |
    | each_above | each element of those columns is computed before that wait, not only what stands for them | | |
    | operand_by_fma | share of the exponentials in a register operand that are polynomials | per cent | 0 |

    Example: `#plan.dot<"s", a_in_registers, ahead = 1>`
  }];
}

def Plan_StoreAttr : Plan_Entry<"Store", "store", "::fovea::plan::StorePlan"> {
  let summary = "how tiles of output get to memory";
  let description = [{
    | field | meaning | default |
    |---|---|---|
    | copied | through shared memory, by the copy engine; else threads store them | |
    | over | the stream whose buffer they go through; else they have one of their own | |
    | late | what is added in a loop is added a round later, under the first product of its owner | |

    Example: `#plan.store<"out", copied, over = "q">`
  }];
}

def Plan_RoleAttr : Plan_Attr<"Role", "role"> {
  let summary = "a group of warps, and what it is responsible for";
  let description = [{
    `warps` warps, a multiple of four (warp groups) or less than four, whose
    threads may use `registers` registers, run what has one of the names in
    `owns`: they fill these streams, issue these dots, make these stores. All
    else follows from that (`warp-specialize`). A name has one owner. The name
    `"*"` stands for all that no other role owns; a role that owns `copies` fills
    the streams that come from memory.

    Example: `#plan.role<"load", warps = 4, registers = 24, owns = ["q", "k", "v"]>`
  }];
  let parameters = (ins
    StringRefParameter<"the role's name">:$name,
    AttrParameter<"int64_t", "warps of the role">:$warps,
    AttrParameter<"int64_t", "registers of a thread">:$registers,
    AttrParameter<"::mlir::ArrayAttr", "the names of what the role does">:$owns,
    AttrParameter<"bool", "whether it fills the streams that come from memory">:$copies);
  let assemblyFormat = [{
    `<` $name `,` `warps` `=` $warps `,` `registers` `=` $registers `,`
    `owns` `=` custom<Owned>($owns, $copies) `>`
  }];
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$warps,
      "int64_t":$registers, "::mlir::ArrayAttr":$owns), [{
    return $_get($_ctxt, name, warps, registers, owns, /*copies=*/false);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool ownsName(::mlir::StringAttr name) const;
  }];
}

class Plan_List<string attr, string text>
    : ArrayRefParameter<"::fovea::plan::" # attr, text>;

def Plan_KernelAttr : Plan_Attr<"Kernel", "kernel"> {
  let summary = "how a kernel is to be made";
  let description = [{
    The matrix unit, what is said of the kernel as a whole, and lists of what is
    said of its streams, dots, stores and roles. Fields and lists may come in any
    order. Only the tile, warps and stages are printed where they have their
    defaults. Without `roles` all warps
    run one program and copy for themselves. `asked` names what was set by hand,
    in the words of `--schedule`: a pass that can't do it fails; of what was
    chosen it says so in a remark, and changes the plan, which in the end states
    what the code has.

    | field | meaning | unit | default |
    |---|---|---|---|
    | tile_m | rows of a CTA's tile | rows | 64 |
    | tile_n | columns of a loop's step | columns | 64 |
    | warps | warps that compute | | 4 |
    | stages | buffers of streams without an entry | | 2 |
    | min_blocks | CTAs that one SM should hold; bounds the registers | | 1 |
    | column_warps | warps of those that share the columns of each part of the rows; a divisor of `warps`, and 1 with roles | | 1 |
    | row_tiles | tiles of rows that a CTA works on in turn, with roles of their own; 0: one | | 0 |
    | cluster | neighbouring CTAs that share copies, each with `tile_m` rows | | 1 |
    | work | how tiles are dealt out: `single` (one a CTA), `static` (every n-th), `dynamic` (a counter) | | single |
    | longest_first | packed sequences are taken by their number of keys, the most first, as a prologue sorts them; else in the caller's order | | |
    | chain | the next tile's first dot is issued with this one's last: before it (1) or behind it (2) | | 0 |
    | ping_pong | warp groups take turns at the matrix units | | |
    | classify | roles find the blocks that are visited while they run, instead of visiting a range | | |
    | recurrence | of the softmax loop | | deferred |
    | tau | growth of a row's maximum, in powers of two, that the `conditional` and `lazy` recurrences leave alone | | 8 |
    | sum_by_dot | row sums by the matrix units, from weights as rounded for them | | |

    Example:

    ```mlir
    #p = #plan.kernel<#warp.wgmma_unit, tile_m = 128, warps = 8, work = static,
      streams = [<"q">, <"k", stages = 3>],
      dots = [<"s", ahead = 1>, <"o", operand_above = 25>],
      stores = [<"out", copied, over = "q">],
      roles = [<"load", warps = 4, registers = 40, owns = copies>,
               <"compute", warps = 8, registers = 232, owns = ["*"]>]>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::fovea::plan::MatrixUnitAttrInterface", "what multiplies matrices">:$unit,
    AttrParameter<"::fovea::plan::KernelPlan", "what is said of the kernel as a whole, see the table">:$fields,
    Plan_List<"StreamAttr", "what is said of streams">:$streams,
    Plan_List<"DotAttr", "what is said of dots">:$dots,
    Plan_List<"StoreAttr", "what is said of stores">:$stores,
    Plan_List<"RoleAttr", "the roles, in the order of their warps; none: all warps run one program">:$roles,
    ArrayRefParameter<"::mlir::StringAttr", "the fields that were set by hand, by name">:$asked);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What is said of the kernel as a whole: `plan->tileM`.
    const ::fovea::plan::KernelPlan *operator->() const;

    /// What is said of the stream, dot or store with a name, which may be null.
    ::fovea::plan::StreamPlan getStream(::mlir::StringAttr name) const;
    ::fovea::plan::DotPlan getDot(::mlir::StringAttr name) const;
    ::fovea::plan::StorePlan getStore(::mlir::StringAttr name) const;
    ::fovea::plan::StreamPlan getStream(::llvm::StringRef name) const;
    ::fovea::plan::DotPlan getDot(::llvm::StringRef name) const;
    ::fovea::plan::StorePlan getStore(::llvm::StringRef name) const;
    /// Whether that holds of a dot that it speaks of.
    bool hasDot(::llvm::function_ref<bool(const ::fovea::plan::DotPlan &)> is)
        const;
    bool isAsked(::llvm::StringRef field) const;

    /// Whether warps have different things to do. Then those that fill streams
    /// from memory do so by the copy engine, in boxes of whole panels, and loops
    /// over blocks run at least once, so that what a round begins can be begun
    /// before them.
    bool hasRoles() const { return !getRoles().empty(); }
    bool copiesByEngine() const { return hasRoles(); }
    bool visitsAtLeastOnce() const { return hasRoles(); }
    /// Whether a warp has whole rows of a product: then what is computed of it
    /// can be the next one's first operand as it is.
    bool warpsHaveRows() const { return (*this)->columnWarps == 1; }
    /// Rows that a cluster works on at a time.
    int64_t getClusterRows() const;

    /// The plan with something else in it. Entries of dots that say nothing go.
    KernelAttr change(
        ::llvm::function_ref<void(::fovea::plan::KernelPlan &)> change) const;
    KernelAttr changeDots(
        ::llvm::function_ref<void(::fovea::plan::DotPlan &)> change) const;
    KernelAttr changeStreams(
        ::llvm::function_ref<void(::llvm::StringRef,
                                  ::fovea::plan::StreamPlan &)>
            change) const;
    /// Without the entry that is about the store of that name.
    KernelAttr withoutStore(::llvm::StringRef name) const;
    KernelAttr withoutStream(::llvm::StringRef name) const;
    KernelAttr withAsked(::llvm::ArrayRef<::llvm::StringRef> asked) const;
  }];
}

#endif // FOVEA_DIALECT_PLAN_IR_PLANATTRS_TD
