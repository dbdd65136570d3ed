// An output tile that differs from the query tile needs a separate buffer.
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=output=tma,output_stages=0" 2>&1 | FileCheck %s
// CHECK: error: schedule's 'output' tma needs room for a buffer of its own ('output_stages' 1) where the head dim of values, 64, is not that of keys, 128

// It gets one if there is room.
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=output=tma" | FileCheck %s --check-prefix=ROOM
// ROOM-LABEL: launch.abi @f target(
// ROOM: stores = [<"out", copied>]

// Without room, and if not requested, warps store the output.
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=query_stages=1,chain=0,key_stages=4,stages=4" | FileCheck %s --check-prefix=FULL --implicit-check-not='stores ='
// FULL-LABEL: launch.abi @f {{.*}}<"k", stages = 4>

func.func @f(%q: tensor<1x1x?x128xf16>, %v: tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16>, tensor<1x1x?x64xf16> -> tensor<1x1x?x64xf16>
  return %o : tensor<1x1x?x64xf16>
}
