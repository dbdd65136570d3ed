// Ping-pong sections of the warp groups of one role.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

gpu.module @m {
  gpu.func @turns_of_two_roles() kernel {
    %T = warp.turns : !warp.turns<2>
    warp.specialize captures(%T : !warp.turns<2>)
      role @a warps(8) regs(120) {
      ^bb0(%t: !warp.turns<2>):
        warp.begin_turn %t : !warp.turns<2>
        warp.end_turn %t : !warp.turns<2>
        warp.return
      }
      role @b warps(8) regs(120) {
      ^bb0(%t: !warp.turns<2>):
        // expected-error@+2 {{a ping-pong order belongs to one role, found role @a and role @b}}
        // expected-note@+1 {{in warp group 0 of role @b}}
        warp.begin_turn %t : !warp.turns<2>
        warp.end_turn %t : !warp.turns<2>
        warp.return
      }
    gpu.return
  }
}
