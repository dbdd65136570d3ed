"""Finds that are open: what a failure's text matches, and why it is not fixed yet. A run counts
them apart. An entry goes with its fix; its program stays in corpus/."""

import re

OPEN: tuple = ()


def is_known(text):
    return any(re.search(pattern, text) for pattern, _ in OPEN)
