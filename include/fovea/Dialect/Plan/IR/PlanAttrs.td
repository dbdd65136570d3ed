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
  let summary = "The implementation plan of a kernel";
  let description = [{
    The `plan` dialect describes in one attribute how a kernel implements its
    tile program: the MMA unit, the streams of tiles between global memory and
    shared memory, how dots are issued, how stores are performed, and the roles
    of warps. The planner of an MMA unit (`fovea/Schedule`) creates the plan
    before the tile program exists. Passes read the plan and change it if they
    can't implement a part of it.

    A plan refers to streams, dots and stores by the names of the ops. An entry
    for `score` also applies to `score.0`, unless `score.0` has its own entry. A
    plan is independent of ops and kernels: all kinds of kernels use the same
    attributes.
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
    AttrParameter<"::mlir::StringAttr", "the name of the ops that the entry applies to">:$name,
    AttrParameter<fields, "the fields, see the table">:$fields);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Plan_StreamAttr : Plan_Entry<"Stream", "stream", "::fovea::plan::StreamPlan"> {
  let summary = "a sequence of tiles with a common buffer";
  let description = [{
    Properties of a stream: all ops that produce the same sequence of tiles.

    | field | meaning | default |
    |---|---|---|
    | stages | number of buffers of the ring | 1 |
    | staged | the stream passes through shared memory even if no dot reads it there | |
    | over | the dot whose tensor-memory accumulator the stream overlays after the accumulator is read; none: a buffer in shared memory. Members of a family (`p.0`) overlay the accumulator of the same member (`s.0`) | |
    | with | the stream whose pipeline also synchronises this one: one wait and one release for both, with the stages of that stream. Both must be loaded in the same block, and the address of this one must be available there | |
    | counts_alone | the stream has its own loop-carried stage counter; otherwise streams with equally many stages that advance in the same loop share one | |
    | rounded | all uses read the value in its rounded type, also those in the role that computes it, so that no register holds it in f32 | |

    Example: `#plan.stream<"k", stages = 3>`
  }];
}

def Plan_DotAttr : Plan_Entry<"Dot", "dot", "::fovea::plan::DotPlan"> {
  let summary = "how a dot is issued and its operands are computed";
  let description = [{
    | field | meaning | unit | default |
    |---|---|---|---|
    | a_in_registers | a first operand that is loaded or streamed is kept in registers; otherwise the dot reads it from shared memory | | |
    | adds_to_summand | the dot's accumulator starts from a summand of score_mod (`attn-to-tile`) | | |
    | operand_above | share of a register operand's columns that is computed before the wait for the dot that reads the previous operand | per cent | 100 |
    | each_above | the wait depends on every element of these columns; otherwise on the row sums or on a sample, and the other elements may be computed after it | | |
    | operand_by_fma | share of the exponentials in a register operand that is computed as polynomials on FMA units | per cent | 0 |
    | chunk_rows | rows of the product that one dot of the family computes (`dq.0`, `dq.1`, ...); 0: all | rows | 0 |
    | chunk_columns | columns of the product that one dot of the family computes; 0: all | columns | 0 |

    Example: `#plan.dot<"s", a_in_registers>`
  }];
}

def Plan_StoreAttr : Plan_Entry<"Store", "store", "::fovea::plan::StorePlan"> {
  let summary = "how output tiles are stored";
  let description = [{
    | field | meaning | default |
    |---|---|---|
    | copied | TMA stores the tile from shared memory; otherwise threads store it | |
    | over | the stream whose buffer the store uses; none: a buffer of its own | |
    | late | the atomic add of iteration i is delayed into iteration i + 1, where it overlaps the first MMA of its role | |
    | accumulate | the kernel's tiles are added to the values in memory, which a preprocess kernel clears; otherwise another kernel computes the output | |
    | ordered | with `accumulate`: CTAs add in a fixed order, by semaphores, so that the sum is deterministic | |
    | by_register | memory holds the tiles in register order: the elements that a warp stores with one instruction are contiguous | |

    Example: `#plan.store<"out", copied, over = "q">`
  }];
}

def Plan_StepAttr : Plan_Attr<"Step", "step"> {
  let summary = "a step of an iteration, and its stage";
  let description = [{
    A step names ops of a loop and states their stage, the number of iterations
    by which they run early: 0, or 1 in `"s" + 1`.

    | step | ops |
    |---|---|
    | `"x"` | the dots, stores to global memory and semaphore ops named `x`; the op that computes the stream `x`, or the shared loads of a stream that is loaded |
    | `"x.store"`, `"x.done"` | the store of the stream `x` to shared memory; its fence and commit, and the wait until it is visible |
    | `"x.a"` | the op that computes the first operand of the dot `x`, if that is in registers |
    | `"x.wide"` | the op that computes the tile that `"x.a"` rounds |
    | `"x.acc"` | the op that computes the accumulator of the dot `x` |
    | `"x.done"` | the wait for the dot `x`, which then is asynchronous |
    | `"x.read"` | the wait until the dot `x` has read its operands; the loop carries the outstanding accumulator |
    | `"*"` | the ops of this stage that do not depend on a later step |

    `x` may be a family: `"dq"` names `dq.0` and `dq.1` unless another step does.
  }];
  let parameters = (ins
    AttrParameter<"::mlir::StringAttr", "the ops of the step, see the table">:$name,
    AttrParameter<"int64_t", "number of iterations by which they run early">:$stage);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The part of the op that the step names, and the op's name.
    ::fovea::plan::StepPart getPart() const;
    ::llvm::StringRef getOpName() const;
  }];
}

def Plan_RoleAttr : Plan_Attr<"Role", "role"> {
  let summary = "a group of warps and the ops that it executes";
  let description = [{
    A role consists of `warps` warps: fewer than four, or a multiple of four
    (warp groups). Each thread may use `registers` registers. `owns` lists the
    names of the streams that the role produces, the dots that it issues and the
    stores that it performs; `warp-specialize` derives all other ops from these.
    Each name has one owner. The name `"*"` stands for all names without another
    owner. A role that owns `copies` produces all streams that are loaded from
    global memory.

    Example: `#plan.role<"load", warps = 4, registers = 24, owns = ["q", "k", "v"]>`
  }];
  let parameters = (ins
    StringRefParameter<"the role's name">:$name,
    AttrParameter<"int64_t", "number of warps">:$warps,
    AttrParameter<"int64_t", "registers per thread">:$registers,
    AttrParameter<"::mlir::ArrayAttr", "the names that the role owns">:$owns,
    AttrParameter<"bool", "true if the role produces the streams loaded from global memory">:$copies);
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
  let summary = "the implementation plan of a kernel";
  let description = [{
    Holds the MMA unit, the fields of the kernel as a whole, and lists of
    entries for its streams, dots, stores and roles. Fields and lists may be in
    any order. Fields that have their default are not printed, except the tile,
    `warps` and `stages`. Without `roles`, all warps run the same program and
    perform their own copies.

    `asked` lists the user-specified fields, by their option names of
    `--schedule`. A pass that can't implement a user-specified field reports an
    error. For other fields it emits a remark and changes the plan. The final
    plan describes the generated code.

    | field | meaning | unit | default |
    |---|---|---|---|
    | tile_m | rows of a CTA's tile | rows | 64 |
    | tile_n | columns of a tile in the loop (block size) | columns | 64 |
    | warps | compute warps | | 4 |
    | stages | stages of streams without an entry | | 2 |
    | min_blocks | CTAs per SM; limits the registers | | 1 |
    | column_warps | number of warps that share the columns of the same rows; must divide `warps`, and must be 1 with roles | | 1 |
    | row_tiles | query tiles that a CTA interleaves, each with its own roles; 0: one tile | | 0 |
    | row_chunks | chunks of the tile's rows with dots, accumulators and roles of their own (`s.0`, `s.1`, ...); the chunks share loads along columns | | 1 |
    | cluster | CTAs of a cluster that share multicast loads, each with `tile_m` rows | | 1 |
    | work | assignment of work items: `single` (one per CTA), `static` (every n-th), `dynamic` (atomic counter), `shares` (equal shares of all blocks, cut anywhere) | | single |
    | split | with `work = shares`: pieces of a tile have at least so many columns, and depend on the tile's own sequence only, not on the CTAs or on other sequences; 0: cut anywhere | columns | 0 |
    | longest_first | packed sequences are processed in descending order of their number of keys, sorted by a preprocess kernel; otherwise in the caller's order | | |
    | chain | cross-tile pipelining: the first dot of the next tile is issued with the last dot of this one, before it (1) or after it (2) | | 0 |
    | ping_pong | warp groups alternate on the tensor cores in ping-pong sections | | |
    | classify | runtime block predicate: roles compute the blocks to process in the loop instead of iterating over a range | | |
    | recurrence | recurrence of the softmax loop | | deferred |
    | tau | growth of the row maximum, in powers of two, up to which the `conditional` and `lazy` recurrences do not rescale | | 8 |
    | sum_by_dot | row sums are computed by the MMA unit, from the rounded probabilities | | |
    | pair_sums | the kernel also computes the sums over pairs of rows and columns: gradients of captured tensors | | |
    | tf32 | dots of f32 round their factors to tf32; otherwise they have about the error of f32. Follows from the op, whatever a schedule says | | |

    `order` lists the steps of an iteration, in order, each with its stage
    (`#plan.step`). `warp-schedule-loops` derives the stages and places of all
    other ops. `attn-to-tile` emits an iteration in this order; for this pass,
    `slope` (the derivative of a score_mod) is a step, too.

    Example:

    ```mlir
    #p = #plan.kernel<#warp.wgmma_unit, tile_m = 128, warps = 8, work = static,
      streams = [<"q">, <"k", stages = 3>],
      dots = [<"o", operand_above = 25>],
      stores = [<"out", copied, over = "q">],
      roles = [<"load", warps = 4, registers = 40, owns = copies>,
               <"compute", warps = 8, registers = 232, owns = ["*"]>],
      order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1]>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::fovea::plan::MatrixUnitAttrInterface", "the MMA unit">:$unit,
    AttrParameter<"::fovea::plan::KernelPlan", "the fields of the kernel as a whole, see the table">:$fields,
    Plan_List<"StreamAttr", "entries of streams">:$streams,
    Plan_List<"DotAttr", "entries of dots">:$dots,
    Plan_List<"StoreAttr", "entries of stores">:$stores,
    Plan_List<"RoleAttr", "the roles, in the order of their warps; none: all warps run one program">:$roles,
    Plan_List<"StepAttr", "the steps of an iteration, in order">:$order,
    ArrayRefParameter<"::mlir::StringAttr", "the names of the user-specified fields">:$asked);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The fields of the kernel as a whole: `plan->tileM`.
    const ::fovea::plan::KernelPlan *operator->() const;

    /// The fields of the stream, dot or store with a name; the name may be
    /// null.
    ::fovea::plan::StreamPlan getStream(::mlir::StringAttr name) const;
    ::fovea::plan::DotPlan getDot(::mlir::StringAttr name) const;
    ::fovea::plan::StorePlan getStore(::mlir::StringAttr name) const;
    ::fovea::plan::StreamPlan getStream(::llvm::StringRef name) const;
    ::fovea::plan::DotPlan getDot(::llvm::StringRef name) const;
    ::fovea::plan::StorePlan getStore(::llvm::StringRef name) const;
    /// True if `is` holds for any dot entry.
    bool hasDot(::llvm::function_ref<bool(const ::fovea::plan::DotPlan &)> is)
        const;
    bool isUserSpecified(::llvm::StringRef field) const;
    /// True if `order` lists both names, or their families, the first one
    /// first.
    bool isBefore(::llvm::StringRef first, ::llvm::StringRef second) const;
    /// Moves the listed names among `names` into the plan's order. Other names
    /// keep their positions.
    void sortByOrder(::llvm::MutableArrayRef<std::string> names) const;
    /// The role that owns a name or its family, or else `"*"`; null: none.
    RoleAttr getOwner(::llvm::StringRef name) const;
    /// True if there are roles and one role owns both names.
    bool haveSameOwner(::llvm::StringRef one, ::llvm::StringRef other) const;

    /// True if warps are partitioned into roles. Producers then load with TMA,
    /// in tiles of whole panels. Loops over blocks run at least once, so that
    /// the prologue can start the first iteration unconditionally.
    bool hasRoles() const { return !getRoles().empty(); }
    bool copiesByTma() const { return hasRoles(); }
    bool visitsAtLeastOnce() const { return hasRoles(); }
    /// True if each warp owns whole rows of an accumulator: values computed
    /// from it then have the layout of the next dot's first operand.
    bool warpsHaveRows() const { return (*this)->columnWarps == 1; }
    /// Rows that a cluster processes at a time.
    int64_t getClusterRows() const;

    /// Returns a changed plan. Dot entries with default fields only are
    /// removed.
    KernelAttr change(
        ::llvm::function_ref<void(::fovea::plan::KernelPlan &)> change) const;
    KernelAttr changeDots(
        ::llvm::function_ref<void(::fovea::plan::DotPlan &)> change) const;
    KernelAttr changeStreams(
        ::llvm::function_ref<void(::llvm::StringRef,
                                  ::fovea::plan::StreamPlan &)>
            change) const;
    /// Returns a plan in which the entry of exactly this name is changed, or
    /// added with changed defaults.
    KernelAttr changeStream(
        ::llvm::StringRef name,
        ::llvm::function_ref<void(::fovea::plan::StreamPlan &)> change) const;
    KernelAttr changeDot(
        ::llvm::StringRef name,
        ::llvm::function_ref<void(::fovea::plan::DotPlan &)> change) const;
    KernelAttr changeStore(
        ::llvm::StringRef name,
        ::llvm::function_ref<void(::fovea::plan::StorePlan &)> change) const;
    KernelAttr withOrder(::llvm::ArrayRef<StepAttr> steps) const;
    /// True if the order contains waits for dots, or steps of different stages.
    bool isAsynchronous() const;
    /// True if steps of the order have different stages, and the stage of a
    /// step; 0 if the order does not list it.
    bool isStaged() const;
    int64_t getStage(::llvm::StringRef step) const;
    /// Returns a plan whose loops run the iterations one after another.
    KernelAttr withoutStages() const;
    /// Returns a plan without the entry of the store or stream `name`.
    KernelAttr withoutStore(::llvm::StringRef name) const;
    KernelAttr withoutStream(::llvm::StringRef name) const;
    KernelAttr withAsked(::llvm::ArrayRef<::llvm::StringRef> fields) const;
  }];
}

#endif // FOVEA_DIALECT_PLAN_IR_PLANATTRS_TD
