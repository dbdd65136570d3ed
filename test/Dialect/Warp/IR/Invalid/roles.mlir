// Names and arguments of roles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

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
