// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @empty(%k: memref<64x64xbf16>, %i: index) {
  // expected-error @+1 {{name must be words of letters, digits and underscores with dots between them, found ""}}
  %t = tile.load "" %k[%i, %i] dims [0, 1] : memref<64x64xbf16> to tensor<64x64xbf16, #tile.reg>
  return
}

// -----

func.func @words(%t: tensor<64x64xbf16, #tile.reg>, %s: tensor<64x64xf32, #tile.reg>) {
  // expected-error @+1 {{name must be words of letters, digits and underscores with dots between them, found "a..b"}}
  %r = tile.dot "a..b" %t, %t, %s : tensor<64x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @pipeline() {
  // expected-error @+1 {{name must be words of letters, digits and underscores with dots between them, found "@k"}}
  %p = warp.pipeline "@k" : !warp.pipeline<2>
  return
}

// -----

// expected-error @+1 {{role 'a' owns names, found 1 : i64}}
#role = #tile.role<"a", warps = 4, registers = 24, owns = [1]>

// -----

// expected-error @+1 {{role 'a' must have warps and registers, found 0 and 24}}
#role = #tile.role<"a", warps = 0, registers = 24, owns = ["k"]>

// -----

// expected-error @+1 {{role 'a' must have less than 4 warps or a multiple of 4, found 6}}
#role = #tile.role<"a", warps = 6, registers = 24, owns = ["k"]>

// -----

// expected-error @+1 {{a role needs a name}}
#role = #tile.role<"", warps = 4, registers = 24, owns = ["k"]>

// -----

gpu.module @m {
  // expected-error @+1 {{roles 'a' and 'b' both own "k"}}
  tile.abi @f target("sm_90a") schedule(<tile_m = 64, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    roles([#tile.role<"a", warps = 4, registers = 24, owns = ["k"]>, #tile.role<"b", warps = 4, registers = 24, owns = ["v", "k"]>])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{two roles are named 'a'}}
  tile.abi @f target("sm_90a") schedule(<tile_m = 64, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    roles([#tile.role<"a", warps = 4, registers = 24, owns = ["k"]>, #tile.role<"a", warps = 4, registers = 24, owns = []>])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{expected #tile.role attributes, found "load"}}
  tile.abi @f target("sm_90a") schedule(<tile_m = 64, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    roles(["load"])
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{expected at least one role}}
  tile.abi @f target("sm_90a") schedule(<tile_m = 64, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
    roles([])
  gpu.func @f() kernel {
    gpu.return
  }
}
