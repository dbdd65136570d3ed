"""Gradients of a program, by its meaning and at each level, with respect to all differentiable
inputs.

Gradients are compared by rows (along the last dimension), as L2 norms. The error may be three times
that of the direct evaluation (in the row, or in all rows on average), plus two units in the last
place of each element, plus a part of the longest row and of 1: 2^-10 and four times the error of
scores, 2^-14. dS is the difference P (dP - delta), which vanishes if one key has all probability of
a row: the tolerance includes the change of the gradients when delta changes by 2^-21 of its terms.
If the error of scores may exceed 1, a row must only be finite. So the test finds lost, duplicated
or misplaced contributions, but not single roundings, which `fovea-run --check` tests. Sums of few
elements cancel, so one draw of the data is not significant (execute.py repeats it).
"""

import ctypes
import dataclasses
import functools
import json
import warnings

import data
import execute
import numpy
import rules

import fovea
from fovea.compiler import _kernel, _library
from fovea.runtime._arrays import as_tensors, from_host, from_tensor, to_host

#: Levels of the interpreter to compare, and the level that is only compiled to PTX.
LEVELS, COMPILE = {"gradient-tile": "tile", "gradient-warp": "warp"}, "gradient-compile"
#: One out of ORDERS programs uses deterministic gradients.
ORDERS = 3
SLACK_OF_LONGEST, SLACK_OF_ONE = 2.0**-10, 2.0**-14
LARGEST_SCORE_ERROR = 1.0
#: The relative error of delta's terms; and the step to measure its effect, which must be visible in
#: O's type.
RESIDUE, STEP = 2.0**-21, 2.0**-5


def in_all_rows(errors):
    """At least the average over all rows: terms that cancel in one row may not cancel in another.
    """
    return numpy.maximum(errors, (errors**2).mean() ** 0.5)


def judge(found, meaning, plain, residue, output, weights, score_error):
    """Checks one gradient; returns a message or ""."""
    columns = meaning.shape[-1] if meaning.ndim else 1
    found, meaning, plain, residue = (array.reshape(-1, columns) for array in (found, meaning, plain, residue))
    known = numpy.isfinite(meaning).all(-1) & numpy.isfinite(plain).all(-1)
    if not known.any():
        return ""
    missing = known & ~numpy.isfinite(found).all(-1)
    if missing.any():
        return f"row {int(missing.argmax())} is {found[missing][0]}, expected {meaning[missing][0]}"
    # Nothing is known of weights then.
    if score_error > LARGEST_SCORE_ERROR:
        return ""
    found, meaning, plain, residue = found[known], meaning[known], plain[known], residue[known]
    longest = float(rules.norms(meaning).max(initial=0.0))
    unit = rules.resolution(numpy.abs(meaning).max(-1, initial=0.0), output, weights) * columns**0.5
    baseline, residue = in_all_rows(rules.norms(plain - meaning)), in_all_rows(rules.norms(residue))
    allowed = (rules.SLACK * baseline + rules.ULPS * unit + (SLACK_OF_LONGEST + 4 * score_error) * longest
               + SLACK_OF_ONE + 4 * score_error + residue)
    ratio = rules.norms(found - meaning) / allowed
    row = int(ratio.argmax())
    if ratio[row] <= 1:
        return ""
    return (f"row {row} is off by {rules.norms(found - meaning)[row]:.3g} where {allowed[row]:.3g} is allowed, its length is "
            f"{rules.norms(meaning)[row]:.3g}; {int((ratio > 1).sum())} of {len(ratio)} rows")


def in_one_order(form):
    """True for deterministic gradients: the same inputs must give the same bits."""
    return form["seed"] % ORDERS == 0


class Gradients:
    """The gradients of a prepared program with respect to all differentiable inputs: their own
    program, its inputs, and their meaning. To be used while the program is prepared.
    """

    def __init__(self, prepared, spec, arrays):
        self.form, self.context, self.spec = prepared.form, prepared.context, spec
        self.module = self.context.parse(spec.located or spec.mlir, spec.file)
        signature = json.loads(self.context.take(self.context.lib.foveaModuleSignature(self.module, None)))
        self.inputs = [(entry["name"], entry["dtype"], to_host(entry["name"], arrays[entry["name"]], entry["dtype"]))
                       for entry in signature["inputs"]]
        #: Element types by names.
        self.outputs = {entry["name"]: entry["dtype"] for entry in signature["outputs"]}

    def run(self, level, target="sm_80", exact=False, inputs=None):
        """Evaluates the gradients; returns arrays of f64 by name. `inputs` are the program's own by
        default.
        """
        form, context = self.form, self.context
        options = _kernel._options({"target": target, "accurate_tanh": form["accurate_tanh"]})
        how = _library.RunOptions(ctypes.sizeof(_library.RunOptions), _kernel._LEVELS[level], exact, form["seed"])
        inputs = inputs or self.inputs
        tensors, keep = as_tensors(inputs)
        outputs = context.check(context.lib.foveaInterpret(
            self.module, ctypes.byref(options), ctypes.byref(how), tensors, len(inputs)))
        del keep
        try:
            results = {}
            for index, name in enumerate(self.outputs):
                tensor = _library.Tensor()
                context.lib.foveaTensorsGet(outputs, index, ctypes.byref(tensor))
                results[name] = from_tensor(tensor).astype(numpy.float64)
            return results
        finally:
            context.lib.foveaTensorsDestroy(outputs)

    @functools.cached_property
    def meaning(self):
        return self.run("attn", exact=True)

    @functools.cached_property
    def plain(self):
        """The straightforward evaluation."""
        return self.run("attn")

    @functools.cached_property
    def residue(self):
        """The change of the gradients when all terms of delta change by RESIDUE."""
        arrays = {name: from_host(array, dtype) for name, dtype, array in self.inputs if name in ("o", "do")}
        moved = arrays["o"] - STEP * numpy.abs(arrays["o"]) * numpy.sign(arrays["do"])
        inputs = [(name, dtype, to_host(name, moved, dtype) if name == "o" else array) for name, dtype, array in self.inputs]
        results = self.run("attn", exact=True, inputs=inputs)
        with numpy.errstate(invalid="ignore"):
            return {name: numpy.nan_to_num(results[name] - self.meaning[name]) * (RESIDUE / STEP) for name in results}

    def compile(self, target):
        """Compiles to PTX and metadata: a fovea.Kernel. The schedule is chosen for the gradient, as
        for a kernel that is compiled with its forward.
        """
        return fovea.compile(self.spec, target, accurate_tanh=self.form["accurate_tanh"], cache=False)


def of(prepared):
    """The Gradients of a program; None where O means no numbers."""
    form = prepared.form
    if form["lse"]:
        forward, o, lse = prepared, *prepared.meaning
    else:
        program = dataclasses.replace(prepared.program, form={**form, "lse": True})
        with execute.Prepared(program) as forward:
            o, lse = forward.meaning
    if not numpy.isfinite(o).all() or numpy.isnan(lse).any() or (lse == numpy.inf).any():
        return None
    random = data.generator(form["seed"], "do")
    made = {"o": data.rounded(o, form["output_dtype"] or form["dtype"]), "lse": lse.astype(numpy.float32),
            "do": data.rounded(random.standard_normal(o.shape, numpy.float32), form["dtype"])}
    spec = fovea.gradient(forward.spec, deterministic=in_one_order(form))
    return Gradients(prepared, spec, {**forward.named, **made})


def judge_all(found, meaning, plain, residue, outputs, weights, score_error):
    """Checks all gradients; returns a message or "". `outputs` has their element types by name,
    `weights` is V's.
    """
    for name, dtype in outputs.items():
        wrong = judge(found[name], meaning[name], plain[name], residue[name], dtype, weights, score_error)
        if wrong:
            return f"{name}: {wrong}"
    return ""


def check(prepared, level, target):
    """Checks the program's gradients; returns a message or "", and the number of executions."""
    own = prepared.gradients
    if own is None:
        return "", 1
    if level == COMPILE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own.compile(target)
        return "", 1
    found = own.run(LEVELS[level], target)
    return judge_all(found, own.meaning, own.plain, own.residue, own.outputs, prepared.form["dtype"], prepared.score_error), 5
