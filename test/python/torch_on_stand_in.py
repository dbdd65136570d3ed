"""fovea.torch on the tests' stand-in for a driver: tensors in host memory are taken
for a device's, launches print their arguments. Import it in a process whose
LD_LIBRARY_PATH has the stand-in."""

import fovea
import fovea.torch
from fovea.torch import _attention, _calls, _gradients, _launches, _op

# The image is text of ours, not ptxas's to read.
fovea._kernel.find_ptxas = lambda: None
_launches.current_stream = lambda device: 0x77
_op.targets_of = lambda device: ("sm_80",)
_attention.check = lambda *arguments: None
_launcher, _compiled, _run = _op.launcher, _op.compiled, _calls.run
#: How often calls went the long way.
long_ways = []


def compiled(*arguments):
    kernel = _compiled(*arguments)
    # What the stand-in reads of an image: kernels' names, the types of their arguments.
    lines = []
    for one in (*kernel.metadata.get("prologue", ()), kernel.metadata, *kernel.metadata.get("epilogue", ())):
        types = [parameter.get("type", {"tensor_map": "map"}.get(parameter["kind"], parameter["kind"]))
                 for parameter in one["parameters"]]
        lines += [f"// arguments of {one['kernel']}: {' '.join(types)}", f".visible .entry {one['kernel']}()"]
    kernel._ptx = "\n".join(lines).encode()
    return kernel


def run(*arguments, **named):
    long_ways.append(arguments)
    return _run(*arguments, **named)


_op.compiled, _calls.run = compiled, run
_op.launcher = lambda program, schedule, recurrence, device: _launcher(program, schedule, recurrence, 0)
_kernel_of = _gradients._kernel_of
_gradients._kernel_of = lambda call, lse_gradient, device: _kernel_of(call, lse_gradient, 0)
fovea._launch.describe = lambda name, tensor: fovea._launch.DeviceTensor(
    tensor.data_ptr(), tuple(tensor.shape), fovea._dtypes.dtype_name(tensor.dtype), tensor.stride())
