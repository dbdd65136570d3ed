// The straightforward evaluation with f16 inputs and outputs, compared with
// numpy: scores in f32, probabilities rounded to f16, sums in f32, output in
// f16.
// RUN: rm -rf %t && mkdir %t
// RUN: fovea-run %s --random=5 --save-inputs=%t --outputs %t/o.npy %t/lse.npy
// RUN: %python %S/../Inputs/straightforward.py %t | FileCheck %s
// CHECK: largest difference in ulp: {{0|1}}{{$}}
func.func @f(%q: tensor<2x3x50x16xf16>, %k: tensor<2x3x40x16xf16>, %v: tensor<2x3x40x16xf16>)
    -> (tensor<2x3x50x16xf16>, tensor<2x3x50xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    : tensor<2x3x50x16xf16>, tensor<2x3x40x16xf16>, tensor<2x3x40x16xf16> -> tensor<2x3x50x16xf16>, tensor<2x3x50xf32>
  return %o, %lse : tensor<2x3x50x16xf16>, tensor<2x3x50xf32>
}
