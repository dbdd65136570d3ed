"""Launches with a fake CUDA driver that prints its calls."""

import pytest

START = """
import ctypes, sys
import fovea
from fovea import DeviceTensor as T

# The fake driver reads PTX.
fovea.compiler._kernel.find_ptxas = lambda: None

def cuda_array(address, shape, typestr, strides=None):
    facts = {"data": (address, False), "shape": shape, "typestr": typestr, "strides": strides, "version": 3}
    return type("Array", (), {"__cuda_array_interface__": facts})()

class Torch:
    is_cuda, device = True, "cuda:0"
    def __init__(self, address, shape, dtype, strides=None):
        self.shape, self.address, self.dtype = shape, address, dtype
        self.strides = strides or fovea.runtime._launch.contiguous_strides(shape)
    def data_ptr(self): return self.address
    def stride(self): return self.strides
    def get_device(self): return 0

spec = fovea.attention(
    lambda s, b, h, q, k, slopes, gain: s * gain + slopes[h], dtype="f16", head_dim=16, scale="runtime",
    captures={"slopes": ("f32", (None,)), "unused": ("i32", (4,)), "gain": ("f32", ())},
)
kernel = fovea.compile(spec, target="sm_80")
# The parts of an image that the fake driver reads: a kernel's name, the types of its arguments.
types = [p.get("type", "pointer") for p in kernel.metadata["parameters"]]
kernel._ptx = f"// arguments: {' '.join(types)}\\n.visible .entry attention()".encode()
shape, half = (1, 2, 32, 16), "f16"
good = dict(q=T(0x1000, shape, half), k=T(0x2000, shape, half), v=T(0x3000, shape, half), o=T(0x4000, shape, half),
            lse=T(0x5000, (1, 2, 32), "f32"), slopes=T(0x6000, (2,), "f32"), gain=0.5, scale=0.25)
"""


@pytest.fixture
def launch(run_python, build):
    """The driver's calls, and the errors."""
    folder = build / "test" / "Runtime" / "fake-driver"

    def run(text):
        result = run_python(START + text, LD_LIBRARY_PATH=str(folder))
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def arguments(output):
    return [line for line in output.splitlines() if line.startswith("arguments:")]


def test_arguments(launch):
    output = launch("""
sys.stdout.flush()
kernel.launch(stream=0x77, **good)
kernel.launch(**{**good, "q": cuda_array(0x1000, shape, "<f2"), "slopes": cuda_array(0x6000, (2,), "<f4", (4,))})
kernel.launch(**{**good, "q": Torch(0x1000, shape, "torch.float16"), "unused": T(0, (4,), "i32")})
loaded = kernel.loaded(0)
print(loaded.tensors, loaded.scalars, loaded.dtypes, loaded.ranks, loaded.shapes[0], flush=True)
tensors = {n: Torch(t.address, t.shape, t.dtype) for n, t in good.items() if isinstance(t, T) for n in [kernel._internal.get(n, n)]}
loaded.launch_torch(0, [tensors[n] for n in loaded.tensors], [{"scale": 0.25, "gain": 0.5}[n] for n in loaded.scalars])
print(sorted(loaded.info()))
""")
    assert "stream 0x77" in output
    first, *others = arguments(output)
    assert len(others) == 3 and all(line == first for line in others)
    for value in ("0x1000", "0x2000", "0x3000", "0x4000", "0x5000", "0x6000", "0.25", "0.5"):
        assert f" {value} " in first + " "
    assert "'gain'" in output and "(None, None, None, 16)" in output and "'registers'" in output


FRAMEWORK = """
import types
torch = types.ModuleType("torch")
torch.Tensor, torch.float16, torch.float32 = Torch, "torch.float16", "torch.float32"
made = []
def empty(shape, dtype, device):
    made.append(Torch(0x40000 + 0x10000 * len(made), shape, dtype))
    return made[-1]
torch.empty = empty
torch.cuda = types.SimpleNamespace(current_stream=lambda device=None: types.SimpleNamespace(cuda_stream=0x99))
sys.modules["torch"] = torch
tensors = [Torch(0x1000 * (1 + i), shape, "torch.float16") for i in range(3)]
slopes = Torch(0x6000, (2,), "torch.float32")
sys.stdout.flush()
"""


def test_calls_allocate_outputs_and_use_the_current_stream(launch):
    output = launch(FRAMEWORK + """
o, lse = kernel(*tensors, slopes=slopes, gain=0.5, scale=0.25)
print(o is made[0], o.shape, o.dtype, lse is made[1], lse.shape, lse.dtype, flush=True)
mine = Torch(0x80000, shape, "torch.float16")
o, lse = kernel(*tensors, o=mine, slopes=slopes, gain=0.5, scale=0.25, stream=0x77)
print(o is mine, len(made))
""")
    assert "stream 0x99" in output and "stream 0x77" in output
    assert "True (1, 2, 32, 16) torch.float16 True (1, 2, 32) torch.float32" in output
    assert "True 3" in output
    first, second = arguments(output)
    assert " 0x40000 " in first + " " and " 0x50000 " in first + " " and " 0x80000 " in second + " "


def test_launches_use_the_current_stream_of_the_framework(launch):
    output = launch(FRAMEWORK + """
kernel.launch(**{**good, "k": tensors[1]})
kernel.launch(**good)
""")
    assert "stream 0x99" in output and "stream 0x0" in output.replace("stream (nil)", "stream 0x0")


def test_strides(launch):
    output = launch("""
kernel.launch(**good)
kernel.launch(**{**good, "q": T(0x1000, shape, half, (4096, 64, 128, 1))})
kernel.launch(**{**good, "q": cuda_array(0x1000, shape, "<f2", (8192, 128, 256, 2))})
""")
    contiguous, strided, same = arguments(output)
    assert contiguous != strided == same and " 128 " in strided


def test_dlpack(launch):
    output = launch("""
class DLPack:
    def __init__(self, address, shape, code, bits, device=2):
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = fovea.runtime._launch._DLTensor(address - 16, device, 0, len(shape), code, bits, 1, sizes, None, 16)
        self.keep = sizes
    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)
    def __dlpack_device__(self):
        return (2, 0)

kernel.launch(**good)
kernel.launch(**{**good, "q": DLPack(0x1000, shape, 2, 16)})
for wrong in (DLPack(0x1000, shape, 5, 64), DLPack(0x1000, shape, 2, 16, device=1)):
    try:
        kernel.launch(**{**good, "q": wrong})
    except TypeError as error:
        print("refused:", error)
""")
    first, second = arguments(output)
    assert first == second
    assert "refused: tensor 'q' has an unsupported DLPack type: code 5, 64 bits" in output
    assert "refused: tensor 'q' is not in the memory of a CUDA device" in output


def test_what_is_refused(launch):
    output = launch("""
def refuse(message, **change):
    try:
        kernel.launch(**{k: v for k, v in {**good, **change}.items() if v is not None})
    except (TypeError, fovea.LaunchError) as error:
        assert message in str(error), error
    else:
        print("TAKEN", message)

refuse("needs a tensor 'k'", k=None)
refuse("needs a number 'scale'", scale=None)
refuse("takes no 'mask'", mask=1)
refuse("tensor 'v' must be of f16, found bf16", v=T(0x3000, shape, "bf16"))
refuse("tensor 'v' must have rank 4, found 3", v=T(0x3000, shape[1:], half))
refuse("tensor 'v' is a int; expected a PyTorch tensor", v=3)
refuse("FOVEA_ERROR_CONSTRAINT: tensor 'q' must lie at a multiple of 16 bytes", q=T(0x1001, shape, half))
refuse("size 'Skv' is 32 in tensor 'k', but 31 in tensor 'v'", v=T(0x3000, (1, 2, 31, 16), half))
cpu = Torch(0x1000, shape, "torch.float16")
cpu.is_cuda, cpu.device = False, "cpu"
refuse("tensor 'q' is on cpu, not on a CUDA device", q=cpu)
refuse("elements of the unsupported type <f8", q=cuda_array(0x1000, shape, "<f8"))
print("done")
""")
    assert "TAKEN" not in output and "done" in output


def test_kernels_of_other_chips(launch):
    output = launch("""
other = fovea.compile(fovea.attention(dtype="f16", head_dim=16), target="sm_120")
try:
    other.launch(**good)
except fovea.LaunchError as error:
    print(error.status, error.message)
print(fovea.device_info()["name"])
fovea.synchronize()
""")
    assert "FOVEA_ERROR_LOAD kernel 'attention' is compiled for sm_120" in output
    assert "Fake 0" in output


def test_chips_of_later_generations(launch):
    """They get PTX, since machine code is for one major compute capability."""
    output = launch("""
for target in ("sm_80", "sm_90"):
    kernel = fovea.compile(fovea.attention(dtype="f16", head_dim=16), target=target)
    kernel._ptx, kernel._cubin = b"// PTX .entry attention()", b"\\177ELF machine code of attention"
    taken = []
    load = fovea.runtime._launch.LoadedKernel.__init__
    fovea.runtime._launch.LoadedKernel.__init__ = lambda self, image, *more: taken.append(image) or load(self, image, *more)
    kernel.loaded(0)
    fovea.runtime._launch.LoadedKernel.__init__ = load
    print(target, taken)
""")
    assert "sm_80 [b'// PTX" in output and "sm_90 [b'\\x7fELF" in output


def test_without_a_device(run_python):
    result = run_python(START + """
try:
    kernel.launch(**good)
except fovea.LaunchError as error:
    print(error.status)
""", LD_LIBRARY_PATH="")
    assert result.stdout.strip() in ("FOVEA_ERROR_NO_DRIVER", "FOVEA_ERROR_NO_DEVICE", "")


def test_overhead_of_a_launch(launch):
    output = launch("""
import os, time
loaded = kernel.loaded(0)
tensors = {n: Torch(t.address, t.shape, t.dtype) for n, t in good.items() if isinstance(t, T) for n in [kernel._internal.get(n, n)]}
row = [tensors[n] for n in loaded.tensors]
null = os.open(os.devnull, os.O_WRONLY)
saved = os.dup(1)
os.dup2(null, 1)
best = 1.0
for _ in range(20):
    start = time.perf_counter()
    for _ in range(50):
        loaded.launch_torch(0, row, (0.25, 0.5))
    best = min(best, (time.perf_counter() - start) / 50)
os.dup2(saved, 1)
print("us", best * 1e6)
""")
    microseconds = float(output.split("us ")[-1].split()[0])
    # 4 on an idle machine; unlike a driver, the fake one prints.
    assert microseconds < 200


def test_a_prologue(launch):
    """Documents: the prologue kernel, and the memory that both kernels share."""
    output = launch("""
spec = fovea.attention(
    mask_mod=lambda b, h, q, k, doc: doc[b, q] == doc[b, k], dtype="f16", head_dim=64, lse=False,
    captures={"doc": ("i32", (None, None))},
)
kernel = fovea.compile(spec, target="sm_90a", schedule="tile_n=64")
def types(kernel):
    kinds = {"pointer": "pointer", "scratch": "scratch", "workspace": "workspace", "tensor_map": "map"}
    return " ".join(kinds.get(p["kind"]) or p["type"] for p in kernel["parameters"])
first, = kernel.metadata["prologue"]
kernel._ptx = (f"// arguments of {first['kernel']}: {types(first)}\\n"
               f"// arguments of attention: {types(kernel.metadata)}\\n.visible .entry attention()").encode()
sys.stdout.flush()
shape = (2, 2, 1000, 64)
kernel.launch(q=T(0x1000, shape, half), k=T(0x2000, shape, half), v=T(0x3000, shape, half), o=T(0x4000, shape, half),
              doc=T(0x6000, (2, 1000), "i32"))
""")
    lines = output[output.index("allocate"):].splitlines()
    # Block min/max of 16 blocks of 64 keys and of 8 tiles of 128 queries in each row.
    assert lines[0].startswith("allocate 512 bytes")
    assert lines[1].startswith("launch grid 4 1 1 block 32 1 1 shared 0")
    assert "0x6000" in lines[2] and "scratch+0" in lines[2] and "scratch+256" in lines[2]
    assert lines[3].startswith("launch grid")
    assert "scratch+0" in lines[4] and "scratch+256" in lines[4]
    assert lines[5] == "free"


def test_a_prologue_in_the_interpreter(run_python):
    result = run_python("""
import numpy as np
import fovea
spec = fovea.attention(
    mask_mod=lambda b, h, q, k, doc: doc[b, q] == doc[b, k], dtype="f16", head_dim=64, lse=False,
    captures={"doc": ("i32", (None, None))},
)
kernel = fovea.compile(spec, target="sm_90a", schedule="tile_m=64,warps=4,tile_n=16,consumer_registers=232")
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 1, 200, 64)).astype(np.float16) for _ in range(3))
doc = (np.arange(200, dtype=np.int32) // 30)[None]
exact = fovea.reference(spec, q, k, v, doc=doc)
again = fovea.Kernel.from_bytes(kernel.to_bytes())
for kernel in (kernel, again):
    for level in ("tile", "warp"):
        assert np.abs(kernel.interpret(q, k, v, doc=doc, level=level) - exact).max() < 2e-3
assert again.metadata["prologue"] == kernel.metadata["prologue"]
""")
    assert result.returncode == 0, result.stderr


def test_contents(launch):
    output = launch("""
spec = fovea.attention(dtype="f16", head_dim=16, sequences="lengths")
kernel = fovea.compile(spec, target="sm_80")
types = [p.get("type", "pointer") for p in kernel.metadata["parameters"]]
kernel._ptx = f"// arguments: {' '.join(types)}\\n.visible .entry attention()".encode()
lengths = (ctypes.c_int32 * 2)(32, 33)
shape, half = (2, 2, 32, 16), "f16"
good = dict(q=T(0x1000, shape, half), k=T(0x2000, shape, half), v=T(0x3000, shape, half), o=T(0x4000, shape, half),
            lse=T(0x5000, (2, 2, 32), "f32"), lengths=T(ctypes.addressof(lengths), (2,), "i32"))
kernel.launch(**good)
try:
    kernel.launch(**good, check=True)
except fovea.LaunchError as error:
    print("refused:", error)
lengths[1] = 0
kernel.launch(**good, check=True)
""")
    assert len(arguments(output)) == 2
    assert "tensor 'lengths' holds 33 at [1], expected 0 to 32, which is 'Skv'" in output
