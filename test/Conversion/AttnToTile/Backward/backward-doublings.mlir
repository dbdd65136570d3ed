// The analysis of finite multiples caches its results per value: 40 sums of a value with itself
// have 2^40 paths.
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_90a | FileCheck %s

// CHECK-LABEL: gpu.func @doublings(
// CHECK: tile.for_blocks
// The operand of tanh is not NaN, as scores are not: no select.
// CHECK-NOT: arith.cmpf une
// CHECK: tile.stream "ds"

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
func.func @doublings(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      %c = arith.constant 1.0e-12 : f32
      %0 = arith.mulf %t, %c : f32
      %1 = arith.addf %0, %0 : f32
      %2 = arith.addf %1, %1 : f32
      %3 = arith.addf %2, %2 : f32
      %4 = arith.addf %3, %3 : f32
      %5 = arith.addf %4, %4 : f32
      %6 = arith.addf %5, %5 : f32
      %7 = arith.addf %6, %6 : f32
      %8 = arith.addf %7, %7 : f32
      %9 = arith.addf %8, %8 : f32
      %10 = arith.addf %9, %9 : f32
      %11 = arith.addf %10, %10 : f32
      %12 = arith.addf %11, %11 : f32
      %13 = arith.addf %12, %12 : f32
      %14 = arith.addf %13, %13 : f32
      %15 = arith.addf %14, %14 : f32
      %16 = arith.addf %15, %15 : f32
      %17 = arith.addf %16, %16 : f32
      %18 = arith.addf %17, %17 : f32
      %19 = arith.addf %18, %18 : f32
      %20 = arith.addf %19, %19 : f32
      %21 = arith.addf %20, %20 : f32
      %22 = arith.addf %21, %21 : f32
      %23 = arith.addf %22, %22 : f32
      %24 = arith.addf %23, %23 : f32
      %25 = arith.addf %24, %24 : f32
      %26 = arith.addf %25, %25 : f32
      %27 = arith.addf %26, %26 : f32
      %28 = arith.addf %27, %27 : f32
      %29 = arith.addf %28, %28 : f32
      %30 = arith.addf %29, %29 : f32
      %31 = arith.addf %30, %30 : f32
      %32 = arith.addf %31, %31 : f32
      %33 = arith.addf %32, %32 : f32
      %34 = arith.addf %33, %33 : f32
      %35 = arith.addf %34, %34 : f32
      %36 = arith.addf %35, %35 : f32
      %37 = arith.addf %36, %36 : f32
      %38 = arith.addf %37, %37 : f32
      %39 = arith.addf %38, %38 : f32
      %40 = arith.addf %39, %39 : f32
      attn.yield %40 : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
