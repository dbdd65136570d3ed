// What integers in tensors should be: printed, and in the metadata.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-translate %s --tile-abi-to-metadata | FileCheck %s --check-prefix=JSON
// RUN: fovea-translate %s --tile-abi-to-metadata | %python -m json.tool

// CHECK: constraints([#tile.at_most<"S", 64>])
// CHECK-SAME: contents([#tile.contents<"n", of "S">, #tile.contents<"cu", of "S" ascending = true>, #tile.contents<"index", of "S" block = 128 entries = "n">])

// JSON:      "shared_memory": 0,
// JSON-NEXT: "contents": [
// JSON-NEXT:   {"tensor":"n","of":"S"},
// JSON-NEXT:   {"tensor":"cu","of":"S","ascending":true},
// JSON-NEXT:   {"tensor":"index","of":"S","block":128,"entries":"n"}
// JSON-NEXT: ],
// JSON-NEXT: "constraints": [
gpu.module @m {
  tile.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#tile.tensor<"n", read, tensor<?xi32>, ["B"], 4>, #tile.tensor<"cu", read, tensor<?xi32>, ["S"], 4>,
             #tile.tensor<"index", read, tensor<?x?xi32>, ["B", "W"], 4>])
    parameters([#tile.pointer<"n">, #tile.pointer<"cu">, #tile.pointer<"index">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) constraints([#tile.at_most<"S", 64>])
    contents([#tile.contents<"n", of "S">, #tile.contents<"cu", of "S" ascending = true>,
              #tile.contents<"index", of "S" block = 128 entries = "n">])
  gpu.func @f(%n: !llvm.ptr, %cu: !llvm.ptr, %index: !llvm.ptr) kernel {
    gpu.return
  }
}
