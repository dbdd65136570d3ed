// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @f(%c: tensor<16x1xi1, #tile.reg>, %x: tensor<16x64xf32, #tile.reg>) {
  // expected-error@+1 {{inits, body arguments and results must have the same types}}
  %r = tile.if_any %c init(%x : tensor<16x64xf32, #tile.reg>) : tensor<16x1xi1, #tile.reg> {
    tile.yield %x : tensor<16x64xf32, #tile.reg>
  }
  return
}

// -----

func.func @f(%c: tensor<16x1xi1, #tile.reg>, %x: tensor<8x64xf32, #tile.reg>) {
  // expected-error@+1 {{inits must have the condition's 16 rows, found 'tensor<8x64xf32, #tile.reg>'}}
  %r = tile.if_any %c init(%x : tensor<8x64xf32, #tile.reg>) : tensor<16x1xi1, #tile.reg> {
  ^bb0(%a: tensor<8x64xf32, #tile.reg>):
    tile.yield %a : tensor<8x64xf32, #tile.reg>
  }
  return
}

// -----

func.func @f(%c: tensor<16x1xi1, #tile.reg>, %x: tensor<16x64xf32, #tile.reg>) {
  %r = tile.if_any %c init(%x : tensor<16x64xf32, #tile.reg>) : tensor<16x1xi1, #tile.reg> {
  ^bb0(%a: tensor<16x64xf32, #tile.reg>):
    // expected-error@+1 {{must yield ('tensor<16x64xf32, #tile.reg>'), found ('tensor<16x1xi1, #tile.reg>')}}
    tile.yield %c : tensor<16x1xi1, #tile.reg>
  }
  return
}

// -----

func.func @f(%c: tensor<16x1xi1, #tile.reg>) {
  // expected-error@+1 {{expects a non-empty block}}
  "tile.if_any"(%c) ({
  ^bb0:
  }) : (tensor<16x1xi1, #tile.reg>) -> ()
  return
}

// -----

func.func @f(%c: tensor<16x1xi1, #tile.reg>, %x: i32) {
  "tile.if_any"(%c) ({
    // expected-error@+1 {{block with no terminator}}
    %y = arith.addi %x, %x : i32
  }) : (tensor<16x1xi1, #tile.reg>) -> ()
  return
}

// -----

func.func @f(%c: tensor<16x1xi1, #tile.reg>) {
  tile.if_any %c : tensor<16x1xi1, #tile.reg> {
    // expected-error@+1 {{must be tile.yield to end tile.if_any}}
    llvm.unreachable
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects parent op to be one of 'tile.foreach_work, tile.softmax_sum, tile.for_blocks, tile.if_any, tile.take_share, tile.join'}}
  tile.yield
}
