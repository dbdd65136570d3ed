// RUN: fovea-opt %s --split-input-file --verify-diagnostics --cse --canonicalize | fovea-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @fences
func.func @fences() {
  // CHECK-NEXT: warp.sync_lanes{{$}}
  // CHECK-NEXT: warp.sync_lanes async_proxy{{$}}
  // CHECK-NEXT: warp.sync_lanes tmem_loads tmem_stores{{$}}
  // CHECK-NEXT: warp.sync_lanes async_proxy tmem_loads tmem_stores{{$}}
  warp.sync_lanes
  warp.sync_lanes async_proxy
  warp.sync_lanes tmem_loads tmem_stores
  warp.sync_lanes async_proxy tmem_loads tmem_stores
  return
}

// Loads do not move across the op.
!tile = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
!x = tensor<16x16xbf16, #tile.reg>
// CHECK-LABEL: func @loads
func.func @loads(%b: !tile) -> (!x, !x) {
  // CHECK: %[[X:.*]] = warp.local_load
  // CHECK-NEXT: warp.sync_lanes
  // CHECK-NEXT: %[[Y:.*]] = warp.local_load
  // CHECK-NEXT: return %[[X]], %[[Y]]
  %x = warp.local_load %b : !tile to !x
  warp.sync_lanes
  %y = warp.local_load %b : !tile to !x
  return %x, %y : !x, !x
}

// -----

func.func @syntax() {
  // expected-error@+1 {{custom op 'shared' is unknown}}
  warp.sync_lanes shared
  return
}
