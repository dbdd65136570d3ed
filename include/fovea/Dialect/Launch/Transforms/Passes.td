//===- Passes.td - Passes of the launch dialect ------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_TD
#define FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def LaunchSerializeKernels : Pass<"launch-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "Serialize kernels into the host module";
  let description = [{
    Translates each `gpu.module` with a `launch.abi` to PTX, for the target of
    the ABI, and replaces it by one `launch.binary` per kernel that hosts
    launch. The binary contains the PTX and the launch metadata, which
    `fovea-compile` writes to a separate file. Each `launch.call` is changed to
    refer to the binary and loses scalars that the kernel does not read.

    Before:

    ```mlir
    gpu.module @f_module {
      launch.abi @f target("sm_80") ...
      llvm.func @f(...) attributes {nvvm.kernel} { ... }
    }
    func.func @host(%q: !t, ...) -> !t {
      %o = launch.call @f_module::@f ins("q" = %q : !t, ...) outs("o" = %empty : !t) -> !t
      ...
    ```

    After:

    ```mlir
    launch.binary @f target("sm_80") tensors(...) scalars([]) code("...") metadata("...")
    func.func @host(%q: !t, ...) -> !t {
      %o = launch.call @f ins("q" = %q : !t, ...) outs("o" = %empty : !t) -> !t
      ...
    ```

    **Requires** that kernels are in the NVVM dialect (`warp-to-nvvm` and the
    passes after it in `fovea-to-nvvm`), that parameters of their ABI are final,
    that all kernels of a `gpu.module` have one target, and that only
    `launch.call` refers to them.

    **Ensures** that no `gpu.module` with a `launch.abi` is left, and that each
    `launch.call` refers to a `launch.binary` and has exactly its operands.
  }];
  let statistics = [
    Statistic<"numBinaries", "binaries", "Number of kernels serialized">
  ];
}

#endif // FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_TD
