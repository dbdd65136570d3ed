"""Prepares random programs (test/Fuzz/README.md) for a device in worker processes: draws, traces,
interprets, compiles and assembles them. A mode selects what is launched: the program or its
gradients.
"""

import dataclasses
import multiprocessing
import os
import pathlib
import subprocess
import sys
import typing
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "Fuzz" / "programs"), str(ROOT / "python")]


@dataclasses.dataclass
class Job:
    """A launch and its expected results. Inputs and outputs are identified by the kernel's names;
    scalars are numbers.
    """

    mode: str
    seed: str
    target: str
    text: str
    form: dict
    inputs: dict = dataclasses.field(default_factory=dict)
    #: For each output: element type, values in f64, values of the direct evaluation.
    outputs: dict = dataclasses.field(default_factory=dict)
    meaning: dict = dataclasses.field(default_factory=dict)
    plain: dict = dataclasses.field(default_factory=dict)
    #: For gradients: the errors that are always allowed (gradients.py).
    residue: dict = dataclasses.field(default_factory=dict)
    value_length: float = 0.0
    score_error: float = 0.0
    image: typing.Any = None
    metadata: typing.Any = None
    #: The reason why it is not launched, one of SKIPPED, and the error message.
    skipped: str = ""
    error: str = ""
    choices: list = dataclasses.field(default_factory=list)


SKIPPED = ("refused", "without gradients", "without numbers")


class Forwards:
    """The programs themselves."""

    name, launches = "programs", 1

    @staticmethod
    def fill(job, prepared):
        form, names = job.form, ("o", "lse")[:1 + job.form["lse"]]
        job.inputs = {name: array for name, _, array in prepared.inputs}
        job.outputs = dict(zip(names, (form["output_dtype"] or form["dtype"], "f32")))
        job.meaning, job.plain = dict(zip(names, prepared.meaning)), dict(zip(names, prepared.plain))
        job.value_length = prepared.value_length

    @staticmethod
    def compile(prepared, target):
        return prepared.compile(target)

    @staticmethod
    def is_refusal(message, form):
        import execute

        return execute.is_refusal(message, form)

    @staticmethod
    def has_one_order(form):
        return True

    @staticmethod
    def judge(job, found):
        """Compares the outputs; returns (kind, message) of a failure, or ("", "")."""
        import rules

        verdict = rules.check_output(found["o"], job.meaning["o"], job.plain["o"], job.outputs["o"], job.form["dtype"],
                                     job.score_error, job.value_length)
        if not verdict.kind and "lse" in found:
            verdict = rules.check_lse(found["lse"], job.meaning["lse"], job.score_error)
        return verdict.kind, verdict.message


class Gradients:
    """Gradients with respect to all differentiable inputs. They are launched twice: ordered sums
    must give the same bits, and a missing wait between roles may show in only one of the launches.
    """

    name, launches = "gradients", 2

    @staticmethod
    def fill(job, prepared):
        own = prepared.gradients
        if own is None:
            job.skipped = "without numbers"
            return
        job.inputs = {name: array for name, _, array in own.inputs}
        job.outputs, job.meaning, job.plain, job.residue = own.outputs, own.meaning, own.plain, own.residue

    @staticmethod
    def compile(prepared, target):
        return prepared.gradients.compile(target)

    @staticmethod
    def is_refusal(message, form):
        import execute

        return execute.is_refusal_of_gradients(message)

    @staticmethod
    def has_one_order(form):
        import gradients

        return gradients.in_one_order(form)

    @staticmethod
    def judge(job, found):
        import gradients

        message = gradients.judge_all(found, job.meaning, job.plain, job.residue, job.outputs, job.form["dtype"], job.score_error)
        return ("gradient" if message else ""), message


MODES = {mode.name: mode for mode in (Forwards, Gradients)}


# --- In a process for programs ----------------------------------------------------


def begin(library, processors):
    """The process has one processor to itself."""
    if library:
        os.environ["FOVEA_LIBRARY_PATH"] = library
    number = multiprocessing.current_process()._identity
    if number and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {processors[number[-1] % len(processors)]})


def prepare(mode, run, index, target, chip, folder):
    """The Job of a run's program."""
    import worker

    program, choices = worker.draw(run, index)
    job = prepare_program(mode, program, worker.seed_of(run, index), target, chip, folder)
    job.choices = choices
    return job


def prepare_program(mode, program, seed, target, chip, folder):
    """Creates a job for one program."""
    job = Job(mode, seed, target, str(program), program.form)
    kernel = interpret_and_compile(job, program)
    if kernel is not None:
        write(job, kernel, chip, pathlib.Path(folder))
    return job


def interpret_and_compile(job, program):
    """Compiles the kernel. Returns None and sets the job's reason if there is none."""
    import execute
    import program as programs

    import fovea

    mode = MODES[job.mode]
    # The tensor cores lose the same part of a sum of products, whatever uses it.
    job.score_error = max(program.form["score_error"], programs.score_node(program.form).error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with execute.Prepared(program) as prepared:
                mode.fill(job, prepared)
                return None if job.skipped else mode.compile(prepared, job.target)
    except fovea.CompileError as error:
        message = execute.explained(error)
        if mode.is_refusal(message, program.form):
            job.skipped = "refused"
        else:
            job.error = message
    except Exception as error:  # a find, whatever it is
        job.error = f"{type(error).__name__}: {error}"
    return None


def write(job, kernel, chip, folder):
    """The job's files: PTX, machine code of it where there is ptxas, metadata."""
    import kernels

    path = folder / f"{job.seed.replace(':', '_')}_{job.target}"
    job.image, job.metadata = f"{path}.ptx", f"{path}.json"
    pathlib.Path(job.image).write_text(kernel.ptx)
    pathlib.Path(job.metadata).write_bytes(kernel._metadata)
    ptxas = kernels.find_ptxas()
    if not ptxas or not chip:
        return
    try:
        kernels._run([ptxas, f"-arch={kernels.ptxas_chip(job.target, chip)}", job.image, "-o", f"{path}.cubin"], "ptxas")
        job.image = f"{path}.cubin"
    except (kernels.CompileError, subprocess.SubprocessError, OSError) as error:
        job.error = str(error)
