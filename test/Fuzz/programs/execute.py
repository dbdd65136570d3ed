"""Runs a program at several levels and describes failures."""

import ctypes
import dataclasses
import functools
import json
import math
import re
import time
import warnings

import data
import gradients
import numpy
import rules

import fovea
from fovea.compiler import _kernel, _library
from fovea.runtime._arrays import as_tensors, from_tensor, to_host
from fovea.errors import CompileError, TraceError

TARGETS = ("sm_80", "sm_90a")
#: Documented reasons for rejecting a program.
REFUSALS = (
    r"schedule's '",  # a schedule that was drawn doesn't fit
    r"needs \d+ bytes of shared memory",
    r"recurrence",
    r"schedule needs (about )?\d+ registers",
    r"row sums by a dot need a schedule with roles",
)


@dataclasses.dataclass(frozen=True)
class Failure:
    """`kind` is "trace", "error", "o", "mean", "lse", "eager", "gradient", "crash" or "hang"."""

    kind: str
    level: str = ""
    target: str = ""
    message: str = ""

    def __str__(self):
        place = f" at level {self.level}{' for ' + self.target if self.target else ''}" if self.level else ""
        return f"{self.kind}{place}: {self.message}"

    @property
    def signature(self):
        """The common part of failures with the same cause, without numbers and names."""
        message = "" if self.kind in ("o", "mean", "lse", "eager", "gradient") else re.sub(r"'[^']*'|[\d.]+", "#", self.message)
        return self.kind, self.level, self.target, message[:160]


class Prepared:
    """A program with its inputs, traced and parsed once. To be used in ``with``."""

    def __init__(self, program):
        self.program, self.form = program, program.form
        self.arrays = data.inputs(program)
        self.functions, self.block_mask = {}, None
        (self._prepare_torch if program.front_end == "torch" else self._prepare_plain)()
        self.text = self.spec.mlir

    def __enter__(self):
        self.context = _library.Context()
        try:
            self.module = self.context.parse(self.spec.located, self.spec.file)
            signature = self.context.take(self.context.lib.foveaModuleSignature(self.module, None))
        except BaseException:
            self.context.__exit__()
            raise
        named = [(entry["name"], entry["dtype"], to_host(entry["name"], self.named[entry["name"]], entry["dtype"]))
                 for entry in json.loads(signature)["inputs"]]
        self.inputs = named
        self.tensors, self.keep = as_tensors(named)
        return self

    def __exit__(self, *exception):
        self.context.__exit__(*exception)

    def _run_source(self, **names):
        scope = {"fovea": fovea, "math": math, "numpy": numpy, **names}
        exec(compile(self.program.source, "<program>", "exec"), scope)
        self.functions = {name: scope[name] for name in ("score_mod", "mask_mod") if name in scope}

    def _prepare_plain(self):
        form = self.form
        self._run_source()
        captures = {name: (captured.dtype, tuple(captured.dims) if captured.static else (None,) * len(captured.dims))
                    for name, captured in self.program.captures.items()}
        sizes = {"batch": "batch", "heads": "heads", "kv_heads": "kv_heads", "query_length": "queries", "key_length": "keys"}
        blocks = fovea.Blocks(**form["blocks"]) if form["blocks"] else None
        self.spec = fovea.attention(
            self.functions.get("score_mod"), self.functions.get("mask_mod"), dtype=form["dtype"], head_dim=form["head_dim"],
            value_head_dim=form["value_head_dim"], scale=form["scale"], lse=form["lse"], layout=form["layout"],
            sequences=form["sequences"], blocks=blocks, sinks=form["sinks"], dropout=form["dropout"],
            captures=captures, output_dtype=form["output_dtype"], **{name: form[sizes[name]] for name in form["static"]},
        )
        self.named = dict(self.arrays)

    def _prepare_torch(self):
        import aten_calls

        self.tensors_of_torch = {}
        for name, array in self.arrays.items():
            captured = self.program.captures.get(name)
            dtype, view = (captured.dtype, captured.view) if captured else (self.form["dtype"], "plain")
            self.tensors_of_torch[name] = aten_calls.tensor(array, dtype, view)
        import torch

        self._run_source(torch=torch, **{name: self.tensors_of_torch[name] for name in self.program.captures})
        self.spec, self.named, self.block_mask = aten_calls.trace(self)

    # --- Levels --------------------------------------------------------------

    def run(self, level, target="sm_80", exact=False):
        """(O, LSE or None) as arrays of f64."""
        if level not in _kernel._LEVELS:
            raise ValueError(f"no level '{level}'")
        form = self.form
        options = _kernel._options({
            "target": target, "schedule": form["schedule"], "recurrence": form["recurrence"],
            "accurate_tanh": form["accurate_tanh"]})
        run = _library.RunOptions(ctypes.sizeof(_library.RunOptions), _kernel._LEVELS[level], exact, form["seed"])
        library, context = self.context.lib, self.context
        outputs = context.check(library.foveaInterpret(
            self.module, ctypes.byref(options), ctypes.byref(run), self.tensors, len(self.inputs)))
        try:
            results = []
            for index in range(library.foveaTensorsCount(outputs)):
                tensor = _library.Tensor()
                library.foveaTensorsGet(outputs, index, ctypes.byref(tensor))
                results.append(from_tensor(tensor).astype(numpy.float64))
        finally:
            library.foveaTensorsDestroy(outputs)
        return results[0], results[1] if len(results) > 1 else None

    def compile(self, target):
        """Compiles to PTX and metadata: a fovea.Kernel."""
        form = self.form
        return fovea.compile(self.spec, target, schedule=form["schedule"], recurrence=form["recurrence"],
                             accurate_tanh=form["accurate_tanh"], cache=False)

    @functools.cached_property
    def gradients(self):
        """A gradients.Gradients; None where O means no numbers."""
        return gradients.of(self)

    @functools.cached_property
    def meaning(self):
        return self.run("attn", exact=True)

    @functools.cached_property
    def plain(self):
        """The straightforward evaluation."""
        return self.run("attn")

    @functools.cached_property
    def score_error(self):
        """The error of scores: the drawn expression's, and that of sums of products."""
        return self.form["score_error"] + (self._product_error() if self.form["dtype"] == "f32" else 0.0)

    def _product_error(self):
        """The error of scores by rounding in f32, which probabilities of f32 show: a few steps of the largest score."""
        rows = [numpy.nan_to_num(self.arrays[name].astype(numpy.float64), posinf=0.0, neginf=0.0) for name in "qk"]
        reach = [float(rules.norms(one).max(initial=0.0)) for one in rows]
        scale = self.arrays.get("scale", self.form["scale"])
        return math.prod(reach) * (self.form["head_dim"] ** -0.5 if scale is None else abs(float(scale))) * 2.0**-22

    @functools.cached_property
    def value_length(self):
        values = numpy.nan_to_num(self.arrays["v"].astype(numpy.float64))
        return float(rules.norms(values).max(initial=0.0)) if values.size else 0.0

    def judge(self, found):
        """A Verdict about (O, LSE)."""
        form = self.form
        verdict = rules.check_output(found[0], self.meaning[0], self.plain[0], form["output_dtype"] or form["dtype"],
                                     form["dtype"], self.score_error, self.value_length)
        if not verdict.kind and self.meaning[1] is not None:
            about_lse = rules.check_lse(found[1], self.meaning[1], self.score_error)
            if about_lse.kind:
                return about_lse
        return verdict


def explained(error):
    """The message of an error of the compiler."""
    if not isinstance(error, CompileError):
        return str(error)
    return "; ".join(str(one) for one in error.diagnostics if one.severity == "error") or str(error)


def is_refusal(message, form):
    """True if the drawn options explain the rejection."""
    if form["schedule"] == "auto" and form["recurrence"] == "auto":
        return False
    return any(re.search(pattern, message) for pattern in REFUSALS)


#: Repetitions of a failure that may depend on the data, and the kinds of such failures.
REPETITIONS, REPEATED = 3, ("mean", "gradient")

#: The levels and targets of a program, with the percentage of programs that run there; the seed
#: decides which.
PLAN = (
    (("tile", "sm_80"), 100), (("tile", "sm_90a"), 100), (("warp", "sm_80"), 20), (("warp", "sm_90a"), 8), (("eager", ""), 40),
    (("compile", "sm_80"), 1), (("compile", "sm_90a"), 1),
    (("gradient-tile", "sm_80"), 10), (("gradient-tile", "sm_90a"), 20), (("gradient-warp", "sm_80"), 3), (("gradient-warp", "sm_90a"), 3),
    (("gradient-compile", "sm_80"), 1), (("gradient-compile", "sm_90a"), 2),
    # Like sm_80, but with 99 KiB of shared memory.
    (("warp", "sm_86"), 3), (("gradient-warp", "sm_86"), 3),
)


def executions(program, plan=PLAN):
    """Which (level, target) a program is run at."""
    chosen = []
    for number, (where, share) in enumerate(plan):
        if (program.form["seed"] * 7919 + number * 104729) % 100 < share:
            chosen.append(where)
    return chosen


def check(program, wheres=None, times=None):
    """The first Failure of a program, or None; and how many executions there were.
    `times` adds up seconds by phase."""
    count = 0

    def timed(name, function, *arguments):
        start = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            if times is not None:
                times[name] = times.get(name, 0.0) + time.perf_counter() - start

    wheres = executions(program) if wheres is None else wheres
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = timed("trace", Prepared, program)
    except (TraceError, ValueError, TypeError, NotImplementedError, RuntimeError, IndexError, KeyError) as error:
        return Failure("trace", message=f"{type(error).__name__}: {error}"), count
    try:
        with prepared:
            timed("meaning", lambda: (prepared.meaning, prepared.plain))
            count += 2
            for level, target in wheres:
                failure, done = timed(f"{level} {target}".strip(), check_one, prepared, level, target)
                count += done
                if failure is not None and failure.kind in REPEATED:
                    again, done = timed("again", fails_again, program, (level, target))
                    count += done
                    failure = failure if again else None
                if failure is not None:
                    return failure, count
    except CompileError as error:
        return Failure("error", "attn", "", explained(error)), count
    return None, count


def with_other_data(program):
    """Yields the program REPETITIONS times with other data; gradients keep their order of sums."""
    for number in range(1, REPETITIONS + 1):
        seed = program.form["seed"] + number * gradients.ORDERS
        yield dataclasses.replace(program, form={**program.form, "seed": seed})


def fails_again(program, where):
    """True if most of REPETITIONS with other data fail too: rows with the same probability have the
    same rounding error, so one draw is not significant.
    """
    again = count = 0
    for other in with_other_data(program):
        with Prepared(other) as prepared:
            failure, done = check_one(prepared, *where)
        again += failure is not None
        count += done + 2
    return 2 * again > REPETITIONS, count


#: Documented reasons for rejecting gradients.
GRADIENT_REFUSALS = (
    r"is to be deterministic, but its elements",
)


def is_refusal_of_gradients(message):
    return any(re.search(pattern, message) for pattern in GRADIENT_REFUSALS)


def check_gradients(prepared, level, target):
    try:
        message, count = gradients.check(prepared, level, target)
    except CompileError as error:
        message = explained(error)
        if is_refusal_of_gradients(message):
            return None, 1
        return Failure("error", level, target, message), 1
    return (Failure("gradient", level, target, message) if message else None), count


def check_one(prepared, level, target):
    """(Failure or None, executions)."""
    if level in gradients.LEVELS or level == gradients.COMPILE:
        return check_gradients(prepared, level, target)
    if level == "eager":
        if prepared.program.front_end != "torch":
            return None, 0
        import aten_calls

        try:
            message = aten_calls.compare(prepared)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AssertionError) as error:
            message = f"PyTorch refuses what was taken: {type(error).__name__}: {str(error)[:300]}"
        return (Failure("eager", message=message) if message else None), 1
    try:
        if level == "compile":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                prepared.compile(target)
            return None, 1
        found = prepared.run(level, target)
    except CompileError as error:
        message = explained(error)
        if is_refusal(message, prepared.form):
            return None, 0
        return Failure("error", level, target, message), 1
    verdict = prepared.judge(found)
    return (Failure(verdict.kind, level, target, verdict.message) if verdict.kind else None), 1
