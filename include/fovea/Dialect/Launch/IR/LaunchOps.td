//===- LaunchOps.td - Operations of the launch dialect -----*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHOPS_TD
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHOPS_TD

include "fovea/Dialect/Launch/IR/LaunchAttrs.td"
include "fovea/Dialect/Plan/IR/PlanAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Launch_AbiOp : Launch_Op<"abi", [
    HasParent<"::mlir::gpu::GPUModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how a host calls a kernel";
  let description = [{
    Stands beside the kernel that it describes, in one `gpu.module`. Holds the
    tensors that the host passes, one parameter attribute for each argument of
    the kernel, the number of CTAs as a function of the sizes named in
    `grid_sizes`, threads of a CTA, bytes of dynamic shared memory, what the
    kernel takes for granted about sizes, the target and the plan. Passes
    refine it; the launch metadata is its printed form (docs/ABI.md).

    `grid` counts work items. There is a CTA for each, unless the kernel is
    `persistent(N)`: then there are at most N on each multiprocessor, and each
    takes items until none is left. With `cluster(C)`, C neighbouring CTAs form
    a cluster, and the number of CTAs is made a multiple of C: a kernel ignores
    items past the last. The program is then the cluster's: `gpu.cluster_id` and
    `gpu.cluster_dim` say which one it is, of how many.

    `prologue` and `epilogue` name kernels of the module that the host launches
    before and after this one, for the same tensors and sizes. What kernels find
    out for each other they leave in scratch memory. They are no kernels that a
    host asks for. With `overlapped` the host may start a kernel before the one
    before it in the launch has ended: it waits for that itself. `warp-to-nvvm`
    says so where it has emitted that wait.

    `generator` is the version of the random numbers that the kernel draws, if
    it does (`DrawsNumbersOpInterface`), for whoever has to draw them again.

    `constraints` are of sizes, and checked at every launch. `contents` are of
    integers in tensors, which a host would have to wait for: on request.

    Example:

    ```mlir
    launch.abi @causal target("sm_80")
      plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2>)
      tensors([#launch.tensor<"q", read, tensor<?x8x?x64xbf16>, ["B", "Hq", "Sq", "D"], 16>])
      parameters([#launch.memref<"q", [0, 1, 2, 3]>])
      grid(["B", "Sq"] affine_map<()[b, s] -> (b * 8 * (s ceildiv 128))>)
      threads(128) shared_memory(0)
      constraints([#launch.at_most<"Sq", 1073741824>])
    ```
  }];
  let arguments = (ins
    Arg<FlatSymbolRefAttr, "the kernel, a `gpu.func` of the same module">:$kernel,
    Arg<StrAttr, "the chip that the kernel is for">:$target,
    Arg<Plan_KernelAttr, "what the passes are to do with the kernel">:$plan,
    Arg<ArrayAttr, "the tensors that the host passes">:$tensors,
    Arg<ArrayAttr, "what the host passes for each argument of the kernel">:$parameters,
    Arg<StrArrayAttr, "the sizes that `grid` takes, by name">:$gridSizes,
    Arg<AffineMapAttr, "the number of work items, a function of `grid_sizes`">:$grid,
    Arg<I64Attr, "threads of a CTA">:$threads,
    Arg<I64Attr, "dynamic shared memory of a CTA, in bytes">:$sharedMemory,
    Arg<OptionalAttr<ArrayAttr>, "what sizes must satisfy, checked at every launch">:$constraints,
    Arg<OptionalAttr<I64Attr>, "the most CTAs on each multiprocessor; none: a CTA for each item">:$persistent,
    Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "CTAs of a cluster">:$cluster,
    Arg<OptionalAttr<FlatSymbolRefArrayAttr>, "kernels that the host launches before this one">:$prologue,
    Arg<OptionalAttr<FlatSymbolRefArrayAttr>, "kernels that the host launches after this one">:$epilogue,
    Arg<OptionalAttr<ArrayAttr>, "what the integers in tensors must satisfy, checked on request">:$contents,
    Arg<UnitAttr, "the kernel waits by itself for the ones before it">:$overlapped,
    Arg<OptionalAttr<I64Attr>, "the version of the random numbers that the kernel draws">:$generator);
  let assemblyFormat = [{
    $kernel `target` `(` $target `)` `plan` `(` $plan `)`
    `tensors` `(` $tensors `)` `parameters` `(` $parameters `)`
    `grid` `(` $gridSizes $grid `)` `threads` `(` $threads `)`
    `shared_memory` `(` $sharedMemory `)`
    (`persistent` `(` $persistent^ `)`)? (`cluster` `(` $cluster^ `)`)?
    (`prologue` `(` $prologue^ `)`)? (`epilogue` `(` $epilogue^ `)`)?
    (`overlapped` $overlapped^)?
    (`constraints` `(` $constraints^ `)`)?
    (`contents` `(` $contents^ `)`)?
    (`generator` `(` $generator^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Checks the other kernels of the launch and its scratch memory.
    ::llvm::LogicalResult verifyLaunch();
  }];
}

def Launch_AllowOverlapOp : Launch_Op<"allow_overlap", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "lets the next kernel of the launch start";
  let description = [{
    In a kernel that another one of the launch follows: once all CTAs have come
    here or ended, that one may start. It sees nothing of what this one writes,
    before or after, until its `launch.await_previous`.

    Example:

    ```mlir
    launch.allow_overlap
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Launch_AwaitPreviousOp : Launch_Op<"await_previous", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits until the launch's kernels before this one have ended";
  let description = [{
    What they wrote can be read from here on. A kernel with this op may start
    before they have ended, but not before all of their CTAs have come to
    `launch.allow_overlap`. What is not theirs, that is all but scratch memory,
    may be read and written before: kernels that came before the launch have
    ended when its first one starts. Scratch memory that no kernel before this
    one touches may be, too. Each role that touches other scratch memory waits
    for itself.

    Example:

    ```mlir
    launch.await_previous
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHOPS_TD
