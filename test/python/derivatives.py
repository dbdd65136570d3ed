"""Evaluates regions of attn.backward in PyTorch with f64, to compare the derivatives of
attn-differentiate with PyTorch's autograd."""

import functools
import re

import torch

OP = re.compile(r"\s*(?:%(?P<result>[\w$]+) = )?(?P<name>[a-z]+\.\w+)(?: (?P<rest>.*?))?(?: : (?P<type>.*))?$")
VALUE = re.compile(r"%([\w$]+)")

COMPARISONS = {
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
}


def _cmpf(predicate, a, b):
    unordered = torch.isnan(a) | torch.isnan(b)
    if predicate in ("uno", "ord"):
        return unordered if predicate == "uno" else ~unordered
    holds = COMPARISONS[predicate[1:]](a, b)
    return holds | unordered if predicate[0] == "u" else holds & ~unordered


def _cmpi(predicate, a, b):
    return COMPARISONS[predicate.lstrip("su")](a, b)


def _away(x):
    """Rounds to the nearest integer, ties away from 0."""
    return torch.trunc(x + torch.copysign(torch.full_like(x, 0.5), x))


def _cbrt(x):
    return torch.copysign(torch.abs(x) ** (1 / 3), x)


FUNCTIONS = {
    "arith.addf": torch.add, "arith.subf": torch.sub, "arith.mulf": torch.mul, "arith.divf": torch.div,
    "arith.remf": torch.fmod, "arith.negf": torch.neg, "arith.select": torch.where, "arith.maximumf": torch.maximum,
    "arith.minimumf": torch.minimum, "arith.maxnumf": torch.fmax, "arith.minnumf": torch.fmin,
    "arith.andi": torch.logical_and, "arith.ori": torch.logical_or, "arith.subi": torch.sub,
    "arith.sitofp": lambda n: n.double(), "arith.fptosi": lambda x: x.long(),
    "math.exp": torch.exp, "math.exp2": torch.exp2, "math.expm1": torch.expm1, "math.log": torch.log,
    "math.log2": torch.log2, "math.log10": torch.log10, "math.log1p": torch.log1p, "math.sqrt": torch.sqrt,
    "math.rsqrt": torch.rsqrt, "math.cbrt": _cbrt, "math.powf": torch.pow, "math.fpowi": torch.pow,
    "math.erf": torch.erf, "math.erfc": torch.erfc, "math.sin": torch.sin, "math.cos": torch.cos, "math.tan": torch.tan,
    "math.asin": torch.asin, "math.acos": torch.acos, "math.atan": torch.atan, "math.atan2": torch.atan2,
    "math.sinh": torch.sinh, "math.cosh": torch.cosh, "math.tanh": torch.tanh, "math.asinh": torch.asinh,
    "math.acosh": torch.acosh, "math.atanh": torch.atanh, "math.absf": torch.abs, "math.floor": torch.floor,
    "math.ceil": torch.ceil, "math.trunc": torch.trunc, "math.round": _away, "math.roundeven": torch.round,
    "math.copysign": torch.copysign, "math.clampf": torch.clamp, "math.fma": lambda a, b, c: a * b + c,
}


def _constant(text, kind):
    if text in ("true", "false"):
        return torch.tensor(text == "true")
    if kind[0] == "f":
        bits = int(text, 16) if text.startswith("0x") else None
        return torch.tensor(float(text) if bits is None else torch.tensor(bits - (bits >> 31 << 32), dtype=torch.int32).view(torch.float32).item(), dtype=torch.float64)
    return torch.tensor(int(text))


def parse(text, name):
    """The arguments of the region `name`, and its ops as (result, name, rest, type)."""
    match = re.search(rf"^\s*{name}\(([^)]*)\) {{\n(.*?)^\s*}}$", text, re.MULTILINE | re.DOTALL)
    assert match, text
    ops = []
    for line in match[2].splitlines():
        op = OP.match(line)
        assert op, line
        ops.append((op["result"], op["name"], op["rest"] or "", op["type"] or ""))
    return VALUE.findall(match[1]), ops


def evaluate(region, values):
    """The region's result, and the gradients that it adds to captured values."""
    arguments, ops = region
    known, added = dict(zip(arguments, values)), {}
    for result, name, rest, kind in ops:
        operands = [known[each] for each in VALUE.findall(rest)]
        if name == "attn.yield":
            return operands[0], added
        if name == "attn.contribute":
            target = VALUE.findall(rest)[1]
            added[target] = added.get(target, 0) + operands[0]
        elif name == "arith.constant":
            known[result] = _constant(rest, kind or "i1")
        elif name in ("arith.cmpf", "arith.cmpi"):
            compare = _cmpf if name == "arith.cmpf" else _cmpi
            known[result] = compare(rest.split(",")[0], *operands)
        elif name in ("arith.extf", "arith.truncf"):
            known[result] = operands[0]
        else:
            known[result] = FUNCTIONS[name](*operands)
    raise AssertionError("no attn.yield")


# With a gradient with respect to the log-sum-exp; without it derivatives that are constant in a row sum to zero.
PROGRAM = """!t = tensor<1x1x8x4xf32>
!r = tensor<1x1x8xf32>
func.func @f(%t: !t, %r: !r, %x: f32, %y: f32, %z: f32) -> (!t, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0:4 = attn.backward %t, %t, %t, %t, %r, %t lse_gradient(%r : !r) gradients(q, captures = [0, 1, 2]) captures(%x, %y, %z : f32, f32, f32)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x0: f32, %y0: f32, %z0: f32) {
      BODY
      attn.yield %r0 : f32
    } : !t, !t, !t, !t, !r, !t -> !t, tensor<f32>, tensor<f32>, tensor<f32>
  return %0#0, %0#1, %0#2, %0#3 : !t, tensor<f32>, tensor<f32>, tensor<f32>
}
"""


@functools.cache
def program(body):
    """A program whose score_mod computes %r0 from %s and the captured %x0, %y0, %z0."""
    return PROGRAM.replace("BODY", "\n      ".join(each.strip() for each in body.strip().splitlines()))


def compare(text, points, seed):
    """The derivatives with respect to s, x, y and z at `points`, by the region and by PyTorch, given the derivative
    with respect to the result."""
    points = [point.double().clone().requires_grad_() for point in points]
    s, *captures = points
    indices = [torch.zeros_like(s, dtype=torch.long)] * 4
    result, _ = evaluate(parse(text, "score_mod"), [s, *indices, *captures])
    expected = torch.autograd.grad(result, points, seed, allow_unused=True) if result.requires_grad else [None] * 4
    with torch.no_grad():
        region = parse(text, "score_gradient")
        by_s, added = evaluate(region, [s, seed, *indices, *captures])
    found = [by_s, *(added.get(name, 0) for name in region[0][6:])]
    expand = lambda value: torch.zeros_like(s) if value is None else torch.as_tensor(value, dtype=torch.float64).expand(s.shape)
    return [(expand(a).detach(), expand(b).detach()) for a, b in zip(found, expected)]
