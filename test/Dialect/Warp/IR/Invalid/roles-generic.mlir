// Roles in the generic form that the custom syntax cannot express.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

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
