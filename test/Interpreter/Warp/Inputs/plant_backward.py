"""Plants a bug in the warp program of a backward pass with roles on standard input: `wait` removes
the reducing role's wait for dS, `release` releases the stage of dS before the dot that reads it,
`delta` omits a copy of delta."""

import sys


def find(lines, text, start=0):
    return next(i for i in range(start, len(lines)) if text in lines[i])


def plant(text, bug):
    start = text.index("role @load" if bug == "delta" else "role @reduce")
    lines = text[start:].split("\n")
    if bug == "delta":
        del lines[find(lines, 'warp.copy async "delta"')]
        return text[:start] + "\n".join(lines)
    dot = find(lines, 'warp.dot "dq')
    if bug == "wait":
        del lines[max(i for i in range(dot) if "warp.consumer_wait" in lines[i])]
    else:
        lines.insert(dot, lines.pop(find(lines, "warp.consumer_release", dot)))
    return text[:start] + "\n".join(lines)


print(plant(sys.stdin.read(), sys.argv[1]))
