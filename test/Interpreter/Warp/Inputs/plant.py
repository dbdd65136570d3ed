"""Plants a bug in roles.mlir: plant.py BUG PROGRAM prints the faulty program."""

import sys

WAIT_K = "warp.consumer_wait %pk0[%s1, %p1] : !p"
RELEASE_K = "warp.consumer_release %pk0[%s1, %p1] : !p"
WAIT_V = "warp.consumer_wait %pv0[%s1, %p1] : !p"
RELEASE_V = "warp.consumer_release %pv0[%s1, %p1] : !p"
ACQUIRE_K = "warp.producer_acquire %pk0[%s1, %p1] : !p"
ACQUIRE_V = "warp.producer_acquire %pv0[%s1, %p1] : !p"
COMMIT_K = "warp.producer_commit %pk0[%s1, %p1] : !p"
COMMIT_V = "warp.producer_commit %pv0[%s1, %p1] : !p"
ACQUIRE_M = "warp.producer_acquire %pm0[%ts, %tp] : !p"
SEND = "warp.send %w1 to %m0[%ts] : !warp.mailbox<2>"
WAIT_S = "%x = warp.dot_wait %ds : !warp.pending<!score>"

THIRD_ROLE = """
      role @third warps(4) regs(24) {
      ^bb0(%q0: !q, %k0: !k, %v0: !k, %o0: !q, %qs0: !queries, %ks0: !ring, %vs0: !ring, %pq0: !p, %pk0: !p, %pv0: !p, %pm0: !p, %m0: !warp.mailbox<2>, %t0: !warp.turns<2>, %first0: index):
        %z = arith.constant 0 : i32
        warp.consumer_wait %pk0[%z, %z] : !p
        warp.return
      }
    gpu.return"""

# Replacements of all occurrences, by bug.
BUGS = {
    "missing-release": [(RELEASE_K, "")],
    "missing-commit": [(COMMIT_V, "")],
    "missing-acquire": [(ACQUIRE_V, "")],
    "missing-wait": [(WAIT_V, "")],
    "no-copy": [("warp.copy async %v0[%c0, %c0, %j, %c0] dims [2, 3] to %vt : !k to !tile", "")],
    "wrong-phase": [(WAIT_K, WAIT_K.replace("%p1", "%s1"))],
    "wrong-producer-phase": [(ACQUIRE_K, ACQUIRE_K.replace("%p1", "%s1"))],
    "one-stage": [("%ks0[%s1]", "%ks0[%z]")],
    "stage-outside": [("%ks0[%s1]", "%ks0[%two]"), ("%one = arith.constant 1 : i32", "%one = arith.constant 1 : i32\n %two = arith.constant 2 : i32")],
    "wrong-pipeline": [(WAIT_V, "warp.consumer_wait %pq0[%ts, %tp] : !p")],
    "use-after-release": [(RELEASE_V, ""), (WAIT_V, WAIT_V + "\n" + RELEASE_V)],
    "release-before-wait": [(RELEASE_K, ""), (WAIT_S, RELEASE_K + "\n" + WAIT_S)],
    "release-twice": [(RELEASE_K, RELEASE_K + "\n" + RELEASE_K)],
    "two-producers": [(WAIT_K, ACQUIRE_K + "\n" + WAIT_K)],
    "copies-mixed": [(ACQUIRE_V, ""), (ACQUIRE_K, ACQUIRE_K + "\n" + ACQUIRE_V)],
    "never-releases": [("\n    gpu.return", THIRD_ROLE), ("regs(240)", "regs(200)")],
    "turn-not-ended": [("warp.end_turn %t0 : !warp.turns<2>", "")],
    "turn-not-begun": [("warp.begin_turn %t0 : !warp.turns<2>", "")],
    # The first group processes all keys in one ping-pong section, but the second
    # group must release the first keys before the last ones are loaded.
    "turns-deadlock": [
        ("warp.begin_turn %t0 : !warp.turns<2>", ""),
        ("warp.end_turn %t0 : !warp.turns<2>", ""),
        ("%next:5 = scf.for", "warp.begin_turn %t0 : !warp.turns<2>\n%next:5 = scf.for"),
        ("%lb = tile.broadcast", "warp.end_turn %t0 : !warp.turns<2>\n%lb = tile.broadcast"),
    ],
    "turns-of-three": [("!warp.turns<2>", "!warp.turns<3>")],
    "send-too-early": [(ACQUIRE_M, ""), (SEND, SEND + "\n" + ACQUIRE_M)],
    "receive-too-late": [("%w1 = warp.receive %m0[%ts] : !warp.mailbox<2>\n          warp.consumer_release %pm0[%ts, %tp] : !p", "warp.consumer_release %pm0[%ts, %tp] : !p\n%w1 = warp.receive %m0[%ts] : !warp.mailbox<2>")],
    "work-not-finished": [("warp.finish_work", "")],
    "copy-outside": [
        ("warp.producer_acquire %pq0[%ts, %tp] : !p", ""),
        ("warp.producer_commit %pq0[%ts, %tp] : !p", "warp.producer_acquire %pq0[%ts, %tp] : !p\nwarp.producer_commit %pq0[%ts, %tp] : !p"),
    ],
    "plain-copy": [("warp.copy async %v0", "warp.copy %v0")],
}

bug, path = sys.argv[1:]
with open(path) as file:
    text = file.read()
for old, new in BUGS[bug]:
    assert old in text, f"{path} has no '{old}'"
    text = text.replace(old, new)
print(text, end="")
