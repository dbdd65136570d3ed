"""Lists diagnostics that no test expects: messages of lib/, tools/, include/ and python/fovea whose
words do not occur in any file of test/.

Usage: untested_diagnostics.py [EXCEPTIONS]

A message is the text that a statement writes, or each side of a `?:` in it. It counts as tested if
four consecutive words of it, or all words of a shorter text, occur in a test. Common sequences such
as "must be at least" do not count. The words alone don't make a good test, but a message whose
words don't occur has no test. EXCEPTIONS has lines `words: reason` with the first words of messages
that no test can trigger; an unnecessary exception is an error.
"""

import ast
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("lib", "tools", "include")
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|[;{}?]|\#\s*include[^\n]*|"""
    r"""::|[\w.>-]+|\s+|.""",
    re.S,
)
# Statements whose text is not a diagnostic.
OTHERS = re.compile(r"\bcl ::|\bLDBG|LLVM_DEBUG|\bassert \(|static_assert|unreachable|PipelineRegistration|register\w* \(|"
                    r"MlirOptMain|mlirTranslateMain|ParseCommandLineOptions|\bnest \(|\bissue \(|\b_exit\b")
# Assembly text, and placeholders of formats.
ASSEMBLY = re.compile(r"\$\d|^\W*@|[;{]\n|\b[a-z]+\d*\.[a-z]\w*[.:]")
HOLE = re.compile(r"%[-+0-9.*]*(?:ll|l|z|h)?[diuxXsfgcp]|%?\{[\w:!.]*\}|\n")
WINDOW = 4
# Four words that occur in at least this many messages do not identify one.
SHARED = 5


def plain(text):
    """The text with single blanks and without escapes."""
    text = re.sub(r"\\n", " ", text)
    return re.sub(r"\s+", " ", re.sub(r"\\(?=\W)|\{\{|\}\}", "", text))


def statements(text):
    """Yields (code, [(line, literal, is it a side of `?:`)]) for each statement."""
    line, code, literals, chosen, joins = 1, [], [], False, False
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in ";{}":
            yield " ".join(code), literals
            code, literals, chosen, joins = [], [], False, False
        elif token.startswith('"'):
            words = token[1:-1].encode().decode("unicode_escape")
            if joins:
                literals[-1] = (literals[-1][0], literals[-1][1] + words, literals[-1][2])
            else:
                literals.append((line, words, chosen))
            joins = True
        elif not token.isspace() and not token.startswith(("//", "/*", "#")):
            code.append(token)
            joins = False
            chosen = token == "?" or (token == ":" and "?" in code) or (chosen and token not in (",", ")", "<<", "+"))
        line += token.count("\n")
    yield " ".join(code), literals


def is_message(words):
    return " " in words.strip() and len(re.findall(r"[A-Za-z]{2,}", words)) >= 2 and not ASSEMBLY.search(words)


def compiled_messages(path):
    """Yields (line, parts) for each message of a C or C++ source."""
    for code, literals in statements(path.read_text()):
        if OTHERS.search(code):
            continue
        rest = [(line, words) for line, words, chosen in literals if not chosen]
        if any(is_message(words) for _, words in rest):
            yield rest[0][0], [words for _, words in rest]
        for line, words, chosen in literals:
            if chosen and is_message(words):
                yield line, [words]


def python_messages(path):
    """Yields (line, parts) for raised messages and for arguments of functions that raise."""
    known = set()
    for node in ast.walk(ast.parse(path.read_text())):
        named = isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", ""))
        if not isinstance(node, ast.Raise) and not (named and re.search("fail|refuse|warn|error$", named, re.I)):
            continue
        parts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if any(is_message(part) for part in parts) and node.lineno not in known:
            known.add(node.lineno)
            yield node.lineno, parts


def messages():
    """Yields (location, parts) for all messages."""
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".c", ".h"):
                for line, parts in compiled_messages(path):
                    yield f"{path.relative_to(ROOT)}:{line}", parts
    for path in sorted((ROOT / "python" / "fovea").rglob("*.py")):
        for line, parts in python_messages(path):
            yield f"{path.relative_to(ROOT)}:{line}", parts


def tested_words():
    texts = []
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix in (".mlir", ".test", ".py", ".c", ".cpp", ".ptx"):
            text = path.read_text(errors="replace")
            # Adjacent literals are one text.
            texts.append(plain(re.sub(r"""(["'])\s*\n\s*[fr]?\1""", "", text)))
    return "\n".join(texts)


def pieces_of(parts):
    return [piece for part in parts for piece in HOLE.split(plain(part)) if piece.strip()]


def windows_of(parts):
    lines = [piece.split() for piece in pieces_of(parts)]
    return {" ".join(one[n:n + WINDOW]).rstrip(",;:") for one in lines for n in range(len(one) - WINDOW + 1)}


def is_tested(parts, tests, common):
    pieces = pieces_of(parts)
    words = [piece.split() for piece in pieces]
    # Names alone are not significant words.
    longest = max(pieces, key=lambda piece: (" " in piece.strip(), len(piece))).strip()
    if max(map(len, words)) <= WINDOW and longest in tests:
        return True
    windows = windows_of(parts)
    if any(window in tests for window in windows - common or windows):
        return True
    # Words on both sides of the placeholder.
    for before, after in zip(words, words[1:]):
        if len(before[-2:] + after[:2]) > 2:
            sides = (re.escape(" ".join(side)) for side in (before[-2:], after[:2]))
            if re.search(".{0,60}?".join(sides), tests):
                return True
    return False


def main(exceptions=None):
    reasons = {}
    for line in pathlib.Path(exceptions).read_text().splitlines() if exceptions else ():
        if line and not line.startswith("#"):
            words, _, reason = line.partition(": ")
            reasons[words] = reason
    tests, used, count, failed = tested_words(), set(), 0, False
    everything = list(messages())
    counts = collections.Counter(window for _, parts in everything for window in windows_of(parts))
    common = {window for window, number in counts.items() if number > SHARED}
    for place, parts in everything:
        count += 1
        if is_tested(parts, tests, common):
            continue
        text = plain("".join(parts)).strip()
        excused = [words for words in reasons if text.startswith(words)]
        used.update(excused)
        if not excused:
            print(f"{place}: no test expects '{text}'")
            failed = True
    for words in reasons.keys() - used:
        print(f"{exceptions}: '{words}' needs no exception")
        failed = True
    print(f"{count} messages, {len(used)} exceptions")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
