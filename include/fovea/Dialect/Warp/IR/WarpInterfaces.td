//===- WarpInterfaces.td - Interfaces of the warp dialect --*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPINTERFACES_TD
#define FOVEA_DIALECT_WARP_IR_WARPINTERFACES_TD

include "mlir/IR/OpBase.td"

def ThreadLayoutAttrInterface : AttrInterface<"ThreadLayoutAttrInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    Which elements of a register tile a thread holds, and in what order. The
    element in register `r` of thread `t` has, along dimension `d`, the
    coordinate `base(t, d) + offset(r, d)`. A dimension of extent 1 is
    replicated: all threads hold it, once.

    Lowerings are written against this interface; a new layout is a new
    attribute, not a new case.
  }];
  let methods = [
    InterfaceMethod<"Registers that one thread needs for a tile of `shape`.",
      "int64_t", "getNumElements", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<"Offsets along `dim`, one for each register.",
      "::llvm::SmallVector<int64_t>", "getOffsets",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "int64_t":$dim)>,
    InterfaceMethod<[{Emits the base coordinate along `dim` of the thread with
      number `thread` (i32) in its CTA; 0 for a dimension of extent 1.}],
      "::mlir::Value", "emitBase",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$thread, "::llvm::ArrayRef<int64_t>":$shape,
           "int64_t":$dim)>,
    InterfaceMethod<[{Rows of a tile of `shape` that one group of four warps
      holds, if such groups may run different parts of a program at a time, each
      for its own rows, in the order of the groups; else all rows.}],
      "int64_t", "getGroupRows", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<[{Bases along `dim` are multiples of one and the other
      bound: every base is below `getPeriod`, and offsets keep their class
      modulo it. Reductions to multiples of the period need no other thread.}],
      "int64_t", "getPeriod", (ins "int64_t":$dim)>,
    InterfaceMethod<[{Lane masks: how lanes part a period along `dim`, a power
      of two. Lanes whose numbers differ by the last mask have bases half a
      period apart, by the one before a quarter, and so on; what remains a
      thread holds side by side. Fails if lanes part periods otherwise.}],
      "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getLanesOfPeriod",
      (ins "int64_t":$dim)>,
    InterfaceMethod<[{Lane masks: the threads that hold the other elements along
      `dim` are those reached by exchanging lanes with these masks, one after
      the other. Fails if other warps hold some of them.}],
      "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getReductionLanes",
      (ins "int64_t":$dim)>,
    InterfaceMethod<[{Whether every warp holds all of a tile, an element a lane:
      what is computed of it any warp computes alone, and votes on.}],
      "bool", "isOneWarps", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{The warps that part a tile's rows, if each holds equally
      many consecutive ones, and its lanes part periods of them and of columns
      (`getLanesOfPeriod`); else 0.}],
      "int64_t", "getRowWarps", (ins), "",
      /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<[{The warps that part a tile's rows, if each holds its own in
      the fragments of mma.sync's first operand; else 0.}],
      "int64_t", "getFragmentWarps", (ins), "",
      /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<[{Whether each warp holds 16 rows of its own, in fragments
      that matrix stores (`stmatrix`) take: the four lanes of a quad share two
      rows, two columns of every eight each.}],
      "bool", "hasStoreFragments", (ins), "",
      /*defaultImplementation=*/"return false;">
  ];
}

def PipelineVerbOpInterface : OpInterface<"PipelineVerbOpInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    What is done to a stage of a pipeline: its producer acquires and commits it,
    its consumers wait for it and release it. How an op comes to it (when dots
    are done, for example) is its own affair.
  }];
  let methods = [
    InterfaceMethod<"The ring of stages.", "::mlir::Value", "getPipeline">,
    InterfaceMethod<"The stage's position in the ring.", "::mlir::Value",
      "getStage">,
    InterfaceMethod<"What is done.", "::fovea::warp::PipelineVerb", "getVerb">
  ];
  let extraSharedClassDeclaration = [{
    bool isProducers() {
      PipelineVerb verb = $_op.getVerb();
      return verb == PipelineVerb::Acquire || verb == PipelineVerb::Commit;
    }
  }];
}

def DotWaitOpInterface : OpInterface<"DotWaitOpInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    Waits for dots: the one that gave the value and all that were issued before
    it are done with shared memory then.
  }];
  let methods = [
    InterfaceMethod<"The value in flight.", "::mlir::Value", "getPending">
  ];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPINTERFACES_TD
