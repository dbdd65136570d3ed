// RUN: fovea-run %s --entry=integers --outputs %t.a.npy %t.b.npy %t.c.npy %t.d.npy %t.e.npy %t.f.npy
// RUN: %python %S/Inputs/npy.py print %t.a.npy %t.b.npy %t.c.npy %t.d.npy %t.e.npy %t.f.npy | FileCheck %s
// RUN: fovea-run %s --entry=floats --outputs %t.a.npy %t.b.npy %t.c.npy %t.d.npy %t.e.npy
// RUN: %python %S/Inputs/npy.py print %t.a.npy %t.b.npy %t.c.npy %t.d.npy %t.e.npy | FileCheck %s --check-prefix=FLOATS
// RUN: not fovea-run %s --entry=zero --inputs 0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: fovea-run %s --entry=zero --inputs -3

func.func @integers() -> (tensor<2xi8>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi1>) {
  %a = arith.constant dense<[127, -7]> : tensor<2xi8>
  %b = arith.constant dense<[1, 2]> : tensor<2xi8>
  // Integers wrap.
  // CHECK: shape 2
  // CHECK-NEXT: -128 -5
  %wrapped = arith.addi %a, %b : tensor<2xi8>
  // CHECK: shape 2
  // CHECK-NEXT: 127 -4
  %x = arith.extsi %a : tensor<2xi8> to tensor<2xi32>
  %y = arith.extsi %b : tensor<2xi8> to tensor<2xi32>
  %floor = arith.floordivsi %x, %y : tensor<2xi32>
  // CHECK: shape 2
  // CHECK-NEXT: 127 -3
  %quotient = arith.divsi %x, %y : tensor<2xi32>
  // CHECK: shape 2
  // CHECK-NEXT: 127 2147483644
  %unsigned = arith.divui %x, %y : tensor<2xi32>
  // An i8 of -7 is 249 as an unsigned number.
  // CHECK: shape 2
  // CHECK-NEXT: 127 249
  %wide = arith.extui %a : tensor<2xi8> to tensor<2xi64>
  // CHECK: shape 2
  // CHECK-NEXT: 1 1
  %no = arith.cmpi uge, %x, %unsigned : tensor<2xi32>
  return %wrapped, %floor, %quotient, %unsigned, %wide, %no : tensor<2xi8>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi1>
}

func.func @floats() -> (tensor<2xbf16>, tensor<3xi8>, tensor<2xf32>, tensor<2xf16>, tensor<2xi32>) {
  // 1 + 2^-8 and 1 + 3 * 2^-8 are halfway cases: both round to even.
  // FLOATS: shape 2
  // FLOATS-NEXT: 1 1.01562
  %one = arith.constant dense<1.0> : tensor<2xbf16>
  %half = arith.constant dense<[0.00390625, 0.01171875]> : tensor<2xbf16>
  %sum = arith.addf %one, %half : tensor<2xbf16>
  // Conversions to integers saturate, NaN gives 0.
  // FLOATS: shape 3
  // FLOATS-NEXT: 127 -2 0
  %big = arith.constant dense<[1000.0, -2.9, 0x7FC00000]> : tensor<3xf32>
  %int = arith.fptosi %big : tensor<3xf32> to tensor<3xi8>
  // FLOATS: shape 2
  // FLOATS-NEXT: nan 2
  %n = arith.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %two = arith.constant dense<2.0> : tensor<2xf32>
  %max = arith.maximumf %n, %two : tensor<2xf32>
  // Too large for f16; the smallest subnormal.
  // FLOATS: shape 2
  // FLOATS-NEXT: inf 5.96046e-08
  %wide = arith.constant dense<[65520.0, 5.9e-8]> : tensor<2xf32>
  %narrow = arith.truncf %wide : tensor<2xf32> to tensor<2xf16>
  // FLOATS: shape 2
  // FLOATS-NEXT: 2143289344 1065353216
  %bits = arith.bitcast %n : tensor<2xf32> to tensor<2xi32>
  return %sum, %int, %max, %narrow, %bits : tensor<2xbf16>, tensor<3xi8>, tensor<2xf32>, tensor<2xf16>, tensor<2xi32>
}

func.func @zero(%d: index) -> index {
  %c1 = arith.constant 1 : index
  // ZERO: [[@LINE+1]]:{{.*}}error: division by zero
  %q = arith.remsi %c1, %d : index
  return %q : index
}
