"""Runs the sections of a PTX file, each of which must fail as annotated.

Usage: verify.py TOOL FILE.ptx

`// -----` separates sections. As in MLIR's -verify-diagnostics, a comment `expected-error {{TEXT}}`
or `expected-note` refers to its own line, with `@+2` or `@-1` to another line, and with `@unknown`
to no location. All errors must be expected; notes need not be. `// run --block=64` gives arguments
of the tool. A section without an entry is the body of one, with a parameter y and the registers %r,
%rd, %f, %fd, %h and %p.
"""

import re
import subprocess
import sys

HEAD = ".version 8.6 .target sm_100a .address_size 64 "
ENTRY = (
    ".visible .entry f(.param .u64 y) { .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<16>; "
    ".reg .f64 %fd<4>; .reg .b16 %h<8>; .reg .pred %p<8>; "
)
EXPECTATION = re.compile(r"expected-(error|note)(?:@([+-]\d+|unknown))? \{\{(.*?)\}\}")
REPORTED = re.compile(r"^(?:-:(?:(\d+):\d+:)? )?(error|note): (.*)$")


def expectations(lines):
    """(kind, line or None, text)"""
    for number, line in enumerate(lines, 1):
        for kind, where, text in EXPECTATION.findall(line):
            yield kind, None if where == "unknown" else number + int(where or 0), text


def reports(output):
    """(kind, line or None, text)"""
    for line in output.splitlines():
        found = REPORTED.match(line)
        if found:
            yield found[2], int(found[1]) if found[1] else None, found[3]


def check(tool, section):
    """Yields the problems of a section, as (line, message)."""
    lines = section.split("\n")
    text = section
    if ".entry" not in text and ".version" not in text:
        text = ENTRY + text + "\n}"
    if ".version" not in text:
        text = HEAD + text
    arguments = " ".join(re.findall(r"^// run (.*)$", section, re.M)).split()
    if not any(argument.startswith("--block") for argument in arguments):
        arguments.append("--block=32")
    if not any(argument.startswith("--arg") for argument in arguments) and ENTRY in text:
        arguments.append("--arg=y=u32[64]:0")
    done = subprocess.run([tool, "-", *arguments], input=text, capture_output=True, text=True, timeout=120)
    if done.returncode != 2:
        yield 1, f"exit code {done.returncode}, expected 2"
    found = list(reports(done.stderr))
    for kind, line, words in expectations(lines):
        match = next((one for one in found if one[:2] == (kind, line) and words in one[2]), None)
        if match:
            found.remove(match)
        else:
            yield line or 1, f"expected {kind} not reported: {words}"
    for kind, line, words in found:
        if kind == "error":
            yield line or 1, f"unexpected error: {words}"


def main(tool, path):
    with open(path) as file:
        sections = re.split(r"^// -----\n", file.read(), flags=re.M)
    first, failed = 1, False
    for section in sections:
        for line, words in check(tool, section) if EXPECTATION.search(section) else ():
            print(f"{path}:{first + line - 1}: {words}")
            failed = True
        first += section.count("\n") + 1
    sys.exit(failed)


main(*sys.argv[1:])
