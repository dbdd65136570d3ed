// Inputs without defined semantics are diagnosed at their location.
// RUN: not fovea-run %s --entry=table --inputs %t.none --random=1 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not fovea-run %s --entry=table --random=1 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not fovea-run %s --entry=unknown --random=1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not fovea-run %s --entry=gpu --random=1 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not fovea-run %s --entry=types 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: not fovea-run %s --entry=room 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: not fovea-run %s --entry=batches --random=1 --dims arg0.0=2,arg1.0=1 2>&1 | FileCheck %s --check-prefix=BATCHES
// BOTH: error: --random and --inputs are mutually exclusive

func.func @table(%q: tensor<1x1x8x8xf32>, %t: tensor<4xf32>) -> tensor<1x1x8x8xf32> {
  %o = attn.forward %q, %q, %q captures(%t : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %u: tensor<4xf32>) {
      %c1 = arith.constant 1 : index
      %next = arith.addi %i, %c1 : index
      // TABLE: errors.mlir:[[@LINE+1]]:{{.*}}error: index of dimension 0 lies outside [0, 4), found 4
      %x = tensor.extract %u[%next] : tensor<4xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  return %o : tensor<1x1x8x8xf32>
}

func.func @unknown(%q: tensor<4xf32>) -> tensor<4xf32> {
  // UNKNOWN: errors.mlir:[[@LINE+1]]:{{.*}}error: the interpreter cannot execute 'tensor.insert_slice'
  %e = tensor.insert_slice %q into %q[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
  return %e : tensor<4xf32>
}

func.func @gpu() -> index {
  // GPU: errors.mlir:[[@LINE+1]]:{{.*}}error: 'gpu.block_id' is executed outside a kernel
  %i = gpu.block_id x
  return %i : index
}

func.func @types() -> index {
  // TYPES: errors.mlir:[[@LINE+1]]:{{.*}}error: the interpreter has no values of type 'i7'
  %x = arith.constant 3 : i7
  %y = arith.index_cast %x : i7 to index
  return %y : index
}

func.func @room() -> index {
  // ROOM: errors.mlir:[[@LINE+1]]:{{.*}}error: the interpreter has no memory for 'tensor<1000000x1000000xf32>'
  %x = arith.constant dense<0.0> : tensor<1000000x1000000xf32>
  %c0 = arith.constant 0 : index
  return %c0 : index
}

// With several ops, dimension names do not relate inputs.
func.func @batches(%q: tensor<?x1x8x8xf32>, %k: tensor<?x1x8x8xf32>) -> (tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32>) {
  // BATCHES: errors.mlir:[[@LINE+1]]:{{.*}}error: query and key must have the same batch size, found 2 and 1
  %o = attn.forward %q, %k, %k : tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32> -> tensor<?x1x8x8xf32>
  %p = attn.forward %o, %k, %k : tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32> -> tensor<?x1x8x8xf32>
  return %o, %p : tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32>
}
