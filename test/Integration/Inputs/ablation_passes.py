"""Removes passes from the pipeline to the warp level, or disables their options, one at a time, and
checks the results: ablation_passes.py FOVEA_OPT FOVEA_RUN FOLDER.

The pass must change the program; otherwise nothing was tested, which is an error.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "GPU"))

import gpu_variants  # noqa: E402

SIZES = "B=2,Hq=2,Hkv=2,Sq=300,Skv=300"
#: A program, the schedule it gets, and sizes of its captured tensors.
DENSE = ("dense_bf16_d64_bhsd", "auto", "")
CAUSAL = ("causal_bf16_d64_bhsd", "auto", "")
DOCUMENTS = ("documents_bf16_d64_bhsd", "auto", ",capture0.0=2,capture0.1=300,capture1.0=2,capture1.1=300")
TABLE = ("tablecausal_bf16_d64_bhsd", "auto", ",capture0.0=2,capture0.1=65")
#: The pass to remove, its replacement or the option to disable, and the program.
CHANGES = [
    ("tile-fuse-online-softmax", "fixed-reference=false", ("fastcap_bf16_d64_bhsd", "auto", "")),
    ("warp-schedule-loops,warp-hold-across-waits,warp-delay-atomic-adds,warp-chain-tiles", "", CAUSAL),
    ("warp-chain-tiles", "", CAUSAL),
    ("tile-sink-coordinates", "", CAUSAL),
    ("warp-split-softmax", "", DENSE),
    ("warp-approximate-exp2", "", (DENSE[0], "exp2_by_fma=50", "")),
    ("warp-ping-pong", "", CAUSAL),
    ("warp-insert-output-copies", "", (CAUSAL[0], "output=tma", "")),
    ("warp-specialize", "warp-specialize{relays=false}", DOCUMENTS),
    ("warp-prefetch-scalars", "", TABLE),
    ("warp-split-masked-loops", "", CAUSAL),
    ("warp-hoist-vectors", "", DOCUMENTS),
    ("attn-to-tile", "held-rows=false", CAUSAL),
    ("attn-to-tile", "final-tiles=false", CAUSAL),
    ("attn-to-tile", "overlap-prologue=false", DOCUMENTS),
]


def run(*command, text=None):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def change(pipeline, passes, instead):
    """The pipeline without `passes`, with another pass, or with an option that is off."""
    option = re.fullmatch(r"([a-z-]+)=false", instead)
    if option:
        return re.sub(rf"(,\s*{passes}\{{[^}}]*\b{option[1]})=true", r"\1=false", pipeline)
    # Passes with their options, separated by commas.
    pattern = "".join(rf",\s*{one}(\{{[^}}]*\}})?" for one in passes.split(","))
    return re.sub(pattern, f",{instead}" if instead else "", pipeline)


def main():
    opt, fovea_run, folder = sys.argv[1:]
    failed = 0
    for passes, instead, (name, schedule, captures) in CHANGES:
        reference = pathlib.Path(folder) / f"{name}.mlir"
        reference.write_text(gpu_variants.emit(gpu_variants.Config.parse(name), False))
        options = f"--fovea-to-warp=target=sm_90a schedule={schedule}"
        code, right, said = run(opt, str(reference), options, "--dump-pass-pipeline")
        assert code == 0, said
        pipeline = said[said.index("builtin.module") :].strip()
        changed = change(pipeline, passes, instead)
        what = f"{name}: {instead or 'without'} {passes}"
        code, kernel, said = run(opt, str(reference), f"--pass-pipeline={changed}")
        verdict = said
        if code == 0 and kernel == right:
            verdict = "wrong: the kernel is as it was"
        elif code == 0:
            kernel_file = pathlib.Path(folder) / "kernel.mlir"
            kernel_file.write_text(kernel)
            code, said, wrong = run(fovea_run, str(kernel_file), f"--reference={reference}", "--random=1", "--seeds=2", "--check",
                                    "--integers=0:3", "--dims", SIZES + captures)
            verdict = "right" if code == 0 else "wrong\n" + said + wrong
        print(f"{what}: {verdict}")
        failed += verdict != "right"
    print(f"{len(CHANGES)} changes, {failed} wrong")
    return failed != 0


sys.exit(main())
