"""Plants a bug into the warp program of a backward pass in roles, standard input: `wait` takes
the reducing role's wait for dS away, `release` gives dS's stage back before the product that
reads it, `delta` leaves out a copy of what each row's derivatives share."""

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
