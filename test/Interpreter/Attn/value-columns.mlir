// Columns of K as values give the results of a V with these columns, in each layout.
// RUN: %python %S/../Inputs/npy.py write %t.q.npy f32 "np.sin(np.arange(80)).reshape(1, 2, 5, 8)"
// RUN: %python %S/../Inputs/npy.py write %t.k.npy f32 "np.cos(np.arange(48)).reshape(1, 1, 6, 8)"
// RUN: %python %S/../Inputs/npy.py write %t.v.npy f32 "np.cos(np.arange(48)).reshape(1, 1, 6, 8)[..., 2:7]"
// RUN: fovea-run %s --entry=columns --inputs %t.q.npy %t.k.npy --outputs %t.columns.npy
// RUN: fovea-run %s --entry=values --inputs %t.q.npy %t.k.npy %t.v.npy --outputs %t.values.npy
// RUN: cmp %t.columns.npy %t.values.npy
// RUN: %python %S/../Inputs/npy.py write %t.qt.npy f32 "np.sin(np.arange(80)).reshape(1, 2, 5, 8).transpose(0, 2, 1, 3)"
// RUN: %python %S/../Inputs/npy.py write %t.kt.npy f32 "np.cos(np.arange(48)).reshape(1, 1, 6, 8).transpose(0, 2, 1, 3)"
// RUN: sed '/^func.func @values/,/^}/d; s/value_columns(2, 5)/& layout(bshd)/; s/1x2x5x/1x5x2x/g; s/1x1x6x/1x6x1x/g' %s > %t.bshd.mlir
// RUN: fovea-run %t.bshd.mlir --entry=columns --inputs %t.qt.npy %t.kt.npy --outputs %t.bshd.npy
// RUN: %python -c "import numpy as np; print(np.array_equal(np.load(r'%t.bshd.npy').transpose(0, 2, 1, 3), np.load(r'%t.values.npy')))" | FileCheck %s
// CHECK: True

func.func @columns(%q: tensor<1x2x5x8xf32>, %k: tensor<1x1x6x8xf32>) -> tensor<1x2x5x5xf32> {
  %o = attn.forward %q, %k value_columns(2, 5) : tensor<1x2x5x8xf32>, tensor<1x1x6x8xf32> -> tensor<1x2x5x5xf32>
  return %o : tensor<1x2x5x5xf32>
}

func.func @values(%q: tensor<1x2x5x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x5xf32>) -> tensor<1x2x5x5xf32> {
  %o = attn.forward %q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x5xf32> -> tensor<1x2x5x5xf32>
  return %o : tensor<1x2x5x5xf32>
}
