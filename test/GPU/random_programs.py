"""Random programs (test/Fuzz, docs/Fuzzing.md) on a GPU: the mode `--random-programs N`
of run_forward.py. Processes draw, trace, compile, assemble and interpret; this one
launches. Each program runs for one target, the targets in turn."""

import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "Fuzz" / "programs"), str(ROOT / "python")]
#: Of a kind, failures that are made smaller, and for how long.
SHRINKS, SHRINK_SECONDS = 2, 60.0


@dataclasses.dataclass
class Job:
    """A program that is ready to run, and what must come of it."""

    seed: str
    target: str
    text: str
    form: dict
    #: Names as the kernel has them; scalars are numbers.
    inputs: dict
    meaning: tuple
    plain: tuple
    value_length: float
    score_error: float
    image: typing.Any = None
    metadata: typing.Any = None
    #: Why it can't run, in words; "" if it was refused for a schedule that was drawn.
    error: typing.Optional[str] = None
    choices: list = dataclasses.field(default_factory=list)


def begin(library, processors):
    """In a process for programs: it has one processor to itself."""
    if library:
        os.environ["FOVEA_LIBRARY_PATH"] = library
    number = multiprocessing.current_process()._identity
    if number and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {processors[number[-1] % len(processors)]})


def prepare(run, index, target, chip, folder):
    """A Job; all that takes time happens here."""
    import worker

    program, choices = worker.draw(run, index)
    job = prepare_program(program, worker.seed_of(run, index), target, chip, folder)
    job.choices = choices
    return job


def prepare_program(program, seed, target, chip, folder):
    import warnings

    import execute
    import program as programs

    import fovea
    import kernels

    job = Job(seed, target, str(program), program.form, {}, (), (), 0.0, 0.0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with execute.Prepared(program) as prepared:
                job.meaning, job.plain, job.value_length = prepared.meaning, prepared.plain, prepared.value_length
                # The matrix units lose as much of a sum of products whatever is made of it.
                job.score_error = max(program.form["score_error"], programs.score_node(program.form).error)
                job.inputs = {name: array for name, _, array in prepared.inputs}
                kernel = prepared.compile(target)
    except fovea.CompileError as error:
        message = execute.explained(error)
        job.error = "" if execute.is_refusal(message, program.form) else message
        return job
    except (fovea.TraceError, ValueError, TypeError, RuntimeError) as error:
        job.error = f"{type(error).__name__}: {error}"
        return job
    path = pathlib.Path(folder) / f"{seed.replace(':', '_')}_{target}"
    job.image, job.metadata = f"{path}.ptx", f"{path}.json"
    pathlib.Path(job.image).write_text(kernel.ptx)
    pathlib.Path(job.metadata).write_bytes(kernel._metadata)
    ptxas = kernels.find_ptxas()
    if ptxas and chip:
        try:
            kernels._run([ptxas, f"-arch={kernels.ptxas_chip(target, chip)}", job.image, "-o", f"{path}.cubin"], "ptxas")
            job.image = f"{path}.cubin"
        except (kernels.CompileError, OSError) as error:
            job.error = str(error)
    return job


# --- On the device ------------------------------------------------------------


def on_device(torch, array, dtype, device):
    """An array of the interpreter's (bf16 as its bits), as a tensor."""
    tensor = torch.from_numpy(array.copy())
    return (tensor.view(torch.bfloat16) if dtype == "bf16" else tensor).to(device)


class Tensors:
    """Inputs and outputs of a job: inputs perhaps in larger buffers, outputs within
    NaN that must stay."""

    def __init__(self, torch, job, dtypes, device):
        self.torch, self.job, self.buffers = torch, job, {}
        form = job.form
        self.arguments = {}
        for name, array in job.inputs.items():
            if name not in dtypes:  # the kernel does not read it
                continue
            if dtypes[name] is None:
                self.arguments[name] = array.item()
                continue
            made = on_device(torch, array, dtypes[name], device)
            own = name in ("q", "k", "v") or name.startswith("capture")
            self.arguments[name] = self.place(made, form["strided"] and name in ("q", "k", "v")) if own else made
        query = job.inputs["q"].shape
        shape = (*query[:3], form["value_head_dim"])
        kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[form["output_dtype"] or form["dtype"]]
        self.output("o", shape, kind, device)
        if form["lse"]:
            batch, heads, queries = (query[0], query[1], query[2]) if form["layout"] == "bhsd" else (query[0], query[2], query[1])
            self.output("lse", (batch, heads, queries), torch.float32, device)

    def place(self, tensor, strided):
        """Rows of matrices at multiples of 16 bytes, as the copy engine needs them; with
        gaps between rows if `strided`."""
        if tensor.dim() < 2:
            return tensor
        width = tensor.shape[-1]
        room = width + 24 if strided else -(-width // 16) * 16
        buffer = self.torch.zeros(*tensor.shape[:-1], room, dtype=tensor.dtype, device=tensor.device)
        view = buffer[..., 8 * strided:width + 8 * strided]
        view.copy_(tensor)
        return view

    def output(self, name, shape, dtype, device):
        margin = 16
        buffer = self.torch.full((*shape[:-1], shape[-1] + 2 * margin), self.torch.nan, dtype=dtype, device=device)
        self.buffers[name] = buffer, margin
        self.arguments[name] = buffer[..., margin:margin + shape[-1]]

    def found(self):
        """(O, LSE or None) as arrays of f64."""
        o, lse = (self.arguments.get(name) for name in ("o", "lse"))
        return o.double().cpu().numpy(), None if lse is None else lse.double().cpu().numpy()

    def damage(self):
        """What was written beside the outputs, in words, or ""."""
        for name, (buffer, margin) in self.buffers.items():
            beside = self.torch.cat([buffer[..., :margin], buffer[..., -margin:]], -1)
            written = int((~beside.isnan()).sum())
            if written:
                return f"{written} elements beside '{name}' were overwritten"
        return ""


def dtypes_of(kernel):
    """Of what a kernel takes, by name; None of scalars."""
    scalars = {one["name"]: None for one in kernel.metadata["parameters"] if one["kind"] == "scalar"}
    return {**scalars, **{tensor["name"]: tensor["dtype"] for tensor in kernel.metadata["tensors"]}}


def check(torch, kernel, job, device, stream):
    """(kind, message) of what is wrong, or ("", "")."""
    import rules
    import waiting

    tensors = Tensors(torch, job, dtypes_of(kernel), device)
    kernel(stream=stream, **tensors.arguments)
    waiting.synchronize(torch)
    damage = tensors.damage()
    if damage:
        return "damage", damage
    o, lse = tensors.found()
    form = job.form
    verdict = rules.check_output(o, job.meaning[0], job.plain[0], form["output_dtype"] or form["dtype"], form["dtype"],
                                 job.score_error, job.value_length)
    if not verdict.kind and lse is not None:
        verdict = rules.check_lse(lse, job.meaning[1], job.score_error)
    return verdict.kind, verdict.message


class Tally:
    def __init__(self):
        self.started, self.counts, self.finds = time.monotonic(), collections.Counter(), []

    def add(self, job, kind, message):
        self.counts[kind or "right"] += 1
        if kind and kind != "refused":
            self.finds.append((kind, job, message))

    @property
    def failed(self):
        return len(self.finds)

    def print(self, show):
        for kind, job, message in self.finds[:show]:
            print(f"FAILED: program {job.seed} for {job.target}: {kind}: {message}\n\n{job.text}")
        if len(self.finds) > show:
            print(f"... and {len(self.finds) - show} more; --show=N shows more")
        seconds, total = time.monotonic() - self.started, sum(self.counts.values())
        print(f"{total} random programs in {seconds:.0f} s: " + ", ".join(f"{n} {kind}" for kind, n in sorted(self.counts.items())))
        print(f"{self.counts['right']} passed, {self.failed} failed, {self.counts['refused']} skipped", flush=True)


def launch(torch, runtime, job, device, stream):
    """(kind, message) of a Job; raises waiting.Hang."""
    if job.error is not None:
        return ("refused", "") if job.error == "" else ("compile", job.error)
    try:
        kernel = runtime.load(job.image, job.metadata)
        return check(torch, kernel, job, device, stream)
    except RuntimeError as error:
        return "launch", str(error)


def lost(message):
    return any(sign in message for sign in ("illegal", "unspecified launch failure", "CUDA error", "misaligned"))


def smaller(torch, runtime, find, chip, folder, device, stream):
    """The smallest program that fails alike, a Job; the one found where Hypothesis is
    missing."""
    try:
        import shrink
    except ImportError:
        return find
    kind, job, message = find
    last = {}

    def fails(program):
        made = prepare_program(program, "shrunk", job.target, chip, folder)
        found, said = launch(torch, runtime, made, device, stream)
        last[str(program)] = made, said
        return found == kind

    smallest, _ = shrink.shrink(job.choices, fails, SHRINK_SECONDS)
    if smallest is None:
        return find
    made, said = last[str(smallest)]
    return kind, dataclasses.replace(made, seed=job.seed), said


def run(torch, runtime, args, targets, chip, device, stream):
    """0 if all passed, 1 if not; prints."""
    import waiting

    library = str(pathlib.Path(args.runtime).resolve().parent) if args.runtime else os.environ.get("FOVEA_LIBRARY_PATH", "")
    begin(library, [])
    tally, usable = Tally(), sorted(os.sched_getaffinity(0))
    context, seed = multiprocessing.get_context("spawn"), str(args.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.work or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ProcessPoolExecutor(args.jobs, context, begin, (library, usable)) as pool:
            waiting_for = [pool.submit(prepare, seed, index, targets[index % len(targets)], chip, folder)
                           for index in range(args.random_programs)]
            for index, future in enumerate(waiting_for):
                if args.time and time.monotonic() - tally.started > args.time:
                    for other in waiting_for[index:]:
                        other.cancel()
                    break
                try:
                    job = future.result()
                except concurrent.futures.process.BrokenProcessPool as error:
                    print(f"a process that compiles crashed at program {seed}:{index} or soon after: {error}")
                    tally.counts["crash"] += 1
                    tally.print(args.show)
                    return 1
                waiting_for[index] = None
                try:
                    kind, message = launch(torch, runtime, job, device, stream)
                except waiting.Hang as error:
                    tally.add(job, "hang", str(error))
                    tally.print(args.show)
                    waiting.abandon(1)
                tally.add(job, kind, message)
                if kind == "launch" and lost(message):
                    print("the context is lost; nothing after this program ran")
                    break
        kinds = collections.Counter()
        for number, find in enumerate(tally.finds):
            kinds[find[0]] += 1
            if kinds[find[0]] <= SHRINKS and find[0] in ("o", "lse", "mean", "compile") and not args.time:
                tally.finds[number] = smaller(torch, runtime, find, chip, folder, device, stream)
    tally.print(args.show)
    return 1 if tally.failed or tally.counts["crash"] else 0
