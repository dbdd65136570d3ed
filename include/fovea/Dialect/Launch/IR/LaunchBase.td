//===- LaunchBase.td - The launch dialect ------------------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHBASE_TD
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Launch_Dialect : Dialect {
  let name = "launch";
  let cppNamespace = "::fovea::launch";
  let summary = "Launch interface of kernels";
  let description = [{
    The `launch` dialect describes how a host launches a kernel: the tensor and
    scalar operands, the kernel's parameters, the number of CTAs, constraints on
    sizes, and kernels that run before and after it. `launch.abi` is in the same
    module as the kernel's `gpu.func`.

    The dialect has no tiles, layouts, instructions or MMA units. The dialects
    of a kernel's ops verify its body through `KernelDialectInterface`. Ops that
    draw random numbers implement `DrawsNumbersOpInterface`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::fovea::plan::PlanDialect",
                           "::mlir::gpu::GPUDialect"];
}

class Launch_Attr<string attrName, string attrMnemonic,
                  list<Trait> traits = []>
    : AttrDef<Launch_Dialect, attrName, traits> {
  let mnemonic = attrMnemonic;
}

class Launch_Op<string mnemonic, list<Trait> traits = []>
    : Op<Launch_Dialect, mnemonic, traits>;

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHBASE_TD
