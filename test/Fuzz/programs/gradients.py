"""Gradients of a program: what it means, and at each level, by all that has one.

They are judged by rows (along the last dimension), as L2 norms: an error may be three times that of the
straightforward evaluation, in the row or in all rows on average, two units in the last place of each element, and a
part of the longest row, and of 1: 2^-10 and four times what scores may be off by, 2^-14. Derivatives by scores are
differences, P (dP - D), which are nothing where one key has a row's whole weight: gradients may be off by what they
are moved by if D is off by 2^-21 of its terms. Where scores may be off by more than 1 a row is asked for numbers alone.
So this finds what is lost, counted twice, or put elsewhere, not a rounding too many, which `fovea-run --check` asks
about. Sums of few elements cancel, so that one draw of the data says little (execute.py repeats it)."""

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
from fovea import _kernel, _library
from fovea._arrays import as_tensors, from_host, from_tensor, to_host

#: What is compared, as a level of the interpreter; and what is compiled down to PTX alone.
LEVELS, COMPILE = {"gradient-tile": "tile", "gradient-warp": "warp"}, "gradient-compile"
#: One in so many programs asks for sums in one order.
ORDERS = 3
SLACK_OF_LONGEST, SLACK_OF_ONE = 2.0**-10, 2.0**-14
LARGEST_SCORE_ERROR = 1.0
#: What D's terms may be off by, as a part of them; and how far they are moved to see what that does, which O's type must show.
RESIDUE, STEP = 2.0**-21, 2.0**-5


def differentiates(program):
    """Whether kernels find its gradients."""
    return program.form["dtype"] != "f32"


def in_all_rows(errors):
    """At least what they are on average: what cancels in one row may not do so in another."""
    return numpy.maximum(errors, (errors**2).mean() ** 0.5)


def judge(found, meaning, plain, residue, output, weights, score_error):
    """What is wrong with one gradient, or ""."""
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
    """Whether sums are to have one order, so that the same inputs give the same bits."""
    return form["seed"] % ORDERS == 0


class Gradients:
    """The gradients of a prepared program, by all that has one: their own program, its
    inputs, and what they mean. To be used while the program is prepared."""

    def __init__(self, prepared, spec, arrays):
        self.form, self.context, self.spec = prepared.form, prepared.context, spec
        self.module = self.context.parse(spec.located or spec.mlir, spec.file)
        signature = json.loads(self.context.take(self.context.lib.foveaModuleSignature(self.module, None)))
        self.inputs = [(entry["name"], entry["dtype"], to_host(entry["name"], arrays[entry["name"]], entry["dtype"]))
                       for entry in signature["inputs"]]
        #: Element types by names.
        self.outputs = {entry["name"]: entry["dtype"] for entry in signature["outputs"]}

    def run(self, level, target="sm_80", exact=False, inputs=None):
        """The gradients by their names, as arrays of f64. `inputs` are the program's own by default."""
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
        """What the gradients are off by if all terms of D are, by RESIDUE of them."""
        arrays = {name: from_host(array, dtype) for name, dtype, array in self.inputs if name in ("o", "do")}
        moved = arrays["o"] - STEP * numpy.abs(arrays["o"]) * numpy.sign(arrays["do"])
        inputs = [(name, dtype, to_host(name, moved, dtype) if name == "o" else array) for name, dtype, array in self.inputs]
        results = self.run("attn", exact=True, inputs=inputs)
        with numpy.errstate(invalid="ignore"):
            return {name: numpy.nan_to_num(results[name] - self.meaning[name]) * (RESIDUE / STEP) for name in results}

    def compile(self, target):
        """To PTX and metadata: a fovea.Kernel. Its schedule is its own, as that of a kernel
        which is compiled with its forward."""
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
    """What is wrong with gradients, all by their names, or "". `outputs` has their element
    types, `weights` is that of V."""
    for name, dtype in outputs.items():
        wrong = judge(found[name], meaning[name], plain[name], residue[name], dtype, weights, score_error)
        if wrong:
            return f"{name}: {wrong}"
    return ""


def check(prepared, level, target):
    """What is wrong with the program's gradients, or ""; and how many executions there were."""
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
