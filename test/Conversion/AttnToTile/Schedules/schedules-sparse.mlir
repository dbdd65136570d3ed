// RUN: fovea-opt %s --split-input-file --fovea-to-tile=target=sm_90a | FileCheck %s

// Sparse masks: smaller tiles process fewer blocks in vain, so two warp groups for any head dim.
// The load role evaluates the block predicate and has more registers for it. First: a lower bound.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: launch.abi @window {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 128, warps = 8, {{.*}} roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 224,
func.func @window(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %w = arith.constant 1024 : index
      %d = arith.subi %i, %j : index
      %past = arith.cmpi sge, %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %keep = arith.andi %past, %near : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// A predicate on captured values, some of which are live in the compute roles.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: launch.abi @documents {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 128, warps = 8, {{.*}} roles = [<"load", warps = 4, registers = 72, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 216,
func.func @documents(%q: !t, %ids: tensor<?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%ids : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xi32>) {
      %x = tensor.extract %t[%i] : tensor<?xi32>
      %y = tensor.extract %t[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      attn.yield %same : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// Wider ids leave room for fewer keys.
!t = tensor<1x1x?x128xbf16>
// CHECK-LABEL: launch.abi @times {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 96, warps = 8, {{.*}} roles = [<"load", warps = 4, registers = 72, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 216,
func.func @times(%q: !t, %ids: tensor<?xi64>) -> !t {
  %o = attn.forward %q, %q, %q captures(%ids : tensor<?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xi64>) {
      %x = tensor.extract %t[%i] : tensor<?xi64>
      %y = tensor.extract %t[%j] : tensor<?xi64>
      %same = arith.cmpi sge, %x, %y : i64
      attn.yield %same : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// Block-sparse lists.
!t = tensor<1x1x?x64xbf16>
!n = tensor<1x1x?xi32>
!x = tensor<1x1x?x?xi32>
// CHECK-LABEL: launch.abi @listed {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 128, warps = 8, {{.*}} roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 224,
func.func @listed(%q: !t, %n: !n, %x: !x) -> !t {
  %o = attn.forward %q, %q, %q blocks(%n, %x : !n, !x, size = [128, 128]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

// A prefix keeps most of the keys: four warp groups, as without a mask.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: launch.abi @prefix {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 256, tile_n = 64, warps = 16, {{.*}} roles = [<"load", warps = 4, registers = 32, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 112,
func.func @prefix(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 1024 : index
      %past = arith.cmpi sge, %i, %j : index
      %early = arith.cmpi slt, %j, %n : index
      %keep = arith.ori %past, %early : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// So does a triangle, but its end is a captured value: three warp groups, which leave the load role
// more registers.
!t = tensor<1x1x?x64xbf16>
// CHECK-LABEL: launch.abi @offset {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 192, tile_n = 96, warps = 12, {{.*}} roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = {{[0-9]+}}, registers = 152,
func.func @offset(%q: !t, %n: i32) -> !t {
  %o = attn.forward %q, %q, %q captures(%n : i32)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %first: i32) {
      %wide = arith.index_cast %first : i32 to index
      %place = arith.addi %i, %wide : index
      %past = arith.cmpi sge, %place, %j : index
      attn.yield %past : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

// A bitmap word covers 32 keys: blocks are whole words, 96 keys instead of 112.
!t = tensor<1x1x?x192xbf16>
// CHECK: launch.abi @words {{.*}}plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 96,
func.func @words(%q: !t, %bits: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%bits : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?xi32>) {
      %c32 = arith.constant 32 : index
      %at = arith.divui %j, %c32 : index
      %bit = arith.remui %j, %c32 : index
      %bit32 = arith.index_cast %bit : index to i32
      %word = tensor.extract %t[%i, %at] : tensor<?x?xi32>
      %shifted = arith.shrui %word, %bit32 : i32
      %keep = arith.trunci %shifted : i32 to i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
