//===- Signature.h - Inputs and outputs of programs -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs and outputs of a function or kernel, with their names, dimensions
// and constraints.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_SIGNATURE_H
#define FOVEA_INTERPRETER_SIGNATURE_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Interpreter/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea::interp {

/// One input or output of a program.
struct Parameter {
  std::string name;
  mlir::Type type; // RankedTensorType, or a scalar type
  llvm::SmallVector<std::string> dims;
  /// Other names, if a function's argument is used for several operands of its
  /// op.
  llvm::SmallVector<std::string, 0> aliases;
  /// An attn op's log-sum-exp, which is checked by its own rule.
  bool isLogSumExp = false;
  /// The program adds to the tensor's contents.
  bool isAccumulated = false;
  /// An output that is an updated input of the same name: the program keeps the
  /// elements that it does not write.
  bool isUpdated = false;

  bool isTensor() const { return mlir::isa<mlir::RankedTensorType>(type); }
  mlir::RankedTensorType getTensorType() const {
    return mlir::cast<mlir::RankedTensorType>(type);
  }
};

/// A program's inputs and outputs, in order and by name. A function with one
/// attn op uses the names of the op, and so does the kernel that it is lowered
/// to: `q`, `k`, `v`, `o`, dimensions `B`, `Sq` ... Dimensions with the same
/// name have the same size. Other functions' arguments are called `arg0`,
/// results `result0`.
struct Signature {
  std::vector<Parameter> inputs, outputs;
  /// The first size must be a multiple of the second one.
  llvm::SmallVector<std::pair<std::string, std::string>> multiples;
  /// The first size must be one more than the second one.
  llvm::SmallVector<std::pair<std::string, std::string>> successors;
  /// Upper limits of sizes.
  llvm::SmallVector<std::pair<std::string, int64_t>> limits;
  /// Sizes that count blocks of another size. (No size may be 0.)
  llvm::SmallVector<attn::DimCover> covers;
  /// Constraints on integers in inputs.
  llvm::SmallVector<attn::Contents> contents;

  static llvm::FailureOr<Signature> get(mlir::func::FuncOp function);
  static llvm::FailureOr<Signature> get(launch::AbiOp abi);

  /// Input index, or -1.
  int64_t findInput(llvm::StringRef name) const;
  int64_t findOutput(llvm::StringRef name) const;
};

/// The contents of a parameter.
struct Argument {
  HostTensor tensor;   // for tensors
  RuntimeValue scalar; // for scalars
};

/// Sizes by name.
using DimSizes = llvm::StringMap<int64_t>;

/// Checks tensors against the inputs' types and each other's dimensions, and
/// collects the sizes by name. `where` returns the origin of an input.
llvm::LogicalResult
checkInputs(const Signature &signature, llvm::ArrayRef<Argument> arguments,
            llvm::function_ref<std::string(unsigned)> where, DimSizes &sizes,
            llvm::function_ref<void(const llvm::Twine &)> emitError);

/// Checks the constraints on integers in inputs, after checkInputs. Programs
/// run with any integers; this check is for callers that want diagnostics.
llvm::LogicalResult
checkContents(const Signature &signature, llvm::ArrayRef<Argument> arguments,
              const DimSizes &sizes,
              llvm::function_ref<void(const llvm::Twine &)> emitError);

/// Block lists in host memory. A batch or head extent of 1 applies to all
/// entries.
class HostBlockLists {
public:
  HostBlockLists(const HostTensor &counts, const HostTensor &indices)
      : counts(counts), indices(indices) {}

  /// The extents of the indices.
  llvm::ArrayRef<int64_t> getShape() const { return indices.getShape(); }
  /// The blocks that a row lists.
  llvm::ArrayRef<int32_t> getRow(int64_t batch, int64_t head,
                                 int64_t row) const;

private:
  const HostTensor &counts, &indices;
};

/// The lists of which the lists in `contents` must be the transposed ones;
/// nullopt if there are none, or if the program computes one of the tensors.
std::optional<HostBlockLists> findTransposed(const Signature &signature,
                                             llvm::ArrayRef<Argument> arguments,
                                             const attn::Contents &contents);

/// The shape of a parameter's tensor with these sizes; fails with the missing
/// dimension's name.
llvm::FailureOr<llvm::SmallVector<int64_t, 4>>
resolveShape(const Parameter &parameter, const DimSizes &sizes,
             std::string &missing);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_SIGNATURE_H
