"""Finds that are open: what a failure's text matches, and why it is not fixed yet. A run counts
them apart. An entry goes with its fix; its program stays in corpus/."""

import re

OPEN = (
    (r"a captured tensor is of torch\.(uint8|int16)", "not traced yet"),
    (r"aten\.(flip|roll|stack|cat)\.\w+ can't be part of a kernel", "not traced yet"),
    (r"'tile.foreach_work' op of schedule '\w+' is lowered for kernels with roles only",
     "a schedule that sm_80 can't have is refused late, and without saying so"),
)


def is_known(text):
    return any(re.search(pattern, text) for pattern, _ in OPEN)
