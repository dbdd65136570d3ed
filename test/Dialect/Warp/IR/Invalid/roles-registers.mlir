// Register budgets of roles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

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
