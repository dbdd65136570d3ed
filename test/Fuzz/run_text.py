"""Fuzzes all readers of text and bytes from untrusted sources.

    run_text.py BUILD [--minutes=N | --runs=N] [--seed=N] [--readers=NAME,...] [--finds=FOLDER]

BUILD is a build folder of the preset asan. Inputs are mutations of the repository's files of that
kind. A crash, a sanitizer report, more than 4 GiB of memory or more than a minute for one input is
a finding: its input is saved in FOLDER, and belongs in test/Fuzz/Finds/READER after the fix. Prints
the number of inputs per reader; exits with 1 after a finding. The same seed gives the same inputs,
within the time limit.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGETS = ["sm_80", "sm_90a"]
SECONDS_AN_INPUT = 60
MEGABYTES = 4096

#: Share of the time, and bytes that an input has at most.
LIBFUZZER = {"program": (6, 1 << 15), "capi": (3, 512), "metadata": (1, 1 << 14), "npy": (1, 4096),
             "schedule": (1, 8192)}
SCRIPTS = {"cache": 1, "command-lines": 2}


def parts(text):
    """The programs in a file of tests."""
    return [part for part in re.split(r"^//(?: -----|--- .*)$", text, flags=re.MULTILINE) if part.strip()]


def emit(build, program, kind, target):
    result = subprocess.run([build / "bin" / "fovea-compile", program, f"--target={target}", f"--emit={kind}"],
                            capture_output=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return result.stdout if result.returncode == 0 else b""


def examples():
    return sorted((ROOT / "examples").glob("*.mlir"))


def program_corpus(build):
    for path in [*examples(), *sorted((ROOT / "test").rglob("*.mlir"))]:
        for part in parts(path.read_text(errors="replace")):
            yield part.encode()
    for path in examples()[::4]:
        for target in TARGETS:
            for kind in ("tile", "warp"):
                yield emit(build, path, kind, target)


def metadata_corpus(build):
    for path in sorted((ROOT / "test" / "Runtime" / "Inputs").glob("*.json")):
        yield path.read_bytes()
    for path in examples()[::3]:
        for target in TARGETS:
            yield emit(build, path, "metadata", target)


def npy_corpus(build):
    for version, descr, shape, width in [(1, "<f4", "(2, 3)", 24), (1, "|V2", "(4,)", 8), (2, "<i8", "()", 8),
                                         (3, "|b1", "(1, 2, 2)", 4), (1, "<f2", "(0, 7)", 0)]:
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        length = len(header).to_bytes(2 if version == 1 else 4, "little")
        yield b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(range(width))


def schedule_corpus(build):
    for text in ["auto", "tile_n=32,stages=3", "warps=8,tile_m=128,tile_n=64,query_in_registers=1,min_blocks=2",
                 "work=static,chain=1,ping_pong=1", "softmax_part=50,sum_by_dot=1,cluster=2",
                 "exp2_by_fma=25,add_by_dot=1,output=tma,output_stages=2", "recurrence=lazy,tau=4,classify=1",
                 "producer_registers=24,consumer_registers=240,key_stages=3,query_stages=2,score_stages=1"]:
        yield text.encode()
        yield (f'{{"schedules": [{{"problem": {{"target": "sm_90a", "elements": "bf16", "head_dim": 64, '
               f'"value_head_dim": 64, "lse": true}}, "schedule": "{text}", "milliseconds": 0.5}}]}}').encode()


def capi_corpus(build):
    for seed in range(8):
        yield bytes((seed * 37 + i * i * 11) % 256 for i in range(40 * (seed + 1)))


def write_corpus(reader, build, folder):
    folder.mkdir()
    inputs = globals()[f"{reader}_corpus"](build)
    for number, data in enumerate(each for each in inputs if each):
        (folder / str(number)).write_bytes(data)
    for path in sorted((HERE / "Finds" / reader).glob("*")):
        shutil.copy(path, folder)


def run_libfuzzer(reader, build, limit, seed, finds, scratch):
    """How many inputs ran, and how many were finds."""
    corpus = scratch / reader
    write_corpus(reader, build, corpus)
    kept = finds / reader
    kept.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + limit.get("seconds", 1e9)
    executed = found = 0
    while found < 10 and time.monotonic() < end and executed < limit.get("runs", 1e12):
        arguments = [build / "bin" / f"fuzz-{reader}", corpus, f"-artifact_prefix={kept}/", "-print_final_stats=1",
                     f"-timeout={SECONDS_AN_INPUT}", f"-rss_limit_mb={MEGABYTES}", "-verbosity=0",
                     "-malloc_limit_mb=2048", f"-max_len={LIBFUZZER[reader][1]}", "-detect_leaks=0"]
        if seed is not None:
            # Continue after a finding with another seed, so that it is not repeated.
            arguments.append(f"-seed={seed + found}")
        if "runs" in limit:
            arguments.append(f"-runs={limit['runs'] - executed}")
        else:
            arguments.append(f"-max_total_time={max(1, int(end - time.monotonic()))}")
        before = time.monotonic()
        result = subprocess.run(arguments, capture_output=True, cwd=scratch)
        said = result.stderr.decode(errors="replace")
        stat = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
        executed += int(stat.group(1)) if stat else 1
        if result.returncode != 0:
            found += 1
            print(f"--- {reader}:\n" + "\n".join(said.splitlines()[-40:]), flush=True)
            if time.monotonic() - before < 1 and not stat:
                break
    return executed, found


def run_script(name, build, limit, seed, finds, scratch):
    script = HERE / f"fuzz_{name.replace('-', '_')}.py"
    arguments = [sys.executable, script, "--build", build, "--finds", finds / name]
    arguments += [f"--{key}={int(value)}" for key, value in limit.items()]
    arguments += [f"--seed={seed}"] if seed is not None else []
    result = subprocess.run(arguments, capture_output=True, text=True, cwd=scratch)
    last = (result.stdout.strip().splitlines() or [""])[-1]
    counted = re.fullmatch(r"(\d+) inputs, (\d+) finds", last)
    if not counted or int(counted.group(2)):
        print(f"--- {name}:\n{result.stdout}{result.stderr}", flush=True)
    return (int(counted.group(1)), int(counted.group(2))) if counted else (0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, help="for all readers together")
    parser.add_argument("--runs", type=int, help="inputs for each reader, instead")
    parser.add_argument("--seed", type=int, help="from 1; another one each time, or the day's, by default")
    parser.add_argument("--readers", default=",".join([*LIBFUZZER, *SCRIPTS]))
    parser.add_argument("--finds", type=pathlib.Path, default=pathlib.Path("fuzz-finds"))
    args = parser.parse_args()
    shares = {**{name: share for name, (share, _) in LIBFUZZER.items()}, **SCRIPTS}
    readers = args.readers.split(",")
    whole = sum(shares[reader] for reader in readers)
    total = failures = 0
    os.environ["ASAN_OPTIONS"] = f"include={ROOT}/test/asan.options"
    for reader in readers:
        limit = {"runs": args.runs} if args.runs else {"seconds": 60 * (args.minutes or 5) * shares[reader] / whole}
        run = run_libfuzzer if reader in LIBFUZZER else run_script
        with tempfile.TemporaryDirectory() as scratch:
            executed, found = run(reader, args.build.resolve(), limit, args.seed, args.finds.resolve(), pathlib.Path(scratch))
        print(f"{reader}: {executed} inputs, {found} finds", flush=True)
        total += executed
        failures += found
    print(f"{total} inputs, {failures} finds")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
