"""Counts the iterations in which a role changes its accumulators.

    count_updates.py ROLE COLUMNS < TRACE

Reads a trace written by foveaTrace. Between the wait for a stage and its release, loading 128 rows
of COLUMNS columns counts once per element, and so does scaling them. The last iteration loads the
loop's results; the others change the accumulator or only pass it on.
"""

import json
import sys

role, columns = sys.argv[1], int(sys.argv[2])
trace = json.load(sys.stdin)
assert trace["complete"]
(agent,) = [n for n, one in enumerate(trace["agents"]) if one["role"] == role]

rounds = {}
held, done = None, 0
for kind, who, *numbers in trace["events"]:
    if who != agent:
        continue
    if kind == "wait":
        held, done = numbers[0], 0
    elif kind == "compute":
        done += numbers[0]
    elif kind == "release" and numbers[0] == held:
        rounds.setdefault(held, []).append(done)
        held = None

size = 128 * columns
# The final scale of the rows is read once, and released after the product with it.
outputs = [each for each in rounds.values() if len(each) > 1 and each[-1] >= size]
for *changes, last in outputs:
    assert last == size, "the last iteration only loads"
    print(f"{sum(one == 2 * size for one in changes)} of {len(changes)} rounds change the output")
