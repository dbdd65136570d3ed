// A user-specified tile_n divides the page.
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_n=96" --verify-diagnostics
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=96" --verify-diagnostics

// Roles copy pages by TMA. Without them threads find each row, and any tile_n is right.
// RUN: sed 's/64x32/12x32/g; s/page = 64/page = 12/; /expected-error/d' %s > %t.rows.mlir
// RUN: not fovea-opt %t.rows.mlir --attn-to-tile="target=sm_90a schedule=warps=8,tile_m=128,producer_registers=40,consumer_registers=232" 2>&1 | FileCheck %s --check-prefix=ROLES
// ROLES: error: with roles ('producer_registers'), pages of K and V must have a multiple of 8 rows, found 12
// RUN: fovea-opt %t.rows.mlir --attn-to-tile="target=sm_80 schedule=tile_n=96" | FileCheck %s --check-prefix=ROWS
// RUN: fovea-opt %t.rows.mlir --attn-to-tile=target=sm_90a | FileCheck %s --check-prefix=ROWS
// RUN: fovea-opt %t.rows.mlir --attn-to-tile=target=sm_100a | FileCheck %s --check-prefix=ROWS
// ROWS-LABEL: launch.abi @f
// ROWS-SAME: #warp.mma_sync_unit
// ROWS: tile.load "k" %{{.*}}[%{{.*}}, %{{.*}}, %[[J:.*]], %{{.*}}] dims [2, 3] groups [0, 12] at %{{.*}}[%{{.*}}, %{{.*}}] :
// ROWS: tile.load "v" %{{.*}}[%{{.*}}, %{{.*}}, %[[J]], %{{.*}}] limit(%{{.*}}) dims [2, 3] groups [0, 12] at %{{.*}}[%{{.*}}, %{{.*}}] :

func.func @f(%q: tensor<2x4x?x32xf16>, %k: tensor<?x4x64x32xf16>, %v: tensor<?x4x64x32xf16>, %table: tensor<2x?xi32>,
             %n: tensor<2xi32>) -> tensor<2x4x?x32xf16> {
  // expected-error@+1 {{schedule's 'tile_n' must divide the pages of 64 rows, or be a multiple, found 96}}
  %o = attn.forward %q, %k, %v paged(%table, %n : tensor<2x?xi32>, tensor<2xi32>, page = 64)
    : tensor<2x4x?x32xf16>, tensor<?x4x64x32xf16>, tensor<?x4x64x32xf16> -> tensor<2x4x?x32xf16>
  return %o : tensor<2x4x?x32xf16>
}
