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
  let summary = "How a host calls a kernel";
  let description = [{
    The `launch` dialect says how a host calls a kernel: the tensors and scalars
    that it passes, the parameters that these become, the number of CTAs, what is
    taken for granted about sizes, and which kernels run before. `launch.abi`
    stands beside the kernel's `gpu.func` as long as there is one.

    It knows no tiles, layouts, instructions or matrix units. What holds inside a
    kernel is said by the dialects that it is written in: they implement
    `KernelDialectInterface`, and ops that draw random numbers
    `DrawsNumbersOpInterface`.
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
