#!/usr/bin/env python3
"""Checks texts for words that only this project uses, and names the field's word.

Reads comments and string literals of C, C++ and TableGen sources, TableGen descriptions,
docstrings, comments and messages of Python sources, and Markdown. Code in backquotes and
code blocks is skipped. `scripts/words.json` holds the patterns with their replacements
and the exceptions: path pattern, text pattern, reason.
"""

import argparse
import ast
import io
import json
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = {".h", ".cpp", ".c", ".td", ".def"}
CODE = re.compile(r"``[^`]*``|`[^`\n]*`|https?://\S+|<[A-Za-z/!][^>]*>")
C_TOKENS = re.compile(r"""
    (?P<comment>//[^\n]*) | (?P<block>/\*.*?\*/) | (?P<td>\[\{.*?\}\])
  | (?P<string>"(?:\\.|[^"\\\n])*") | (?P<char>'(?:\\.|[^'\\\n])+')
""", re.VERBOSE | re.DOTALL)


class Text:
    """Words with the line each of them stands on."""

    def __init__(self):
        self.paragraphs = []
        self.parts = []

    def add(self, line, words):
        """Adds a line to the current paragraph; an empty one ends it."""
        if words.strip():
            self.parts.append((line, words.strip()))
        else:
            self.end()

    def end(self):
        if self.parts:
            self.paragraphs.append(self.parts)
            self.parts = []


def c_text(source, is_tablegen):
    """Comments, string literals, and descriptions of TableGen."""
    text, last = Text(), -2
    for token in C_TOKENS.finditer(source):
        line = source.count("\n", 0, token.start()) + 1
        kind, found = token.lastgroup, token.group()
        if kind == "char":
            continue
        if kind == "comment":
            if line != last + 1:
                text.end()
            text.add(line, re.sub(r"^//[/!]?<?|^//===-.*|-\*- C\+\+.*|[-=]{3,}/*$", "", found))
            last = line
            continue
        text.end()
        if kind == "string":
            before = source[source.rfind("\n", 0, token.start()) + 1:token.start()]
            if not re.match(r"\s*#\s*include", before):
                text.add(line, found[1:-1].replace("\\n", " "))
        else:
            markdown_lines(text, found.strip("[{}]*/"), line)
        text.end()
    text.end()
    return text.paragraphs


def markdown_lines(text, source, first=1):
    fenced = False
    for number, line in enumerate(source.split("\n"), first):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
            text.end()
        elif fenced:
            continue
        else:
            if re.match(r"\s*(#|[-*+] |\d+\. |\|)", line):
                text.end()
            for cell in line.split("|") if line.lstrip().startswith("|") else [line]:
                text.add(number, re.sub(r"^\s*(#+|[-*+]|\d+\.) +", "", cell))
                if line.lstrip().startswith("|"):
                    text.end()
    text.end()


def python_text(source):
    """Comments, docstrings, and string literals with at least two words."""
    text = Text()
    last = -2
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                text.end()
            text.add(token.start[0], token.string.lstrip("#:! "))
            last = token.start[0]
    text.end()
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                  if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None}
    for node in ast.walk(tree):
        if id(node) in docstrings:
            markdown_lines(text, node.value, node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and "\n    %" not in node.value:
            if not re.search(r"[{};]\n|->|:=|^\s*(def|import|from) ", node.value):
                markdown_lines(text, node.value, node.lineno)
    return text.paragraphs


def paragraphs_of(path, source):
    if path.suffix in SOURCES:
        return c_text(source, path.suffix == ".td")
    if path.suffix == ".py":
        return python_text(source)
    text = Text()
    markdown_lines(text, source)
    return text.paragraphs


def join(paragraph):
    """The paragraph as one line, without code, and where each line begins in it."""
    joined, starts = "", []
    for line, words in paragraph:
        starts.append((len(joined), line))
        joined += words + " "
    return CODE.sub(lambda code: "`" + "_" * (len(code.group()) - 2) + "`", joined), starts


def check(name, source, rules):
    """Yields (line, found words, replacement)."""
    exceptions = [re.compile(text) for path, text, _ in rules["exceptions"] if re.search(path, name)]
    for paragraph in paragraphs_of(pathlib.Path(name), source):
        joined, starts = join(paragraph)
        for pattern, instead in rules["banned"]:
            flags = 0 if pattern.startswith("^") else re.IGNORECASE
            for found in re.finditer(pattern, joined, flags):
                around = joined[max(0, found.start() - 40):found.end() + 40]
                if any(exception.search(around) for exception in exceptions):
                    continue
                yield max(line for at, line in starts if at <= found.start()), found.group(), instead


def tracked_files(folders):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        is_test = name.startswith("test/") and path.suffix != ".py"
        generated = name.startswith("docs/reference/")
        if path.suffix in SOURCES | {".py", ".md"} and path.exists() and not is_test and not generated:
            yield name, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=["."], help="folders or files, all by default")
    parser.add_argument("--words", type=pathlib.Path, default=ROOT / "scripts" / "words.json", help="patterns and exceptions")
    parser.add_argument("--count", action="store_true", help="only how many findings each folder has")
    args = parser.parse_args()
    rules = json.loads(args.words.read_text())
    findings, folders = 0, {}
    for name, path in tracked_files(args.folders or ["."]):
        for line, found, instead in check(name, path.read_text(), rules):
            findings += 1
            folder = str(pathlib.Path(name).parent)
            folders[folder] = folders.get(folder, 0) + 1
            if not args.count:
                print(f"{name}:{line}: '{found}': {instead}")
    if args.count:
        for folder, count in sorted(folders.items(), key=lambda item: -item[1]):
            print(f"{count:5} {folder}")
    print(f"{findings} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
