// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  // expected-error@+1 {{kernel must have one block}}
  gpu.func @f() kernel {
    cf.br ^end
  ^end:
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f() kernel {
    %z = arith.constant 0 : i32
    // expected-error@+1 {{the next work number is fetched in the loop over work only}}
    %w = warp.next_work %z : index
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %first = gpu.block_id x
    %same = arith.cmpi eq, %n, %c1 : index
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %stage = arith.andi %round, %one : i32
      %acc = arith.negf %zs : !scores
      %j = arith.addi %item, %c1 : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      tile.store %t, %g[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      %next = scf.if %same -> (index) {
        // expected-error@+1 {{the next work number is fetched in the loop over work only}}
        %fetched = warp.next_work %round : index
        scf.yield %fetched : index
      } else {
        scf.yield %item : index
      }
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    scf.for %again = %c0 to %n step %c1 {
      %first = gpu.block_id x
      %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
        %stage = arith.andi %round, %one : i32
        %acc = arith.negf %zs : !scores
        %j = arith.addi %item, %c1 : index
        warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
        %to = warp.stage %ks[%stage] : !staged to !buffer
        warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
        warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
        warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
        %k = warp.stage %ks[%stage] : !staged to !buffer
        %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
        %s = warp.dot_wait %i : !warp.pending<!scores>
        warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
        %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
        tile.store %t, %g[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
        // expected-error@+1 {{the next work number is fetched in the loop over work only}}
        %next = warp.next_work %round : index
        %rounds = arith.addi %round, %one : i32
        %more = arith.cmpi ult, %next, %n : index
        scf.condition(%more) %next, %rounds : index, i32
      } do {
      ^bb0(%item: index, %round: i32):
        scf.yield %item, %round : index, i32
      }
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %stage = arith.andi %round, %one : i32
      %acc = arith.negf %zs : !scores
      %j = arith.addi %item, %c1 : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      tile.store %t, %g[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      %count = arith.addi %round, %one : i32
      // expected-error@+1 {{the count of work must be carried by the loop over work}}
      %next = warp.next_work %count : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %stage = arith.andi %round, %one : i32
      %acc = arith.negf %zs : !scores
      %j = arith.addi %item, %c1 : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      tile.store %t, %g[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      // expected-error@+1 {{the count of work must be carried by the loop over work}}
      %next = warp.next_work %z : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %stage = arith.andi %round, %one : i32
      %acc = arith.negf %zs : !scores
      %j = arith.addi %item, %c1 : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      tile.store %t, %g[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      %next = warp.next_work %round : index
      // expected-error@+1 {{a kernel fetches work in one place}}
      %other = warp.next_work %round : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      // expected-error@+1 {{'warp.alloc' op must stand outside of loops and branches to be shared by roles}}
      %inner = warp.alloc : !buffer
      %stage = arith.andi %round, %one : i32
      %acc = arith.negf %zs : !scores
      %j = arith.addi %item, %c1 : index
      warp.producer_acquire %kp[%stage, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%stage] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%stage, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%stage, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%stage] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%stage, %z] : !warp.pipeline<2>
      %t = arith.truncf %s : !scores to tensor<128x64xbf16, #warp.wgmma<groups = 2>>
      tile.store %t, %g[%item, %c0] dims [0, 1] : tensor<128x64xbf16, #warp.wgmma<groups = 2>>, !memory
      %next = warp.next_work %round : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c1 = arith.constant 1 : index
    %some = arith.cmpi ult, %c1, %n : index
    scf.if %some {
      // expected-error@+1 {{'warp.pipeline' op must stand outside of loops and branches to be shared by roles}}
      %inner = warp.pipeline : !warp.pipeline<2>
    }
    gpu.return
  }
}

// -----

// A loop whose second region does something.
!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    // expected-error@+1 {{a role can't be given a part of this op}}
    %w = scf.while (%j = %c0) : (index) -> index {
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%z] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%z] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
      %more = arith.cmpi ult, %j, %n : index
      scf.condition(%more) %j : index
    } do {
    ^bb0(%j: index):
      %next = arith.addi %j, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// The copies depend on what only the other role has.
!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %m = warp.mailbox : !warp.mailbox<2>
    // expected-error@+1 {{one role needs a result that another one has}}
    %j = warp.receive %m[%z] : !warp.mailbox<2>
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%z] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%z] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
    gpu.return
  }
}

// -----

// Warps that are no whole groups.
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>,
                <"idle", warps = 2, registers = 24, owns = []>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(192) shared_memory(0) persistent(1)
  // expected-error@+1 {{'warp.specialize' op roles must have a multiple of 4 warps in all, at most 32, found 14}}
  gpu.func @f() kernel {
    gpu.return
  }
}
