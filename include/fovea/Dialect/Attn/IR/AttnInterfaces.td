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
    How the sequences of a batch lie in the tensors of an attn op. A form takes a
    fixed number of integer tensors as operands.
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

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::fovea::attn";
  let description = [{
    An op over one variant of attention, in either direction: which queries,
    keys and values there are and how they lie, what score_mod and mask_mod
    compute, and what they capture. Verification of all that, analyses of masks
    and the interpreter ask this of an op, not which direction it is.

    Behind the tensors of its own direction such an op has, in this order, the
    run-time scale, captured values, operands of the sequence form, sinks, seed
    and offset of dropout, lists of blocks.
  }];
  let methods = [
    InterfaceMethod<"Number of the operand that a run-time scale is or would be.",
      "unsigned", "getFirstVariantOperand", (ins)>,
    InterfaceMethod<"Number of the first captured value's operand.",
      "unsigned", "getFirstCapture", (ins), "", [{
        return $_op.getFirstVariantOperand() + ($_op.getScaleValue() ? 1 : 0);
      }]>,
    InterfaceMethod<"", "::mlir::Value", "getQuery", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getKey", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getValue", (ins)>,
    InterfaceMethod<"The run-time scale, or null.",
      "::mlir::Value", "getScaleValue", (ins)>,
    InterfaceMethod<"The constant scale, or null.",
      "::mlir::FloatAttr", "getScaleAttr", (ins)>,
    InterfaceMethod<"What the regions get besides coordinates.",
      "::mlir::OperandRange", "getCaptures", (ins)>,
    InterfaceMethod<"The numbers that captured values go by, if not 0, 1, ....",
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getCaptureNumbers", (ins)>,
    InterfaceMethod<"Tensors of the sequence form.",
      "::mlir::OperandRange", "getSequenceOperands", (ins)>,
    InterfaceMethod<"Scores that have no value, or null.",
      "::mlir::Value", "getSinks", (ins)>,
    InterfaceMethod<"The probability that a weight is dropped, or null.",
      "::mlir::FloatAttr", "getDropoutAttr", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getDropoutSeed", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getDropoutOffset", (ins)>,
    InterfaceMethod<"Version of the numbers that dropout draws.",
      "uint64_t", "getDropoutGenerator", (ins)>,
    InterfaceMethod<[{Lists of the blocks that are visited: pairs of counts and
      indices, for partial blocks and, optionally, for full ones.}],
      "::mlir::OperandRange", "getBlockLists", (ins)>,
    InterfaceMethod<"Queries and keys of a listed block.",
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getBlockSize", (ins)>,
    InterfaceMethod<"How the tensors' dimensions are ordered.",
      "::fovea::attn::Layout", "getLayout", (ins)>,
    InterfaceMethod<"How the sequences lie in the tensors.",
      "::fovea::attn::SequenceFormAttrInterface", "getSequence", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getScoreMod", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getMaskMod", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getKvBounds", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getKvClassify", (ins)>
  ];
  let extraSharedClassDeclaration = [{
    /// Dimension of q, k, v and o that holds sequences, and heads.
    int64_t getSequenceDim() {
      return $_op.getLayout() == ::fovea::attn::Layout::BHSD ? 2 : 1;
    }
    int64_t getHeadDim() {
      return $_op.getLayout() == ::fovea::attn::Layout::BHSD ? 1 : 2;
    }
    ::mlir::RankedTensorType getQueryType() {
      return ::mlir::cast<::mlir::RankedTensorType>($_op.getQuery().getType());
    }
    ::mlir::RankedTensorType getKeyType() {
      return ::mlir::cast<::mlir::RankedTensorType>($_op.getKey().getType());
    }
    ::mlir::RankedTensorType getValueType() {
      return ::mlir::cast<::mlir::RankedTensorType>($_op.getValue().getType());
    }
    /// The constant scale, or the default; none if the scale is a run-time one.
    ::std::optional<double> getConstantScale() {
      return ::fovea::attn::detail::getConstantScale($_op);
    }
    /// How many of 65536 weights are dropped; 0 without dropout.
    int64_t getDroppedShare() {
      return ::fovea::attn::detail::getDroppedShare($_op);
    }
    /// The N of the name `captureN` that captured value `index` goes by.
    int64_t getCaptureNumber(unsigned index) {
      ::std::optional<::llvm::ArrayRef<int64_t>> numbers =
          $_op.getCaptureNumbers();
      return numbers ? (*numbers)[index] : index;
    }
    /// Whether queries may see few of the keys, however many there are: blocks
    /// are listed or told apart, or keys bounded from below.
    bool isSparse() { return ::fovea::attn::detail::isSparse($_op); }
    bool hasBlocks() { return !$_op.getBlockLists().empty(); }
    bool hasFullBlocks() { return $_op.getBlockLists().size() == 4; }
    /// Queries and keys of a listed block; only with such lists.
    int64_t getQueryBlock() { return (*$_op.getBlockSize())[0]; }
    int64_t getKeyBlock() { return (*$_op.getBlockSize())[1]; }
    /// Names of list `index` and of its dimensions in the ABI.
    static ::llvm::StringRef getBlockListName(unsigned index) {
      return ::fovea::attn::detail::getBlockListName(index);
    }
    ::llvm::SmallVector<::std::string> getBlockListDims(unsigned index) {
      return ::fovea::attn::detail::getBlockListDims($_op, index);
    }
    /// Numbers that decide what is dropped lie below this.
    static constexpr int64_t kDropoutSteps = 65536;
    static constexpr int64_t kMaxCaptureNumber = (int64_t(1) << 31) - 1;
    /// Number of region arguments before the captured values.
    static constexpr unsigned kScoreModArguments = 5;
    static constexpr unsigned kMaskModArguments = 4;
    static constexpr unsigned kKVBoundsArguments = 4;
    static constexpr unsigned kKVClassifyArguments = 6;
    /// Longest sequence that an op may see; lets coordinates be i32.
    static constexpr int64_t kMaxSequenceLength = int64_t(1) << 30;
  }];
}

#endif // FOVEA_DIALECT_ATTN_IR_ATTNINTERFACES_TD
