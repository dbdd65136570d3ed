// Head dims between 64 and 128: where sums leave registers, dK's product takes derivatives from them,
// and dQ is one product of all columns, of more than a panel; the last lanes of rows that no 32 columns
// divide have no chunk of 16 bytes. Against f64, at all levels.
// DEFINE: %{run} = fovea-run --random=1 --check --target=sm_90a --dims=B=1,Hq=2,Hkv=1,Sq=140,Skv=300
// DEFINE: %{numbers} = FileCheck %s --check-prefix=NUMBERS
// RUN: %{run} %s --entry=causal --level=tile | %{numbers}
// RUN: %{run} %s --entry=causal --level=warp --seeds=5 | %{numbers}
// RUN: %{run} %s --entry=causal --level=ptx | %{numbers}
// RUN: %{run} %s --entry=causal --level=ptx --schedule=work=dynamic,output=tma | %{numbers}
// RUN: sed 's/x80xbf16/x96xbf16/' %s > %t.96.mlir && %{run} %t.96.mlir --entry=causal --level=ptx | %{numbers}
// RUN: sed 's/x80xbf16/x112xbf16/' %s > %t.112.mlir && %{run} %t.112.mlir --entry=causal --level=ptx | %{numbers}
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s
// RUN: fovea-opt %t.96.mlir --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=MORE
// RUN: fovea-opt %t.112.mlir --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=PARTS
// RUN: fovea-compile %s --target=sm_90a | FileCheck %s --check-prefix=PTX
// NUMBERS: dq {{.*}} passed
// NUMBERS-NEXT: dk {{.*}} passed
// NUMBERS-NEXT: dv {{.*}} passed

// CHECK-LABEL: launch.abi @causal target(
// CHECK: <"compute", warps = 8, registers = 208,
// CHECK-SAME: <"reduce", warps = 4, registers = 72,
// CHECK: %[[DS:.*]] = tile.stream "ds" %[[GRADIENT:[0-9a-z_]+]]
// CHECK: tile.dot "dk" %[[GRADIENT]],
// CHECK: tile.dot "dq.0" %[[DS]], {{.*}} tensor<64x80xf32, #tile.reg>{{$}}
// CHECK-NOT: tile.dot "dq.1"
// MORE-LABEL: launch.abi @causal target(
// MORE: <"compute", warps = 8, registers = 200,
// MORE-SAME: <"reduce", warps = 4, registers = 88,
// MORE: tile.dot "dq.0"
// MORE-NOT: tile.dot "dq.1"
// PARTS-LABEL: launch.abi @causal target(
// PARTS: <"compute", warps = 8, registers = 208,
// PARTS: tile.dot "dq.1" {{.*}} columns(64)
// PTX-LABEL: .entry causal_delta(
// PTX-NOT: ld.global.b16
// PTX: ld.global.v4.b32
// PTX-NOT: ld.global.b16
// PTX-LABEL: .entry causal_queries

!t = tensor<?x?x?x80xbf16>
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x?x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %0 = arith.cmpi sge, %i, %j : index
      attn.yield %0 : i1
    }
    : !t, !t, !t, !t, tensor<?x?x?xf32>, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
