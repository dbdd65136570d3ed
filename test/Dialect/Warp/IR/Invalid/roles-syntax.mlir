// Syntax errors in roles.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

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
