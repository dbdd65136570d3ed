"""Plants a bug in flash-attention-4.mlir: plant_memory.py BUG PROGRAM prints
the faulty program."""

import sys

STORE_P = "warp.tmem_store %rounded to %p0 : !weightTile, !weights"
LOAD_S = "%x = warp.tmem_load %s0 : !scores to !scoreTile"
END_OF_MMA = "        warp.return\n      }\n      // CHECK: role @load"
DOT = "        warp.dot_into %q0, %q1, %s1 accumulate(%false) transpose_b : !shared, !shared, !scores\n"

# Replacements of all occurrences, by bug.
BUGS = {
    # The keys are released before the dots have read them.
    "release-before-dots": [("warp.release_after_dots %pkv[%vs, %vp]", "warp.consumer_release %pkv[%vs, %vp]")],
    # The stage of the scores is committed before they are computed.
    "commit-before-dots": [("warp.commit_after_dots %ps0[", "warp.producer_commit %ps0[")],
    "scores-not-waited": [("warp.consumer_wait %ps0[%z, %phase] : !one", ""), ("warp.consumer_release %ps0[%z, %phase] : !one", "")],
    "weights-not-waited": [("warp.consumer_wait %pp0[%z, %phase] : !one", ""), ("warp.release_after_dots %pp0[%z, %phase] : !one", "")],
    # P overlaps the upper half of the scores.
    "scores-after-weights": [(STORE_P, STORE_P + "\n" + LOAD_S.replace("%x", "%again"))],
    # The correction role does not release the output: the next dot cannot accumulate.
    "output-not-returned": [("warp.consumer_release %po0[%z, %last] : !one", "")],
    "no-signal": [(END_OF_MMA, DOT + END_OF_MMA)],
    "nothing-to-add-to": [("accumulate(%accumulate)", "accumulate(%true)"), ("%false = arith.constant false", "%false = arith.constant false\n%true = arith.constant true")],
}

bug, path = sys.argv[1:]
with open(path) as file:
    text = file.read()
for old, new in BUGS[bug]:
    assert old in text, f"{path} has no '{old}'"
    text = text.replace(old, new)
print(text, end="")
