"""Draws score_mods and mask_mods: typed expressions with known ranges, so that indices are valid,
divisors are nonzero, and scores are meaningful.
"""

import dataclasses
import math

from captures import RANGES, Captured
from nodes import (
    EPSILON, INTEGERS, SMALL, Node, as_float_node, constant_float, constant_int, rounded, sensible, wider,
)

INTS = (1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 41, -1, -2, -5)
FLOATS = (2.0, 0.5, 0.1, -1.0, 3.0, 0.25, -0.5, 1.5, 10.0, -2.0, 0.01, 0.0, 1.0)
#: numpy's functions that can be traced, of FUNCTIONS.
NUMPY_FUNCTIONS = {"exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "tanh", "sin", "cos"}
MOST_ELEMENTS = 100_000
#: For each function: smallest and largest argument, value, and the largest slope in a range.
FUNCTIONS = {
    "tanh": (-1e4, 1e4, math.tanh, lambda low, high: 1.0),
    "exp": (-20.0, 3.0, math.exp, lambda low, high: math.exp(high)),
    "exp2": (-20.0, 4.0, lambda x: 2.0**x, lambda low, high: 2.0**high),
    "sigmoid": (-60.0, 1e4, lambda x: 1 / (1 + math.exp(-x)), lambda low, high: 0.25),
    "log": (0.1, 1e4, math.log, lambda low, high: 1 / low),
    "log2": (0.1, 1e4, math.log2, lambda low, high: 1.5 / low),
    "log1p": (-0.5, 1e4, math.log1p, lambda low, high: 1 / (1 + low)),
    "expm1": (-20.0, 3.0, math.expm1, lambda low, high: math.exp(high)),
    "sqrt": (0.05, 1e4, math.sqrt, lambda low, high: 0.5 / math.sqrt(low)),
    "rsqrt": (0.05, 1e4, lambda x: x**-0.5, lambda low, high: 0.5 * low**-1.5),
    "erf": (-1e4, 1e4, math.erf, lambda low, high: 1.2),
    "sin": (-30.0, 30.0, None, lambda low, high: 1.0),
    "cos": (-30.0, 30.0, None, lambda low, high: 1.0),
    "tan": (-1.0, 1.0, math.tan, lambda low, high: 3.5),
    "asin": (-0.9, 0.9, math.asin, lambda low, high: 2.4),
    "acos": (-0.9, 0.9, math.acos, lambda low, high: 2.4),
    "atan": (-1e4, 1e4, math.atan, lambda low, high: 1.0),
    "sinh": (-3.0, 3.0, math.sinh, lambda low, high: 11.0),
    "cosh": (0.05, 3.0, math.cosh, lambda low, high: 11.0),
    "asinh": (-1e4, 1e4, math.asinh, lambda low, high: 1.0),
    "acosh": (1.1, 1e4, math.acosh, lambda low, high: 2.5),
    "atanh": (-0.9, 0.9, math.atanh, lambda low, high: 5.5),
    "erfc": (-1e4, 1e4, math.erfc, lambda low, high: 1.2),
}


def corners(function, a, b):
    found = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(found), max(found)


class Region:
    """One function while it is drawn. `sizes` are the extents of the coordinates,
    `captures` those of the program, which both functions add to."""

    arguments = ("b", "h", "q_idx", "kv_idx")

    def __init__(self, source, dialect, sizes, captures, score=None, accurate_tanh=False):
        self.source, self.dialect, self.captures = source, dialect, captures
        self.accurate_tanh, self.score = accurate_tanh, score
        self.lines, self.named = [], {"int": [], "float": [], "bool": []}
        self.used = []
        self.coordinates = {
            name: Node(name, "int", 0, size - 1, dtype="i64") for name, size in zip(self.arguments, sizes)
        }
        self.lengths = sizes[2:]

    # --- What all kinds share ------------------------------------------------

    def draw(self, options, depth):
        """One of the options, perhaps under a name."""
        node = self.source.weighted(options)(depth - 1)
        if depth > 0 and node.traced and not node.text.isidentifier() and self.source.chance(12):
            name = f"x{len(self.lines)}"
            self.lines.append(f"{name} = {node.text}")
            node = dataclasses.replace(node, text=name)
            self.named[node.kind].append(node)
        return node

    def leaf(self, kind, simplest):
        named = self.named[kind]
        if named and self.source.chance(40):
            return self.source.choose(named)
        return simplest()

    def condition(self, depth):
        return self.bool_(min(depth, 1))

    # --- Integers ------------------------------------------------------------

    def int_(self, depth):
        options = [(4, self.int_leaf)]
        if depth > 0:
            options += self.int_options()
        return self.draw(options, depth)

    def int_options(self):
        return [
            (5, self.int_difference), (5, self.int_binary), (4, self.int_divided), (3, self.int_clipped), (2, self.int_unary),
            (2, self.int_extremum), (2, self.int_chosen), (2, self.int_bits), (2, self.int_shifted), (3, self.int_read),
            (1, self.int_of_bool), (1, self.int_of_float), (1, self.int_power), (1, self.int_length),
        ]

    def int_leaf(self, depth=0):
        places = self.coordinates
        return self.leaf("int", lambda: self.source.weighted([
            (4, places["kv_idx"]), (4, places["q_idx"]), (2, places["h"]), (1, places["b"])]))

    def int_constant(self):
        return constant_int(self.source.choose(INTS))

    def int_result(self, text, bounds, a, b, operands=()):
        """Narrow integers wrap around; operations that may exceed 64 bits are avoided."""
        low, high = bounds
        dtype = wider(a, b)
        bits = INTEGERS.get(dtype, 64)
        least, most = (0, 255) if dtype == "u8" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        if low < least or high > most:
            if bits > 32 or dtype == "i32":
                return a
            low, high = least, most
        if max(abs(low), abs(high)) > 1 << 45:
            return a
        return Node(text, "int", low, high, dtype=dtype)

    def int_difference(self, depth):
        i, j = self.coordinates["q_idx"], self.coordinates["kv_idx"]
        if self.source.chance(40):
            i, j = j, i
        return Node(f"({i.text} - {j.text})", "int", i.low - j.high, i.high - j.low, dtype="i64")

    def int_operand(self, depth):
        return self.int_constant() if self.source.chance(50) else self.int_(depth)

    def int_binary(self, depth):
        a, b = self.int_(depth), self.int_operand(depth)
        sign = self.source.choose("+-*")
        if self.source.chance(25):
            a, b = b, a
        first = a if a.traced else b
        if sign == "*" and max(abs(a.low), abs(a.high)) * max(abs(b.low), abs(b.high)) > 1 << 40:
            return first
        function = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[sign]
        result = self.int_result(f"({a.text} {sign} {b.text})", corners(function, a, b), a, b)
        return first if result is a else result

    def divisor(self, depth):
        """An integer that is never 0."""
        if not self.source.chance(35):
            return self.int_constant()
        node = self.int_(depth)
        if node.low > 0 or node.high < 0 and self.dialect.name == "fovea":
            return node
        if self.source.chance(50):
            return self.read("int", depth, positive=True)
        if node.low == 0 and node.high < 100:
            return Node(f"({node.text} + 1)", "int", 1, node.high + 1, dtype=node.dtype)
        return Node(f"({node.text} % 7 + 1)", "int", 1, 7, dtype=node.dtype)

    def int_divided(self, depth):
        a, b = self.int_(depth), self.divisor(depth)
        if self.source.chance(50):
            sign, bounds = "//", corners(lambda x, y: x // y, a, b)
            if b.low <= -1 <= b.high:
                bounds = min(bounds[0], -a.high, -a.low), max(bounds[1], -a.low, -a.high)
            if b.low <= 1 <= b.high:
                bounds = min(bounds[0], a.low), max(bounds[1], a.high)
        else:
            sign, bounds = "%", ((0, b.high - 1) if b.low > 0 else (b.low + 1, 0))
            if a.low >= 0 and b.low > 0:
                bounds = 0, min(a.high, bounds[1])
        result = self.int_result(f"({a.text} {sign} {b.text})", bounds, a, b)
        if self.dialect.name == "fovea" and result is not a and self.source.chance(5):
            return dataclasses.replace(result, text=f"divmod({a.text}, {b.text})[{int(sign == '%')}]")
        return result

    def clipped(self, node, low, high):
        """A node within bounds; ones that it has already may be left out."""
        if node.low >= low and node.high <= high and not self.source.chance(30):
            return node
        bounds = min(max(node.low, low), high), max(min(node.high, high), low)
        return dataclasses.replace(node, text=self.dialect.clip(node.text, low, high), low=bounds[0], high=bounds[1])

    def int_clipped(self, depth):
        most = self.source.choose((32, 1, 4, 7, 16, 64, 100))
        return self.clipped(self.int_(depth), self.source.choose((0, -most, 1)), most)

    def int_unary(self, depth):
        a = self.int_(depth)
        if self.source.chance(50):
            return self.int_result(f"(-{a.text})", (-a.high, -a.low), a, a)
        least = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
        text = self.dialect.call("abs", a.text) if self.source.chance(50) else f"abs({a.text})"
        return self.int_result(text, (least, max(abs(a.low), abs(a.high))), a, a)

    def int_extremum(self, depth):
        a, b = self.int_(depth), self.int_(depth)
        name, function = self.source.choose((("minimum", min), ("maximum", max)))
        return self.int_result(
            self.dialect.call(name, a.text, b.text), (function(a.low, b.low), function(a.high, b.high)), a, b)

    def int_chosen(self, depth):
        test, a, b = self.condition(depth), self.int_(depth), self.int_operand(depth)
        return self.int_result(
            self.dialect.call("where", test.text, a.text, b.text), (min(a.low, b.low), max(a.high, b.high)), a, b)

    def int_bits(self, depth):
        a, b, sign = self.int_(depth), self.int_operand(depth), self.source.choose("&|^")
        bits = max(abs(end).bit_length() for node in (a, b) for end in (node.low, node.high))
        low = 0 if a.low >= 0 and b.low >= 0 else -(1 << bits)
        if sign == "&" and (a.low >= 0 or b.low >= 0):
            low = 0
        return self.int_result(f"({a.text} {sign} {b.text})", (low, (1 << bits) - 1), a, b)

    def int_shifted(self, depth):
        a = self.int_(depth)
        if self.source.chance(30) and a.low >= 0:
            by = self.source.between(0, 4)
            return self.int_result(f"({a.text} << {by})", (a.low << by, a.high << by), a, a)
        if self.source.chance(30):
            other = self.int_leaf()
            if other.dtype == "i64":
                return self.int_result(f"({a.text} >> {other.text} % 5)", (min(a.low, a.low >> 4), max(a.high, 0)), a, a)
        by = self.source.between(0, 4)
        return self.int_result(f"({a.text} >> {by})", (a.low >> by, a.high >> by), a, a)

    def int_read(self, depth):
        return self.read("int", depth)

    def int_of_bool(self, depth):
        a = self.condition(depth)
        return Node(self.dialect.to_int(a.text), "int", 0, 1, dtype="i64")

    def int_of_float(self, depth):
        a = self.decidable(depth)
        if not a.traced or a.kind != "float":
            return self.int_leaf()
        if self.dialect.name == "fovea" and self.source.chance(40):
            return Node(f"math.{self.source.choose(('floor', 'ceil', 'trunc'))}({a.text})", "int", math.floor(a.low),
                        math.ceil(a.high), dtype="i64")
        return Node(self.dialect.to_int(a.text), "int", math.floor(a.low), math.ceil(a.high), dtype="i64")

    def int_power(self, depth):
        a = self.int_leaf()
        if max(abs(a.low), abs(a.high)) > 1000:
            return a
        least = 0 if a.low <= 0 <= a.high else min(a.low**2, a.high**2)
        return self.int_result(f"({a.text} ** 2)", (least, max(a.low**2, a.high**2)), a, a)

    def int_length(self, depth):
        if self.dialect.name != "fovea":
            return self.int_leaf()
        place = self.source.below(2)
        return Node(f"fovea.{('query', 'key')[place]}_length()", "int", 0, self.lengths[place], dtype="i64")

    # --- Booleans ------------------------------------------------------------

    def bool_(self, depth):
        options = [(4, self.compared)]
        if depth > 0:
            options += self.bool_options()
        return self.draw(options, depth)

    def bool_options(self):
        return [
            (4, self.joined), (1, self.negated), (2, self.bool_read), (2, self.compared_floats), (2, self.same_document),
            (1, self.named_bool), (1, self.bool_of_int),
        ]

    def named_bool(self, depth):
        return self.leaf("bool", lambda: self.compared(depth))

    def compared(self, depth):
        if depth <= 0:
            # Typical masks.
            i, j = self.coordinates["q_idx"], self.coordinates["kv_idx"]
            shape = self.source.below(4)
            if shape == 0:
                return Node("(q_idx >= kv_idx)", "bool")
            a = self.int_difference(0) if shape == 1 else (j, i)[shape - 2]
            return Node(f"({a.text} {self.source.choose(('<', '<=', '>', '>='))} {self.between(a).text})", "bool")
        a = self.int_(depth)
        b = self.between(a) if self.source.chance(50) else self.int_(depth)
        return Node(f"({a.text} {self.source.choose(('<=', '<', '>', '>=', '==', '!='))} {b.text})", "bool")

    def between(self, node):
        """A constant that a node may reach."""
        return constant_int(self.source.between(max(node.low, -100), max(min(node.high, 100), max(node.low, -100))))

    def compared_floats(self, depth):
        a = self.decidable(depth)
        if not a.traced:
            return self.compared(depth)
        b = constant_float(self.source.choose((0.0, 1.0, 2.5, -1.0, 7.0, 0.5)))
        if a.exact and self.source.chance(40):
            other = self.decidable(depth)
            b = other if other.exact else b
        return Node(f"({a.text} {self.source.choose(('<=', '<', '>', '>=', '==', '!='))} {b.text})", "bool")

    def joined(self, depth):
        a, b = self.bool_(depth), self.bool_(depth)
        if self.dialect.name == "fovea" and self.source.chance(8):
            masks = ", ".join(f"lambda b, h, q_idx, kv_idx: {one.text}" for one in (a, b))
            return Node(f"fovea.{self.source.choose(('and', 'or'))}_masks({masks})(b, h, q_idx, kv_idx)", "bool")
        if self.source.chance(25):
            return Node(self.dialect.conjunction(self.source.choose(("and", "or", "xor")), a.text, b.text), "bool")
        return Node(f"({a.text} {self.source.choose('&|^')} {b.text})", "bool")

    def negated(self, depth):
        a = self.bool_(depth)
        return Node(self.dialect.call("logical_not", a.text) if self.source.chance(30) else f"(~{a.text})", "bool")

    def bool_read(self, depth):
        return self.read("bool", depth)

    def bool_of_int(self, depth):
        a = self.int_(depth)
        if self.source.chance(30):
            # Half-integers are exact, and none is a zero, whose sign could differ.
            if a.dtype == "bool" or max(abs(a.low), abs(a.high)) > SMALL:
                a = self.coordinates["kv_idx"]
            return Node(self.dialect.call("signbit", f"({self.dialect.to_float(a.text)} + 0.5)"), "bool")
        return Node(f"({a.text} % 2 == {self.source.below(2)})", "bool")

    def same_document(self, depth):
        """The same captured tensor at the query and at the key."""
        length = max(self.lengths)
        name = self.add(Captured(self.source.choose(("i32", "i64")), (length,), "sorted", 0, self.source.between(1, 4),
                                 self.shift(), self.source.chance(20)))
        sign = self.source.choose(("==", "<=", "!=", ">="))
        return Node(f"({name}[q_idx] {sign} {name}[kv_idx])", "bool")

    # --- Floats --------------------------------------------------------------

    def float_(self, depth):
        options = [(4, self.float_leaf)]
        if depth > 0:
            options += self.float_options()
        node = self.draw(options, depth)
        return node if sensible(node) else self.float_leaf()

    def float_options(self):
        return [
            (6, self.float_binary), (4, self.float_read), (2, self.float_divided), (3, self.float_function), (2, self.float_chosen),
            (2, self.float_extremum), (1, self.float_unary), (2, self.float_rounded), (1, self.float_power), (2, self.float_of_int),
            (1, self.float_clipped),
        ]

    def float_leaf(self, depth=0):
        return self.leaf("float", lambda: self.score if self.score and not self.source.chance(30) else
                         self.read("float", 0))

    def float_constant(self):
        return constant_float(self.source.choose(FLOATS))

    def float_operand(self, depth):
        if self.source.chance(40):
            return self.float_constant()
        return self.float_of_int(depth) if self.source.chance(25) else self.float_(depth)

    def dtype_of(self, *nodes):
        floats = [node for node in nodes if node.kind == "float" and node.traced] or list(nodes)
        return wider(floats[0], floats[-1])

    def float_result(self, text, bounds, grid, error, *nodes, quotient=False):
        result = rounded(text, *bounds, grid, error, self.dtype_of(*nodes), any(node.scored for node in nodes), quotient)
        if not any(node.traced for node in nodes):
            return nodes[0]
        return result

    def combined(self, sign, a, b):
        """a + b, a - b, a * b."""
        grids = None if a.grid is None or b.grid is None else (a.grid, b.grid)
        text = f"({a.text} {sign} {b.text})"
        if sign == "*":
            error = a.magnitude * b.error + b.magnitude * a.error
            result = self.float_result(text, corners(lambda x, y: x * y, a, b), grids and sum(grids), error, a, b)
        else:
            function = (lambda x, y: x + y) if sign == "+" else (lambda x, y: x - y)
            result = self.float_result(text, corners(function, a, b), grids and max(grids), a.error + b.error, a, b)
        if not result.traced or not sensible(result):
            return a if a.traced else b
        return result

    def float_binary(self, depth):
        a, b = self.float_(depth), self.float_operand(depth)
        sign = self.source.choose("+*-")
        return self.combined(sign, b, a) if self.source.chance(35) else self.combined(sign, a, b)

    def float_divided(self, depth):
        a = self.float_(depth)
        b = constant_float(self.source.choose((2.0, 3.0, 0.5, -4.0, 10.0, 41.0)))
        if self.source.chance(40):
            b = as_float_node(self.divisor(depth))
            if b.low <= 0 <= b.high:
                return a
        least = min(abs(b.low), abs(b.high))
        error = a.error / least + a.magnitude * b.error / least**2
        return self.float_result(f"({a.text} / {b.text})", corners(lambda x, y: x / y, a, b), None, error, a, b)

    def into(self, node, low, high):
        """A float within bounds of a function."""
        if node.low >= low and node.high <= high:
            return node
        if low > 0 and self.source.chance(50):
            bounds = low + (0 if node.low <= 0 <= node.high else min(abs(node.low), abs(node.high))), low + node.magnitude
            text = f"({self.dialect.call('abs', node.text)} + {low})"
            node = self.float_result(text, bounds, None, node.error, node)
            if node.high <= high:
                return node
        bounds = min(max(node.low, low), high), max(min(node.high, high), low)
        text = self.dialect.clip(node.text, low, high)
        return dataclasses.replace(node, text=text, low=bounds[0], high=bounds[1], grid=None, quotient=False,
                                   error=node.error + high * EPSILON["f32"])

    def float_function(self, depth):
        if self.source.chance(6):
            return self.float_angle(depth)
        name = self.source.choose(tuple(FUNCTIONS))
        a = self.float_(depth)
        if not a.traced or a.kind != "float":
            a = self.float_leaf()
        return self.function(name, a)

    def float_angle(self, depth):
        a, b = self.float_(depth), self.into(self.float_(depth), 0.25, 1e4)
        if not a.traced or not b.traced or "float" not in (a.kind, b.kind):
            return self.float_leaf()
        return self.float_result(self.dialect.call("atan2", a.text, b.text), (-1.6, 1.6), None, 4 * (a.error + b.error) + 2.0**-18, a, b)

    def function(self, name, a):
        low, high, value, slope = FUNCTIONS[name]
        a = self.into(a, low, high)
        bounds = (-1.0, 1.0) if value is None else tuple(sorted((value(a.low), value(a.high))))
        error = slope(a.low, a.high) * a.error + 2.0**-19
        error += max(map(abs, bounds)) * (2.0**-10.5 if name == "tanh" and not self.accurate_tanh else 2.0**-19)
        text = self.dialect.call(name, a.text)
        if self.dialect.name == "fovea" and name in NUMPY_FUNCTIONS and self.source.chance(8):
            text = f"numpy.{name}({a.text})"
        return self.float_result(text, bounds, None, error, a)

    def float_chosen(self, depth):
        test, a, b = self.condition(depth), self.float_(depth), self.float_operand(depth)
        if b.kind != "float":
            b = as_float_node(b, self.dialect.to_float(b.text))
        if self.dialect.name == "torch" and a.traced and b.traced and a.dtype != b.dtype and {"f16", "bf16"} & {a.dtype, b.dtype}:
            # Under vmap, PyTorch's where has the type of the branch that depends on head or
            # position.
            a, b = (dataclasses.replace(node, text=self.dialect.to_float(node.text), dtype="f32") for node in (a, b))
        grid = None if a.grid is None or b.grid is None else max(a.grid, b.grid)
        return self.float_result(self.dialect.call("where", test.text, a.text, b.text),
                                 (min(a.low, b.low), max(a.high, b.high)), grid, max(a.error, b.error), a, b)

    def float_extremum(self, depth):
        a, b = self.float_(depth), self.float_(depth)
        name, function = self.source.choose((("minimum", min), ("maximum", max)))
        grid = None if a.grid is None or b.grid is None else max(a.grid, b.grid)
        return self.float_result(self.dialect.call(name, a.text, b.text), (function(a.low, b.low), function(a.high, b.high)),
                                 grid, max(a.error, b.error), a, b)

    def float_clipped(self, depth):
        a, most = self.float_(depth), self.source.choose((4.0, 1.0, 0.5, 20.0))
        bounds = min(max(a.low, -most), most), max(min(a.high, most), -most)
        return dataclasses.replace(a, text=self.dialect.clip(a.text, -most, most), low=bounds[0], high=bounds[1], quotient=False)

    def float_unary(self, depth):
        a = self.float_(depth)
        if self.source.chance(50):
            least = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return dataclasses.replace(a, text=self.dialect.call("abs", a.text), low=least, high=a.magnitude)
        return dataclasses.replace(a, text=f"(-{a.text})", low=-a.high, high=-a.low)

    def decidable(self, depth):
        """A float that may be compared or rounded to an integer."""
        kind = self.source.below(3)
        if kind == 0:
            return self.int_quotient(depth)
        if kind == 1:
            return self.float_of_int(depth, explicit=True)
        a = self.read("float", 0, contents="grid")
        if self.source.chance(50):
            b = self.float_constant()
            result = self.combined(self.source.choose("+*-"), a, b)
            return result if result.exact and result.grid < 10 else a
        return a

    def int_quotient(self, depth):
        """The rounded quotient of two small integers."""
        a, b = self.int_(depth), self.divisor(depth)
        if max(abs(a.low), abs(a.high), abs(b.low), abs(b.high)) > SMALL or a.dtype == "bool":
            a, b = self.coordinates["q_idx"], constant_int(41)
        bounds = corners(lambda x, y: x / y, a, b)
        if b.low < 0 < b.high:
            bounds = -max(abs(a.low), abs(a.high)), max(abs(a.low), abs(a.high))
        error = max(map(abs, bounds)) * EPSILON["f32"]
        return Node(f"({a.text} / {b.text})", "float", *bounds, None, error, True)

    def float_rounded(self, depth):
        a = self.decidable(depth)
        if not a.traced or a.kind != "float":
            return self.float_of_int(depth)
        name = self.source.choose(("floor", "ceil", "trunc", "round"))
        return Node(self.dialect.call(name, a.text), "float", math.floor(a.low), math.ceil(a.high), 0, 0.0, dtype=a.dtype)

    def float_power(self, depth):
        a = self.float_(depth)
        kind = self.source.below(5)
        if kind < 2:
            exponent = kind + 2
            bounds = corners(lambda x, y: x**exponent, a, a)
            if exponent == 2 and a.low <= 0 <= a.high:
                bounds = 0, bounds[1]
            error = exponent * a.magnitude ** (exponent - 1) * a.error
            return self.float_result(f"(({a.text}) ** {exponent})", bounds, None, error, a)
        if kind == 2:
            a = self.into(a, -8.0, 4.0)
            return self.float_result(f"(2.0 ** ({a.text}))", (2.0**a.low, 2.0**a.high), None, 2.0**a.high * (a.error + 2.0**-19), a)
        exponent = (0.5, -0.5)[kind - 3]
        a = self.into(a, 0.05, 1e4)
        bounds = tuple(sorted((a.low**exponent, a.high**exponent)))
        return self.float_result(f"(({a.text}) ** {exponent})", bounds, None, 50 * a.error, a)

    def float_of_int(self, depth, explicit=False):
        a = self.int_(min(depth, 1))
        if max(abs(a.low), abs(a.high)) > 5000:
            a = Node(f"({a.text} % 97)", "int", 0, 96, dtype=a.dtype)
        text = self.dialect.to_float(a.text) if explicit or self.source.chance(50) else None
        return as_float_node(a, text)

    def float_read(self, depth):
        return self.read("float", depth)

    # --- Captured tensors ----------------------------------------------------

    def shift(self):
        return 33 if self.source.chance(8) else 0

    def add(self, captured):
        name = f"c{len(self.captures)}"
        self.captures[name] = captured
        self.used.append(name)
        return name

    def read(self, kind, depth, contents=None, positive=False):
        """An element of a captured tensor, one that there is already or a new one."""
        if self.source.chance(30):
            known = [name for name, captured in self.captures.items() if self.fits(captured, kind, contents, positive)]
            if known:
                name = self.source.choose(known)
                if name not in self.used:
                    self.used.append(name)
                indices = [self.index_within(extent, depth) for extent in self.captures[name].dims]
                return self.element(name, indices)
        indices = self.new_indices(depth)
        dims = tuple(extent for _, extent in indices)
        captured = self.new_capture(kind, dims, contents, positive)
        return self.element(self.add(captured), [text for text, _ in indices])

    @staticmethod
    def fits(captured, kind, contents, positive):
        of_kind = "bool" if captured.dtype == "i1" else "int" if captured.dtype in INTEGERS else "float"
        if positive:
            return of_kind == kind and captured.low > 0 and captured.shift == 0
        return of_kind == kind and contents in (None, captured.contents)

    def index_text(self, node):
        """An integer as an index."""
        return node.text

    def new_indices(self, depth):
        rank = self.source.weighted([(8, 1), (8, 2), (3, 0), (2, 3), (1, 4)])
        indices, elements = [], 1
        for _ in range(rank):
            text, extent = self.new_index(depth)
            if elements * extent > MOST_ELEMENTS:
                text, extent = "0", 1
            indices.append((text, extent))
            elements *= extent
        return indices

    def new_index(self, depth):
        """An index and how many elements it may reach."""
        kind = self.source.weighted([(10, 0), (5, 1), (2, 2), (2, 3), (1, 4), (1, 5)])
        if kind == 0:
            name = self.source.weighted([(3, "h"), (3, "kv_idx"), (3, "q_idx"), (1, "b")])
            return name, self.coordinates[name].high + 1
        reach = self.source.choose((32, 4, 8, 16, 1, 64, 100))
        if kind == 1:
            node = self.int_difference(0) if not self.source.chance(40) else self.int_(depth)
            if self.source.chance(50):
                return f"{self.dialect.clip(self.index_text(node), -reach, reach)} + {reach}", 2 * reach + 1
            return self.dialect.clip(self.index_text(node), 0, reach), reach + 1
        if kind == 2:
            return f"{self.index_text(self.int_(depth))} % {reach}", reach
        if kind == 3:
            node = self.int_(depth)
            if 0 <= node.low and node.high <= 400:
                return self.index_text(node), node.high + 1
            return self.dialect.clip(self.index_text(node), 0, reach), reach + 1
        if kind == 4:
            name = self.source.choose(("q_idx", "kv_idx"))
            return f"{name} // {reach}", self.coordinates[name].high // reach + 1
        return str(self.source.choose((0, 1, -1))), 3

    def index_within(self, extent, depth):
        fitting = [node.text for node in self.coordinates.values() if node.high < extent]
        if fitting and not self.source.chance(30):
            return self.source.choose(fitting)
        node = self.int_(depth)
        text = self.index_text(node)
        if node.low >= 0 and node.high < extent:
            return text
        return f"{text} % {extent}" if self.source.chance(30) else self.dialect.clip(text, 0, extent - 1)

    def new_capture(self, kind, dims, contents, positive):
        static = self.source.chance(30)
        if kind == "bool":
            # A boolean of the call is a tensor of one element.
            return Captured("i1", dims if dims or self.dialect.name == "torch" else (1,), "bool", static=static)
        if kind == "float":
            dtype = self.source.weighted([(6, "f32"), (2, "f16"), (2, "bf16")]) if dims else "f32"
            contents = contents or self.source.weighted([(5, "normal"), (3, "grid"), (2, "positive")])
            return Captured(dtype, dims, contents, static=static)
        names = self.integer_types if dims else ("i32", "i64")
        dtype = self.source.choose(names)
        if positive:
            return Captured(dtype, dims, "range", 1, self.source.choose((9, 70, 3)), static=static)
        low, high = self.source.choose(((0, 8), (-9, 9), (0, 100), (0, 1), (-100, 100)))
        if dtype == "u8":
            low = 0
        shift = self.shift() if dtype == "i64" else 0
        return Captured(dtype, dims, self.source.weighted([(3, "range"), (1, "sorted")]), low, high, shift, static)

    integer_types = ("i32", "i64", "i8")

    def element(self, name, indices):
        captured = self.captures[name]
        # A constant that counts from the end of one element is the first.
        indices = ["0" if text in ("1", "-1") and extent == 1 else text for text, extent in zip(indices, captured.dims)]
        text = name
        if captured.dims and not indices:
            indices = ["0"]
        if indices:
            chained = len(indices) > 1 and self.source.chance(10)
            text += "".join(f"[{one}]" for one in indices) if chained else f"[{', '.join(indices)}]"
        if captured.dtype == "i1":
            return Node(text, "bool")
        if captured.dtype in INTEGERS:
            low, high = captured.low << captured.shift, (captured.high << captured.shift) + (7 if captured.shift else 0)
            return self.element_node(Node(text, "int", low, high, dtype=captured.dtype))
        low, high, grid = RANGES[captured.contents]
        return self.element_node(Node(text, "float", low, high, grid, dtype=captured.dtype))

    def element_node(self, node):
        """Elements become one of three types at once."""
        return dataclasses.replace(node, dtype="i64" if node.kind == "int" else "f32")

    # --- Whole functions -----------------------------------------------------

    def mask(self):
        depth = self.source.weighted([(4, 0), (5, 1), (4, 2), (1, 3)])
        return self.bool_(depth)

    def scores(self):
        """The result of score_mod."""
        kind = self.source.weighted([(1, "score"), (6, "sum"), (4, "any"), (2, "cap"), (2, "hidden"), (1, "named")])
        if kind == "score":
            return self.score
        node = {"sum": self.sum_of_terms, "any": lambda: self.float_(3), "cap": self.cap, "hidden": self.sum_of_terms,
                "named": lambda: self.float_(2)}[kind]()
        if not node.scored and self.source.chance(80):
            node = self.combined("+", node, self.score)
        if kind == "hidden":
            infinity = "float('-inf')"
            text = self.dialect.call("where", self.condition(1).text, node.text, infinity)
            return dataclasses.replace(node, text=text)
        return node

    def term(self):
        """Optionally a factor, and the expression that it scales."""
        item = self.source.weighted([
            (3, lambda: self.read("float", 1)), (2, lambda: as_float_node(self.int_difference(0))), (2, lambda: self.float_(1)),
            (1, lambda: self.float_rounded(1)), (1, lambda: self.float_of_int(1)), (2, lambda: self.float_function(1))])()
        return self.scaled(item)

    def scaled(self, item):
        factor = self.source.below(3)
        if factor:
            other = self.float_constant() if factor == 1 else self.read("float", 0)
            item = self.combined("*", other, item) if self.source.chance(60) else self.combined("*", item, other)
        return item

    def sum_of_terms(self):
        count = self.source.weighted([(5, 1), (3, 2), (1, 3)])
        terms = [self.scaled(self.score), *(self.term() for _ in range(count))]
        total = terms.pop(self.source.below(len(terms)))
        for term in terms:
            total = self.combined(self.source.choose("+-"), total, term)
        if self.source.chance(25):
            total = self.scaled(total)
        if self.source.chance(10):
            total = dataclasses.replace(total, text=f"(-{total.text})", low=-total.high, high=-total.low)
        return total

    def cap(self):
        """A soft cap of something."""
        inner, limit = self.sum_of_terms(), constant_float(self.source.choose((20.0, 10.0, 30.0, 2.0)))
        inside = self.float_result(f"({inner.text} / {limit.text})", (inner.low / limit.low, inner.high / limit.low), None,
                                   inner.error / limit.low, inner)
        return self.combined("*", limit, self.function("tanh", inside))

    def finish(self, node):
        text = node.text
        if text.startswith("(") and matching(text) == len(text) - 1:
            text = text[1:-1]
        return [*self.lines, f"return {text}"]


def matching(text):
    """The position of the parenthesis that closes the first one."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    return -1
