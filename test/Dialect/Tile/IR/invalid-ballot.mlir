// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @wide(%flags: tensor<1x64xi1, #tile.reg>) {
  // expected-error@+1 {{flags must be a column tile of 32, found 'tensor<1x64xi1, #tile.reg>'}}
  %bits = tile.ballot %flags : tensor<1x64xi1, #tile.reg>
  return
}

// -----

func.func @rows(%flags: tensor<32x1xi1, #tile.reg>) {
  // expected-error@+1 {{flags must be a column tile of 32, found 'tensor<32x1xi1, #tile.reg>'}}
  %bits = tile.ballot %flags : tensor<32x1xi1, #tile.reg>
  return
}
