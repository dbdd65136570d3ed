"""Random programs of attention, at every level: test/Fuzz/README.md.

    python test/Fuzz/run_programs.py fuzz --minutes 10 --jobs 2 --keep FOLDER
    python test/Fuzz/run_programs.py replay test/Fuzz/programs/corpus/*.py
    python test/Fuzz/run_programs.py show 20261122:17
"""

import argparse
import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / "programs"), str(ROOT / "python")]


def levels(text):
    """"tile:sm_80,eager" as [("tile", "sm_80"), ("eager", "")]."""
    return [(one.partition(":")[0], one.partition(":")[2]) for one in text.split(",")]


def fuzz(arguments):
    import runner

    keep = pathlib.Path(arguments.keep) if arguments.keep else None
    if keep:
        keep.mkdir(parents=True, exist_ok=True)

    def on_find(found):
        print(found, flush=True)
        if keep:
            name = "-".join(part for part in (found.failure.kind, found.failure.level, found.failure.target) if part)
            text = found.text if found.text.startswith('"""') else f'"""{str(found.failure)[:400]!s}"""\n\n{found.text}'
            (keep / f"{name}-{found.seed.replace(':', '_')}.py").write_text(text)

    seed = arguments.seed or runner.seed_of_day()
    print(f"seed {seed}", flush=True)
    if arguments.front_end is None and importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: programs of fovea.attention only", flush=True)
        arguments.front_end = "fovea"
    summary = runner.run(arguments.minutes * 60, arguments.jobs, seed, shrinks=arguments.shrinks,
                         shrink_seconds=arguments.shrink_seconds, front_end=arguments.front_end, levels=arguments.levels,
                         on_find=on_find)
    print(summary)
    if keep:
        (keep / f"summary-{seed}.txt").write_text(f"{summary}\n")
    return 1 if summary.wrong else 0


def replay(arguments):
    import corpus

    failed = 0
    for path in map(pathlib.Path, arguments.files or corpus.files()):
        expected = corpus.expected(path.read_text())
        lines = corpus.replay(path, arguments.verbose)
        if expected is not None and not any(expected in line for line in lines):
            lines = [f"expected a failure with '{expected}', found none"]
        elif expected is not None:
            print(f"{path}: open: {lines[0]}", flush=True)
            lines = []
        for line in lines:
            failed += 1
            print(f"{path}: {line}", flush=True)
    print(f"{len(arguments.files or corpus.files())} programs, {failed} failures")
    return 1 if failed else 0


def show(arguments):
    import worker

    run, _, index = arguments.seed.partition(":")
    print(worker.draw(run, int(index), arguments.front_end)[0])
    return 0


def work(arguments):
    import worker

    # One thread for each process: the interpreter's are as many as the processors that it may use.
    if hasattr(os, "sched_setaffinity"):
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[arguments.first % len(usable)]})
    arguments.log = pathlib.Path(arguments.log)
    arguments.wheres = levels(arguments.levels) if arguments.levels else None
    worker.main(arguments)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--seed", help="of the run; the day's by default")
    common.add_argument("--front-end", choices=("fovea", "torch"), help="only programs of this one")
    common.add_argument("--levels", help="what to run, for example tile:sm_80,eager; by default a plan that the seed decides")
    common.add_argument("--shrinks", type=int, default=2, help="failures of a kind that a process makes smaller")
    common.add_argument("--shrink-seconds", type=float, default=20.0, help="for each of them")
    command = commands.add_parser("fuzz", parents=[common], help="draw programs and run them")
    command.add_argument("--minutes", type=float, default=1.0)
    command.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    command.add_argument("--keep", help="folder for what fails and the summary")
    command.set_defaults(run=fuzz)
    command = commands.add_parser("replay", help="run programs of files; all of the corpus by default")
    command.add_argument("files", nargs="*")
    command.add_argument("--verbose", action="store_true", help="print the program as MLIR and how far off each level is")
    command.set_defaults(run=replay)
    command = commands.add_parser("show", parents=[argparse.ArgumentParser(add_help=False)], help="print a program by its seed")
    command.add_argument("seed")
    command.add_argument("--front-end", choices=("fovea", "torch"))
    command.set_defaults(run=show)
    command = commands.add_parser("worker", parents=[common])
    command.add_argument("--first", type=int, default=0)
    command.add_argument("--step", type=int, default=1)
    command.add_argument("--seconds", type=float, default=0)
    command.add_argument("--count", type=int, default=0)
    command.add_argument("--log", required=True)
    command.set_defaults(run=work)
    return parser


def main():
    arguments = make_parser().parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
