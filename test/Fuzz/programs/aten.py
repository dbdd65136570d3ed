"""Expressions that only functions written for PyTorch have: its dtypes and its other ops."""

import dataclasses
import math

from captures import RANGES, Captured
from expressions import Region, corners
from nodes import EPSILON, INTEGERS, SMALL, WEAK, Node, as_float_node, constant_float, rounded, sensible

#: Smooth functions: name, least and largest argument, bounds of the result for a magnitude, slope.
SMOOTH = [
    ("log10", 0.1, 1e4, lambda low, high: (math.log10(low), math.log10(high)), 5.0),
    ("reciprocal", 0.25, 1e4, lambda low, high: (1 / high, 1 / low), 16.0),
    ("tan", -1.0, 1.0, lambda low, high: (-1.6, 1.6), 4.0),
    ("atan", -1e4, 1e4, lambda low, high: (-1.6, 1.6), 1.0),
    ("square", -50.0, 50.0, lambda low, high: (0, max(low * low, high * high)), 100.0),
    ("relu", -1e4, 1e4, lambda low, high: (max(low, 0), max(high, 0)), 1.0),
    ("deg2rad", -1e4, 1e4, lambda low, high: (low / 50, high / 50), 0.02),
    ("rad2deg", -4.0, 4.0, lambda low, high: (-240, 240), 58.0),
    ("sinh", -3.0, 3.0, lambda low, high: (-11, 11), 11.0),
    ("cosh", -3.0, 3.0, lambda low, high: (0, 11), 11.0),
    ("sinc", -20.0, 20.0, lambda low, high: (-0.3, 1), 1.5),
    ("nan_to_num", -1e4, 1e4, lambda low, high: (low, high), 1.0),
    ("nn.functional.silu", -30.0, 1e4, lambda low, high: (-0.3, max(high, 0)), 1.2),
    ("nn.functional.gelu", -1e4, 1e4, lambda low, high: (-0.3, max(high, 0)), 1.2),
    ("nn.functional.softplus", -30.0, 15.0, lambda low, high: (0, max(high, 0) + 1), 1.0),
    ("nn.functional.hardtanh", -1e4, 1e4, lambda low, high: (-1, 1), 1.0),
    ("nn.functional.relu6", -1e4, 1e4, lambda low, high: (0, 6), 1.0),
    ("nn.functional.hardsigmoid", -1e4, 1e4, lambda low, high: (0, 1), 0.2),
    ("nn.functional.hardswish", -1e4, 1e4, lambda low, high: (-0.5, max(high, 0)), 1.5),
    ("nn.functional.leaky_relu", -1e4, 1e4, lambda low, high: (min(low, 0) / 100, max(high, 0)), 1.0),
    ("nn.functional.elu", -20.0, 1e4, lambda low, high: (-1, max(high, 0)), 1.0),
    ("nn.functional.selu", -20.0, 1e3, lambda low, high: (-2, 1.1 * max(high, 0)), 2.0),
    ("nn.functional.celu", -20.0, 1e4, lambda low, high: (-1, max(high, 0)), 1.0),
    ("nn.functional.mish", -20.0, 15.0, lambda low, high: (-0.4, max(high, 0)), 1.2),
    ("nn.functional.logsigmoid", -30.0, 15.0, lambda low, high: (min(low, 0) - 1, 0), 1.0),
    ("nn.functional.softshrink", -1e4, 1e4, lambda low, high: (low, high), 1.0),
    ("nn.functional.tanhshrink", -1e4, 1e4, lambda low, high: (low - 1, high + 1), 1.0),
]
#: Discontinuous functions, for exactly known arguments.
JUMPS = [
    ("sign", lambda low, high: (-1, 1)), ("frac", lambda low, high: (-1, 1)),
    ("nn.functional.hardshrink", lambda low, high: (low, high)),
]
VIEWS = (
    ("{0}", 1), ("{0}.clone()", 1), ("{0}.detach()", 1), ("{0}.contiguous()", 1), ("{0}.unsqueeze(0).squeeze(0)", 1),
    ("{0}.unsqueeze(-1)[..., 0]", 1), ("{0}[None][0]", 1), ("{0}.reshape(-1).view({0}.shape)", 1),
    ("{0}.unsqueeze(0).expand(3, {shape})[1]", 1), ("{0}.flatten().reshape({shape})", 1),
    ("{0}.chunk(1)[0]", 1), ("{0}.unsafe_chunk(1)[0]", 1), ("{0}.split(99999)[0]", 1), ("{0}.unsafe_split(99999)[0]", 1),
    ("{0}.split_with_sizes([{0}.shape[0]])[0]", 1), ("{0}.unsafe_split_with_sizes([{0}.shape[0]])[0]", 1),
    ("torch.stack([{0}, {0}]).unbind(0)[1]", 1), ("{0}[None, None].diagonal(0, 0, 1)[..., 0]", 1), ("{0}.unfold(0, 1, 1)[..., 0]", 1),
    ("{0}.flip(0).flip(0)", 1), ("{0}.roll(3, 0).roll(-3, 0)", 1), ("torch.stack([{0}, {0}])[1]", 1), ("torch.cat([{0}, {0}])", 1),
    ("{0}.T.T", 2), ("{0}.transpose(0, 1).mT", 2), ("{0}.transpose(0, 1).transpose(0, 1)", 2), ("{0}.t().t()", 2), ("{0}.permute(1, 0).t()", 2), ("{0}.swapaxes(0, 1).permute(1, 0)", 2),
)
REDUCTIONS = ("sum", "mean", "amax", "amin", "max", "min", "prod")


class AtenRegion(Region):
    integer_types = ("i32", "i64", "i8", "i16", "u8")

    def element_node(self, node):
        """Elements keep their dtype, but PyTorch's clamp does not accept bounds outside of uint8.
        """
        if node.kind == "int" and node.dtype == "u8":
            return dataclasses.replace(node, text=f"{node.text}.{self.source.choose(('long()', 'to(torch.int64)'))}", dtype="i64")
        if node.kind == "float" and node.dtype in ("f16", "bf16") and not self.source.chance(40):
            return dataclasses.replace(node, text=f"{node.text}.float()", dtype="f32")
        return node

    def index_text(self, node):
        # PyTorch takes no others.
        return node.text if node.dtype in ("i32", "i64") else f"({node.text}).long()"

    def finish(self, node):
        # PyTorch's softmax is in the scores' dtype.
        if node.kind == "float" and node.dtype != "f32":
            node = dataclasses.replace(node, text=f"{node.text}.float()", dtype="f32")
        return super().finish(node)

    def int_options(self):
        return [*super().int_options(), (1, self.int_truncated), (1, self.int_of_other_width), (1, self.int_reduced),
                (1, self.int_sign), (1, self.int_bitwise_call), (1, self.int_common_divisor), (1, self.int_searched)]

    def bool_options(self):
        return [*super().bool_options(), (1, self.bool_reduced), (1, self.classified), (1, self.bool_compare_call),
                (1, self.bool_member)]

    def float_options(self):
        return [*super().float_options(), *self.own_options()]

    def own_options(self):
        """Kinds of expressions that plain functions do not have."""
        return [
            (3, self.smooth), (1, self.jump), (2, self.scaled_sum), (2, self.two_arguments), (2, self.reduced), (2, self.filled),
            (1, self.cast), (3, self.viewed), (1, self.rounding_quotient), (1, self.remainder), (2, self.ternary), (1, self.arange),
        ]

    def term(self):
        if not self.source.chance(45):
            return super().term()
        node = self.source.weighted(self.own_options())(0)
        return self.scaled(node if node.traced and sensible(node) else self.float_leaf())

    # --- Integers ------------------------------------------------------------

    def int_truncated(self, depth):
        a, b = self.int_(depth), self.divisor(depth)
        if b.low <= 0 and a.dtype != "i64" or b.low <= 0 <= b.high:
            return a
        most = max(abs(a.low), abs(a.high))
        kind = self.source.below(5)
        if kind == 0:
            return self.int_result(f"torch.div({a.text}, {b.text}, rounding_mode='trunc')", (-most, most), a, b)
        if kind == 1:
            bounds = corners(lambda x, y: x // y, a, b) if b.low > 0 else (-most, most)
            return self.int_result(f"torch.div({a.text}, {b.text}, rounding_mode='floor')", bounds, a, b)
        if kind == 2:
            return self.int_result(f"torch.fmod({a.text}, {b.text})", (-most, most), a, b)
        if kind == 3:
            bounds = corners(lambda x, y: x // y, a, b) if b.low > 0 else (-most, most)
            return self.int_result(f"torch.floor_divide({a.text}, {b.text})", bounds, a, b)
        low, high = (0, b.high - 1) if b.low > 0 else (b.low + 1, 0)
        return self.int_result(f"torch.remainder({a.text}, {b.text})", (low, high), a, b)

    def int_of_other_width(self, depth):
        a = self.int_(depth)
        name, short = self.source.choose((("int32", "i32"), ("int8", "i8"), ("int64", "i64")))
        bits = INTEGERS[short]
        low, high = a.low, a.high
        if low < -(1 << (bits - 1)) or high >= 1 << (bits - 1):
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return Node(f"{a.text}.to(torch.{name})", "int", low, high, dtype=short)

    def int_reduced(self, depth):
        """An expression of a row of a captured matrix."""
        extent = self.source.choose((3, 8, 1, 16))
        index, rows = self.new_index(0)
        captured = self.new_capture("int", (rows, extent), None, False)
        captured.shift = 0
        if captured.dtype in ("u8", "i16"):
            captured.dtype = "i32"
        name, op = self.add(captured), self.source.choose(("sum", "amax", "amin"))
        low, high = (captured.low * extent, captured.high * extent) if op == "sum" else (captured.low, captured.high)
        dtype = "i64" if op == "sum" else captured.dtype
        return Node(f"{name}[{index}].{op}(-1)", "int", low, high, dtype=dtype)

    def int_sign(self, depth):
        a = self.int_(depth)
        return Node(f"torch.{self.source.choose(('sign', 'sgn'))}({a.text})", "int", -1, 1, dtype=a.dtype)

    def int_bitwise_call(self, depth):
        a, b = self.int_(depth), self.int_(depth)
        bits = max(abs(end).bit_length() for node in (a, b) for end in (node.low, node.high))
        kind = self.source.below(6)
        if kind < 3:
            name = ("bitwise_and", "bitwise_or", "bitwise_xor")[kind]
            return self.int_result(f"torch.{name}({a.text}, {b.text})", (-(1 << bits), (1 << bits) - 1), a, b)
        if kind == 3:
            return self.int_result(f"torch.bitwise_not({a.text})", (-a.high - 1, -a.low - 1), a, a)
        if kind == 4 and a.low >= 0:
            return self.int_result(f"torch.bitwise_left_shift({a.text}, 2)", (a.low << 2, a.high << 2), a, a)
        return self.int_result(f"torch.bitwise_right_shift({a.text}, 2)", (a.low >> 2, a.high >> 2), a, a)

    def int_common_divisor(self, depth):
        a, b = self.int_(depth), self.int_(depth)
        reach = [max(abs(node.low), abs(node.high)) for node in (a, b)]
        if not a.traced or not b.traced or "bool" in (a.dtype, b.dtype) or max(reach) > SMALL:
            return a
        name = self.source.choose(("gcd", "lcm"))
        high = max(reach) if name == "gcd" else reach[0] * reach[1]
        return self.int_result(f"torch.{name}({a.text}, {b.text})", (0, high), a, b)

    def table(self):
        """A short captured tensor whose elements ascend."""
        length = self.source.choose((3, 8, 1))
        return self.add(Captured("i64", (length,), "sorted", -20, 60, 0, False)), length

    def int_searched(self, depth):
        a = self.int_(depth)
        if not a.traced or a.dtype == "bool":
            return a
        name, length = self.table()
        right = self.source.choose(("", ", right=True"))
        text = self.source.choose(("torch.bucketize({a}, {table}{right})", "torch.searchsorted({table}, {a}{right})"))
        return Node(text.format(a=a.text, table=name, right=right), "int", 0, length, dtype="i64")

    # --- Booleans ------------------------------------------------------------

    def bool_member(self, depth):
        a = self.int_(depth)
        if not a.traced or a.dtype == "bool":
            return self.bool_reduced(depth)
        return Node(f"torch.isin({a.text}, {self.table()[0]}{self.source.choose(('', ', invert=True'))})", "bool")

    def bool_reduced(self, depth):
        extent = self.source.choose((3, 8, 1, 16))
        index, rows = self.new_index(0)
        name = self.add(self.new_capture("bool", (rows, extent), None, False))
        return Node(f"{name}[{index}].{self.source.choose(('any', 'all'))}(-1)", "bool")

    def classified(self, depth):
        a = self.float_leaf()
        name = self.source.choose(("isnan", "isinf", "isfinite", "isposinf", "isneginf"))
        return Node(f"torch.{name}({a.text})", "bool")

    def bool_compare_call(self, depth):
        a, b = self.int_(depth), self.int_(depth)
        return Node(f"torch.{self.source.choose(('eq', 'ne', 'lt', 'le', 'gt', 'ge'))}({a.text}, {b.text})", "bool")

    # --- Floats --------------------------------------------------------------

    def smooth(self, depth):
        # Prefers ops with their own lowering to decomposed ones.
        name, low, high, bounds, slope = self.source.choose(SMOOTH if self.source.chance(40) else SMOOTH[:6])
        a = self.float_(depth)
        if name.startswith("nn.") and (a.kind != "float" or a.dtype == WEAK):  # PyTorch has most of these for floats only
            a = dataclasses.replace(as_float_node(a), text=self.dialect.to_float(a.text), dtype="f32")
        a = self.into(a, low, high)
        error = slope * a.error + 2.0**-18
        if name.endswith(("mish", "tanhshrink", "gelu")) and not self.accurate_tanh:
            error += a.magnitude * 2.0**-10.5
        return self.float_result(f"torch.{name}({a.text})", bounds(a.low, a.high), None, error, a)

    def jump(self, depth):
        a = self.decidable(depth)
        if a.kind != "float" or not a.exact:
            return self.float_leaf()
        name, bounds = self.source.choose(JUMPS)
        low, high = bounds(a.low, a.high)
        return Node(f"torch.{name}({a.text})", "float", low, high, a.grid, dtype=a.dtype)

    def scaled_sum(self, depth):
        """add and sub with alpha, rsub."""
        a, b = self.float_(depth), self.float_(depth)
        kind, alpha = self.source.below(4), self.source.choose((2, 3, 0.5))
        if kind == 3:
            number = self.source.choose((1.0, 3.0))
            return self.float_result(f"torch.rsub({a.text}, {number})", (number - a.high, number - a.low), None, a.error, a)
        sign = 1 if kind == 0 else -1
        name = ("add", "sub", "subtract")[kind]
        reach = alpha * b.magnitude
        return self.float_result(f"torch.{name}({a.text}, {b.text}, alpha={alpha})", (a.low - reach, a.high + reach), None,
                                 a.error + alpha * b.error + abs(sign) * reach * EPSILON[self.dtype_of(a, b)], a, b)

    def two_arguments(self, depth):
        a, b = self.float_(depth), self.float_(depth)
        reach = max(a.magnitude, b.magnitude)
        kind = self.source.below(7)
        if kind == 0:
            return self.float_result(f"torch.{self.source.choose(('fmax', 'fmin'))}({a.text}, {b.text})", (-reach, reach), None,
                                     max(a.error, b.error), a, b)
        if kind == 1:
            b = self.into(b, 0.25, 1e4)
            return self.float_result(f"torch.atan2({a.text}, {b.text})", (-1.6, 1.6), None, 4 * (a.error + b.error) + 2.0**-18, a, b)
        if kind == 2:
            b = self.into(b, 0.25, 1e4)
            return self.float_result(f"torch.hypot({a.text}, {b.text})", (0, 1.5 * reach), None, 2 * (a.error + b.error) + 2.0**-18 * reach, a, b)
        if kind == 3:
            a, b = (self.into(one, -30.0, 15.0) for one in (a, b))
            name = self.source.choose(("logaddexp", "logaddexp2"))
            return self.float_result(f"torch.{name}({a.text}, {b.text})", (-31, 17), None, a.error + b.error + 2.0**-17, a, b)
        if kind == 4:
            sign = self.decidable(depth)
            if not sign.traced or sign.kind != "float" or sign.low < 0 and not sign.exact:
                return a
            # Zeros have signs, which may differ.
            return self.float_result(f"torch.copysign({a.text}, torch.abs({sign.text}) + 1.0)", (0, a.magnitude), None, a.error, a)
        if kind == 5:
            weight = self.source.choose((0.25, 0.5, 0.75))
            return self.float_result(f"torch.lerp({a.text}, {b.text}, {weight})" if a.dtype == b.dtype == "f32" and a.scored == b.scored
                                     else f"({a.text} + {weight} * ({b.text} - {a.text}))",
                                     (-2 * reach, 2 * reach), None, 2 * (a.error + b.error), a, b)
        b = self.into(b, 0.1, 1e4)
        name = self.source.choose(("xlogy", "special.xlog1py"))
        return self.float_result(f"torch.{name}({a.text}, {b.text})", (-10 * a.magnitude, 10 * a.magnitude), None,
                                 10 * a.error + a.magnitude * (b.error * 10 + 2.0**-18), a, b)

    def ternary(self, depth):
        a, b = self.float_(depth), self.float_(depth)
        if self.source.chance(50):
            error = a.error + a.magnitude * b.error + b.magnitude * a.error
            reach = a.magnitude + 0.5 * a.magnitude * b.magnitude
            return self.float_result(f"torch.addcmul({a.text}, {a.text}, {b.text}, value=0.5)", (-reach, reach), None,
                                     error + reach * EPSILON[self.dtype_of(a, b)], a, b)
        b = self.into(b, 0.25, 1e4)
        reach = a.magnitude * 5
        return self.float_result(f"torch.addcdiv({a.text}, {a.text}, {b.text})", (-reach, reach), None,
                                 5 * a.error + 16 * a.magnitude * b.error + reach * EPSILON[self.dtype_of(a, b)], a, b)

    def reduced(self, depth):
        extent = self.source.choose((3, 8, 1, 16))
        index, rows = self.new_index(0)
        captured = self.new_capture("float", (rows, extent), "grid", False)
        name, op = self.add(captured), self.source.choose(REDUCTIONS if extent < 8 else REDUCTIONS[:-1])
        low, high = {"sum": (-2 * extent, 2 * extent), "prod": (-(2**extent), 2**extent)}.get(op, (-2, 2))
        error = (extent + 1) * max(abs(low), high) * (0 if op in ("amax", "amin", "max", "min") else EPSILON[captured.dtype])
        if op in ("max", "min"):
            return rounded(f"{name}[{index}].{op}()", low, high, None, error, captured.dtype, False)
        keep = self.source.chance(20)
        if op == "sum" and self.source.chance(30):
            captured.dims = (rows, extent, extent)
            return rounded(f"{name}[{index}].trace()", low, high, None, error, captured.dtype, False)
        text = f"{name}[{index}].{op}(-1{', keepdim=True' * keep}){'[0]' * keep}"
        return rounded(text, low, high, None, error, captured.dtype, False)

    def filled(self, depth):
        a = self.float_leaf()
        number = self.source.choose((0.25, 2.0, -1.5))
        text = self.source.choose((
            "torch.full_like({a}, {n})", "torch.zeros_like({a}) + {n}", "{n} * torch.ones_like({a})", "{a}.new_full((), {n})",
            "{a}.new_zeros(()) + {n}", "{a}.new_ones(()) * {n}", "torch.tensor({n})", "torch.full((), {n})",
            "torch.scalar_tensor({n})", "torch.zeros(()) + {n}", "torch.ones(3)[1] * {n}",
        )).format(a=a.text, n=number)
        made = Node(f"({text})", "float", number, number, None, 0.0, dtype=a.dtype, scored=False)
        test = self.condition(1)
        if self.source.chance(50):
            return self.combined("+", a, made)
        return self.float_result(f"{a.text}.masked_fill({test.text}, {number})", (min(a.low, number), max(a.high, number)), None,
                                 a.error, a)

    def float_clipped(self, depth):
        a, most = self.float_(depth), self.source.choose((4.0, 1.0, 0.5, 20.0))
        kind = self.source.below(4)
        if kind < 2 or not a.traced:
            return super().float_clipped(depth)
        if kind == 2:
            return dataclasses.replace(a, text=f"torch.clamp_min({a.text}, {-most})", low=max(a.low, -most), high=max(a.high, -most),
                                       quotient=False)
        return dataclasses.replace(a, text=f"torch.clamp_max({a.text}, {most})", low=min(a.low, most), high=min(a.high, most),
                                   quotient=False)

    def cast(self, depth):
        """A cast to a 16-bit float and back."""
        a = self.float_(depth)
        name, short = self.source.choose((("bfloat16", "bf16"), ("float16", "f16")))
        if a.magnitude > 1000 or a.grid is None:
            a = self.read("float", 0, contents="grid")
        if a.grid is None or a.magnitude * 2.0**a.grid > 2 ** (7 if short == "bf16" else 10):
            return a
        return Node(f"{a.text}.to(torch.{name}).{self.source.choose(('float()', 'to(torch.float32)', 'type(torch.float32)'))}",
                    "float", a.low, a.high, a.grid, 0.0, dtype="f32", scored=a.scored)

    def viewed(self, depth):
        """A captured tensor by a view of it."""
        rank = self.source.between(1, 2)
        indices = [self.new_index(0) for _ in range(rank)]
        indices = [(text, extent) if text not in ("0", "1", "-1") else ("h", self.coordinates["h"].high + 1)
                   for text, extent in indices]
        captured = self.new_capture("float", tuple(extent for _, extent in indices), None, False)
        name = self.add(captured)
        if rank == 1 and self.source.chance(30):
            captured.dims = (captured.dims[0] * 2,)
            return self.viewed_element(f"{name}[::2]", captured, indices)
        if rank == 2 and self.source.chance(20):
            text = f"{name}.select(1, {self.source.below(captured.dims[1])})"
            return self.viewed_element(text, captured, indices[:1])
        if rank == 1 and self.source.chance(30):
            text = self.source.choose((
                "torch.index_select({0}, 0, ({1}).reshape(1))[0]", "torch.take({0}, {1})", "torch.gather({0}, 0, ({1}).reshape(1))[0]",
            )).format(name, indices[0][0])
            return self.viewed_element(text, captured, [])
        view, _ = self.source.choose([one for one in VIEWS if one[1] <= rank])
        text = view.format(name, shape=", ".join(map(str, captured.dims)))
        whole = self.source.below(4)
        if whole == 2 and captured.contents == "grid" and captured.dtype == "f32":
            return dataclasses.replace(self.viewed_element(f"({text} * 2)", captured, indices), low=-4, high=4)
        if whole == 3:
            return dataclasses.replace(self.viewed_element(f"{text}.abs()", captured, indices), low=0, high=4)
        return self.viewed_element(text, captured, indices)

    def viewed_element(self, text, captured, indices):
        low, high, grid = RANGES[captured.contents]
        text += f"[{', '.join(text for text, _ in indices)}]" if indices else ""
        return self.element_node(Node(text, "float", low, high, grid, dtype=captured.dtype))

    def rounding_quotient(self, depth):
        """A conversion of floats to an integer."""
        a, number = self.read("float", 0, contents="grid"), self.source.choose((2.0, 3.0, 5.0))
        if a.dtype != "f32":
            return a
        text = self.source.choose(("torch.div({a}, {n}, rounding_mode='floor')", "torch.div({a}, {n}, rounding_mode='trunc')",
                                   "torch.floor_divide({a}, {n})", "{a} // {n}")).format(a=a.text, n=number)
        return Node(f"({text})", "float", -2, 2, 0, dtype="f32")

    def remainder(self, depth):
        a, number = self.read("float", 0, contents="grid"), self.source.choose((0.75, 1.5, 3.0))
        if a.dtype != "f32":
            return a
        text = self.source.choose(("torch.remainder({a}, {n})", "torch.fmod({a}, {n})", "({a} % {n})")).format(a=a.text, n=number)
        return Node(text, "float", -number, number, 2, dtype="f32")

    def arange(self, depth):
        count = self.source.choose((4, 9, 33))
        node = self.int_(depth)
        index = self.index_text(node)
        if node.low < 0 or node.high >= count:
            index = f"{index} % {count}"
        step, start = self.source.choose((1, 2)), self.source.choose((0, -3))
        kind = self.source.below(3)
        text = (f"torch.arange({count})", f"torch.arange({start}, {start + step * count}, {step})",
                f"torch.arange({count}, dtype=torch.float32)")[kind]
        low, high = (start, start + step * (count - 1)) if kind == 1 else (0, count - 1)
        node = Node(f"{text}[{index}]", "float", low, high, 0)
        return node if kind == 2 else dataclasses.replace(node, text=f"{node.text}.float()")

    def scores(self):
        if self.source.chance(12):
            self.in_place()
        return super().scores()

    def in_place(self):
        number = constant_float(self.source.choose((0.5, 2.0, 0.1)))
        if self.source.chance(50):
            other = self.read("float", 0)
            self.lines.append(f"score += {other.text}")
            low, high = self.score.low + other.low, self.score.high + other.high
            error = self.score.error + other.error
        else:
            self.lines.append(f"score *= {number.text}")
            low, high, error = self.score.low * number.low, self.score.high * number.low, self.score.error * number.low
        self.score = dataclasses.replace(self.score, low=low, high=high, error=error + 2.0**-21)
