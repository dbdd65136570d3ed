//===- AttnInterfaces.td - Interfaces of the attn dialect --*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_IR_ATTNINTERFACES_TD
#define FOVEA_DIALECT_ATTN_IR_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def SequenceFormAttrInterface : AttrInterface<"SequenceFormAttrInterface"> {
  let cppNamespace = "::fovea::attn";
  let description = [{
    How the sequences of a batch lie in the tensors of `attn.forward`. A form
    takes a fixed number of integer tensors as operands.
  }];
  let methods = [
    InterfaceMethod<"The keyword that introduces the form in `attn.forward`.",
      "::llvm::StringRef", "getKeyword", (ins)>,
    InterfaceMethod<"The names of the operands that the form takes, in order.",
      "::llvm::SmallVector<::llvm::StringRef>", "getOperandNames", (ins)>,
    InterfaceMethod<"Checks the types of the form's operands; one per name.",
      "::llvm::LogicalResult", "verifyOperands",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::TypeRange":$types, "int64_t":$batch)>,
    InterfaceMethod<"The symbolic dimension names of operand `index`.",
      "::llvm::SmallVector<::llvm::StringRef>", "getOperandDims",
      (ins "unsigned":$index)>,
    InterfaceMethod<[{Where keys lie; other levels ask this of a form, not
      which one it is.}],
      "::fovea::attn::KeyPlaces", "getKeyPlaces", (ins), "",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"What the integers in the form's operands should be.",
      "::llvm::SmallVector<::fovea::attn::Contents>", "getContents", (ins), "",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"True if `attn-to-tile` can lower the form.",
      "bool", "isLowered", (ins)>,
    InterfaceMethod<"Prints what stands behind the operands in the clause.",
      "void", "printParameters", (ins "::mlir::OpAsmPrinter &":$printer), "",
      /*defaultImplementation=*/"(void)printer;">
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::fovea::attn";
  let description = [{
    An op that becomes one kernel. It names its operands and results and their
    dimensions; the kernel's ABI, the launch metadata, the interpreter and the
    runtime's checks are all derived from that.

    Dimension names are shared: two dimensions with one name have one size.
    `memoryOrder` maps kernel dimension `d` to the host tensor's dimension:
    kernels see queries as (B, Hq, Sq, D) however they lie in memory.
  }];
  let methods = [
    InterfaceMethod<"The operand's name in the ABI, for example `q`.",
      "std::string", "getOperandName", (ins "unsigned":$index)>,
    InterfaceMethod<"The result's name in the ABI, for example `o`.",
      "std::string", "getResultName", (ins "unsigned":$index)>,
    InterfaceMethod<"Names of the operand's dimensions, in host order.",
      "::llvm::SmallVector<std::string>", "getOperandDimNames",
      (ins "unsigned":$index)>,
    InterfaceMethod<"Names of the result's dimensions, in host order.",
      "::llvm::SmallVector<std::string>", "getResultDimNames",
      (ins "unsigned":$index)>,
    InterfaceMethod<"Kernel dimension to host dimension of the operand.",
      "::llvm::SmallVector<int64_t>", "getOperandMemoryOrder",
      (ins "unsigned":$index)>,
    InterfaceMethod<"Kernel dimension to host dimension of the result.",
      "::llvm::SmallVector<int64_t>", "getResultMemoryOrder",
      (ins "unsigned":$index)>,
    InterfaceMethod<[{Whether tiles of the operand are copied row by row: its
      last dimension must be contiguous, and rows begin at multiples of 16
      bytes. What is not is read element by element.}],
      "bool", "isOperandCopied", (ins "unsigned":$index), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<"The same of the result, whose tiles are written.",
      "bool", "isResultCopied", (ins "unsigned":$index), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<"What the kernel's tiles of output are counted by.",
      "::fovea::attn::WorkDims", "getWorkDims", (ins)>,
    InterfaceMethod<[{Pairs of dimension names of which the first one's size is
      a multiple of the second one's.}],
      "::llvm::SmallVector<std::pair<std::string, std::string>>",
      "getDimMultiples", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{Dimension names with the largest size that each may have
      at run time.}],
      "::llvm::SmallVector<std::pair<std::string, int64_t>>",
      "getDimLimits", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{Dimension names whose sizes count blocks (of 1, or more),
      and what they must cover.}],
      "::llvm::SmallVector<::fovea::attn::DimCover>",
      "getDimCovers", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Dimension names whose sizes must not be 0.",
      "::llvm::SmallVector<std::string>",
      "getNonEmptyDims", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"What the integers in operands should be.",
      "::llvm::SmallVector<::fovea::attn::Contents>",
      "getContents", (ins), "", /*defaultImplementation=*/"return {};">
  ];
}

#endif // FOVEA_DIALECT_ATTN_IR_ATTNINTERFACES_TD
