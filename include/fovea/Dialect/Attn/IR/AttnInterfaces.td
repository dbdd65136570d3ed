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
    The memory layout of a batch's sequences in the tensors of an attn op. A
    form has a fixed number of integer tensors as operands.
  }];
  let methods = [
    InterfaceMethod<"The keyword that introduces the form in `attn.forward`.",
      "::llvm::StringRef", "getKeyword", (ins)>,
    InterfaceMethod<"The names of the form's operands, in order.",
      "::llvm::SmallVector<::llvm::StringRef>", "getOperandNames", (ins)>,
    InterfaceMethod<"Checks the types of the form's operands; one per name.",
      "::llvm::LogicalResult", "verifyOperands",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::TypeRange":$types, "int64_t":$batch)>,
    InterfaceMethod<"The symbolic dimension names of operand `index`.",
      "::llvm::SmallVector<::llvm::StringRef>", "getOperandDims",
      (ins "unsigned":$index)>,
    InterfaceMethod<[{The form of the keys, if another clause states that of the
      queries. Otherwise null.}],
      "::mlir::Attribute", "getKeyForm", (ins), "",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{The memory layout of queries and keys. Other levels query
      this instead of the kind of form.}],
      "::fovea::attn::SequencePlaces", "getPlaces", (ins), "",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"The valid contents of the form's operands.",
      "::llvm::SmallVector<::fovea::attn::Contents>", "getContents", (ins), "",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Prints the parameters after the operands of the clause.",
      "void", "printParameters", (ins "::mlir::OpAsmPrinter &":$printer), "",
      /*defaultImplementation=*/"(void)printer;">
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::fovea::attn";
  let description = [{
    An op that is lowered to one kernel. It names its operands, results and
    their dimensions. The kernel's ABI, the launch metadata, the interpreter and
    the runtime's checks are derived from these names.

    Dimension names are shared: two dimensions with one name have the same size.
    `memoryOrder` maps kernel dimension `d` to the host tensor's dimension:
    kernels access queries as (B, Hq, Sq, D) in any host layout.
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
    InterfaceMethod<"Maps kernel dimensions to host dimensions of the operand.",
      "::llvm::SmallVector<int64_t>", "getOperandMemoryOrder",
      (ins "unsigned":$index)>,
    InterfaceMethod<"Maps kernel dimensions to host dimensions of the result.",
      "::llvm::SmallVector<int64_t>", "getResultMemoryOrder",
      (ins "unsigned":$index)>,
    InterfaceMethod<[{True if tiles of the operand are copied row by row. Its
      last dimension must be contiguous, and rows must start at multiples of 16
      bytes. Other operands are read element by element.}],
      "bool", "isOperandCopied", (ins "unsigned":$index), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<"The same for the result, whose tiles are stored.",
      "bool", "isResultCopied", (ins "unsigned":$index), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{The operand whose updated value the result is, if any. The
      ABI has one tensor for both, which the kernel updates in place.}],
      "::std::optional<unsigned>", "getUpdatedOperand",
      (ins "unsigned":$result), "",
      /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<"The dimensions that count the kernel's output tiles.",
      "::fovea::attn::WorkDims", "getWorkDims", (ins)>,
    InterfaceMethod<[{Pairs of dimension names: the size of the first must be a
      multiple of the size of the second.}],
      "::llvm::SmallVector<std::pair<std::string, std::string>>",
      "getDimMultiples", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{Pairs of dimension names: the size of the first must be
      one more than the size of the second.}],
      "::llvm::SmallVector<std::pair<std::string, std::string>>",
      "getDimSuccessors", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{Dimension names with the largest size that each dimension
      may have at run time.}],
      "::llvm::SmallVector<std::pair<std::string, int64_t>>",
      "getDimLimits", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{Dimension names whose sizes count blocks of one or more
      elements, and the dimensions that these blocks must cover.}],
      "::llvm::SmallVector<::fovea::attn::DimCover>",
      "getDimCovers", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Dimension names whose sizes must not be 0.",
      "::llvm::SmallVector<std::string>",
      "getNonEmptyDims", (ins), "", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"The valid contents of integer operands.",
      "::llvm::SmallVector<::fovea::attn::Contents>",
      "getContents", (ins), "", /*defaultImplementation=*/"return {};">
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::fovea::attn";
  let description = [{
    An op on one variant of attention, in either direction. It provides the
    queries, keys and values and their layout, the score_mod and mask_mod
    regions, and the captured values. The verifiers, mask analyses and the
    interpreter use this interface independently of the direction.

    After the tensors of its own direction, such an op has these operands in
    order: the run-time scale, captured values, operands of the sequence form,
    sinks, dropout seed and offset, block lists, and transposed block lists.
  }];
  let methods = [
    InterfaceMethod<"Index of the run-time scale operand, even if absent.",
      "unsigned", "getFirstVariantOperand", (ins)>,
    InterfaceMethod<"Index of the first captured value.",
      "unsigned", "getFirstCapture", (ins), "", [{
        return $_op.getFirstVariantOperand() + ($_op.getScaleValue() ? 1 : 0);
      }]>,
    InterfaceMethod<"", "::mlir::Value", "getQuery", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getKey", (ins)>,
    InterfaceMethod<"The values, or null if they are columns of the keys.",
      "::mlir::Value", "getValue", (ins)>,
    InterfaceMethod<[{The columns of the keys that are the values: the first one
      and their number.}],
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getValueColumns", (ins), "",
      /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<"The run-time scale, or null.",
      "::mlir::Value", "getScaleValue", (ins)>,
    InterfaceMethod<"The constant scale, or null.",
      "::mlir::FloatAttr", "getScaleAttr", (ins)>,
    InterfaceMethod<"The captured values, region arguments after the coordinates.",
      "::mlir::OperandRange", "getCaptures", (ins)>,
    InterfaceMethod<"The numbers in captured values' names, if not 0, 1, ....",
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getCaptureNumbers", (ins)>,
    InterfaceMethod<"The names of captured values, if they are not numbered.",
      "::std::optional<::mlir::ArrayAttr>", "getCaptureNames", (ins)>,
    InterfaceMethod<"Operands of the sequence form.",
      "::mlir::OperandRange", "getSequenceOperands", (ins)>,
    InterfaceMethod<"The attention sinks, or null.",
      "::mlir::Value", "getSinks", (ins)>,
    InterfaceMethod<"The dropout probability, or null.",
      "::mlir::FloatAttr", "getDropoutAttr", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getDropoutSeed", (ins)>,
    InterfaceMethod<"", "::mlir::Value", "getDropoutOffset", (ins)>,
    InterfaceMethod<"Version of dropout's random number generator.",
      "uint64_t", "getDropoutGenerator", (ins)>,
    InterfaceMethod<[{The block-sparse lists: pairs of counts and indices, for
      partial blocks and, optionally, for full blocks.}],
      "::mlir::OperandRange", "getBlockLists", (ins)>,
    InterfaceMethod<"Queries and keys per block of the lists.",
      "::std::optional<::llvm::ArrayRef<int64_t>>", "getBlockSize", (ins)>,
    InterfaceMethod<[{The transposed block-sparse lists, from keys to queries:
      as many tensors as `getBlockLists`, or none.}],
      "::mlir::OperandRange", "getQueryBlockLists", (ins), "",
      /*defaultImplementation=*/[{
        return $_op->getOperands().drop_front($_op->getNumOperands());
      }]>,
    InterfaceMethod<"The dimension order of the tensors.",
      "::fovea::attn::Layout", "getLayout", (ins)>,
    InterfaceMethod<"True if products of f32 may round their factors to tf32.",
      "bool", "getTf32", (ins)>,
    InterfaceMethod<"The memory layout of the sequences.",
      "::fovea::attn::SequenceFormAttrInterface", "getSequence", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getScoreMod", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getMaskMod", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getKvBounds", (ins)>,
    InterfaceMethod<"", "::mlir::Region &", "getKvClassify", (ins)>
  ];
  let extraSharedClassDeclaration = [{
    /// The sequence and head dimensions of q, k, v and o.
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
    /// The type of the values, also if they are columns of the keys.
    ::mlir::RankedTensorType getValueType() {
      return ::fovea::attn::detail::getValueType($_op);
    }
    /// The constant scale or its default; nullopt for a run-time scale.
    ::std::optional<double> getConstantScale() {
      return ::fovea::attn::detail::getConstantScale($_op);
    }
    /// The number of dropped probabilities out of 65536; 0 without dropout.
    int64_t getDroppedShare() {
      return ::fovea::attn::detail::getDroppedShare($_op);
    }
    /// The N in the name `captureN` of captured value `index`.
    int64_t getCaptureNumber(unsigned index) {
      ::std::optional<::llvm::ArrayRef<int64_t>> numbers =
          $_op.getCaptureNumbers();
      return numbers ? (*numbers)[index] : index;
    }
    /// The name of captured value `index` in signatures and launch metadata:
    /// its own, or `captureN`.
    ::std::string getCaptureName(unsigned index) {
      ::std::optional<::mlir::ArrayAttr> names = $_op.getCaptureNames();
      if (!names)
        return "capture" + ::std::to_string(getCaptureNumber(index));
      return ::mlir::cast<::mlir::StringAttr>((*names)[index]).str();
    }
    /// Captured value `index` in diagnostics.
    ::std::string describeCapture(unsigned index) {
      if (!$_op.getCaptureNames())
        return "captured value #" + ::std::to_string(index);
      return "captured value '" + getCaptureName(index) + "'";
    }
    /// True if queries may see few of the keys independently of their number:
    /// there are block lists or a block predicate, or a lower bound of the
    /// keys.
    bool isSparse() { return ::fovea::attn::detail::isSparse($_op); }
    bool hasBlocks() { return !$_op.getBlockLists().empty(); }
    bool hasFullBlocks() { return $_op.getBlockLists().size() == 4; }
    bool hasQueryBlocks() { return !$_op.getQueryBlockLists().empty(); }
    /// Queries and keys per block; requires block lists.
    int64_t getQueryBlock() { return (*$_op.getBlockSize())[0]; }
    int64_t getKeyBlock() { return (*$_op.getBlockSize())[1]; }
    /// ABI names of list `index` and of its dimensions.
    static ::llvm::StringRef getBlockListName(unsigned index) {
      return ::fovea::attn::detail::getBlockListName(index);
    }
    ::llvm::SmallVector<::std::string> getBlockListDims(unsigned index) {
      return ::fovea::attn::detail::getBlockListDims($_op, index);
    }
    /// The same for the transposed lists.
    static ::llvm::StringRef getQueryBlockListName(unsigned index) {
      return ::fovea::attn::detail::getQueryBlockListName(index);
    }
    ::llvm::SmallVector<::std::string> getQueryBlockListDims(unsigned index) {
      return ::fovea::attn::detail::getQueryBlockListDims($_op, index);
    }
    /// Exclusive upper bound of the random numbers of dropout.
    static constexpr int64_t kDropoutSteps = 65536;
    static constexpr int64_t kMaxCaptureNumber = (int64_t(1) << 31) - 1;
    /// Number of region arguments before the captured values.
    static constexpr unsigned kScoreModArguments = 5;
    static constexpr unsigned kMaskModArguments = 4;
    static constexpr unsigned kKVBoundsArguments = 4;
    static constexpr unsigned kKVClassifyArguments = 6;
    /// Maximum sequence length; coordinates fit into i32.
    static constexpr int64_t kMaxSequenceLength = int64_t(1) << 30;
  }];
}

#endif // FOVEA_DIALECT_ATTN_IR_ATTNINTERFACES_TD
