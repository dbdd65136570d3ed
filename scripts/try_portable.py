"""Builds the portable compiler and libraries and checks them: they must be linked only with
libraries that every Linux has, and the compiler must compile an example.

With a limit in minutes, a build that takes longer is skipped with a message.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tag_wheel  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("fovea-compile", "Fovea", "FoveaRuntime", "FoveaPTXDriver")
LIBRARIES = ("libFovea.so", "libFoveaRuntime.so", "libFoveaPTXDriver.so")


def tool_problems(tool):
    """tag_wheel's check, except for glibc symbols: tools use the glibc they were built with."""
    return [f"{tool.name} needs {name}, which other machines may not have" for name in tag_wheel.needed_libraries(tool)
            if name not in tag_wheel.LIBRARIES]


def compile_example(compiler):
    """Reasons why an example does not compile to PTX with an empty environment; empty on success.
    """
    done = subprocess.run([compiler, ROOT / "examples" / "causal.mlir", "--target=sm_90a"], env={}, capture_output=True, text=True)
    if done.returncode == 0 and ".target sm_90a" in done.stdout:
        return []
    return [f"{compiler.name} failed on examples/causal.mlir with code {done.returncode}: {done.stderr}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default="2", help="processes to run at once")
    parser.add_argument("--limit", type=float, help="time limit of the build in minutes (default: none)")
    args = parser.parse_args()
    limited = ["timeout", f"{max(60 * args.limit, 1):.0f}"] if args.limit is not None else []
    built = subprocess.run([*limited, "scripts/build.sh", "portable", args.jobs, *TARGETS], cwd=ROOT).returncode
    if limited and built == 124:
        print(f"portable: left out, the build didn't end within {args.limit:g} minutes")
        return 0
    if built:
        return built
    build = ROOT / "build-portable"
    tool = build / "bin" / "fovea-compile"
    problems = tool_problems(tool) + compile_example(tool)
    problems += [problem for name in LIBRARIES for problem in tag_wheel.problems(build / "lib" / name)]
    for problem in problems:
        print(f"portable: {problem}", file=sys.stderr)
    print(f"portable: {tool.name} and {len(LIBRARIES)} libraries, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
