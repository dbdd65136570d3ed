//===- KernelPass.td - Passes with checked requirements ----*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_KERNELPASS_TD
#define FOVEA_SUPPORT_KERNELPASS_TD

include "mlir/Pass/PassBase.td"

// A `fovea::KernelFact` and its text.
class KernelFact<string object, string text> {
  string cppObject = object;
  string says = text;
}

// A kernel pass. `required` is checked before it, and `ensured` after it in
// builds with assertions; both are appended to the `body` of its description.
class KernelPass<string passArg, list<KernelFact> required,
                 list<KernelFact> ensured>
    : PassBase<passArg,
               "::fovea::KernelPass<::fovea::Requires<" #
                   !interleave(!foreach(fact, required, fact.cppObject), ", ") #
                   ">, ::fovea::Ensures<" #
                   !interleave(!foreach(fact, ensured, fact.cppObject), ", ") #
                   ">>"> {
  string body = "";
  let description =
      body #
      !if(!empty(required), "",
          "\n    **Requires** that " #
              !interleave(!foreach(fact, required, fact.says), ", that ") #
              ".\n") #
      !if(!empty(ensured), "",
          "\n    **Ensures** that " #
              !interleave(!foreach(fact, ensured, fact.says), ", that ") #
              ".\n");
}

#endif // FOVEA_SUPPORT_KERNELPASS_TD
