//===- LaunchCallOps.td - Launches in a host's code --------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALLOPS_TD
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALLOPS_TD

include "fovea/Dialect/Launch/IR/LaunchOps.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

def Launch_BinaryOp : Launch_Op<"binary", [Symbol]> {
  let summary = "a compiled kernel, and how a host calls it";
  let description = [{
    What a kernel's `gpu.module` becomes when its code is written
    (`launch-serialize-kernels`): PTX, the launch metadata, and of the
    `launch.abi` what a call is checked against: the tensors, and the scalars in
    the metadata's order. `target` is the chip that the code is for. The
    symbol is what `launch.call` names; the kernel's own name is in the metadata.

    Example:

    ```mlir
    launch.binary @layer_forward target("sm_80")
      tensors([#launch.tensor<"q", read, tensor<?x8x?x64xbf16>, ["B", "Hq", "Sq", "D"], 16>])
      scalars([#launch.scalar<"scale", f32>])
      code("// PTX") metadata("{}")
    ```
  }];
  let arguments = (ins
    Arg<SymbolNameAttr, "the name by which calls mean the kernel">:$sym_name,
    Arg<StrAttr, "the chip that the code is for">:$target,
    Arg<ArrayAttr, "the tensors that the host passes">:$tensors,
    Arg<ArrayAttr, "the scalars that the host passes, in the metadata's order">:$scalars,
    Arg<StrAttr, "the kernel's PTX">:$code,
    Arg<StrAttr, "how the kernel is launched, JSON">:$metadata);
  let assemblyFormat = [{
    $sym_name `target` `(` $target `)` `tensors` `(` $tensors `)`
    `scalars` `(` $scalars `)` `code` `(` $code `)`
    `metadata` `(` $metadata `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Launch_CallOp : Launch_Op<"call", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel from a host's code";
  let description = [{
    Launches the kernel `kernel`: a kernel of a `gpu.module` with its
    `launch.abi`, or a `launch.binary`. Inputs are the tensors that it reads and
    the scalars, outputs the tensors that it writes, each by the name that the ABI
    has for it, in any order. A scalar that the ABI does not name is one that the
    kernel turned out not to read; it is ignored.

    In destination style: a tensor among the outputs is where the result may be
    written, and what it holds does not matter, unless the kernel adds to it
    (`accumulate`). On memrefs the op has no results. Outputs overlap neither
    each other nor inputs. Element types, ranks and the sizes that both types state
    must be the ABI's; dimensions that the ABI gives one name have one size. What
    only the call knows, such as sizes, strides and alignment, is checked when it runs.

    The op is done when the results are there, so that the host may read them. With
    a `stream` (a `CUstream`) it has only put the kernel there; its operands
    must then be memrefs in memory that the device reaches.

    Example:

    ```mlir
    %o = launch.call @layer_forward_module::@layer_forward
      ins("q" = %q : tensor<2x8x?x64xbf16>, "k" = %k : tensor<2x8x?x64xbf16>,
          "v" = %v : tensor<2x8x?x64xbf16>, "scale" = %scale : f32)
      outs("o" = %empty : tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16>
    ```
  }];
  let arguments = (ins
    Arg<SymbolRefAttr, "a kernel of a `gpu.module`, or a `launch.binary`">:$kernel,
    Arg<StrArrayAttr, "the names of `inputs` in the ABI">:$inputNames,
    Arg<StrArrayAttr, "the names of `outputs` in the ABI">:$outputNames,
    Arg<Variadic<AnyType>, "the tensors that the kernel reads, and the scalars">:$inputs,
    Arg<Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>, "where the kernel may write each tensor that it writes">:$outputs,
    Arg<Optional<LLVM_AnyPointer>, "the `CUstream` that it runs on; none: the op waits for the end">:$stream);
  let results = (outs
    Res<Variadic<AnyRankedTensor>, "what the kernel wrote, for `outputs` that are tensors">:$results);
  let assemblyFormat = [{
    $kernel
    `ins` `(` custom<NamedValues>($inputNames, $inputs, type($inputs)) `)`
    `outs` `(` custom<NamedValues>($outputNames, $outputs, type($outputs)) `)`
    (`stream` `(` $stream^ `:` type($stream) `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// The operand by its name; null if there is none.
    ::mlir::Value lookupInput(::llvm::StringRef name);
    ::mlir::Value lookupOutput(::llvm::StringRef name);
  }];
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALLOPS_TD
