"""Adds descriptions of operands, attributes, results and regions to a dialect's reference.

Usage: ods_reference.py PAGE-OF-MLIR-TBLGEN RECORDS-OF-LLVM-TBLGEN OUTPUT

mlir-tblgen shows the types of an op's operands, but not the descriptions given by `Arg`, `Res` and
`Described`, and no regions. The records (JSON) contain them. A missing description is an error.
"""

import html
import json
import pathlib
import re
import sys

OPERATION = re.compile(r"^### `([\w.]+)` \(")
ROW = re.compile(r"^\| `(\w+)` \|(.*)$")
ATTRIBUTE = re.compile(r"^<tr><td><code>(\w+)</code></td>(.*)$")
REGIONS = """#### Regions:

| Region | Meaning |
| :----: | ------- |
"""


class Operation:
    """The descriptions of an op, by kind (`arguments`, `results`, `regions`) and name."""

    def __init__(self, records, definition):
        dialect = records[definition["opDialect"]["def"]]
        self.name = f"{dialect['name']}.{definition['opName']}"
        self.texts = {
            kind: {name: text_of(records[record["def"]]) for record, name in definition[kind]["args"]}
            for kind in ("arguments", "results", "regions")
        }

    def missing(self):
        return [
            f"{self.name}: no text for '{name}', one of its {kind}"
            for kind, texts in self.texts.items()
            for name, text in texts.items()
            if not text
        ]


def text_of(record):
    if "OpVariable" in record["!superclasses"]:
        return record["summary"]
    return record.get("meaning", "")


def read_operations(records):
    operations = (Operation(records, records[name]) for name in records["!instanceof"].get("Op", []))
    return {operation.name: operation for operation in operations}


def missing_parameters(records):
    """Yields parameters without a description, of the project's own attributes and types."""
    for kind in ("AttrDef", "TypeDef"):
        for name in records["!instanceof"].get(kind, []):
            definition = records[name]
            dialect = records[definition["dialect"]["def"]] if definition["dialect"] else {}
            if not dialect.get("cppNamespace", "").startswith("::fovea"):
                continue
            for parameter, label in definition["parameters"]["args"]:
                if not isinstance(parameter, dict) or not records[parameter["def"]]["summary"]:
                    yield f"{name}: no text for the parameter '{label}'"


def with_meanings(lines, operations):
    """Yields the page's lines, with a column or a table for the descriptions."""
    operation = kind = None
    for line in lines:
        if line.startswith(("## ", "### ")):
            if operation and operation.texts["regions"]:
                yield from (REGIONS + rows(operation.texts["regions"])).splitlines()
                yield ""
            match = OPERATION.match(line)
            operation = operations[match.group(1)] if match else None
            kind = None
        elif operation and line in ("#### Operands:", "#### Attributes:", "#### Results:"):
            kind = "results" if "Results" in line else "arguments"
        elif operation and kind:
            line = with_meaning(line, operation.texts[kind])
        yield line


def rows(texts):
    return "".join(f"| `{name}` | {text} |\n" for name, text in texts.items())


def with_meaning(line, texts):
    """A row of one of mlir-tblgen's tables, with a cell inserted after the name."""
    if match := ROW.match(line):
        return f"| `{match.group(1)}` | {texts[match.group(1)]} |{match.group(2)}"
    if match := ATTRIBUTE.match(line):
        text = re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(texts[match.group(1)], quote=False))
        return f"<tr><td><code>{match.group(1)}</code></td><td>{text}</td>{match.group(2)}"
    for start, cell in [
        ("| Operand |", " Meaning |"),
        ("| Result |", " Meaning |"),
        ("| :-----: |", " ------- |"),
        ("| :----: |", " ------- |"),
        ("<tr><th>Attribute</th>", "<th>Meaning</th>"),
    ]:
        if line.startswith(start):
            rest = line[len(start) :]
            return start + cell + (rest if "<th>" in start else rest.replace("Description", "Type"))
    return line


def main():
    page, records_file, output = map(pathlib.Path, sys.argv[1:])
    records = json.loads(records_file.read_text())
    operations = read_operations(records)
    missing = [text for operation in operations.values() for text in operation.missing()]
    missing += missing_parameters(records)
    if missing:
        sys.exit("\n".join(sorted(missing)) + "\nadd it with Arg<>, Res<>, Described<>, AttrParameter<> or TypeParameter<>")
    lines = page.read_text().splitlines()
    output.write_text("\n".join(with_meanings(lines, operations)) + "\n")


if __name__ == "__main__":
    main()
