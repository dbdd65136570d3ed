// RUN: fovea-opt %s --split-input-file --verify-diagnostics

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([#launch.scalar<"scale", f32>]) code("ptx") metadata("{}")
func.func @f(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{needs the scalar 'scale' of type 'f32', found none}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([#launch.scalar<"scale", f32>]) code("ptx") metadata("{}")
func.func @g(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>, %s: f64) {
  // expected-error@+1 {{needs the scalar 'scale' of type 'f32', found 'f64'}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf16>, "scale" = %s : f64) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @missing(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{has no input 'x', which '@b' reads}}
  %r = launch.call @b ins() outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @output(%x: tensor<8x64xf16>) {
  // expected-error@+1 {{has no output 'y', which '@b' writes}}
  launch.call @b ins("x" = %x : tensor<8x64xf16>) outs()
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @extra(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{kernel '@b' has no input 'z'}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf16>, "z" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @swapped(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{kernel '@b' has no output 'z'}}
  %r:2 = launch.call @b ins("x" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<8x64xf16>, "z" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>, tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @element(%x: tensor<8x64xf32>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{operand 'x' must match 'tensor<?x64xf16>', found 'tensor<8x64xf32>'}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf32>) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @size(%x: memref<8x32xf16>, %y: memref<8x64xf16>) {
  // expected-error@+1 {{operand 'x' must match 'tensor<?x64xf16>', found 'memref<8x32xf16>'}}
  launch.call @b ins("x" = %x : memref<8x32xf16>) outs("y" = %y : memref<8x64xf16>)
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @agree(%x: tensor<8x64xf16>, %y: tensor<9x64xf16>) {
  // expected-error@+1 {{dimension 'S' is 9 in operand 'y', and 8 in an earlier operand}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<9x64xf16>) -> tensor<9x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @rank(%x: tensor<64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{operand 'x' must match 'tensor<?x64xf16>', found 'tensor<64xf16>'}}
  %r = launch.call @b ins("x" = %x : tensor<64xf16>) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @unknown(%x: memref<8x64xf16>, %y: memref<8x64xf16>) {
  // expected-error@+1 {{'@unknown' must be a kernel with 'launch.abi' in a 'gpu.module', or a 'launch.binary'}}
  launch.call @unknown ins("x" = %x : memref<8x64xf16>) outs("y" = %y : memref<8x64xf16>)
  return
}

// -----

func.func @nobody() {
  // expected-error@+1 {{no kernel is named '@m::@f'}}
  launch.call @m::@f ins() outs()
  return
}

// -----

#x = #launch.tensor<"x", read, tensor<?x64xf16>, ["S", "D"], 2>
#y = #launch.tensor<"y", write, tensor<?x64xf16>, ["S", "D"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")
func.func @twice(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{names 'x' twice}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf16>, "x" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}
func.func @mixed(%x: memref<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{must have tensors or memrefs, found both}}
  %r = launch.call @b ins("x" = %x : memref<8x64xf16>) outs("y" = %y : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}
func.func @layout(%x: memref<8x64xf16, affine_map<(i, j) -> (i floordiv 2, j)>>, %y: memref<8x64xf16>) {
  // expected-error@+1 {{operand 'x' must have strides, found 'memref<8x64xf16, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>'}}
  launch.call @b ins("x" = %x : memref<8x64xf16, affine_map<(i, j) -> (i floordiv 2, j)>>) outs("y" = %y : memref<8x64xf16>)
  return
}
func.func @unranked(%x: memref<*xf16>, %y: memref<8x64xf16>) {
  // expected-error@+1 {{operand 'x' must be a ranked tensor, a memref or a scalar, found 'memref<*xf16>'}}
  launch.call @b ins("x" = %x : memref<*xf16>) outs("y" = %y : memref<8x64xf16>)
  return
}
func.func @stream(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>, %s: !llvm.ptr) {
  // expected-error@+1 {{on a stream must have memrefs, found tensors}}
  %r = launch.call @b ins("x" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<8x64xf16>) stream(%s : !llvm.ptr) -> tensor<8x64xf16>
  return
}
func.func @results(%x: tensor<8x64xf16>, %y: tensor<8x64xf16>) {
  // expected-error@+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  launch.call @b ins("x" = %x : tensor<8x64xf16>) outs("y" = %y : tensor<8x64xf16>)
  return
}
func.func @names(%x: memref<8x64xf16>, %y: memref<8x64xf16>) {
  // expected-error@+1 {{has 0 names of inputs, but 1 operands}}
  "launch.call"(%x, %y) <{kernel = @b, inputNames = [], outputNames = ["y"], operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<8x64xf16>, memref<8x64xf16>) -> ()
  return
}

// -----

// expected-error@+1 {{expected #launch.tensor attributes, found 1}}
launch.binary @b target("sm_80") tensors([1]) scalars([]) code("ptx") metadata("{}")

// -----

// expected-error@+1 {{expected #launch.scalar attributes, found 1}}
launch.binary @b target("sm_80") tensors([]) scalars([1]) code("ptx") metadata("{}")

// -----

// expected-error@+1 {{needs the kernel's code and its launch metadata}}
launch.binary @b target("sm_80") tensors([]) scalars([]) code("") metadata("{}")
