// RUN: fovea-opt %s --attn-to-tile=target=sm_80 | FileCheck %s

// Values whose last bit does not matter may be approximated; a floor, a comparison and a remainder
// need their operands as written, without reassociation.
!t = tensor<?x?x?x64xbf16>

// CHECK-LABEL: gpu.func @approximate
// CHECK: arith.divf {{.*}} fastmath<afn>
// CHECK: math.sqrt {{.*}} fastmath<afn>
// CHECK: math.rsqrt {{.*}} fastmath<afn>
// CHECK: math.tanh {{.*}} fastmath<afn>
func.func @approximate(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %one = arith.constant 1.0 : f32
      %a = arith.divf %one, %s : f32
      %c = math.sqrt %a : f32
      %d = math.rsqrt %c : f32
      %r = math.tanh %d : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: gpu.func @floor
// CHECK-NOT: afn
// CHECK: arith.divf {{.*}} : tensor<{{.*}}xf32, #tile.reg>
// CHECK: math.floor
func.func @floor(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c3 = arith.constant 3.0 : f32
      %n = arith.index_cast %j : index to i32
      %x = arith.sitofp %n : i32 to f32
      %a = arith.divf %x, %c3 : f32
      %f = math.floor %a : f32
      %r = arith.addf %s, %f : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Through other ops, and in a mask.
// CHECK-LABEL: gpu.func @compared
// CHECK-NOT: afn
// CHECK: arith.mulf {{.*}} : tensor<{{.*}}xf32, #tile.reg>
// CHECK: arith.divf {{.*}} : tensor<{{.*}}xf32, #tile.reg>
// CHECK: math.sqrt {{.*}} : tensor<{{.*}}xf32, #tile.reg>
// CHECK: arith.cmpf
func.func @compared(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c3 = arith.constant 3.0 : f32
      %n = arith.index_cast %j : index to i32
      %x = arith.sitofp %n : i32 to f32
      %m = arith.index_cast %i : index to i32
      %y = arith.sitofp %m : i32 to f32
      %z = arith.mulf %x, %c3 : f32
      %a = arith.divf %z, %y : f32
      %c = math.sqrt %a : f32
      %keep = arith.cmpf olt, %c, %c3 : f32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
