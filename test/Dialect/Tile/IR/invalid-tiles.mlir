// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a register tile must have rank 2, found rank 1}}
func.func private @rank(tensor<16xf32, #tile.reg>)

// -----

// expected-error@+1 {{a register tile must have static extents in [1, 65536]}}
func.func private @dynamic(tensor<16x?xf32, #tile.reg>)

// -----

// expected-error@+1 {{a register tile must have static extents in [1, 65536]}}
func.func private @empty(tensor<16x0xf32, #tile.reg>)

// -----

// expected-error@+1 {{a register tile must have static extents in [1, 65536]}}
func.func private @huge(tensor<1000000000000x1xf32, #tile.reg>)

// -----

func.func @not_a_tile(%x: tensor<16x1xf32>) {
  // expected-error@+1 {{operand #0 must be register tile, but got 'tensor<16x1xf32>'}}
  "tile.dot"(%x, %x, %x) : (tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
  return
}

// -----

// expected-error@+1 {{tensor 'q' has rank 2 but 1 dimension names}}
#q = #launch.tensor<"q", read, tensor<?x?xf32>, ["S"], 4>

// -----

// expected-error@+1 {{dimension names of tensor 'q' must be strings}}
#q = #launch.tensor<"q", read, tensor<?xf32>, [1], 4>

// -----

// expected-error@+1 {{tensor 'q' must have integer or float elements, found 'index'}}
#q = #launch.tensor<"q", read, tensor<?xindex>, ["S"], 4>

// -----

// expected-error@+1 {{alignment of tensor 'q' must be a power of two, found 12}}
#q = #launch.tensor<"q", read, tensor<?xf32>, ["S"], 12>
