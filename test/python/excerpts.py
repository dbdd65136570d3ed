"""Finds excerpts of IR in compiler output.

In an excerpt a value's name stands for any value, the same one wherever it occurs;
"..." alone on a line stands for any lines, and inside a line for any text. Lines
without "..." between them follow each other.
"""

import re

NAME = re.compile(r"%[A-Za-z_][\w$.]*|%\d+")


def line_pattern(line, bindings):
    """A regular expression for a line, with a group for each value that occurs for the first time."""
    groups, text, position = {}, "", 0
    for match in NAME.finditer(line):
        text += gaps(line[position : match.start()])
        position, name = match.end(), match.group()
        if name in bindings:
            text += re.escape(bindings[name]) + r"(?![\w$.])"
        elif name in groups:
            text += f"(?P={groups[name]})" + r"(?![\w$.])"
        else:
            groups[name] = f"v{len(groups)}"
            text += f"(?P<{groups[name]}>" + r"%[\w$.]+(?![\w$.]))"
    return text + gaps(line[position:]), groups


def gaps(text):
    return ".*".join(map(re.escape, text.split("...")))


def match_line(line, text, bindings):
    """The bindings after matching `text`, or None."""
    pattern, groups = line_pattern(line, bindings)
    match = re.fullmatch(pattern, text)
    return match and {**bindings, **{name: match[group] for name, group in groups.items()}}


def match_chunk(chunk, lines, start, bindings):
    """Matches consecutive lines from `start` on: (end, bindings) or None."""
    for offset, line in enumerate(chunk):
        if start + offset >= len(lines):
            return None
        bindings = match_line(line, lines[start + offset], bindings)
        if bindings is None:
            return None
    return start + len(chunk), bindings


def chunks(excerpt):
    """Groups of consecutive lines, separated by the lines "..."."""
    parts = [[]]
    for line in map(str.strip, excerpt.strip().splitlines()):
        if line == "...":
            parts.append([])
        elif line:
            parts[-1].append(line)
    return [part for part in parts if part]


def match_rest(parts, lines, position, bindings):
    """The number of `parts` that are found in order after `position`."""
    for count, part in enumerate(parts):
        found = (match_chunk(part, lines, at, bindings) for at in range(position, len(lines)))
        match = next(filter(None, found), None)
        if not match:
            return count
        position, bindings = match
    return len(parts)


def missing(excerpt, output):
    """The first part of `excerpt` that is not found after the preceding parts, or None if all
    of it is in `output`."""
    lines = [line.strip() for line in output.splitlines()]
    parts = chunks(excerpt)
    most = 0
    for start in range(len(lines)):
        match = match_chunk(parts[0], lines, start, {})
        if match:
            most = max(most, 1 + match_rest(parts[1:], lines, *match))
        if most == len(parts):
            return None
    return "\n".join(parts[most])
