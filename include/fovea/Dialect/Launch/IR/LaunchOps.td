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
  let summary = "the launch interface of a kernel";
  let description = [{
    Describes a kernel of the same `gpu.module`. Holds the tensor operands of
    the launch, one parameter attribute per kernel argument, the number of work
    items as a function of the sizes `grid_sizes`, threads per CTA, bytes of
    dynamic shared memory, constraints on sizes, the target and the plan. Passes
    refine the op. The launch metadata is its serialized form
    (docs/Specification/ABI.md).

    `grid` is the number of work items. By default there is one CTA per item. A
    `persistent(N)` kernel has at most N CTAs per SM, each of which processes
    several items. With `cluster(C)`, C consecutive CTAs form a cluster and the
    number of CTAs is rounded up to a multiple of C; kernels ignore items past
    the last one. Work items then belong to clusters: `gpu.cluster_id` and
    `gpu.cluster_dim` return the index and number of clusters.

    `prologue` and `epilogue` list kernels of the module that the host launches
    before and after this one, with the same tensors and sizes. The kernels of a
    launch communicate through scratch memory. Hosts do not launch these kernels
    directly. `overlapped` allows the host to start a kernel before the
    preceding kernel of the launch has ended (programmatic dependent launch);
    the kernel itself waits. `warp-to-nvvm` sets it on kernels for which it
    emits that wait.

    `generator` is the version of the kernel's random number generator, if it
    draws random numbers (`DrawsNumbersOpInterface`).

    `constraints` apply to sizes and are checked at each launch. `contents`
    apply to integers in tensors. Checking them requires synchronisation, so
    hosts do it on request only.

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
    Arg<StrAttr, "the GPU target">:$target,
    Arg<Plan_KernelAttr, "the implementation plan">:$plan,
    Arg<ArrayAttr, "tensor operands of the launch">:$tensors,
    Arg<ArrayAttr, "one parameter attribute per kernel argument">:$parameters,
    Arg<StrArrayAttr, "the names of the sizes in `grid`">:$gridSizes,
    Arg<AffineMapAttr, "the number of work items as a function of `grid_sizes`">:$grid,
    Arg<I64Attr, "threads per CTA">:$threads,
    Arg<I64Attr, "dynamic shared memory per CTA, in bytes">:$sharedMemory,
    Arg<OptionalAttr<ArrayAttr>, "constraints on sizes, checked at each launch">:$constraints,
    Arg<OptionalAttr<I64Attr>, "maximum CTAs per SM; none: one CTA per item">:$persistent,
    Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "CTAs per cluster">:$cluster,
    Arg<OptionalAttr<FlatSymbolRefArrayAttr>, "kernels that the host launches before this one">:$prologue,
    Arg<OptionalAttr<FlatSymbolRefArrayAttr>, "kernels that the host launches after this one">:$epilogue,
    Arg<OptionalAttr<ArrayAttr>, "valid contents of integer tensors, checked on request">:$contents,
    Arg<UnitAttr, "the kernel waits for the preceding kernels of the launch itself">:$overlapped,
    Arg<OptionalAttr<I64Attr>, "the version of the kernel's random number generator">:$generator);
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
  let summary = "allows the next kernel of the launch to start";
  let description = [{
    The next kernel of the launch may start after all CTAs of this kernel have
    executed this op or ended. It may read this kernel's writes, before or after
    the op, only after its `launch.await_previous`.

    Example:

    ```mlir
    launch.allow_overlap
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Launch_AwaitPreviousOp : Launch_Op<"await_previous", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits for the preceding kernels of the launch";
  let description = [{
    Waits until the preceding kernels of the launch have ended; their writes are
    visible after the op. A kernel with this op may start before they have
    ended, but not before all of their CTAs have executed
    `launch.allow_overlap`.

    Memory other than scratch memory may be accessed before the op, because
    kernels before the launch have ended when its first kernel starts. Scratch
    memory that no preceding kernel accesses may be accessed, too. Each role
    that accesses other scratch memory executes its own wait.

    Example:

    ```mlir
    launch.await_previous
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHOPS_TD
