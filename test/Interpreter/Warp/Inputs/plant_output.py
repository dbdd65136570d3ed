"""Routes the output of roles.mlir through shared memory, and plants a bug:
plant_output.py BUG PROGRAM prints the program. Two programs have no bug: "query"
writes through the query's stage, "own" through a separate buffer."""

import sys

STORE = "tile.store %rounded, %o0[%c0, %c0, %row, %c0] dims [2, 3] : !weight, !q"
RELEASE = "warp.consumer_release %pq0[%ts, %tp] : !p"

LOCAL = "warp.local_store %rounded to %qt : !weight, !query"
FENCE = "warp.fence_stores %qt : !query"
COPY = "warp.copy_out async %qt to %o0[%c0, %c0, %row, %c0] dims [2, 3] : !query to !q"
WAIT = "warp.copy_out_wait %qt : !query"

#: The output in the query's stage, which is released when the copy has read it.
QUERY = [(RELEASE, ""), (STORE, "\n".join([LOCAL, FENCE, COPY, WAIT, RELEASE]))]

OWN_WAIT = "warp.copy_out_wait %os0 : !query"
#: A separate buffer for the output, with a wait before its next use.
OWN = [
    (STORE, "\n".join([OWN_WAIT] + [op.replace("%qt", "%os0") for op in (LOCAL, FENCE, COPY)])),
    ("%qs = warp.alloc : !queries", "%os = warp.alloc : !query\n%qs = warp.alloc : !queries"),
    ("captures(", "captures(%os, "),
    (": !q, !k, !k, !q, !queries", ": !query, !q, !k, !k, !q, !queries"),
    ("^bb0(%q0", "^bb0(%os0: !query, %q0"),
    ("        warp.return", "        warp.copy_out_wait written %os0 : !query\n        warp.return"),
]

# The correct program, and the replacements that plant the bug.
BUGS = {
    "query": (QUERY, []),
    "own": (OWN, []),
    "no-fence": (QUERY, [(FENCE, "")]),
    "fence-too-early": (QUERY, [(FENCE + "\n", ""), (LOCAL, FENCE + "\n" + LOCAL)]),
    "no-wait": (QUERY, [(WAIT, "")]),
    "wait-too-late": (QUERY, [(WAIT + "\n" + RELEASE, RELEASE + "\n" + WAIT)]),
    "store-after-release": (QUERY, [("\n" + RELEASE, ""), (LOCAL, RELEASE + "\n" + LOCAL)]),
    "store-under-dot": (QUERY, [(LOCAL + "\n", ""), ("%x = warp.dot_wait %ds", LOCAL.replace("%rounded", "%old") + "\n%x = warp.dot_wait %ds"),
                                ("%ds = warp.dot", "%old = arith.constant dense<1.0> : !weight\n%ds = warp.dot")]),
    "nothing-stored": (OWN, [(LOCAL.replace("%qt", "%os0"), "")]),
    "no-wait-before-store": (OWN, [(OWN_WAIT, "", 1)]),
    "no-wait-at-end": (OWN, [("warp.copy_out_wait written %os0 : !query", "")]),
    "into-keys": (QUERY, [(LOCAL, "%kz = warp.stage %ks0[%z] : !ring to !tile\n%part = arith.constant dense<0.0> : tensor<64x64xbf16, #tile.reg>\nwarp.local_store %part to %kz : tensor<64x64xbf16, #tile.reg>, !tile\n" + LOCAL)]),
}

bug, path = sys.argv[1:]
with open(path) as file:
    text = file.read()
right, wrong = BUGS[bug]
for old, new, *count in right + wrong:
    assert old in text, f"{path} has no '{old}'"
    text = text.replace(old, new, *count)
# Only the compute role copies the output.
first = text.index("role @compute")
text = text[:first].replace("        warp.copy_out_wait written %os0 : !query\n", "") + text[first:]
print(text, end="")
