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
  let summary = "Write the code of kernels, and keep it in the host's module";
  let description = [{
    Each `gpu.module` of the module that has a `launch.abi` is translated to PTX, for
    the target that the ABI names, and becomes one `launch.binary` for each kernel
    that hosts ask for: with the PTX, and the launch metadata that `fovea-compile`
    writes beside it. `launch.call`s name the binary from then on, and lose
    scalars that the kernel turned out not to read.

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

    **Requires** that kernels are in the NVVM dialect (`warp-to-nvvm` and what follows it in `fovea-to-nvvm`), that parameters of their ABI are final, that
    kernels of one `gpu.module` are for one target, and that nothing but `launch.call` names them.

    **Ensures** that no `gpu.module` with a `launch.abi` is left, that a `launch.call` names a `launch.binary` and passes what that lists, nothing else.
  }];
  let statistics = [
    Statistic<"numBinaries", "binaries", "Number of kernels whose code was written">
  ];
}

#endif // FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_TD
