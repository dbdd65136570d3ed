// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=64" --canonicalize --cse | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=classify=0" --canonicalize --cse | FileCheck %s --check-prefix=NONE
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 --canonicalize --cse | FileCheck %s --check-prefix=NONE

!t = tensor<?x1x?x64xbf16>

// CHECK-DAG: #[[$QUERIES:.*]] = affine_map<()[s0] -> (2, 3, s0 ceildiv 128)>
// CHECK-DAG: #[[$KEYS:.*]] = affine_map<()[s0] -> (2, 3, s0 ceildiv 64)>

// The main kernel: its last arguments, and the entries of 32 candidates at a time.
// CHECK-LABEL: gpu.module @documents_module
// CHECK:       launch.abi @documents target
// CHECK-SAME:    #launch.scratch_memref<"capture1.1.128", ["capture1.1"] #[[$QUERIES]]>
// CHECK-SAME:    #launch.scratch_memref<"capture1.1.64", ["capture1.1"] #[[$KEYS]]>
// CHECK-SAME:    prologue([@documents_summaries])
// CHECK-LABEL: gpu.func @documents(
// CHECK-SAME:    memref<2x3x?xi32>, %{{.*}}: memref<2x3x?xi32>) kernel
// CHECK:         launch.await_previous
// CHECK:         %[[Q:.*]] = memref.load %{{.*}}[%c1, %{{.*}}, %{{.*}}] : memref<2x3x?xi32>
// CHECK:         arith.trunci %[[Q]] : i32 to i1
// CHECK:         %[[K:.*]] = tile.load {{("[^"]+" )?}}%{{.*}}[%c0, %{{.*}}, %{{.*}}] dims [-1, 2] : memref<2x3x?xi32> to tensor<1x32xi32, #tile.reg>
// CHECK:         arith.trunci %[[K]] : tensor<1x32xi32, #tile.reg> to tensor<1x32xi1, #tile.reg>
// CHECK:         tile.ballot

// The prologue kernel: 16 blocks per warp, 64 of their positions at a time. Queries have blocks of
// 128, keys of 64, with a buffer each.
// CHECK:      launch.abi @documents_summaries target("sm_90a")
// CHECK-SAME:   tensors([#launch.tensor<"capture1", read, tensor<3x?xi1>, ["capture1.0", "capture1.1"], 1>])
// CHECK-SAME:   #launch.memref<"capture1", [0, 1]>
// CHECK-SAME:   grid(["capture1.1"]
// CHECK-SAME:   threads(32) shared_memory(0)
// CHECK-LABEL: gpu.func @documents_summaries
// CHECK-SAME:    (%[[DOC:.*]]: memref<3x?xi1, strided<[?, ?]>>, %[[S0:.*]]: memref<2x3x?xi32>, %[[S1:.*]]: memref<2x3x?xi32>) kernel
// CHECK-DAG:   %[[MOST:.*]] = arith.constant dense<2147483647> : tensor<16x64xi32, #tile.reg>
// CHECK-DAG:   %[[LEAST:.*]] = arith.constant dense<-2147483648> : tensor<16x64xi32, #tile.reg>
// CHECK:       launch.allow_overlap
// CHECK:       %[[ITEM:.*]] = gpu.block_id x
// CHECK:       %[[MINE:.*]] = arith.cmpi ult, %[[ITEM]], %[[COUNT:.*]] : index
// CHECK:       scf.if %[[MINE]] {
// CHECK:         scf.for {{.*}} iter_args(%[[MIN:.*]] = %[[MOST]], %[[MAX:.*]] = %[[LEAST]])
// CHECK:           %[[IN:.*]] = arith.cmpi ult
// CHECK:           %[[FLAGS:.*]] = tile.gather %[[DOC]]
// CHECK:           %[[WORDS:.*]] = arith.extui %[[FLAGS]]
// CHECK:           arith.select %[[IN]], %[[WORDS]], %[[MOST]]
// CHECK:           arith.select %[[IN]], %[[WORDS]], %[[LEAST]]
// CHECK:         tile.reduce min dim 1
// CHECK:         tile.store {{("[^"]+" )?}}%{{.*}}, %[[S0]][%c0, {{.*}}] dims [2, -1]
// CHECK:         tile.reduce max dim 1
// CHECK:         tile.store {{("[^"]+" )?}}%{{.*}}, %[[S0]][%c1, {{.*}}] dims [2, -1]
// CHECK:       }
// CHECK:       %[[NEXT:.*]] = arith.subi %[[ITEM]], %[[COUNT]]
// CHECK:       arith.cmpi ult, %[[NEXT]]
// CHECK:         tile.store {{("[^"]+" )?}}%{{.*}}, %[[S1]]

// NONE-NOT: summaries
// NONE-NOT: scratch
// NONE-LABEL: gpu.func @documents(
// NONE-NOT: tile.ballot
func.func @documents(%q: !t, %k: !t, %v: !t, %unused: tensor<4xf32>, %doc: tensor<3x?xi1>) -> !t {
  %o = attn.forward %q, %k, %v captures(%unused, %doc : tensor<4xf32>, tensor<3x?xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %u: tensor<4xf32>, %d: tensor<3x?xi1>) {
      %x = tensor.extract %d[%b, %i] : tensor<3x?xi1>
      %y = tensor.extract %d[%b, %j] : tensor<3x?xi1>
      %keep = arith.cmpi uge, %x, %y : i1
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %u: tensor<4xf32>, %d: tensor<3x?xi1>) {
      %x = attn.block_max %d[%b, %i0 to %i1] : tensor<3x?xi1>
      %y = attn.block_min %d[%b, %j0 to %j1] : tensor<3x?xi1>
      %any = arith.cmpi uge, %x, %y : i1
      %all = arith.constant false
      attn.yield %any, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}
