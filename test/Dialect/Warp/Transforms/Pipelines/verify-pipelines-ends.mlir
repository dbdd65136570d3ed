// Ping-pong sections end, and a kernel that fetches work finishes it.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

gpu.module @m {
  gpu.func @turn(%t: !warp.turns<2>) kernel {
    // expected-error@+1 {{no end of the ping-pong section follows in this block}}
    warp.begin_turn %t : !warp.turns<2>
    warp.begin_turn %t : !warp.turns<2>
    warp.end_turn %t : !warp.turns<2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @work(%m: !warp.mailbox<2>, %s: i32) kernel {
    // expected-error@+1 {{work is fetched, but the kernel has no 'warp.finish_work'}}
    %w = warp.fetch_work : index
    // expected-error@+1 {{sends to a slot whose stage is not acquired here}}
    warp.send %w to %m[%s] : !warp.mailbox<2>
    gpu.return
  }
}
