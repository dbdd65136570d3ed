// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{at least one warp group takes turns, found 0}}
func.func private @f(!warp.turns<0>)

// -----

// expected-error@+1 {{a mailbox has at least one slot, found 0}}
func.func private @f(!warp.mailbox<0>)

// -----

// expected-error@+1 {{a mailbox has at least one slot, found -3}}
func.func private @f(!warp.mailbox<-3>)

// -----

// expected-error@+1 {{'groups' must be in [1, 8], found 0}}
func.func private @f(tensor<64x16xf32, #warp.wgmma<groups = 0>>)

// -----

// expected-error@+1 {{'groups' must be in [1, 8], found 9}}
func.func private @f(tensor<64x16xf32, #warp.wgmma<groups = 9>>)

// -----

// expected-error@+1 {{rows must be 1 or a multiple of 128 for 8 warps, found 64}}
func.func private @f(tensor<64x16xf32, #warp.wgmma<groups = 2>>)

// -----

// expected-error@+1 {{rows must be 1 or 128 for 2 warp groups, found 256}}
func.func private @f(tensor<256x16xf32, #warp.wgmma<groups = 2>>)

// -----

// expected-error@+1 {{columns must be 1 or a multiple of 8, found 12}}
func.func private @f(tensor<128x12xf32, #warp.wgmma<groups = 2>>)

// -----

// expected-error@+1 {{rank 2}}
func.func private @f(tensor<128xf32, #warp.wgmma<groups = 2>>)

// -----

func.func @f() {
  // expected-error@+1 {{'warp.specialize' op needs at least one role}}
  warp.specialize
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{two roles are named 'a'}}
  warp.specialize
    role @a warps(4) regs(24) { warp.return }
    role @a warps(4) regs(24) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have 1 to 32 warps, found -4}}
  warp.specialize
    role @a warps(-4) regs(24) {
    warp.return
    }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have 1 to 32 warps, found 36}}
  warp.specialize
    role @a warps(36) regs(24) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have 1 to 32 warps, found 4611686018427387904}}
  warp.specialize
    role @a warps(4611686018427387904) regs(24) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have a multiple of 8 registers in [24, 256], found 16}}
  warp.specialize
    role @a warps(4) regs(16) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have a multiple of 8 registers in [24, 256], found 25}}
  warp.specialize
    role @a warps(4) regs(25) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have a multiple of 8 registers in [24, 256], found 264}}
  warp.specialize
    role @a warps(4) regs(264) { warp.return }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must have a multiple of 8 registers in [24, 256], found -8}}
  warp.specialize
    role @a warps(4) regs(-8) {
    warp.return
    }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{roles must have a multiple of 4 warps in all, at most 32, found 36}}
  warp.specialize
    role @a warps(32) regs(24) { warp.return }
    role @b warps(4) regs(24) { warp.return }
  return
}

// -----

func.func @f(%t: tensor<128x64xf32, #warp.wgmma<groups = 2>>) {
  // expected-error@+1 {{a register tile can't be captured, found 'tensor<128x64xf32, #warp.wgmma<groups = 2>>'}}
  warp.specialize captures(%t : tensor<128x64xf32, #warp.wgmma<groups = 2>>)
    role @a warps(4) regs(24) {
  ^bb0(%x: tensor<128x64xf32, #warp.wgmma<groups = 2>>):
    warp.return
    }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{role 'a' must have one argument for each capture, of its type}}
  warp.specialize captures(%n : index)
    role @a warps(4) regs(24) { warp.return }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error@+1 {{role 'b' must have one argument for each capture, of its type}}
  warp.specialize captures(%n : index)
    role @a warps(4) regs(24) {
  ^bb0(%x: index):
    warp.return
    }
    role @b warps(4) regs(24) {
  ^bb0(%x: i32):
    warp.return
    }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{role 'a' must end with 'warp.return'}}
  warp.specialize
    role @a warps(4) regs(24) {
    llvm.unreachable
    }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{needs a name, a number of warps and a budget for each of its 1 roles}}
  "warp.specialize"() <{names = ["a"], warps = array<i64: 4, 4>, registers = array<i64: 24>}> ({
    warp.return
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{needs a name, a number of warps and a budget for each of its 1 roles}}
  "warp.specialize"() <{names = ["a", "b"], warps = array<i64: 4>, registers = array<i64: 24>}> ({
    warp.return
  }) : () -> ()
  return
}

// -----

func.func @f(%t: !warp.turns<2>) {
  warp.specialize
    role @a warps(4) regs(24) {
      // expected-error@+1 {{use of undeclared SSA value name}}
      warp.begin_turn %t : !warp.turns<2>
      warp.return
    }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'warp.return' op expects parent op 'warp.specialize'}}
  warp.return
}

// -----

func.func @f() {
  warp.specialize
    // expected-error@+1 {{expected 'warps'}}
    role @a regs(24) warps(4) {
      warp.return
    }
  return
}

// -----

func.func @f() {
  warp.specialize
    // expected-error@+1 {{expected integer value}}
    role @a warps(four) regs(24) {
      warp.return
    }
  return
}

// -----

func.func @f(%q: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %b: memref<64x64xbf16, #warp.shared<row_bytes = 128>>, %c: tensor<128x64xf32, #warp.wgmma<groups = 2>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "warp.dot"(%q, %b, %c) <{async, transposeB}> : (memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<128x64xf32, #warp.wgmma<groups = 2>>) -> tensor<128x64xf32, #warp.wgmma<groups = 2>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "warp.dot_wait"(%t) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) -> tensor<128x32xf32, #warp.wgmma<groups = 2>>
  return
}

// -----

func.func @f(%t: tensor<128x64xf32, #warp.wgmma<groups = 2>>) {
  // expected-error@+1 {{a wait needs the result of an async dot}}
  %0 = warp.dot_wait %t : tensor<128x64xf32, #warp.wgmma<groups = 2>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>, %x: tensor<128x64xbf16, #warp.wgmma<groups = 2>>) {
  // expected-error@+1 {{operand #1 must be variadic of}}
  %0 = warp.dot_wait %t above(%x : tensor<128x64xbf16, #warp.wgmma<groups = 2>>) : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<4xf32>>) {
  // expected-error@+1 {{result #0 must be}}
  %0 = warp.dot_wait %t : !warp.pending<tensor<4xf32>>
  return
}

// -----

func.func @f(%t: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) {
  // expected-error@+1 {{operand #0 must be floating-point-like}}
  %0 = arith.addf %t, %t : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{8 columns from column -8 on are not all among the source's 32}}
  %0 = warp.extract_columns %s from -8 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{8 columns from column 32 on are not all among the source's 32}}
  %0 = warp.extract_columns %s from 32 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{40 columns from column 0 on are not all among the source's 32}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<64x40xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{are not all among the source's 32}}
  %0 = warp.extract_columns %s from 9223372036854775807 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{result must have the source's rows, elements and layout, found}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<32x8xf32, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{result must have the source's rows, elements and layout, found}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<64x8xbf16, #tile.reg>
  return
}

// -----

func.func @f(%s: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{result must have the source's rows, elements and layout, found}}
  %0 = warp.extract_columns %s from 0 : tensor<64x32xf32, #tile.reg> to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<64x32xf32, #tile.reg>) {
  // expected-error@+1 {{parts have 64 columns, the result 72}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<64x32xf32, #tile.reg> to tensor<64x72xf32, #tile.reg>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<32x32xf32, #tile.reg>) {
  // expected-error@+1 {{parts must have the result's rows, elements and layout, found}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<32x32xf32, #tile.reg> to tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<64x32xbf16, #tile.reg>) {
  // expected-error@+1 {{parts must have the result's rows, elements and layout, found}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<64x32xbf16, #tile.reg> to tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @f(%p0: tensor<64x32xf32, #tile.reg>, %p1: tensor<64x32xf32, #warp.mma_sync<warps = 4>>) {
  // expected-error@+1 {{parts must have the result's rows, elements and layout, found}}
  %0 = warp.concat_columns %p0, %p1 : tensor<64x32xf32, #tile.reg>, tensor<64x32xf32, #warp.mma_sync<warps = 4>> to tensor<64x64xf32, #tile.reg>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{parts have 0 columns, the result 8}}
  %0 = "warp.concat_columns"() : () -> tensor<64x8xf32, #tile.reg>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'warp.dot' op expected 3 or more operands, but found 0}}
  %0 = "warp.dot"() : () -> tensor<128x64xf32, #tile.reg>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects a non-empty block}}
  "warp.specialize"() <{names = ["a"], warps = array<i64: 4>, registers = array<i64: 24>}> ({
  ^bb0:
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{region #0 ('roles') failed to verify constraint: region with 1 blocks}}
  warp.specialize
    role @a warps(4) regs(24) {
    }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects region #0 to have 0 or 1 blocks}}
  "warp.specialize"() <{names = ["a"], warps = array<i64: 4>, registers = array<i64: 24>}> ({
    warp.return
  ^bb1:
    warp.return
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{attribute 'names' failed to satisfy constraint: string array attribute}}
  "warp.specialize"() <{names = [4], warps = array<i64: 4>, registers = array<i64: 24>}> ({
    warp.return
  }) : () -> ()
  return
}
