// Roles that share a group of four warps.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @budgets() {
  // expected-error@+1 {{roles 'a' and 'b' share a group of 4 warps and must have the same budget, found 24 and 32}}
  warp.specialize
    role @a warps(1) regs(24) { warp.return }
    role @b warps(3) regs(32) { warp.return }
  return
}

// -----

func.func @across() {
  // expected-error@+1 {{role 'b' has warps in two groups of 4 and does not start one: it has 5 warps from warp 3 on}}
  warp.specialize
    role @a warps(3) regs(24) { warp.return }
    role @b warps(5) regs(24) { warp.return }
  return
}

// -----

func.func @rest() {
  // expected-error@+1 {{roles must have a multiple of 4 warps in all, at most 32, found 7}}
  warp.specialize
    role @a warps(4) regs(24) { warp.return }
    role @b warps(3) regs(24) { warp.return }
  return
}

// -----

func.func @none() {
  // expected-error@+1 {{role 'a' must have 1 to 32 warps, found 0}}
  warp.specialize
    role @a warps(0) regs(24) { warp.return }
    role @b warps(4) regs(24) { warp.return }
  return
}

// -----

func.func @right() {
  warp.specialize
    role @a warps(8) regs(56) { warp.return }
    role @b warps(1) regs(24) { warp.return }
    role @c warps(3) regs(24) { warp.return }
  return
}
