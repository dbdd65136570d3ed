"""Launches the jobs prepared by random_jobs.py and compares the results."""

import dataclasses
import typing

import random_jobs
import waiting

#: NaN elements on each side of an output's rows; rows start at multiples of MARGIN elements.
MARGIN = 16


@dataclasses.dataclass
class Device:
    torch: typing.Any
    runtime: typing.Any
    #: torch's device, its current stream, and the architecture for ptxas (None without ptxas).
    device: typing.Any
    stream: int
    chip: typing.Optional[str]


def types_of(metadata):
    """Element types of the inputs and outputs of a launch, by name; None for scalars, which may
    belong to a helper kernel only.
    """
    from fovea.runtime import _launch

    scalars = dict.fromkeys(_launch.scalar_types(metadata))
    return {**scalars, **{tensor["name"]: tensor["dtype"] for tensor in metadata["tensors"]}}


class Tensors:
    """Inputs and outputs of a job. Float inputs may be views into larger buffers of NaN, and
    outputs always are: the NaNs must not be read and must not change.
    """

    def __init__(self, place, job, metadata):
        self.torch, self.device, self.strided = place.torch, place.device, job.form["strided"]
        self.arguments, self.buffers, types = {}, {}, types_of(metadata)
        written = {tensor["name"] for tensor in metadata["tensors"] if tensor["access"] != "read"}
        if written != set(job.meaning):
            raise RuntimeError(f"the kernel writes {sorted(written)}, expected {sorted(job.meaning)}")
        for name, array in job.inputs.items():
            if name in types:  # else the kernel does not read it
                self.arguments[name] = array.item() if types[name] is None else self.make_input(name, array, types[name])
        for name, meaning in job.meaning.items():
            self.make_output(name, meaning.shape, types[name])

    def make_input(self, name, array, dtype):
        """An array of the interpreter's (bf16 as its bits), as a tensor."""
        tensor = self.torch.from_numpy(array.copy())
        tensor = (tensor.view(self.torch.bfloat16) if dtype == "bf16" else tensor).to(self.device)
        if name in ("q", "k", "v", "o", "do", "lse"):
            return self.in_rows(tensor, self.strided)
        return self.in_rows(tensor, False) if name.startswith("capture") else tensor

    def in_rows(self, tensor, gaps):
        """Rows of matrices at multiples of 16 bytes, as TMA requires; optionally with gaps between
        them.
        """
        if tensor.dim() < 2:
            return tensor
        width = tensor.shape[-1]
        room = -(-width // 16) * 16 + 32 * gaps
        fill = self.torch.nan if tensor.is_floating_point() else 0
        buffer = self.torch.full((*tensor.shape[:-1], room), fill, dtype=tensor.dtype, device=self.device)
        view = buffer[..., 8 * gaps:width + 8 * gaps]
        view.copy_(tensor)
        return view

    def make_output(self, name, shape, dtype):
        """Rows with NaN on both sides, and a row of NaN before and after those of each dimension.
        """
        types = {"bf16": self.torch.bfloat16, "f16": self.torch.float16, "f32": self.torch.float32}
        *outer, width = shape or (1,)
        room = -(-(width + 2 * MARGIN) // MARGIN) * MARGIN
        buffer = self.torch.full((*(extent + 2 for extent in outer), room), self.torch.nan, dtype=types[dtype], device=self.device)
        view = buffer[(*(slice(1, -1) for _ in outer), slice(MARGIN, MARGIN + width))]
        self.buffers[name] = buffer
        self.arguments[name] = view if shape else view[0]

    def clear(self):
        for buffer in self.buffers.values():
            buffer.fill_(self.torch.nan)

    def found(self):
        """Outputs as arrays of f64."""
        return {name: self.arguments[name].double().cpu().numpy() for name in self.buffers}

    def damage(self):
        """Describes writes outside of the outputs; "" if there are none."""
        for name, buffer in self.buffers.items():
            view, inside = self.arguments[name], self.torch.zeros_like(buffer, dtype=self.torch.bool)
            inside.as_strided(view.shape, view.stride(), view.storage_offset()).fill_(True)
            written = int((~buffer.isnan() & ~inside).sum())
            if written:
                return f"{written} elements beside '{name}' were overwritten"
        return ""


def check(place, kernel, job):
    """Launches a job; returns (kind, message) of a failure, or ("", "")."""
    mode, before = random_jobs.MODES[job.mode], None
    tensors = Tensors(place, job, kernel.metadata)
    for _ in range(mode.launches):
        tensors.clear()
        kernel(stream=place.stream, **tensors.arguments)
        waiting.synchronize(place.torch)
        damage = tensors.damage()
        if damage:
            return "damage", damage
        found = tensors.found()
        kind, message = mode.judge(job, found)
        if kind:
            return kind, message
        changed = changes(before or found, found)
        if changed and mode.has_one_order(job.form):
            return "bits", f"{changed}; its sums are to have one order"
        before = found
    return "", ""


def changes(first, second):
    """Describes differences in the bits of a second launch; "" if there are none. f64 values show
    the bits of narrower types, except for NaN.
    """
    for name in first:
        differing = int((first[name].view("int64") != second[name].view("int64")).sum())
        if differing:
            return f"{differing} elements of '{name}' have other bits the second time"
    return ""


def launch(place, job):
    """Launches a Job unless it has a reason not to run; raises waiting.Hang."""
    if job.skipped:
        return job.skipped, ""
    if job.error:
        return "compile", job.error
    try:
        return check(place, place.runtime.load(job.image, job.metadata), job)
    except RuntimeError as error:
        return "launch", str(error)


def loses_context(message):
    return any(sign in message for sign in ("illegal", "unspecified launch failure", "CUDA error", "misaligned"))


def settle(place, job, kind, message, folder):
    """Repeats a failure that may depend on the data and returns its new (kind, message): "unstable"
    if the same launch succeeds the next time, "by chance" if most of three other draws of the data
    succeed.
    """
    import execute
    import program as programs

    if kind not in execute.REPEATED:
        return kind, message
    if not launch(place, job)[0]:
        return "unstable", f"{message}; launched again it is right"
    again = 0
    for other in execute.with_other_data(programs.Program.parse(job.text)):
        made = random_jobs.prepare_program(job.mode, other, "again", job.target, place.chip, folder)
        found, _ = launch(place, made)
        again += bool(found) and found not in random_jobs.SKIPPED
    return (kind, message) if 2 * again > execute.REPETITIONS else ("by chance", "")
