// Sizes of ping-pong orders and mailboxes.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a ping-pong order must have at least one warp group, found 0}}
func.func private @f(!warp.turns<0>)

// -----

// expected-error@+1 {{a mailbox must have at least one slot, found 0}}
func.func private @f(!warp.mailbox<0>)

// -----

// expected-error@+1 {{a mailbox must have at least one slot, found -3}}
func.func private @f(!warp.mailbox<-3>)

// -----

// Each warp group needs a named barrier.
// expected-error@+1 {{the warp groups of a ping-pong order must be at most 15, found 16}}
func.func private @many_turns(!warp.turns<16>)

// -----

// expected-error@+1 {{the slots of a mailbox must be at most 32, found 4611686018427387904}}
func.func private @many_slots(!warp.mailbox<4611686018427387904>)
