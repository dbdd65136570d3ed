"""Runs clang-tidy on C++ sources, recently changed ones first; findings are errors.

The scope is `all` files, the `recent` ones of the last commits, or those that differ from a commit.
With a limit in minutes, files not started by then are skipped; the last line gives their number.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("lib/*.cpp", "tools/*.cpp", "test/*.cpp", "examples/*.cpp")
RECENT_COMMITS = 30


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def sources(scope):
    """Paths relative to the root, without duplicates."""
    if scope == "all":
        files = git("ls-files", "--", *SOURCES)
    elif scope == "recent":
        files = git("log", f"-{RECENT_COMMITS}", "--format=", "--name-only", "--", *SOURCES)
    else:
        (base,) = git("merge-base", "HEAD", scope)
        files = git("diff", "--name-only", base, "--", *SOURCES)
        files += git("ls-files", "--others", "--exclude-standard", "--", *SOURCES)
    return [file for file in dict.fromkeys(files) if (ROOT / file).is_file()]


def database(build):
    """The folder of compile commands for clang-tidy, which can't read the precompiled header of
    another compiler. Clang's own precompiled header saves most of the time.
    """
    commands = (build / "compile_commands.json").read_text()
    if re.search(r'"command": "\S*clang\+\+-22 ', commands):
        return build
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(re.sub(r"( -Xclang)? -include-pch( -Xclang)? \S+", "", commands))
    return folder


def lint(file, commands, deadline):
    """True if there are no findings; None if the time limit was exceeded."""
    if time.monotonic() > deadline:
        return None
    found = subprocess.run(["clang-tidy-22", "-p", commands, "--quiet", "--warnings-as-errors=*", file],
                           cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        print(found.stdout or found.stderr, end="", flush=True)
    return found.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder, with everything built")
    parser.add_argument("--jobs", type=int, default=2, help="files to check in parallel")
    parser.add_argument("--scope", default="main", help="all, recent or a commit")
    parser.add_argument("--limit", type=float, default=float("inf"), help="minutes after which no further file is checked")
    args = parser.parse_args()
    deadline = time.monotonic() + 60 * args.limit
    try:
        files = sources(args.scope)
    except subprocess.CalledProcessError as error:
        print(f"lint: found no base '{args.scope}', expected all, recent or a commit: {error.stderr.strip()}", file=sys.stderr)
        return 2
    commands = database(args.build.resolve())
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        clean = list(pool.map(lambda file: lint(file, commands, deadline), files))
    left_out = f", {clean.count(None)} left out after {args.limit:g} minutes" if None in clean else ""
    print(f"lint: {len(files)} files, {clean.count(False)} with findings{left_out}")
    return 1 if False in clean else 0


if __name__ == "__main__":
    sys.exit(main())
