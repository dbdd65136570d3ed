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
    Maps the elements of a register tile to threads and registers. The element
    in register `r` of thread `t` has, along dimension `d`, the coordinate
    `base(t, d) + offset(r, d)`. A dimension of extent 1 is replicated: all
    threads hold it, once.

    Lowerings use only this interface, so a new layout is a new attribute that
    implements it and needs no new case in a lowering.
  }];
  let methods = [
    InterfaceMethod<"Number of registers that one thread needs for a tile of `shape`.",
      "int64_t", "getNumElements", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<"Offsets along `dim`, one per register.",
      "::llvm::SmallVector<int64_t>", "getOffsets",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "int64_t":$dim)>,
    InterfaceMethod<[{Emits the base coordinate along `dim` of the thread with
      index `thread` (i32) in its CTA; 0 for a dimension of extent 1.}],
      "::mlir::Value", "emitBase",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$thread, "::llvm::ArrayRef<int64_t>":$shape,
           "int64_t":$dim)>,
    InterfaceMethod<[{Number of rows of a tile of `shape` that one warp group
      (four warps) owns, if warp groups run independently of each other and own
      consecutive parts of the rows in the order of the groups; otherwise the
      number of all rows.}],
      "int64_t", "getGroupRows", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<[{The period of the layout along `dim`: within a warp, elements
      whose coordinates are equal modulo the period are in the same lane. A
      reduction to an extent that is a multiple of the period therefore needs no
      other lane.}],
      "int64_t", "getPeriod", (ins "int64_t":$dim)>,
    InterfaceMethod<[{Lane masks that describe how lanes divide a period along
      `dim`, which is a power of two. The bases of lanes whose indices differ by
      the last mask are half a period apart, by the mask before it a quarter, and
      so on. Each thread holds the remaining elements contiguously. Fails if the
      layout divides periods in another way.}],
      "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getLanesOfPeriod",
      (ins "int64_t":$dim)>,
    InterfaceMethod<[{Lane masks for a butterfly reduction along `dim`: exchanges
      with these masks, one after the other, reach all threads that hold the other
      elements. Fails if other warps hold some of these elements.}],
      "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getReductionLanes",
      (ins "int64_t":$dim)>,
    InterfaceMethod<[{Whether every warp holds the whole tile, one element per
      lane. Each warp then computes with the tile, and takes ballots on it, by
      itself.}],
      "bool", "isOneWarps", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{Number of warps that divide a tile's rows, if each warp owns
      an equal number of consecutive rows and its lanes divide periods of rows and
      columns (`getLanesOfPeriod`); otherwise 0.}],
      "int64_t", "getRowWarps", (ins), "",
      /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<[{Number of warps that divide a tile's rows, if each warp holds
      its rows as fragments of mma.sync's first operand; otherwise 0.}],
      "int64_t", "getFragmentWarps", (ins), "",
      /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<[{Whether each thread holds whole rows, with their columns in
      the order of its registers.}],
      "bool", "holdsWholeRows", (ins), "",
      /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{Whether each warp owns 16 rows as fragments that `stmatrix`
      accepts: the four lanes of a quad share two rows, and each lane holds two of
      every eight columns.}],
      "bool", "hasStoreFragments", (ins), "",
      /*defaultImplementation=*/"return false;">
  ];
}

def PipelineOpInterface : OpInterface<"PipelineOpInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    A synchronisation op on a stage of a pipeline. The producer acquires and
    commits a stage; consumers wait for it and release it. An op may signal
    later than it executes, for example when outstanding dots have finished.
  }];
  let methods = [
    InterfaceMethod<"The ring of stages.", "::mlir::Value", "getPipeline">,
    InterfaceMethod<"The index of the stage in the ring.", "::mlir::Value",
      "getStage">,
    InterfaceMethod<"The phase of the stage's barriers.", "::mlir::Value", "getPhase">,
    InterfaceMethod<"The kind of synchronisation.", "::fovea::warp::PipelineOpKind", "getOpKind">,
    InterfaceMethod<"Whether the op signals once outstanding dots have finished, not when it executes.",
      "bool", "signalsAfterDots", (ins), "",
      /*defaultImplementation=*/"return false;">
  ];
  let extraSharedClassDeclaration = [{
    bool isProducerOp() {
      PipelineOpKind kind = $_op.getOpKind();
      return kind == PipelineOpKind::Acquire || kind == PipelineOpKind::Commit;
    }
    /// Returns true if one lane arrives for all lanes of its warp when the op
    /// executes.
    bool isLaneArrival() {
      PipelineOpKind kind = $_op.getOpKind();
      return (kind == PipelineOpKind::Commit || kind == PipelineOpKind::Release) &&
             !$_op.signalsAfterDots();
    }
  }];
}

def DotWaitOpInterface : OpInterface<"DotWaitOpInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    A wait for asynchronous dots. After it, the dot that produced the pending
    value and all dots issued before that one have finished reading shared
    memory.
  }];
  let methods = [
    InterfaceMethod<"The result of the dot that is waited for.", "::mlir::Value", "getPending">
  ];
}

def LaneAccessOpInterface : OpInterface<"LaneAccessOpInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    An access to shared or tensor memory that each lane of a warp makes by
    itself. Lanes do not run in lockstep, so another lane may reach a later
    arrival (a commit or a release) first. `warp.sync_lanes` between the access
    and the arrival orders them.
  }];
  let methods = [
    InterfaceMethod<[{Whether each lane accesses memory by itself. False if the
      warp executes one collective instruction.}],
      "bool", "isAccessByLanes", (ins), "",
      /*defaultImplementation=*/"return true;">,
    InterfaceMethod<"The buffer that is accessed, or a stage of it.",
      "::mlir::Value", "getAccessedBuffer">,
    InterfaceMethod<[{The fences that each lane executes before the lanes
      synchronise, so that an arrival makes the access visible to any reader.}],
      "::fovea::warp::LaneFence", "getLaneFences", (ins), "",
      /*defaultImplementation=*/"return LaneFence::None;">
  ];
}

def LaneSyncOpInterface : OpInterface<"LaneSyncOpInterface"> {
  let cppNamespace = "::fovea::warp";
  let description = [{
    An op at which the lanes of each warp synchronise: a warp barrier, or a
    barrier of more threads.
  }];
  let methods = [
    InterfaceMethod<"Whether the lanes synchronise.", "bool", "synchronizesLanes",
      (ins), "", /*defaultImplementation=*/"return true;">,
    InterfaceMethod<"The fences that each lane executes before.",
      "::fovea::warp::LaneFence", "getFences", (ins), "",
      /*defaultImplementation=*/"return LaneFence::None;">,
    InterfaceMethod<"The buffer, or the stage of one, that the fences are for; null: all memory.",
      "::mlir::Value", "getFencedBuffer", (ins), "",
      /*defaultImplementation=*/"return {};">
  ];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPINTERFACES_TD
