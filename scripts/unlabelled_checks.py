"""Lists lit tests that check a printed program without CHECK-LABEL lines: FileCheck may then match
a line of another function than the intended one.

Usage: unlabelled_checks.py [FILE...]

Only calls of FileCheck whose input is a program count: MLIR, LLVM IR or PTX. (Other output of
tools, numbers and listings have no functions.) If the test expects more of it than diagnostics, its
prefixes must have a `-LABEL` line; if it expects lines of two or more functions in the test, each
one needs its own `-LABEL`, before its end.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRINTERS = re.compile(r"\s*(?:env (?:\S+=\S+ )+)?(?:fovea-opt|fovea-compile|fovea-reduce|fovea-translate|mlir-opt|mlir-translate)\s")
# Calls of these tools that print no program.
OTHERS = re.compile(r">\s*/dev/null|\s-o[ =]?/dev/null|--help|--show-dialects|--list-|--version|--remarks-format|--metadata=-|"
                    r"-to-metadata|--emit=(?:metadata|cubin)|-to-cubin")
DIAGNOSTIC = re.compile(r"\b(?:remark|error|warning|note):|\[(?:Passed|Missed|Failure|Analysis)\]")
HEADER = re.compile(r"^(\s*)(?:func\.func|gpu\.func|llvm\.func|\.visible \.entry|\.entry)(?: private| public)? @?(?P<name>[\w.$-]+)")


def run_lines(text):
    """Commands of RUN lines, with continued lines joined and names of DEFINE lines substituted."""
    commands, defined, open_line = [], {}, None
    for kind, rest in re.findall(r"^\W*(RUN|DEFINE): ?(.*)$", text, re.M):
        line = rest if open_line is None else open_line + rest
        open_line = line[:-1] if line.endswith("\\") else None
        if open_line is not None:
            continue
        if kind == "DEFINE":
            name, _, value = line.partition("=")
            defined[name.strip()] = value.strip()
            continue
        for name, value in reversed(defined.items()):
            line = line.replace(name, value)
        commands.append(line)
    return commands


def prints_program(stage):
    return PRINTERS.match(stage) and not OTHERS.search(stage)


def program_checks(text):
    """The prefixes of each call of FileCheck that reads a program, from a pipe or from a file that
    a tool wrote, as tuples.
    """
    checks, written = set(), set()
    for command in run_lines(text):
        for pipe in re.split(r"&&|;", command):
            *before, last = re.split(r"\|(?!\|)", pipe)
            if prints_program(last):
                written.update(re.findall(r"(?:\s-o[ =]?|[^2]>\s*)(\S+)", last))
            read = re.search(r"(?:<\s*|--?input-file[= ])(\S+)", last)
            source = prints_program(before[-1]) if before else read and read[1] in written
            if source and re.search(r"FileCheck\S*\s.*%s(?:\s|$)", last):
                prefixes = re.findall(r"--?check-prefix(?:es)?[= ](\S+)", last)
                checks.add(tuple(prefix for one in prefixes for prefix in one.split(",")) or ("CHECK",))
    return sorted(checks)


def directives(lines, prefixes):
    """Yields (line, kind, text) for each expectation of these prefixes about a program."""
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, prefixes)) +
                         r")(-(?:LABEL|NEXT|SAME|NOT|DAG|EMPTY|COUNT-\d+))?(?:\{LITERAL\})?:\s*(.*)")
    for number, line in enumerate(lines):
        found = pattern.search(line)
        if found and not line.lstrip(" /#;").startswith(("RUN:", "DEFINE:")):
            yield number, (found[1] or "").lstrip("-"), found[2]


def functions(lines):
    """Yields (name, first line, last line) for each function, including comments before it."""
    heads = [(number, found) for number, line in enumerate(lines) if (found := HEADER.match(line))]
    result = []
    for number, head in heads:
        end = next((n for n in range(number, len(lines)) if re.match(re.escape(head[1]) + r"\}", lines[n])), number)
        start = result[-1][2] + 1 if result else 0
        result.append((head["name"], start, end))
    return result


def unlabelled(text):
    """Yields the messages for a test."""
    lines = text.splitlines()
    for prefixes in program_checks(text):
        found = list(directives(lines, prefixes))
        expected = [number for number, kind, words in found if kind not in ("LABEL", "NOT") and not DIAGNOSTIC.search(words)]
        labels = [number for number, kind, _ in found if kind == "LABEL"]
        if not expected:
            continue
        shown = ",".join(prefixes)
        if not labels:
            yield f"no {shown}-LABEL, but a program is checked"
            continue
        checked = [(name, start, end) for name, start, end in functions(lines) if any(start <= number <= end for number in expected)]
        if len(checked) < 2:
            continue
        for name, start, end in checked:
            if not any(start <= number <= end for number in labels):
                yield f"no {shown}-LABEL for '{name}', but more than one function is checked"


def all_tests():
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix in (".mlir", ".test", ".ptx") and "Inputs" not in path.parts and "FileCheck" in path.read_text(errors="replace"):
            yield path


def main(*names):
    count, failed = 0, False
    for path in map(pathlib.Path, names) if names else all_tests():
        count += 1
        for message in unlabelled(path.read_text(errors="replace")):
            print(f"{path}: {message}")
            failed = True
    print(f"{count} tests use FileCheck")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
