"""Open findings: a pattern for the failure's text, and the reason why it is not fixed yet. A run
counts them separately. An entry is removed with its fix; its program stays in corpus/.
"""

import re

OPEN: tuple = ()


def is_known(text):
    return any(re.search(pattern, text) for pattern, _ in OPEN)
