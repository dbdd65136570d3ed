"""Targets of links between pages exist: files and sections."""

import re

import pytest

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def anchor(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def broken_links(page):
    text = FENCE.sub("", page.read_text())
    for target in LINK.findall(text):
        if re.match(r"\w+:", target):
            continue
        path, _, section = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists():
            yield f"{page.name}: no file {target}"
        elif section and other.suffix == ".md":
            if section not in map(anchor, HEADING.findall(FENCE.sub("", other.read_text()))):
                yield f"{page.name}: no section {target}"


def test_links(source_root):
    pages = [*source_root.glob("*.md")]
    for folder in ("benchmarks", "docs", "examples", "lib", "test"):
        pages += (source_root / folder).rglob("*.md")
    assert len(pages) > 10
    assert [broken for page in pages for broken in broken_links(page)] == []


@pytest.mark.parametrize(
    "text, count", [("[a](b.md)", 0), ("[a](c.md)", 1), ("[a](b.md#the-way-out-2026)", 0), ("[a](b.md#in)", 1), ("[a](#x)", 1)]
)
def test_broken_links_are_noticed(tmp_path, text, count):
    (tmp_path / "b.md").write_text("# The way out, 2026\n")
    (tmp_path / "a.md").write_text(text)
    assert len(list(broken_links(tmp_path / "a.md"))) == count
