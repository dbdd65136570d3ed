//===- DifferentiableOpInterface.td - Differentiable ops ---*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_TD
#define FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::fovea";
  let description = [{
    The reverse-mode derivative rule of an op with one float result. The adjoint
    of a value is the derivative of one output, the score, with respect to that
    value, times a seed. A rule computes the contributions to the adjoints of
    the operands from the adjoint of the result.

    A rule emits ops after all ops of the differentiated program, so it may use
    the operands and the result of the op. It emits only ops that the
    interpreter supports, and only ops that kernels support if they support the
    op itself. Where the derivative does not exist, the rule follows PyTorch's
    autograd for the corresponding function; docs/Specification/Gradients.md
    lists these conventions and the exceptions.

    Integers are constants: an op with an integer result needs no rule, and
    neither does a conversion from integer to float.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the contributions of the result's `adjoint` to the adjoints of the
        operands, by `builder.add`, which emits nothing for operands without an
        adjoint. An op that reads an element of a tensor calls
        `builder.addElement`.
      }],
      "void", "addAdjoints",
      (ins "::fovea::AdjointBuilder &":$builder, "::mlir::Value":$adjoint)>
  ];
}

#endif // FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_TD
