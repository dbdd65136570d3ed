// RUN: fovea-compile --target=sm_90a %s --kernel=window --emit=llvm -o - | FileCheck %s --check-prefix=WINDOW
// RUN: fovea-compile --target=sm_90a %s --kernel=pixels -o - | FileCheck %s --check-prefix=PTX
// RUN: fovea-compile --target=sm_90a %s --kernel=pixels --emit=llvm -o - | FileCheck %s --check-prefix=PIXELS

// One difference of query and key per thread; elements compare it with
// constants, both ends of the window at once.
// WINDOW-LABEL: define ptx_kernel void @window(
// WINDOW: select i1 %{{.*}}, float %{{.*}}, float 0xFFF0000000000000
// WINDOW-NEXT: %[[NEXT:.*]] = add i32 %[[DISTANCE:.*]], -1
// WINDOW-NEXT: icmp ult i32 %[[NEXT]], 100
// WINDOW-NEXT: select i1
// WINDOW-NOT: or disjoint
// WINDOW: add i32 %[[DISTANCE]], -9
!t = tensor<1x1x?x64xbf16>
func.func @window(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %w = arith.constant 100 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %past : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// The row of a pixel is one shift, its column a constant plus the thread's
// column: no shift or mask per element. A conjunction needs one select.
// PTX-LABEL: .entry pixels(
// PTX: {{and.pred.*[[:space:]]+// end inline asm[[:space:]]+selp.f32}}
// PIXELS-LABEL: define ptx_kernel void @pixels(
// PIXELS: and.pred
// PIXELS-NOT: lshr
// PIXELS: and.pred
// PIXELS-NOT: and i32
// PIXELS: and.pred
func.func @pixels(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %w = arith.constant 64 : index
      %jy = arith.divui %j, %w : index
      %jx = arith.remui %j, %w : index
      %iy = arith.divui %i, %w : index
      %ix = arith.remui %i, %w : index
      %x = arith.cmpi sge, %ix, %jx : index
      %y = arith.cmpi sge, %iy, %jy : index
      %keep = arith.andi %x, %y : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
