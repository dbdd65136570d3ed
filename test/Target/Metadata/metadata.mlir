// RUN: fovea-translate %s --launch-abi-to-metadata | FileCheck %s
// RUN: fovea-translate %s --launch-abi-to-metadata | %python -m json.tool

// CHECK:      "version": 1,
// CHECK-NEXT: "kernel": "causal",
// CHECK-NEXT: "target": "sm_80",
// CHECK-NEXT: "schedule": {"tile_m":128,"tile_n":64,"warps":4,"stages":2,"query_in_registers":1,"min_blocks":2},
// CHECK-NEXT: "plans": "{causal = #plan.kernel<#warp.mma_sync_unit, {{.*}}dots = [<'s', a_in_registers>]>}",
// CHECK-NEXT: "tensors": [
// CHECK-NEXT:   {"name":"q","access":"read","dtype":"bf16","shape":["B","Sq",8,64],"dims":["B","Sq","Hq","D"],"alignment":16},
// CHECK-NEXT:   {"name":"lse","access":"write","dtype":"f32","shape":["B",8,"Sq"],"dims":["B","Hq","Sq"],"alignment":4}
// CHECK-NEXT: ],
// CHECK-NEXT: "parameters": [
// CHECK-NEXT:   {"kind":"pointer","tensor":"q"},
// CHECK-NEXT:   {"kind":"pointer","tensor":"lse"},
// CHECK-NEXT:   {"kind":"size","size":"Sq","type":"i32"},
// CHECK-NEXT:   {"kind":"stride","tensor":"q","dim":1,"type":"i64"},
// CHECK-NEXT:   {"kind":"scalar","name":"scale","type":"f32"}
// CHECK-NEXT: ],
// CHECK-NEXT: "grid": {{\[\[}}"*",["*","B",["ceildiv","Sq",128]],8],1,1],
// CHECK-NEXT: "block": [128,1,1],
// CHECK-NEXT: "cluster": [1,1,1],
// CHECK-NEXT: "shared_memory": 65536,
// CHECK-NEXT: "constraints": [
// CHECK-NEXT:   {"kind":"multiple","size":"Hq","of":"B"},
// CHECK-NEXT:   {"kind":"at_most","size":"Sq","limit":1073741824}
// CHECK-NEXT: ]
gpu.module @kernels {
  gpu.func @causal(%q: !llvm.ptr, %lse: !llvm.ptr, %n: i32, %s: i64, %scale: f32) kernel {
    gpu.return
  }
  launch.abi @causal target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, min_blocks = 2, dots = [<"s", a_in_registers>]>)
    tensors([#launch.tensor<"q", read, tensor<?x?x8x64xbf16>, ["B", "Sq", "Hq", "D"], 16>,
             #launch.tensor<"lse", write, tensor<?x8x?xf32>, ["B", "Hq", "Sq"], 4>])
    parameters([#launch.pointer<"q">, #launch.pointer<"lse">, #launch.size<"Sq">, #launch.stride<"q", 1>,
                #launch.scalar<"scale", f32>])
    grid(["B", "Sq"] affine_map<()[b, s] -> (b * 8 * (s ceildiv 128))>)
    threads(128) shared_memory(65536)
    constraints([#launch.multiple<"Hq", of "B">, #launch.at_most<"Sq", 1073741824>])
}
