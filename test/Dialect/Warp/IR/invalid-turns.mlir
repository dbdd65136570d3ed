// Turns and mailboxes count something.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{at least one warp group takes turns, found 0}}
func.func private @f(!warp.turns<0>)

// -----

// expected-error@+1 {{a mailbox has at least one slot, found 0}}
func.func private @f(!warp.mailbox<0>)

// -----

// expected-error@+1 {{a mailbox has at least one slot, found -3}}
func.func private @f(!warp.mailbox<-3>)
