"""scripts/check_words.py: extraction of texts, findings, and that the sources have none."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = ROOT / "scripts" / "check_words.py"


@pytest.fixture(scope="module")
def checker():
    sys.path.insert(0, str(CHECKER.parent))
    try:
        import check_words
    finally:
        sys.path.pop(0)
    return check_words


@pytest.fixture(scope="module")
def rules():
    return json.loads((CHECKER.parent / "words.json").read_text())


@pytest.mark.parametrize("name, source, expected", [
    ("lib/A.cpp", "// Waits until the\n// copies in flight have landed.\nint x;\n", [(2, "in flight")]),
    ("lib/A.cpp", "// Waits for what is in\n// flight.\n", [(1, "in flight")]),
    ("lib/A.cpp", "op.emitError() << \"is behind the loop\";\n", [(1, "behind")]),
    ("lib/A.cpp", "#include \"dear/behind.h\"\nint behind;\n", []),
    ("include/A.td", "let description = [{\n  A stage.\n\n  ```mlir\n  behind\n  ```\n  Nobody reads it.\n}];\n", [(7, "Nobody")]),
    ("a/b.py", "# Who reads it?\nx = 'a b'\n", [(1, "Who")]),
    ("a/b.py", "def f():\n    \"\"\"Summary.\n\n    It comes behind the loop.\n    \"\"\"\n", [(4, "behind")]),
    ("a/b.py", "def f():\n    \"\"\"Returns a = {b};\n    it comes behind the loop.\n    \"\"\"\n", [(3, "behind")]),
    ("a/b.py", "raise ValueError(f\"{x} is behind {y}\")\n", [(1, "behind")]),
    ("docs/A.md", "# Title\n\nThe `behind` op.\n\n| a | in flight |\n", [(5, "in flight")]),
    ("docs/A.md", "What is read is kept.\n", [(1, "What")]),
    ("docs/A.md", "It needs the new\nturn of the semaphore.\n", []),
    ("docs/A.md", "It waits for its\nturn.\n", [(1, "its turn")]),
])
def test_what_is_found(checker, rules, name, source, expected):
    found = [(line, text.lower()) for line, text, _ in checker.check(name, source, rules)]
    assert sorted(set(found)) == sorted((line, text.lower()) for line, text in expected)


def test_exceptions_have_reasons_and_are_used(checker, rules):
    import re

    names = [name for name, _ in checker.tracked_files(["."])]
    for path, text, reason in rules["exceptions"]:
        assert reason.strip()
        assert any(re.search(path, name) for name in names) or path.startswith(r"^scripts"), path
        re.compile(text)


def test_sources_have_no_banned_words():
    result = subprocess.run([sys.executable, CHECKER], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
