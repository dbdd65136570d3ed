//===- LaunchCallOps.td - Launches in host code ------------*- tablegen -*-===//
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
  let summary = "a compiled kernel with its launch interface";
  let description = [{
    Contains the result of serializing a kernel's `gpu.module`
    (`launch-serialize-kernels`): PTX and the launch metadata. For the
    verification of calls it also contains the tensors and the scalars of
    `launch.abi`, in the order of the metadata. `target` is the GPU target of
    the code.
    `launch.call` refers to the symbol; the kernel's own name is in the
    metadata.

    Example:

    ```mlir
    launch.binary @layer_forward target("sm_80")
      tensors([#launch.tensor<"q", read, tensor<?x8x?x64xbf16>, ["B", "Hq", "Sq", "D"], 16>])
      scalars([#launch.scalar<"scale", f32>])
      code("// PTX") metadata("{}")
    ```
  }];
  let arguments = (ins
    Arg<SymbolNameAttr, "the symbol that calls refer to">:$sym_name,
    Arg<StrAttr, "the GPU target of the code">:$target,
    Arg<ArrayAttr, "tensor operands of the launch">:$tensors,
    Arg<ArrayAttr, "scalar operands of the launch, in the order of the metadata">:$scalars,
    Arg<StrAttr, "the kernel's PTX">:$code,
    Arg<StrAttr, "the launch metadata, as JSON">:$metadata);
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
  let summary = "launches a kernel from host code";
  let description = [{
    Launches `kernel`: a kernel of a `gpu.module` with its `launch.abi`, or a
    `launch.binary`. Inputs are the tensors that the kernel reads and the
    scalars; outputs are the tensors that it writes. Operands are matched to the
    ABI by name; their order is arbitrary. If `kernel` is in a `gpu.module`, a
    scalar that is not in its ABI is ignored, because passes remove arguments
    that the kernel does not read.

    The op has destination style: an output tensor is the storage of the result.
    Its contents are ignored, unless the kernel accumulates into it
    (`accumulate`) or updates a part of it (`update`). On memrefs the op has no results. Outputs must not overlap
    other outputs or inputs. Element types, ranks and static sizes must match
    the ABI; dimensions with the same name must have the same size. Sizes,
    strides and alignment that are unknown statically are checked at run time.

    Without a stream, the op returns after the results are available to the
    host. With a `stream` (a `CUstream`) it only enqueues the kernel. Its
    operands must then be memrefs in memory that the device can access.

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
    Arg<Variadic<AnyType>, "the tensors that the kernel reads and the scalars">:$inputs,
    Arg<Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>, "the storage of the tensors that the kernel writes">:$outputs,
    Arg<Optional<LLVM_AnyPointer>, "the `CUstream`; none: the op waits for completion">:$stream);
  let results = (outs
    Res<Variadic<AnyRankedTensor>, "the results of tensor `outputs`">:$results);
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
    /// The operand `name`; null if there is none.
    ::mlir::Value lookupInput(::llvm::StringRef name);
    ::mlir::Value lookupOutput(::llvm::StringRef name);
  }];
}

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALLOPS_TD
