"""fovea.torch with the tests' fake driver: tensors in host memory are treated as on a device, and
launches print their arguments. Import it in a process whose LD_LIBRARY_PATH has the fake driver."""

import fovea
import fovea.torch
from fovea.torch import _attention
from fovea.torch.cache import _calls
from fovea.torch.autograd import _gradients
from fovea.torch.ops import _launches, _op

# The image is a text for the fake driver, not for ptxas.
fovea.compiler._kernel.find_ptxas = lambda: None
_launches.current_stream = lambda device: 0x77
_op.targets_of = lambda device: ("sm_80",)
_attention.check = lambda *arguments: None
_launcher, _compiled, _run = _op.launcher, _op.compiled, _calls.run
#: The number of calls on the slow path.
long_ways = []


def compiled(*arguments):
    kernel = _compiled(*arguments)
    # The parts of an image that the fake driver reads: kernels' names, the types of their arguments.
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
_op.launcher = lambda call, device: _launcher(call, 0)
_kernel_of = _gradients._kernel_of
_gradients._kernel_of = lambda call, lse_gradient, device: _kernel_of(call, lse_gradient, 0)
fovea.runtime._launch.describe = lambda name, tensor: fovea.runtime._launch.DeviceTensor(
    tensor.data_ptr(), tuple(tensor.shape), fovea.runtime._dtypes.dtype_name(tensor.dtype), tensor.stride())
