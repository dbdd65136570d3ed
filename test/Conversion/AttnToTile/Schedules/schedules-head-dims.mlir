// Every head dim has a schedule that passes the checks and lowers to tiles: with roles if TMA can
// copy the rows, without otherwise. If V fills a panel, padded or not, the MMA unit computes row
// sums.
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a | FileCheck %s --implicit-check-not=mma_sync_unit
// RUN: fovea-opt %s --fovea-to-tile=target=sm_80 | FileCheck %s --check-prefix=SM80 --implicit-check-not=wgmma_unit

// CHECK-LABEL: launch.abi @d32 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 256, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d32 target("sm_80")
func.func @d32(%q: tensor<1x1x?x32xbf16>, %v: tensor<1x1x?x32xbf16>) -> tensor<1x1x?x32xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x32xbf16>, tensor<1x1x?x32xbf16>, tensor<1x1x?x32xbf16> -> tensor<1x1x?x32xbf16>
  return %o : tensor<1x1x?x32xbf16>
}

// CHECK-LABEL: launch.abi @d40 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 256, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d40 target("sm_80")
func.func @d40(%q: tensor<1x1x?x40xbf16>, %v: tensor<1x1x?x40xbf16>) -> tensor<1x1x?x40xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x40xbf16>, tensor<1x1x?x40xbf16>, tensor<1x1x?x40xbf16> -> tensor<1x1x?x40xbf16>
  return %o : tensor<1x1x?x40xbf16>
}

// CHECK-LABEL: launch.abi @d48 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 256, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d48 target("sm_80")
func.func @d48(%q: tensor<1x1x?x48xbf16>, %v: tensor<1x1x?x48xbf16>) -> tensor<1x1x?x48xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x48xbf16>, tensor<1x1x?x48xbf16>, tensor<1x1x?x48xbf16> -> tensor<1x1x?x48xbf16>
  return %o : tensor<1x1x?x48xbf16>
}

// CHECK-LABEL: launch.abi @d56 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 256, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, sum_by_dot, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d56 target("sm_80")
func.func @d56(%q: tensor<1x1x?x56xbf16>, %v: tensor<1x1x?x56xbf16>) -> tensor<1x1x?x56xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x56xbf16>, tensor<1x1x?x56xbf16>, tensor<1x1x?x56xbf16> -> tensor<1x1x?x56xbf16>
  return %o : tensor<1x1x?x56xbf16>
}

// CHECK-LABEL: launch.abi @d64 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 256, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, sum_by_dot, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d64 target("sm_80")
func.func @d64(%q: tensor<1x1x?x64xbf16>, %v: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}

// CHECK-LABEL: launch.abi @d72 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 192, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied, over = "q">], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d72 target("sm_80")
func.func @d72(%q: tensor<1x1x?x72xbf16>, %v: tensor<1x1x?x72xbf16>) -> tensor<1x1x?x72xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x72xbf16>, tensor<1x1x?x72xbf16>, tensor<1x1x?x72xbf16> -> tensor<1x1x?x72xbf16>
  return %o : tensor<1x1x?x72xbf16>
}

// CHECK-LABEL: launch.abi @d80 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 192, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied, over = "q">], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d80 target("sm_80")
func.func @d80(%q: tensor<1x1x?x80xbf16>, %v: tensor<1x1x?x80xbf16>) -> tensor<1x1x?x80xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x80xbf16>, tensor<1x1x?x80xbf16>, tensor<1x1x?x80xbf16> -> tensor<1x1x?x80xbf16>
  return %o : tensor<1x1x?x80xbf16>
}

// CHECK-LABEL: launch.abi @d88 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 192, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied, over = "q">], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d88 target("sm_80")
func.func @d88(%q: tensor<1x1x?x88xbf16>, %v: tensor<1x1x?x88xbf16>) -> tensor<1x1x?x88xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x88xbf16>, tensor<1x1x?x88xbf16>, tensor<1x1x?x88xbf16> -> tensor<1x1x?x88xbf16>
  return %o : tensor<1x1x?x88xbf16>
}

// CHECK-LABEL: launch.abi @d96 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 192, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied, over = "q">], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d96 target("sm_80")
func.func @d96(%q: tensor<1x1x?x96xbf16>, %v: tensor<1x1x?x96xbf16>) -> tensor<1x1x?x96xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x96xbf16>, tensor<1x1x?x96xbf16>, tensor<1x1x?x96xbf16> -> tensor<1x1x?x96xbf16>
  return %o : tensor<1x1x?x96xbf16>
}

// CHECK-LABEL: launch.abi @d104 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 192, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied, over = "q">], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d104 target("sm_80")
func.func @d104(%q: tensor<1x1x?x104xbf16>, %v: tensor<1x1x?x104xbf16>) -> tensor<1x1x?x104xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x104xbf16>, tensor<1x1x?x104xbf16>, tensor<1x1x?x104xbf16> -> tensor<1x1x?x104xbf16>
  return %o : tensor<1x1x?x104xbf16>
}

// CHECK-LABEL: launch.abi @d112 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 192, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied, over = "q">], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d112 target("sm_80")
func.func @d112(%q: tensor<1x1x?x112xbf16>, %v: tensor<1x1x?x112xbf16>) -> tensor<1x1x?x112xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x112xbf16>, tensor<1x1x?x112xbf16>, tensor<1x1x?x112xbf16> -> tensor<1x1x?x112xbf16>
  return %o : tensor<1x1x?x112xbf16>
}

// CHECK-LABEL: launch.abi @d120 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d120 target("sm_80")
func.func @d120(%q: tensor<1x1x?x120xbf16>, %v: tensor<1x1x?x120xbf16>) -> tensor<1x1x?x120xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x120xbf16>, tensor<1x1x?x120xbf16>, tensor<1x1x?x120xbf16> -> tensor<1x1x?x120xbf16>
  return %o : tensor<1x1x?x120xbf16>
}

// CHECK-LABEL: launch.abi @d128 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], stores = [<"out", copied>], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d128 target("sm_80")
func.func @d128(%q: tensor<1x1x?x128xbf16>, %v: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
}

// CHECK-LABEL: launch.abi @d136 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d136 target("sm_80")
func.func @d136(%q: tensor<1x1x?x136xbf16>, %v: tensor<1x1x?x136xbf16>) -> tensor<1x1x?x136xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x136xbf16>, tensor<1x1x?x136xbf16>, tensor<1x1x?x136xbf16> -> tensor<1x1x?x136xbf16>
  return %o : tensor<1x1x?x136xbf16>
}

// CHECK-LABEL: launch.abi @d144 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d144 target("sm_80")
func.func @d144(%q: tensor<1x1x?x144xbf16>, %v: tensor<1x1x?x144xbf16>) -> tensor<1x1x?x144xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x144xbf16>, tensor<1x1x?x144xbf16>, tensor<1x1x?x144xbf16> -> tensor<1x1x?x144xbf16>
  return %o : tensor<1x1x?x144xbf16>
}

// CHECK-LABEL: launch.abi @d152 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d152 target("sm_80")
func.func @d152(%q: tensor<1x1x?x152xbf16>, %v: tensor<1x1x?x152xbf16>) -> tensor<1x1x?x152xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x152xbf16>, tensor<1x1x?x152xbf16>, tensor<1x1x?x152xbf16> -> tensor<1x1x?x152xbf16>
  return %o : tensor<1x1x?x152xbf16>
}

// CHECK-LABEL: launch.abi @d160 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d160 target("sm_80")
func.func @d160(%q: tensor<1x1x?x160xbf16>, %v: tensor<1x1x?x160xbf16>) -> tensor<1x1x?x160xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x160xbf16>, tensor<1x1x?x160xbf16>, tensor<1x1x?x160xbf16> -> tensor<1x1x?x160xbf16>
  return %o : tensor<1x1x?x160xbf16>
}

// CHECK-LABEL: launch.abi @d168 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d168 target("sm_80")
func.func @d168(%q: tensor<1x1x?x168xbf16>, %v: tensor<1x1x?x168xbf16>) -> tensor<1x1x?x168xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x168xbf16>, tensor<1x1x?x168xbf16>, tensor<1x1x?x168xbf16> -> tensor<1x1x?x168xbf16>
  return %o : tensor<1x1x?x168xbf16>
}

// CHECK-LABEL: launch.abi @d176 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d176 target("sm_80")
func.func @d176(%q: tensor<1x1x?x176xbf16>, %v: tensor<1x1x?x176xbf16>) -> tensor<1x1x?x176xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x176xbf16>, tensor<1x1x?x176xbf16>, tensor<1x1x?x176xbf16> -> tensor<1x1x?x176xbf16>
  return %o : tensor<1x1x?x176xbf16>
}

// CHECK-LABEL: launch.abi @d184 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d184 target("sm_80")
func.func @d184(%q: tensor<1x1x?x184xbf16>, %v: tensor<1x1x?x184xbf16>) -> tensor<1x1x?x184xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x184xbf16>, tensor<1x1x?x184xbf16>, tensor<1x1x?x184xbf16> -> tensor<1x1x?x184xbf16>
  return %o : tensor<1x1x?x184xbf16>
}

// CHECK-LABEL: launch.abi @d192 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d192 target("sm_80")
func.func @d192(%q: tensor<1x1x?x192xbf16>, %v: tensor<1x1x?x192xbf16>) -> tensor<1x1x?x192xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x192xbf16>, tensor<1x1x?x192xbf16>, tensor<1x1x?x192xbf16> -> tensor<1x1x?x192xbf16>
  return %o : tensor<1x1x?x192xbf16>
}

// CHECK-LABEL: launch.abi @d200 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d200 target("sm_80")
func.func @d200(%q: tensor<1x1x?x200xbf16>, %v: tensor<1x1x?x200xbf16>) -> tensor<1x1x?x200xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x200xbf16>, tensor<1x1x?x200xbf16>, tensor<1x1x?x200xbf16> -> tensor<1x1x?x200xbf16>
  return %o : tensor<1x1x?x200xbf16>
}

// CHECK-LABEL: launch.abi @d208 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d208 target("sm_80")
func.func @d208(%q: tensor<1x1x?x208xbf16>, %v: tensor<1x1x?x208xbf16>) -> tensor<1x1x?x208xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x208xbf16>, tensor<1x1x?x208xbf16>, tensor<1x1x?x208xbf16> -> tensor<1x1x?x208xbf16>
  return %o : tensor<1x1x?x208xbf16>
}

// CHECK-LABEL: launch.abi @d216 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d216 target("sm_80")
func.func @d216(%q: tensor<1x1x?x216xbf16>, %v: tensor<1x1x?x216xbf16>) -> tensor<1x1x?x216xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x216xbf16>, tensor<1x1x?x216xbf16>, tensor<1x1x?x216xbf16> -> tensor<1x1x?x216xbf16>
  return %o : tensor<1x1x?x216xbf16>
}

// CHECK-LABEL: launch.abi @d224 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d224 target("sm_80")
func.func @d224(%q: tensor<1x1x?x224xbf16>, %v: tensor<1x1x?x224xbf16>) -> tensor<1x1x?x224xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x224xbf16>, tensor<1x1x?x224xbf16>, tensor<1x1x?x224xbf16> -> tensor<1x1x?x224xbf16>
  return %o : tensor<1x1x?x224xbf16>
}

// CHECK-LABEL: launch.abi @d232 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d232 target("sm_80")
func.func @d232(%q: tensor<1x1x?x232xbf16>, %v: tensor<1x1x?x232xbf16>) -> tensor<1x1x?x232xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x232xbf16>, tensor<1x1x?x232xbf16>, tensor<1x1x?x232xbf16> -> tensor<1x1x?x232xbf16>
  return %o : tensor<1x1x?x232xbf16>
}

// CHECK-LABEL: launch.abi @d240 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d240 target("sm_80")
func.func @d240(%q: tensor<1x1x?x240xbf16>, %v: tensor<1x1x?x240xbf16>) -> tensor<1x1x?x240xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x240xbf16>, tensor<1x1x?x240xbf16>, tensor<1x1x?x240xbf16> -> tensor<1x1x?x240xbf16>
  return %o : tensor<1x1x?x240xbf16>
}

// CHECK-LABEL: launch.abi @d248 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d248 target("sm_80")
func.func @d248(%q: tensor<1x1x?x248xbf16>, %v: tensor<1x1x?x248xbf16>) -> tensor<1x1x?x248xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x248xbf16>, tensor<1x1x?x248xbf16>, tensor<1x1x?x248xbf16> -> tensor<1x1x?x248xbf16>
  return %o : tensor<1x1x?x248xbf16>
}

// CHECK-LABEL: launch.abi @d256 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d256 target("sm_80")
func.func @d256(%q: tensor<1x1x?x256xbf16>, %v: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16> -> tensor<1x1x?x256xbf16>
  return %o : tensor<1x1x?x256xbf16>
}

// CHECK-LABEL: launch.abi @d192_128 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d192_128 target("sm_80")
func.func @d192_128(%q: tensor<1x1x?x192xbf16>, %v: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x192xbf16>, tensor<1x1x?x192xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
}

// CHECK-LABEL: launch.abi @d64_256 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80-LABEL: launch.abi @d64_256 target("sm_80")
func.func @d64_256(%q: tensor<1x1x?x64xbf16>, %v: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x256xbf16> -> tensor<1x1x?x256xbf16>
  return %o : tensor<1x1x?x256xbf16>
}

// CHECK: launch.abi @d256_64 target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, {{.*}}work = static, {{.*}}recurrence = lazy, tau = 32, streams = [{{.*}}], roles = [{{.*}}order = ["s" + 1, "o", "s.done" + 1,
// SM80: launch.abi @d256_64 target("sm_80")
func.func @d256_64(%q: tensor<1x1x?x256xbf16>, %v: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}
