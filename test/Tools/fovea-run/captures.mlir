// Captured values keep their names when canonicalisation drops others, so that
// data reaches the parameter that is meant for it: all these have one type.
// DEFINE: %{sizes} = --random=1 --dims B=1,Hq=2,Hkv=1,Sq=40,Skv=50,capture0.0=64,capture1.0=64,capture4.0=64
// RUN: fovea-run --target=sm_80 %s --level=tile %{sizes} --integers=1:9 --check | FileCheck %s
// CHECK: o 1x2x40x16: {{.*}}: passed

// The same of a kernel and the program that it implements, in two files.
// RUN: fovea-opt %s --fovea-to-tile=target=sm_80 -o %t.mlir
// RUN: fovea-run %t.mlir --reference=%s --random=1 --dims B=1,Hq=2,Hkv=1,Sq=40,Skv=50,capture1.0=64,capture4.0=64 --integers=1:9 --check | FileCheck %s

// RUN: fovea-compile --target=sm_80 %s --emit=metadata | FileCheck %s --check-prefix=METADATA
// METADATA: "name":"v"
// METADATA-NEXT: "name":"capture1"
// METADATA-NEXT: "name":"capture4"
// METADATA-NEXT: "name":"o"
// METADATA: {"kind":"scalar","name":"capture3","type":"i32"}

// On a device only what the kernel takes is passed: names it does not know are errors.
// RUN: fovea-compile --target=sm_80 %s --emit=metadata -o %t.json
// RUN: not env LD_LIBRARY_PATH=%fake_driver fovea-run --target=sm_80 %s %{sizes} --integers=1:9 --device=cuda --kernel=%t.mlir --metadata=%t.json --check 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE-NOT: error
// DEVICE: o 1x2x40x16: {{.*}}: FAILED

!t = tensor<?x?x?x16xbf16>
!b = tensor<?xf32>

func.func @f(%q: !t, %k: !t, %v: !t, %unread: !b, %row: !b, %window: i32, %column: !b) -> !t {
  %o = attn.forward %q, %k, %v captures(%unread, %row, %row, %window, %column : !b, !b, !b, i32, !b)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c0: !b, %c1: !b, %c2: !b, %c3: i32, %c4: !b) {
      %a = tensor.extract %c2[%i] : !b
      %d = tensor.extract %c4[%j] : !b
      %n = arith.sitofp %c3 : i32 to f32
      %bias = arith.mulf %a, %n : f32
      %t = arith.addf %s, %bias : f32
      %r = arith.mulf %t, %d : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
