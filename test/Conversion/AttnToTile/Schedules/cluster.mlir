// RUN: fovea-opt %s --attn-to-tile='target=sm_90a schedule=cluster=2' | FileCheck %s

// Two CTAs share a tile with twice the rows. Each tile is one cluster, so there are twice as many
// CTAs.
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1, s2] -> ((((s2 ceildiv 256) * s1) * s0) * 2)>
// CHECK: launch.abi @dense
// CHECK-SAME: tile_m = 128,
// CHECK-SAME: cluster = 2
// CHECK-SAME: grid(["B", "Hq", "Sq"] #[[GRID]])
// CHECK-SAME: cluster(2)
// CHECK-LABEL: gpu.func @dense(
// CHECK: arith.ceildivui %{{.*}}, %c256
// CHECK: tile.load {{("[^"]+" )?}}%{{.*}} to tensor<256x256xbf16, #tile.reg>
!t = tensor<?x?x?x256xbf16>
func.func @dense(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
