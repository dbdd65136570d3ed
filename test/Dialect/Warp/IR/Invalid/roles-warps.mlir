// Numbers of warps of roles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

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
  // expected-error@+1 {{roles must have a multiple of 4 warps in all, at most 32, found 36}}
  warp.specialize
    role @a warps(32) regs(24) { warp.return }
    role @b warps(4) regs(24) { warp.return }
  return
}
