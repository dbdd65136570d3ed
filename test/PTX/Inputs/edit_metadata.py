"""Plants faults in a kernel's launch metadata.

    edit_metadata.py IN OUT EDIT...

An edit is PLACE=JSON. A place is a path of members and indices with dots. If it begins with KIND:,
it is relative to the parameter of that kind, with KIND:TENSOR to that of the tensor. `*` selects
every entry. PLACE@PLACE swaps two. An edited place must exist, and the edit must change it.
"""

import json
import sys


def find(metadata, place):
    """The containers and keys that a place names."""
    path, holders = place.split("."), [metadata]
    if ":" in path[0]:
        kind, tensor = path.pop(0).split(":")
        parameters = metadata["parameters"] + [p for k in metadata.get("prologue", []) + metadata.get("epilogue", []) for p in k["parameters"]]
        holders = [p for p in parameters if p["kind"] == kind and tensor in ("", p.get("tensor"))]
    for step in path[:-1]:
        holders = [entry for h in holders for entry in (h if step == "*" else [h[int(step) if isinstance(h, list) else step]])]
    assert holders, f"nothing is at '{place}'"
    return [(h, int(path[-1]) if isinstance(h, list) else path[-1]) for h in holders]


def main(source, result, *edits):
    with open(source) as file:
        metadata = json.load(file)
    for edit in edits:
        if "=" not in edit:
            ((left, a),), ((right, b),) = (find(metadata, place) for place in edit.split("@"))
            assert left[a] != right[b], edit
            left[a], right[b] = right[b], left[a]
            continue
        place, value = edit.split("=", 1)
        for holder, key in find(metadata, place):
            new = json.loads(value)
            assert holder[key] != new, f"'{place}' is {new} already"
            holder[key] = new
    with open(result, "w") as file:
        json.dump(metadata, file)


main(*sys.argv[1:])
