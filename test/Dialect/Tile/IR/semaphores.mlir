// RUN: fovea-opt %s --split-input-file --canonicalize --cse --verify-diagnostics | fovea-opt --split-input-file | FileCheck %s

// Both ops have side effects: neither is removed, and their order is kept.
// CHECK-LABEL: func.func @turn
func.func @turn(%s: memref<?x4xi32>, %i: index, %turn: i32, %some: i1, %part: tensor<64x64xf32, #tile.reg>) {
  // CHECK: tile.semaphore_wait "sum" %{{.*}}[%{{.*}}, %{{.*}}] for %{{.*}} after(%{{.*}} : tensor<64x64xf32, #tile.reg>) : memref<?x4xi32>
  tile.semaphore_wait "sum" %s[%i, %i] for %turn after(%part : tensor<64x64xf32, #tile.reg>) : memref<?x4xi32>
  // CHECK: tile.semaphore_release "sum" %{{.*}}[%{{.*}}, %{{.*}}] after(%{{.*}} : tensor<64x64xf32, #tile.reg>) : memref<?x4xi32>
  tile.semaphore_release "sum" %s[%i, %i] after(%part : tensor<64x64xf32, #tile.reg>) : memref<?x4xi32>
  // CHECK: tile.semaphore_wait %{{.*}}[%{{.*}}, %{{.*}}] for %{{.*}} : memref<?x4xi32>
  tile.semaphore_wait %s[%i, %i] for %turn : memref<?x4xi32>
  // CHECK: tile.semaphore_wait %{{.*}}[%{{.*}}, %{{.*}}] for %{{.*}} if(%{{.*}}) : memref<?x4xi32>
  tile.semaphore_wait %s[%i, %i] for %turn if(%some) : memref<?x4xi32>
  // CHECK: tile.semaphore_release %{{.*}}[%{{.*}}, %{{.*}}] if(%{{.*}}) : memref<?x4xi32>
  tile.semaphore_release %s[%i, %i] if(%some) : memref<?x4xi32>
  return
}

// -----

func.func @places(%s: memref<?x4xi32>, %i: index, %turn: i32) {
  // expected-error @+1 {{'tile.semaphore_wait' op needs an index for each of the memref's 2 dimensions, found 1}}
  tile.semaphore_wait %s[%i] for %turn : memref<?x4xi32>
  return
}

// -----

func.func @released_places(%s: memref<?xi32>, %i: index) {
  // expected-error @+1 {{'tile.semaphore_release' op needs an index for each of the memref's 1 dimensions, found 2}}
  tile.semaphore_release %s[%i, %i] : memref<?xi32>
  return
}

// -----

func.func @scalar(%s: memref<i32>, %turn: i32) {
  // expected-error @+1 {{'tile.semaphore_wait' op semaphores must have at least one dimension, found 'memref<i32>'}}
  tile.semaphore_wait %s[] for %turn : memref<i32>
  return
}

// -----

func.func @negative(%s: memref<4xi32>, %i: index) {
  %turn = arith.constant -1 : i32
  // expected-error @+1 {{'tile.semaphore_wait' op expected a semaphore count of at least 0, found -1}}
  tile.semaphore_wait %s[%i] for %turn : memref<4xi32>
  return
}

// -----

func.func @elements(%s: memref<4xf32>, %i: index) {
  // expected-error @+1 {{'tile.semaphore_release' op operand #0 must be memref of 32-bit signless integer values, but got 'memref<4xf32>'}}
  tile.semaphore_release %s[%i] : memref<4xf32>
  return
}

// -----

func.func @name(%s: memref<4xi32>, %i: index) {
  // expected-error @+1 {{'tile.semaphore_release' op}}
  tile.semaphore_release "a b" %s[%i] : memref<4xi32>
  return
}
