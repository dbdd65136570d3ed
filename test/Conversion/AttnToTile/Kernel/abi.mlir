// RUN: fovea-opt %s --attn-to-tile="target=sm_90 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=3" | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=3" | FileCheck %s --check-prefix=DEFAULT

// Static sizes are constants of the grid.
// CHECK-DAG: #[[$GRID:.*]] = affine_map<()[s0] -> ((s0 ceildiv 64) * 8)>
// CHECK-LABEL: gpu.module @forward_module
// DEFAULT-LABEL: launch.abi @forward target("sm_80")
// CHECK: launch.abi @forward target("sm_90") plan(<#warp.mma_sync_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 2, min_blocks = 3, asked = [{{.*}}]>)
// Matrices are aligned to 16 bytes, other tensors to their elements; i1 is stored as bytes.
// CHECK-SAME: #launch.tensor<"k", read, tensor<2x2x?x16xf16>, ["B", "Hkv", "Skv", "D"], 16>
// CHECK-SAME: #launch.tensor<"capture0", read, tensor<4xf32>, ["capture{{[0-9.]+}}"], 4>
// CHECK-SAME: #launch.tensor<"capture1", read, tensor<?xi1>, ["capture{{[0-9.]+}}"], 1>
// CHECK-SAME: #launch.tensor<"o", write, tensor<2x4x?x16xf16>, ["B", "Hq", "Sq", "Dv"], 16>
// CHECK-SAME: #launch.tensor<"lse", write, tensor<2x4x?xf32>, ["B", "Hq", "Sq"], 4>
// CHECK-SAME: parameters([#launch.memref<"q", [0, 1, 2, 3]>, {{.*}}, #launch.scalar<"scale", f32>, #launch.memref<"capture0", [0]>, #launch.memref<"capture1", [0]>, #launch.memref<"o", [0, 1, 2, 3]>, #launch.memref<"lse", [0, 1, 2]>])
// CHECK-SAME: grid(["Sq"] #[[$GRID]]) threads(128) shared_memory(0)
// CHECK-SAME: constraints([#launch.multiple<"Hq", of "Hkv">, #launch.at_most<"Sq", 1073741824>, #launch.at_most<"Skv", 1073741824>, #launch.covers<"capture1.0", block = 1, of "Skv">])
func.func @forward(%q: tensor<2x4x?x16xf16>, %k: tensor<2x2x?x16xf16>, %v: tensor<2x2x?x16xf16>, %scale: f32,
                   %slopes: tensor<4xf32>, %bits: tensor<?xi1>) -> (tensor<2x4x?x16xf16>, tensor<2x4x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v scale(%scale : f32) captures(%slopes, %bits : tensor<4xf32>, tensor<?xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %slopes: tensor<4xf32>, %bits: tensor<?xi1>) {
      %keep = tensor.extract %bits[%j] : tensor<?xi1>
      attn.yield %keep : i1
    } : tensor<2x4x?x16xf16>, tensor<2x2x?x16xf16>, tensor<2x2x?x16xf16> -> tensor<2x4x?x16xf16>, tensor<2x4x?xf32>
  return %o, %lse : tensor<2x4x?x16xf16>, tensor<2x4x?xf32>
}

// A function that is still called remains as a declaration.
// CHECK: func.func private @called(tensor<1x1x?x16xf16>
// CHECK-NOT: attn.forward
// CHECK-LABEL: func.func @caller
// CHECK: call @called
func.func @called(%q: tensor<1x1x?x16xf16>, %k: tensor<1x1x?x16xf16>, %v: tensor<1x1x?x16xf16>) -> tensor<1x1x?x16xf16> {
  %o = attn.forward %q, %k, %v : tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16> -> tensor<1x1x?x16xf16>
  return %o : tensor<1x1x?x16xf16>
}
func.func @caller(%q: tensor<1x1x?x16xf16>) -> tensor<1x1x?x16xf16> {
  %o = call @called(%q, %q, %q) : (tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>) -> tensor<1x1x?x16xf16>
  return %o : tensor<1x1x?x16xf16>
}
