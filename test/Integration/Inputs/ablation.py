"""Switches every mechanism of the automatic schedule on sm_90a off, one at a time, and checks the numbers."""

import pathlib
import subprocess
import sys

# What is off, as overrides of the automatic schedule.
OFF = [
    "auto",
    "overlap=0,chain=0",
    "overlap=0,chain=0,ping_pong=0",
    "chain=0",
    "query_stages=1,chain=0",
    "query_stages=1,chain=2",
    "ping_pong=0",
    "softmax_part=100",
    "softmax_part=50",
    "sum_by_dot=0",
    "classify=0",
    "add_by_dot=0",
    "score_stages=0",
    "work=static",
    "work=dynamic",
    "work=single,chain=0",
    "recurrence=deferred",
    "recurrence=conditional",
    "key_stages=2,stages=2",
    "key_stages=1,stages=1,query_stages=1,chain=0",
    "tau=0",
    "exp2_by_fma=50",
    "cluster=2,work=static",
    "output=direct",
    "output=tma",
    "output=tma,output_stages=0",
    "output=tma,output_stages=0,query_stages=1,chain=0",
    "output=tma,output_stages=1,key_stages=2,stages=2",
    "output=tma,output_stages=0,query_stages=1,overlap=0,chain=0,work=single",
    "output=tma,output_stages=0,cluster=2,work=static",
    "output=tma,output_stages=1,cluster=2,work=static,key_stages=1,stages=1",
    # Everything at once: roles, copies by the engine and asynchronous dots only.
    "overlap=0,chain=0,ping_pong=0,softmax_part=100,sum_by_dot=0,classify=0,score_stages=0,work=single,"
    "recurrence=deferred,query_stages=1,key_stages=2,stages=2",
]
PROGRAMS = {
    "dense": "B=1,Hq=2,Hkv=1,Sq=300,Skv=400",
    "causal": "B=2,Hq=2,Hkv=2,Sq=600,Skv=600",
}


def main():
    run, examples, *names = sys.argv[1:]
    failed = 0
    for name in names:
        for off in OFF:
            command = [run, str(pathlib.Path(examples) / f"{name}.mlir"), "--level=warp", "--target=sm_90a", f"--schedule={off}",
                       "--check", "--random=1", "--seeds=2", "--dims", PROGRAMS[name]]
            result = subprocess.run(command, capture_output=True, text=True)
            print(f"{name} {off}: " + ("right" if result.returncode == 0 else "wrong\n" + result.stdout + result.stderr))
            failed += result.returncode != 0
    return failed != 0


sys.exit(main())
