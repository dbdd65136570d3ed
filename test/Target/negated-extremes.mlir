// RUN: fovea-compile --target=sm_90a %s --emit=llvm -o - | FileCheck %s
// RUN: fovea-compile --target=sm_90a %s -o - | FileCheck %s --check-prefix=PTX

// ptxas combines max(max(a, -b), c) into one instruction and loses the sign, so
// a maximum must have no operand that ptxas recognises as a negation.
// CHECK-LABEL: define ptx_kernel void @distance(
// CHECK: %[[N:.*]] = call i32 asm "not.b32 $0, $1;\0A\09add.s32 $0, $0, 1;", "=&r,r"
// CHECK: @llvm.smax.i32(i32 %{{.*}}, i32 %[[N]])
// PTX-NOT: neg.s32
func.func @distance(%q: tensor<1x1x?x64xbf16>, %k: tensor<1x1x?x64xbf16>, %v: tensor<1x1x?x64xbf16>,
                    %p: tensor<?xi32>) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %k, %v captures(%p : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xi32>) {
      %c0 = arith.constant 0 : i32
      %c7 = arith.constant 7 : i32
      %x = tensor.extract %t[%i] : tensor<?xi32>
      %y = tensor.extract %t[%j] : tensor<?xi32>
      %d = arith.subi %x, %y : i32
      %n = arith.subi %c0, %y : i32
      %a = arith.maxsi %d, %n : i32
      %m = arith.maxsi %a, %x : i32
      %keep = arith.cmpi slt, %m, %c7 : i32
      attn.yield %keep : i1
    } : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}
