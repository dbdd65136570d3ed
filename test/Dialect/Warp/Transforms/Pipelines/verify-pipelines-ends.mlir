// Turns end, and work that is fetched is finished.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))'

gpu.module @m {
  gpu.func @turn(%t: !warp.turns<2>) kernel {
    // expected-error@+1 {{no end of the turn follows in this block}}
    warp.begin_turn %t : !warp.turns<2>
    warp.begin_turn %t : !warp.turns<2>
    warp.end_turn %t : !warp.turns<2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @work(%m: !warp.mailbox<2>, %s: i32) kernel {
    // expected-error@+1 {{work is fetched and never finished}}
    %w = warp.fetch_work : index
    // expected-error@+1 {{sends to a slot whose stage is not acquired here}}
    warp.send %w to %m[%s] : !warp.mailbox<2>
    gpu.return
  }
}
