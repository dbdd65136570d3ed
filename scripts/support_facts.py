"""Facts for docs/Support.md that neither the compiler nor the package can say: GPUs by target, what was
run where, drivers by PTX version. Everything else on that page is asked of the code (scripts/support.py).
"""

#: GPUs of each target. Compute capabilities: https://developer.nvidia.com/cuda-gpus
GPUS = {
    "sm_80": "A100, A30",
    "sm_86": "A10, A40, RTX A6000, RTX 30",
    "sm_87": "Jetson Orin",
    "sm_89": "L4, L40S, RTX 40",
    "sm_90": "H100, H200, without wgmma and TMA",
    "sm_90a": "H100, H200, GH200",
    "sm_100": "B200, GB200, without tcgen05",
    "sm_100a": "B200, GB200",
    "sm_120": "RTX 50, RTX PRO 6000 Blackwell",
}

#: Where kernels of a target were run and timed, with the page that has the numbers.
MEASURED = {
    "sm_80": "H200, not on an A100 ([tables](PerformanceTables.md#forward-on-sm_80))",
    "sm_90a": "H200 ([tables](Performance.md))",
}

#: The software of those runs.
MEASURED_WITH = "driver 580, CUDA 13.0, PyTorch 2.11"

#: CUDA release and Linux driver branch that first load a PTX version.
#: https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes-ptx-release-history and the release notes of
#: these CUDA releases.
DRIVERS = {
    "7.4": ("11.4", 470), "7.8": ("11.8", 520), "8.0": ("12.0", 525), "8.1": ("12.1", 530), "8.6": ("12.7", 565), "8.7": ("12.8", 570),
}

#: Releases of PyTorch beside the one of scripts/requirements-torch.txt, which `make test` uses.
TORCH_ALSO_RUN = ("2.7", "2.9", "2.11", "2.14")
TORCH_GRAPH_BREAKS = ("2.5", "2.6")

#: What `make setup` supports, and its Python, with which `make test` runs.
BUILD_SYSTEM = "Debian 12 on x86-64"
PYTHON_TESTED = "3.11"

#: The platform of the wheel, as scripts/tag_wheel.py finds it.
WHEEL_GLIBC = (2, 27)
