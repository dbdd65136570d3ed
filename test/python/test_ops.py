"""For every op of the reference there is a test that prints and parses it, and one that executes it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The interpreter executes no host ops and no launches.
EXECUTED = ("Attn", "Tile", "Warp")
NOT_EXECUTED = {
    "tile.stream": "test/Integration/backward-tile.mlir does",
}


def dialects():
    found = {}
    for page in (ROOT / "docs" / "reference").glob("*Dialect.md"):
        ops = re.findall(r"^### `(\w+\.\w+)`", page.read_text(), re.MULTILINE)
        found[page.name.removesuffix("Dialect.md")] = set(ops)
    assert sum(map(len, found.values())) > 70
    return found


def words(folder, pattern):
    """Names of ops that match `pattern` in a folder's tests."""
    texts = (path.read_text() for path in (ROOT / "test" / folder).rglob("*") if path.suffix in (".mlir", ".test"))
    return {name for text in texts for line in re.findall(pattern, text) for name in re.findall(r"\b\w+\.\w+", line)}


def test_all_ops_are_printed():
    for dialect, ops in dialects().items():
        folder = f"Dialect/{dialect}/IR"
        missing = ops - words(folder, r"CHECK[^\n]*") if ops else None
        assert not missing, f"{sorted(missing)}: no CHECK line of test/{folder} prints it, such as in roundtrip.mlir"


def test_all_ops_are_executed():
    executed = words("Interpreter", r"[^\n]+")
    ops = set().union(*(ops for dialect, ops in dialects().items() if dialect in EXECUTED))
    missing = ops - executed - NOT_EXECUTED.keys()
    assert not missing, f"{sorted(missing)}: no test of test/Interpreter executes it"
    gone = NOT_EXECUTED.keys() & executed | NOT_EXECUTED.keys() - ops
    assert not gone, f"{sorted(gone)}: NOT_EXECUTED says that no test executes it, or it is no op"
