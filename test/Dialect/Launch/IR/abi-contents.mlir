// Valid contents of integer tensors: printed, and in the metadata.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-translate %s --launch-abi-to-metadata | FileCheck %s --check-prefix=JSON
// RUN: fovea-translate %s --launch-abi-to-metadata | %python -m json.tool

// CHECK-LABEL: launch.abi @f target(
// CHECK: constraints([#launch.at_most<"S", 64>])
// CHECK-SAME: contents([#launch.contents<"n", of "S">, #launch.contents<"cu", of "S" ascending = true>, #launch.contents<"index", of "S" block = 128 entries = "n">, #launch.contents<"n", of "S" times = 64>, #launch.contents<"index", of "S" page = 64 entries = "n">, #launch.contents<"cu", of "S" page = 64 entries = "n" offsets = "cu">])

// Hosts of earlier versions do not know factors and page tables.
// JSON:      "version": 5,
// JSON:      "shared_memory": 0,
// JSON-NEXT: "contents": [
// JSON-NEXT:   {"tensor":"n","of":"S"},
// JSON-NEXT:   {"tensor":"cu","of":"S","ascending":true},
// JSON-NEXT:   {"tensor":"index","of":"S","block":128,"entries":"n"},
// JSON-NEXT:   {"tensor":"n","of":"S","times":64},
// JSON-NEXT:   {"tensor":"index","of":"S","page":64,"entries":"n"},
// JSON-NEXT:   {"tensor":"cu","of":"S","page":64,"entries":"n","offsets":"cu"}
// JSON-NEXT: ],
// JSON-NEXT: "constraints": [
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #launch.tensor<"cu", read, tensor<?xi32>, ["S"], 4>,
             #launch.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([#launch.pointer<"n">, #launch.pointer<"cu">, #launch.pointer<"index">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) constraints([#launch.at_most<"S", 64>])
    contents([#launch.contents<"n", of "S">, #launch.contents<"cu", of "S" ascending = true>,
              #launch.contents<"index", of "S" block = 128 entries = "n">, #launch.contents<"n", of "S" times = 64>,
              #launch.contents<"index", of "S" page = 64 entries = "n">,
              #launch.contents<"cu", of "S" page = 64 entries = "n" offsets = "cu">])
  gpu.func @f(%n: !llvm.ptr, %cu: !llvm.ptr, %index: !llvm.ptr) kernel {
    gpu.return
  }
}
