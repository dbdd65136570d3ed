"""Makes the fenced mlir examples of Markdown pages into whole programs.

An example may be a fragment: undefined values get a placeholder definition. Their types come
from the parser's errors, which name the expected type of a placeholder.
"""

import re

FENCE = re.compile(r"^```mlir\n(.*?)^```", re.MULTILINE | re.DOTALL)
UNDECLARED = re.compile(r"error: use of undeclared SSA value name")
WRONG_TYPE = re.compile(
    r"error: use of value '%(?P<name>[\w$.-]+)' expects different type than prior uses: "
    r"'(?P<wanted>.*)' vs '(?P<given>.*)'"
)
LOCATION = re.compile(r"<stdin>:(\d+):(\d+): error: ")
# Verifier errors that a fragment can't avoid, since its context is missing.
SURROUNDINGS = re.compile(r"expects parent op|is only valid inside|no kernel is named")

HEADER = "func.func @example() {\n"
FOOTER = "  return\n}\n"
# A region of attn.forward alone is completed to an op with that region.
CLAUSE = re.compile(r"\s*(score_mod|mask_mod|kv_bounds)\s*\(")
FORWARD = "%o = attn.forward %q, %k, %v {} : {t}, {t}, {t} -> {t}\n"
MODULE_LEVEL = re.compile(r"^(module|gpu\.module|func\.func|launch\.(?:abi|binary)|#|!)", re.MULTILINE)
# Type aliases, which precede a fragment's function.
ALIASES = re.compile(r"(?:^![\w.-]+ = .*\n)*", re.MULTILINE)


def examples(text):
    """(line number, source) of every fenced mlir block."""
    for match in FENCE.finditer(text):
        yield text.count("\n", 0, match.start()) + 2, match.group(1)


# "..." alone on a line stands for irrelevant ops.
ELLIPSIS = re.compile(r"^\s*\.\.\.\s*$\n?", re.MULTILINE)


def is_sketch(source):
    """Whether an example omits more than whole ops, as before-and-after examples of passes may: a part of a line, or
    the end of a region."""
    return "..." in ELLIPSIS.sub("", source) or source.count("{") != source.count("}")


def program(source, types):
    """The whole program around `source`, with a placeholder for each value."""
    body = ELLIPSIS.sub("", source)
    if CLAUSE.match(body):
        body = FORWARD.format(body, t="tensor<2x8x?x64xbf16>")
    body = body.lstrip("\n")
    aliases = ALIASES.match(body)[0]
    body = body[len(aliases) :]
    if not body or MODULE_LEVEL.match(body.lstrip()):
        return aliases + body
    placeholders = "".join(f'  %{name} = "example.value"() : () -> {kind}\n' for name, kind in types.items())
    ends = "" if re.search(r"^\s*(return|func\.return)\b", body, re.MULTILINE) else FOOTER
    return aliases + HEADER + placeholders + body + (ends or "}\n")


def complete(source, parse):
    """Completes `source`; `parse(program)` returns the parser's error text, "" for success.
    Returns (program, remaining error text)."""
    types = {}
    for _ in range(100):
        text = program(source, types)
        errors = parse(text)
        first = errors.split("\n")[0]
        wrong = WRONG_TYPE.search(first)
        if UNDECLARED.search(first):
            line, column = map(int, LOCATION.search(first).groups())
            name = re.match(r"%([\w$.-]+)", text.split("\n")[line - 1][column - 1 :]).group(1)
            types[name] = "none"
        elif wrong and types.get(wrong["name"]) == "none":
            # In either order, as the parser reports the second type first.
            types[wrong["name"]] = wrong["wanted"] if wrong["given"] == "none" else wrong["given"]
        else:
            return text, "" if SURROUNDINGS.search(first) else errors
    return text, errors
