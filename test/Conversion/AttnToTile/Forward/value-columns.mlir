// Values that are columns of K: the loop loads the block of K once, and V's stages are K's.
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --tile-fuse-online-softmax --cse | FileCheck %s
// RUN: not fovea-opt %s --attn-to-tile=target=sm_100a 2>&1 | FileCheck %s --check-prefix=TENSOR-MEMORY
// RUN: not fovea-opt %s --attn-to-tile='target=sm_90a schedule=chain=1,query_stages=2,tile_n=64,stages=1,key_stages=1' 2>&1 | FileCheck %s --check-prefix=CHAIN
// RUN: not fovea-opt %s --attn-to-tile='target=sm_90a schedule=stages=1,key_stages=1,overlap=1' 2>&1 | FileCheck %s --check-prefix=OVERLAP
// RUN: fovea-opt %s --attn-to-tile='target=sm_90a schedule=stages=1,key_stages=1' | FileCheck %s --check-prefix=ONE
// TENSOR-MEMORY: error: 'value_columns' is not lowered to kernels of #warp.tcgen05_unit
// CHAIN: error: {{.*}}chain{{.*}}the last block of K is in use until the product of the values
// OVERLAP: error: {{.*}}overlap{{.*}}K has one stage, which is in use until the product of the values
// ONE-LABEL: gpu.module
// ONE-NOT: ahead
// ONE: stages = 1,
// ONE-NOT: ahead
// ONE: gpu.func @columns(

// CHECK-LABEL: gpu.func @columns(
// CHECK: tile.for_blocks
// CHECK: %[[K:.*]] = tile.load "k" %{{.*}} to tensor<[[N:.*]]x192xbf16, #tile.reg>
// CHECK-NOT: tile.load
// CHECK: tile.dot "s" %{{.*}}, %[[K]], %{{.*}} transpose_b
// CHECK-NOT: tile.load
// CHECK: tile.dot "o" %{{.*}}, %[[K]], %{{.*}} columns(0) : {{.*}}, tensor<[[N]]x192xbf16, #tile.reg>, tensor<{{.*}}x128xf32, #tile.reg>
func.func @columns(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k value_columns(0, 128)
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16> -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
