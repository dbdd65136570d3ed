// Values that do not fit the op, and functions that cannot be executed: each
// diagnosed at its location.
// DEFINE: %{run} = not fovea-run %s
// RUN: %{run} --entry=cast --random=1 --dims arg0.0=4 2>&1 | FileCheck %s --check-prefix=CAST
// RUN: %{run} --entry=slice --inputs 3 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: %{run} --entry=constant 2>&1 | FileCheck %s --check-prefix=CONSTANT
// RUN: %{run} --entry=shapes --random=1 2>&1 | FileCheck %s --check-prefix=SHAPES
// RUN: %{run} --entry=merged --random=1 --dims capture0.0=4,capture1.0=5 2>&1 | FileCheck %s --check-prefix=MERGED
// RUN: %{run} --entry=sinks --random=1 --dims arg0.1=2,arg1.0=3 2>&1 | FileCheck %s --check-prefix=SINKS
// RUN: %{run} --entry=lists --random=1 --dims arg0.1=3,arg1.1=2,arg1.2=9,arg2.1=2,arg2.2=9,arg2.3=1 2>&1 | FileCheck %s --check-prefix=LISTS
// RUN: %{run} --entry=scales --random=1 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: %{run} --entry=pages --random=1 --dims arg0.2=3 2>&1 | FileCheck %s --check-prefix=PAGES
// RUN: %python %S/Inputs/npy.py write %t.q.npy f32 "np.zeros((1, 1, 8, 8))"
// RUN: %python %S/Inputs/npy.py write %t.k.npy f32 "np.zeros((4, 1, 2, 8))"
// RUN: %python %S/Inputs/npy.py write %t.table.npy i32 "[[0, 1]]"
// RUN: %python %S/Inputs/npy.py write %t.n.npy i32 "[5]"
// RUN: %{run} --entry=table --inputs %t.q.npy %t.k.npy %t.table.npy %t.n.npy 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: %{run} --entry=memory 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: %{run} --entry=cast --random=1 --dims arg0.0=5 --scalars x=3 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: printf '\x93NUMPY\x09\x00\x00\x00' > %t.version.npy
// RUN: %{run} --entry=cast --inputs %t.version.npy 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: {{.*}}version.npy: unknown .npy format 9, expected 1 to 3
// RUN: %python %S/Inputs/npy.py write %t.two.npy i64 "[5, 6]"
// RUN: %{run} --entry=slice --inputs %t.two.npy 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: {{.*}}two.npy: 'arg0' is a scalar, found 2 elements
// SCALAR: error: no scalar is named 'x'

func.func @cast(%x: tensor<?xf32>) -> tensor<5xf32> {
  // CAST: errors-values.mlir:[[@LINE+1]]:{{.*}}error: cast to 'tensor<5xf32>' of a tensor with extent 4 where 5 is expected
  %y = tensor.cast %x : tensor<?xf32> to tensor<5xf32>
  return %y : tensor<5xf32>
}

func.func @slice(%i: index) -> tensor<2xi32> {
  %x = arith.constant dense<1> : tensor<4xi32>
  // SLICE: errors-values.mlir:[[@LINE+1]]:{{.*}}error: slice of dimension 0 lies outside [0, 4)
  %y = tensor.extract_slice %x[%i] [2] [1] : tensor<4xi32> to tensor<2xi32>
  return %y : tensor<2xi32>
}

func.func @constant() -> tensor<4xf32> {
  // CONSTANT: errors-values.mlir:[[@LINE+1]]:{{.*}}error: cannot execute a constant of 'tensor<4xf32>'
  %x = arith.constant sparse<[[1]], [2.0]> : tensor<4xf32>
  return %x : tensor<4xf32>
}

func.func @shapes(%q: tensor<1x1x8x8xf32>, %t: tensor<5xf32>, %u: tensor<5xf32>) -> tensor<1x1x8x8xf32> {
  %o = attn.forward %q, %q, %q captures(%t, %u : tensor<5xf32>, tensor<5xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %v: tensor<5xf32>, %w: tensor<5xf32>) {
      %c0 = arith.constant 0 : index
      %sees = arith.cmpi sge, %i, %j : index
      // SHAPES: errors-values.mlir:[[@LINE+1]]:{{.*}}error: operands of 'arith.select' have incompatible shapes
      %x = arith.select %sees, %v, %w : tensor<5xf32>
      %y = tensor.extract %x[%c0] : tensor<5xf32>
      attn.yield %y : f32
    } : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  return %o : tensor<1x1x8x8xf32>
}

func.func @merged(%q: tensor<1x1x8x8xf32>, %t: tensor<?xf32>, %u: tensor<?xf32>) -> tensor<1x1x8x8xf32> {
  %o = attn.forward %q, %q, %q captures(%t, %u : tensor<?xf32>, tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %v: tensor<?xf32>, %w: tensor<?xf32>) {
      %c0 = arith.constant 0 : index
      %sees = arith.cmpi sge, %i, %j : index
      // MERGED: errors-values.mlir:[[@LINE+1]]:{{.*}}error: cannot merge the two values of result #0
      %x = scf.if %sees -> tensor<?xf32> {
        scf.yield %v : tensor<?xf32>
      } else {
        scf.yield %w : tensor<?xf32>
      }
      %y = tensor.extract %x[%c0] : tensor<?xf32>
      attn.yield %y : f32
    } : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  return %o : tensor<1x1x8x8xf32>
}

// With two ops, dimension names do not relate inputs.
func.func @sinks(%q: tensor<1x?x8x8xf32>, %s: tensor<?xf32>) -> (tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>) {
  // SINKS: errors-values.mlir:[[@LINE+1]]:{{.*}}error: 'sinks' must have 2 entries, found 3
  %o = attn.forward %q, %q, %q sinks(%s : tensor<?xf32>) : tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32> -> tensor<1x?x8x8xf32>
  %p = attn.forward %o, %q, %q : tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32> -> tensor<1x?x8x8xf32>
  return %o, %p : tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>
}

func.func @lists(%q: tensor<1x?x8x8xf32>, %n: tensor<1x?x?xi32>, %i: tensor<1x?x?x?xi32>) -> (tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>) {
  // LISTS: errors-values.mlir:[[@LINE+1]]:{{.*}}error: 'partial_count' must have lists for 1 or 1 batch entries and 1 or 3 heads, found 1 and 2
  %o = attn.forward %q, %q, %q blocks(%n, %i : tensor<1x?x?xi32>, tensor<1x?x?x?xi32>, size = [8, 8]) : tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32> -> tensor<1x?x8x8xf32>
  %p = attn.forward %o, %q, %q : tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32> -> tensor<1x?x8x8xf32>
  return %o, %p : tensor<1x?x8x8xf32>, tensor<1x?x8x8xf32>
}

!k = tensor<4x1x?x8xf32>
func.func @pages(%k: !k, %table: tensor<1x2xi32>, %n: tensor<1xi32>) -> (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) {
  %q = arith.constant dense<0.0> : tensor<1x1x8x8xf32>
  // PAGES: errors-values.mlir:[[@LINE+1]]:{{.*}}error: pages must have 2 rows, found 3
  %o = attn.forward %q, %k, %k paged(%table, %n : tensor<1x2xi32>, tensor<1xi32>, page = 2) : tensor<1x1x8x8xf32>, !k, !k -> tensor<1x1x8x8xf32>
  %p = attn.forward %o, %q, %q : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  return %o, %p : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>
}

!e = tensor<?x1x8x16xf8E4M3FN>
func.func @scales(%three: tensor<3x1x8x16xf8E4M3FN>, %two: tensor<2x1xf32>) -> tensor<?x1x8x16xbf16> {
  %q = tensor.cast %three : tensor<3x1x8x16xf8E4M3FN> to !e
  %scale = tensor.cast %two : tensor<2x1xf32> to tensor<?x1xf32>
  // SCALES: errors-values.mlir:[[@LINE+1]]:{{.*}}error: 'q_scale' must have 1 or 3 entries for sequences and 1 or 1 for key heads, found 2 and 1
  %o = attn.forward %q, %q, %q scales(%scale : tensor<?x1xf32>, names = ["q"]) : !e, !e, !e -> tensor<?x1x8x16xbf16>
  return %o : tensor<?x1x8x16xbf16>
}

func.func @table(%q: tensor<1x1x8x8xf32>, %k: tensor<4x1x2x8xf32>, %table: tensor<1x2xi32>, %n: tensor<1xi32>) -> tensor<1x1x8x8xf32> {
  // TABLE: errors-values.mlir:[[@LINE+1]]:{{.*}}error: batch entry 0 has 5 keys, but its row of the table holds 4
  %o = attn.forward %q, %k, %k paged(%table, %n : tensor<1x2xi32>, tensor<1xi32>, page = 2) : tensor<1x1x8x8xf32>, tensor<4x1x2x8xf32>, tensor<4x1x2x8xf32> -> tensor<1x1x8x8xf32>
  return %o : tensor<1x1x8x8xf32>
}

// MEMORY: errors-values.mlir:[[@LINE+1]]:{{.*}}error: cannot run a function with values of type 'memref<4xf32>'
func.func @memory(%x: memref<4xf32>) {
  return
}
