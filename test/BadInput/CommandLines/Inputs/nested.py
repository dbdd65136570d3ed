"""Writes files that nest deeper than any parser's stack into a folder."""

import pathlib
import sys

DEPTH = 40_000
folder = pathlib.Path(sys.argv[1])


def write(name, text):
    (folder / name).write_text(text)


def attribute(value):
    return "module attributes {arith.a = " + value + "} {}\n"


write("brackets.mlir", attribute("[" * DEPTH + "]" * DEPTH))
write("types.mlir", attribute("tuple<" * DEPTH + ">" * DEPTH))
write("open.mlir", attribute("[" * DEPTH))
write("signs.mlir", attribute("affine_map<() -> (" + "-" * DEPTH + "1)>"))
# Shallow for a parser, but exponentially large when printed.
write("aliases.mlir", "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, DEPTH)) +
      attribute(f"#a{DEPTH - 1}"))
# The maximum depth, and brackets that are not nesting.
write("good.mlir", "// " + "[" * DEPTH + "\n" + '#a = "' + "[" * DEPTH + '"\n' + attribute("[" * 500 + "]" * 500))
write("index.mlir", "module attributes {a = array<index: 1>} {}\n")
write("index-alias.mlir", "!t = index\nmodule attributes {a = array< // a comment\n  !t: 1>} {}\n")
write("table.json", '{"schedules": ' + "[" * DEPTH + "]" * DEPTH + "}")
write("pipeline.txt", "builtin.module(" + "any(" * 20_000 + ")" * 20_001)
