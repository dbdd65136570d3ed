"""Checks that tools reject a malformed program with the expected error.

    reject.py TOOLS_FOLDER TOOL... FILE

FILE has the expected errors as MLIR's `expected-error @+N {{text}}` comments. Each tool must exit
with 1 or 2 within a short time, print an error for that line with that text, print nothing that
looks like a crash, and leave no output file.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = re.compile(r"expected-error\s*(?:@([+-]\d+))?\s*\{\{(.*?)\}\}")
CRASH = re.compile(
    r"PLEASE submit|LLVM ERROR|Assertion .* failed|Stack dump|AddressSanitizer|LeakSanitizer|terminate called"
)
SECONDS = 60


def arguments(tool, program, output):
    if tool == "fovea-opt":
        return [program, "-o", output]
    if tool == "fovea-compile":
        return [program, "--target=sm_80", "--emit=ptx", "-o", output]
    return [program, "--level=attn", "--random=1", "--dims=B=1,Sq=4,Skv=4,Hq=1,Hkv=1", "--outputs", output]


def check(folder, tool, program, expected):
    """Checks how `tool` rejects `program`; returns an error message or an empty string."""
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "output"
        try:
            result = subprocess.run(
                [folder / tool, *arguments(tool, program, output)], capture_output=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return [f"does not end within {SECONDS} s"]
        problems = []
        if result.returncode not in (1, 2):
            problems.append(f"exit code {result.returncode}, expected 1 or 2")
        if output.exists() and output.stat().st_size:
            problems.append("wrote an output")
    errors = result.stderr.decode(errors="replace")
    if CRASH.search(errors):
        problems.append("crashed")
    for line, text in expected:
        pattern = rf"^{re.escape(str(program))}:{line}:\d+: error: .*{re.escape(text)}"
        if not re.search(pattern, errors, re.MULTILINE):
            problems.append(f"no error in line {line} that says: {text}")
    return [*problems, "its errors were:\n" + errors] if problems else []


def main():
    folder, *tools, program = sys.argv[1:]
    program = pathlib.Path(program)
    expected = []
    for number, line in enumerate(program.read_text(errors="replace").split("\n"), 1):
        for offset, text in EXPECTED.findall(line):
            expected.append((number + int(offset or 0), text))
    if not expected or not tools:
        sys.exit(f"{program}: no tools, or no expected-error")
    failed = False
    for tool in tools:
        for problem in check(pathlib.Path(folder), tool, program, expected):
            print(f"{tool}: {problem}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
