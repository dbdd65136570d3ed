// New rows go to their slots; slots out of range skip a row, and other rows keep their contents.
// RUN: %python -c "import numpy as np; np.save(r'%t.k.npy', np.arange(1, 6, dtype=np.float32).reshape(5, 1, 1) * np.ones((1, 1, 2), np.float32)); np.save(r'%t.c.npy', np.zeros((2, 3, 1, 2), np.float32)); np.save(r'%t.s.npy', np.array([4, -1, 0, 6, 2], np.int64))"
// RUN: fovea-run %s --entry=slots --inputs %t.k.npy %t.c.npy %t.s.npy --outputs %t.o.npy
// RUN: %python -c "import numpy as np; print(np.load(r'%t.o.npy')[..., 0, 1].tolist())" | FileCheck %s
// CHECK: {{\[}}[3.0, 0.0, 5.0], [0.0, 1.0, 0.0]]

// Pages: sequence 0 has 2 keys before the op, so its new rows have positions 2, 3, 4; those of
// sequence 1 begin at 5, where the last is beyond its table.
// RUN: %python -c "import numpy as np; np.save(r'%t.k.npy', np.arange(1, 7, dtype=np.float32).reshape(2, 3, 1, 1) * np.ones((1, 1, 1, 2), np.float32)); np.save(r'%t.c.npy', np.zeros((4, 4, 1, 2), np.float32)); np.save(r'%t.t.npy', np.array([[3, 0], [9, 1]], np.int32)); np.save(r'%t.n.npy', np.array([2, 5], np.int32))"
// RUN: fovea-run %s --entry=paged --inputs %t.k.npy %t.c.npy %t.t.npy %t.n.npy --outputs %t.o.npy
// RUN: %python -c "import numpy as np; print(np.load(r'%t.o.npy')[..., 0, 0].tolist())" | FileCheck %s --check-prefix=PAGED
// PAGED: {{\[}}[3.0, 0.0, 0.0, 0.0], [0.0, 4.0, 5.0, 6.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]

// Two rows of one slot are an error.
// RUN: %python -c "import numpy as np; np.save(r'%t.k.npy', np.ones((3, 1, 2), np.float32)); np.save(r'%t.c.npy', np.zeros((2, 3, 1, 2), np.float32)); np.save(r'%t.s.npy', np.array([4, 1, 4], np.int64))"
// RUN: not fovea-run %s --entry=slots --inputs %t.k.npy %t.c.npy %t.s.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: append.mlir:[[# @LINE + 23]]:{{.*}} new rows must have different positions, found 4 for rows 0 and 2

// Sizes that do not fit each other, in a function that does not check them before.
// RUN: %python -c "import numpy as np; np.save(r'%t.a.npy', np.zeros((3, 1, 2), np.float32)); np.save(r'%t.b.npy', np.zeros((2, 1, 2), np.float32)); np.save(r'%t.c.npy', np.zeros((4, 2, 1, 2), np.float32)); np.save(r'%t.d.npy', np.zeros((4, 3, 1, 2), np.float32)); np.save(r'%t.s.npy', np.array([4, 1, 5], np.int64))"
// DEFINE: %{sizes} = not fovea-run %s --entry=sizes --inputs
// RUN: %{sizes} %t.a.npy %t.b.npy %t.c.npy %t.c.npy %t.s.npy 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: rows of new keys and values must have equal sizes, found 3x1 and 2x1
// RUN: %{sizes} %t.a.npy %t.a.npy %t.c.npy %t.d.npy %t.s.npy 2>&1 | FileCheck %s --check-prefix=CACHES
// CACHES: rows of both caches must have equal sizes, found 4x2x1 and 4x3x1
// RUN: %{sizes} %t.b.npy %t.b.npy %t.c.npy %t.c.npy %t.s.npy 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: new rows and slots must have equal sizes, found 2 and 3

// DEFINE: %{pages} = not fovea-run %s --entry=pages --inputs
// RUN: %python -c "import numpy as np; np.save(r'%t.p.npy', np.zeros((2, 3, 1, 2), np.float32)); np.save(r'%t.t.npy', np.zeros((3, 1), np.int32)); np.save(r'%t.n.npy', np.zeros(2, np.int32)); np.save(r'%t.m.npy', np.zeros(3, np.int32)); np.save(r'%t.e.npy', np.zeros((4, 2, 2, 2), np.float32))"
// RUN: %{pages} %t.p.npy %t.e.npy %t.t.npy %t.n.npy 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: new keys and rows of their cache must have equal sizes, found 1x2 and 2x2
// RUN: %{pages} %t.p.npy %t.c.npy %t.t.npy %t.m.npy 2>&1 | FileCheck %s --check-prefix=LENGTHS
// LENGTHS: sequences of new keys and lengths must have equal sizes, found 2 and 3
// RUN: %{pages} %t.p.npy %t.c.npy %t.t.npy %t.n.npy 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: rows of page_table and lengths must have equal sizes, found 3 and 2

func.func @slots(%k: tensor<?x1x2xf32>, %c: tensor<?x?x1x2xf32>, %s: tensor<?xi64>) -> tensor<?x?x1x2xf32> {
  // The op of the error.
  %r = attn.append (%k) to (%c) slots(%s : tensor<?xi64>) : tensor<?x1x2xf32> to tensor<?x?x1x2xf32>
  return %r : tensor<?x?x1x2xf32>
}

func.func @paged(%k: tensor<2x?x1x2xf32>, %c: tensor<?x?x1x2xf32>, %t: tensor<2x?xi32>, %n: tensor<2xi32>) -> tensor<?x?x1x2xf32> {
  %r = attn.append (%k) to (%c) page_table(%t : tensor<2x?xi32>) lengths(%n : tensor<2xi32>) : tensor<2x?x1x2xf32> to tensor<?x?x1x2xf32>
  return %r : tensor<?x?x1x2xf32>
}

func.func @sizes(%k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>, %kc: tensor<?x?x1x2xf32>, %vc: tensor<?x?x1x2xf32>, %s: tensor<?xi64>) -> (tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32>) {
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) slots(%s : tensor<?xi64>) : tensor<?x1x2xf32>, tensor<?x1x2xf32> to tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32>
  %2, %3 = attn.append (%k, %v) to (%0, %1) slots(%s : tensor<?xi64>) : tensor<?x1x2xf32>, tensor<?x1x2xf32> to tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32>
  return %2, %3 : tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32>
}

func.func @pages(%k: tensor<?x?x?x2xf32>, %c: tensor<?x?x?x2xf32>, %t: tensor<?x?xi32>, %n: tensor<?xi32>) -> tensor<?x?x?x2xf32> {
  %0 = attn.append (%k) to (%c) page_table(%t : tensor<?x?xi32>) lengths(%n : tensor<?xi32>) : tensor<?x?x?x2xf32> to tensor<?x?x?x2xf32>
  %1 = attn.append (%k) to (%0) page_table(%t : tensor<?x?xi32>) lengths(%n : tensor<?xi32>) : tensor<?x?x?x2xf32> to tensor<?x?x?x2xf32>
  return %1 : tensor<?x?x?x2xf32>
}
