"""Writes every example with Q, K and V of f8E4M3FN, and runs them like ``run_examples.py``.

    eight_bit_examples.py FOVEA_RUN EXAMPLES FOLDER LEVEL [TARGET SEEDS [PART/PARTS]]

Outputs keep their type.
"""

import pathlib
import re
import sys

from run_examples import main

WIDE = re.compile(r"x(bf16|f16)>")


def narrowed(text):
    """The program with 8-bit inputs: the types of the arguments, and those before the op's arrow."""
    names = re.search(r"attn\.forward (%\w+), (%\w+), (%\w+)", text).groups()
    for name in set(names):
        text = re.sub(rf"{re.escape(name)}: tensor<[^>]*>", lambda found: WIDE.sub("xf8E4M3FN>", found[0]), text)
    types = r":\s*(tensor<[^>]*>,\s*){2}tensor<[^>]*>\s*->"
    text, count = re.subn(types, lambda found: WIDE.sub("xf8E4M3FN>", found[0]), text)
    assert count == 1, text
    return text


if __name__ == "__main__":
    fovea_run, examples, folder, *arguments = sys.argv[1:]
    made = pathlib.Path(folder)
    made.mkdir(parents=True, exist_ok=True)
    for program in sorted(pathlib.Path(examples).glob("*.mlir")):
        (made / program.name).write_text(narrowed(program.read_text()))
    sys.exit(main(fovea_run, made, *arguments))
