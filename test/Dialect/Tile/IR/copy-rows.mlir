// RUN: fovea-opt %s --canonicalize --cse | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @copy
func.func @copy(%k: memref<?x8x64xbf16>, %v: memref<?x8x32xbf16>, %kc: memref<?x16x8x64xbf16>, %vc: memref<?x16x8x32xbf16>, %t: index, %p: index, %r: index) {
  // CHECK: tile.copy_rows %{{.*}}, %{{.*}}[%{{.*}}] to %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x8x64xbf16>, memref<?x8x32xbf16> to memref<?x16x8x64xbf16>, memref<?x16x8x32xbf16>
  tile.copy_rows %k, %v[%t] to %kc, %vc[%p, %r] : memref<?x8x64xbf16>, memref<?x8x32xbf16> to memref<?x16x8x64xbf16>, memref<?x16x8x32xbf16>
  // CHECK: tile.copy_rows %{{.*}}[] to %{{.*}}[%{{.*}}] : memref<16x8x64xbf16> to memref<?x16x8x64xbf16>
  %one = memref.alloc() : memref<16x8x64xbf16>
  tile.copy_rows %one[] to %kc[%p] : memref<16x8x64xbf16> to memref<?x16x8x64xbf16>
  return
}
