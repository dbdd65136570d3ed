//===- DifferentiableOpInterface.td - Derivatives of ops ---*- tablegen -*-===//
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
    The derivative rule of an op with one float result, in reverse mode. The
    adjoint of a value is the derivative of one output, the score, by that value,
    times a seed. From the adjoint of its result an op computes what it adds to
    the adjoints of its operands.

    A rule emits ops behind all ops of the program that it differentiates, so it
    may use the op's operands and its result. It only emits ops that the
    interpreter executes, and only ops that kernels have if kernels have the op
    itself. Where the derivative does not exist it gives what PyTorch's autograd
    gives for the function of the same meaning; the page on gradients lists
    these conventions and the exceptions.

    Integers are constants: an op whose result is an integer needs no rule, nor
    does one that turns integers into floats.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds to the adjoints of the op's operands what the result's `adjoint`
        gives, by `builder.add`, which emits nothing for an operand that no
        derivative is asked for through. An op that reads an element of a tensor
        calls `builder.addElement`.
      }],
      "void", "addAdjoints",
      (ins "::fovea::AdjointBuilder &":$builder, "::mlir::Value":$adjoint)>
  ];
}

#endif // FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_TD
