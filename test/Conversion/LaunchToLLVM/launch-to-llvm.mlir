// RUN: fovea-opt %s --launch-to-llvm | FileCheck %s

// CHECK-DAG: llvm.func @fovea_embedded_call(!llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK-DAG: llvm.func @fovea_embedded_call_async(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK-DAG: llvm.func @fovea_embedded_check(i32)
// CHECK-DAG: llvm.mlir.global internal constant @b_code("ptx")
// CHECK-DAG: llvm.mlir.global internal constant @b_metadata("{}")
// CHECK-DAG: llvm.mlir.global internal @b_kernel() {{.*}} : !llvm.struct<(i64, ptr, i64, ptr, i64, ptr)>
// CHECK-NOT: launch.
launch.binary @b target("sm_80")
  tensors([#launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>, #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>])
  scalars([#launch.scalar<"scale", f32>, #launch.scalar<"window", index>, #launch.scalar<"first", i32>, #launch.scalar<"seed", i64>])
  code("ptx") metadata("{}")

// In ABI order: the address of the first element, sizes and strides of each tensor;
// then the scalars, with f32 as f64.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf16, strided<[?, 1], offset: ?>>, %[[Y:.*]]: memref<?x64xf16>, %[[S:.*]]: f32, %[[W:.*]]: index, %[[F:.*]]: i32, %[[SEED:.*]]: i64)
func.func @f(%x: memref<?x64xf16, strided<[?, 1], offset: ?>>, %y: memref<?x64xf16>, %s: f32, %w: index, %f: i32, %seed: i64) {
  // CHECK: %{{.*}}, %[[OFFSET:.*]], %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
  // CHECK: %[[POINTER:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
  // CHECK: %[[ADDRESS:.*]] = arith.index_cast %[[POINTER]] : index to i64
  // CHECK: %[[BYTES:.*]] = arith.constant 2 : i64
  // CHECK: %[[ELEMENTS:.*]] = arith.index_cast %[[OFFSET]]
  // CHECK: %[[MORE:.*]] = arith.muli %[[ELEMENTS]], %[[BYTES]]
  // CHECK: %[[FIRST:.*]] = arith.addi %[[ADDRESS]], %[[MORE]]
  // CHECK: %[[SIZE:.*]] = arith.index_cast %[[SIZES]]#0
  // CHECK: arith.constant 64
  // CHECK: %[[STRIDE:.*]] = arith.index_cast %[[STRIDES]]#0
  // CHECK: arith.constant 1
  // CHECK: memref.extract_strided_metadata %[[Y]]
  // CHECK: %[[WIDE:.*]] = arith.extf %[[S]] : f32 to f64
  // CHECK: arith.bitcast %[[WIDE]] : f64 to i64
  // CHECK: arith.index_cast %[[W]] : index to i64
  // CHECK: arith.extsi %[[F]] : i32 to i64
  // CHECK: %[[STACK:.*]] = llvm.intr.stacksave
  // CHECK: %[[COUNT:.*]] = llvm.mlir.constant(14 : i64)
  // CHECK: %[[WORDS:.*]] = llvm.alloca %[[COUNT]] x i64
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[WORDS]][0]
  // CHECK: llvm.store %[[FIRST]], %[[PLACE]]
  // CHECK: llvm.store %[[SIZE]]
  // CHECK: llvm.store %[[STRIDE]]
  // CHECK: llvm.store %[[SEED]]
  // CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @b_kernel
  // CHECK: %[[N:.*]] = llvm.mlir.constant(14 : i64)
  // CHECK: %[[STATUS:.*]] = llvm.call @fovea_embedded_call(%[[KERNEL]], %[[WORDS]], %[[N]])
  // CHECK: llvm.intr.stackrestore %[[STACK]]
  // CHECK: llvm.call @fovea_embedded_check(%[[STATUS]])
  launch.call @b ins("x" = %x : memref<?x64xf16, strided<[?, 1], offset: ?>>, "seed" = %seed : i64, "first" = %f : i32,
                     "window" = %w : index, "scale" = %s : f32) outs("y" = %y : memref<?x64xf16>)
  return
}

// CHECK-LABEL: func.func @g(
// CHECK-SAME: %[[STREAM:[a-z0-9]+]]: !llvm.ptr)
func.func @g(%x: memref<?x64xf16>, %y: memref<?x64xf16>, %s: f32, %w: index, %f: i32, %seed: i64, %stream: !llvm.ptr) {
  // CHECK: llvm.call @fovea_embedded_call_async(%{{.*}}, %[[STREAM]], %{{.*}}, %{{.*}})
  launch.call @b ins("x" = %x : memref<?x64xf16>, "seed" = %seed : i64, "first" = %f : i32,
                     "window" = %w : index, "scale" = %s : f32) outs("y" = %y : memref<?x64xf16>) stream(%stream : !llvm.ptr)
  return
}
