// RUN: fovea-compile --target=sm_90a %s --kernel=window --emit=llvm -o - | FileCheck %s --check-prefix=WINDOW
// RUN: fovea-compile --target=sm_90a %s --kernel=window -o - | FileCheck %s --check-prefix=PTX
// RUN: fovea-compile --target=sm_90a %s --kernel=pixels --emit=llvm -o - | FileCheck %s --check-prefix=PIXELS

// One difference of query and key for a thread; elements compare it with
// constants, and joined conditions choose once.
// WINDOW: %[[BOTH:.*]] = call i1 asm "and.pred $0, $1, $2;", "=b,b,b"
// WINDOW-NEXT: select i1 %[[BOTH]], float %{{.*}}, float 0xFFF0000000000000
// WINDOW: icmp slt i32 %[[DISTANCE:.*]], 92
// WINDOW-NEXT: icmp sgt i32 %[[DISTANCE]], -9
// WINDOW-NEXT: and.pred
// WINDOW-NOT: or disjoint
// WINDOW: icmp slt i32 %[[DISTANCE]], 117
// PTX: and.pred
// PTX-NEXT: // end inline asm
// PTX-NEXT: selp.f32
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

// The row of a pixel is one shift, its column a constant and the thread's
// place: nothing is shifted or cut out for an element.
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
