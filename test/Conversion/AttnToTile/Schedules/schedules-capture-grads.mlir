// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=ROLES
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_m=64,tile_n=64,warps=4,stages=2,key_stages=0,query_stages=1,producer_registers=0,consumer_registers=0,overlap=0,chain=0,ping_pong=0,softmax_part=100,work=single" | FileCheck %s --check-prefix=NO_ROLES
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=sum_by_dot=0" | FileCheck %s --check-prefix=NO_ROLES

// Row sums by the MMA unit are chosen with roles, and dropped without them.
// ROLES-LABEL: launch.abi @f target(
// ROLES: sum_by_dot,
// NO_ROLES-LABEL: launch.abi @f
// NO_ROLES-NOT: sum_by_dot,
func.func @f(%q: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}
