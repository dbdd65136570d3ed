"""Random attention programs in linalg on tensors, as front ends might write them, with their results.

`draw(seed)` gives the text of a function, its inputs, and its output computed with numpy in
f64. A dimension is a tuple of axes: ("b", "h") is one that both were collapsed into, () one of
extent 1. Axes: batch b, key heads h, query heads of a group g, queries i, keys j, head dims d of
the keys and e of the values.
"""

import dataclasses
import math
import random

import ml_dtypes
import numpy as np

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "i1": np.bool_}


@dataclasses.dataclass
class Tensor:
    name: str
    dims: tuple
    element: str


@dataclasses.dataclass
class Program:
    name: str
    text: str
    inputs: list
    expected: np.ndarray
    notes: list


class Writer:
    """Writes the text of one function."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.name = f"program_{seed}"
        self.lines, self.arguments, self.inputs, self.sizes, self.notes = [], [], [], {}, []
        self.count = 0
        self.extents = {
            "b": self.random.choice([2, 3]), "h": self.random.choice([2, 3]), "g": 2, "i": self.random.choice([4, 5]),
            "j": self.random.choice([6, 7]), "d": self.random.choice([4, 8]), "e": self.random.choice([4, 8]),
        }
        self.dynamic = {axis for axis in "bhij" if self.random.random() < 0.3}

    def chance(self, probability):
        return self.random.random() < probability

    def fresh(self, hint="v"):
        self.count += 1
        return f"%{hint}{self.count}"

    def emit(self, text):
        self.lines.append("  " + text)

    def size(self, dim):
        return math.prod(self.extents[axis] for axis in dim)

    def extent(self, dim):
        return "?" if self.dynamic & set(dim) else str(self.size(dim))

    def type(self, dims, element):
        return "tensor<" + "".join(self.extent(dim) + "x" for dim in dims) + element + ">"

    def argument(self, hint, dims, element, values):
        name = self.fresh(hint)
        self.arguments.append(f"{name}: {self.type(dims, element)}")
        self.inputs.append(np.asarray(values).astype(DTYPES[element]).reshape([self.size(dim) for dim in dims]))
        for position, dim in enumerate(dims):
            if len(dim) == 1 and dim[0] in self.dynamic and dim[0] not in self.sizes:
                self.sizes[dim[0]] = (name, position, self.type(dims, element))
        return Tensor(name, tuple(dims), element)

    def scalar(self, hint, value):
        name = self.fresh(hint)
        self.arguments.append(f"{name}: f32")
        self.inputs.append(np.float32(value))
        return name

    def run_time_size(self, dim):
        """A value of type index: the extent of a dynamic dimension."""
        product = None
        for axis in dim:
            factor = f"%size_{axis}"
            if product is None:
                product = factor
            else:
                name = self.fresh("n")
                self.emit(f"{name} = arith.muli {product}, {factor} : index")
                product = name
        return product

    def empty(self, dims, element):
        sizes = ", ".join(self.run_time_size(dim) for dim in dims if self.extent(dim) == "?")
        name = self.fresh("e")
        self.emit(f"{name} = tensor.empty({sizes}) : {self.type(dims, element)}")
        return Tensor(name, tuple(dims), element)

    def fill(self, dims, element, text):
        init = self.empty(dims, element)
        value, name = self.fresh("c"), self.fresh("f")
        self.emit(f"{value} = arith.constant {text} : {element}")
        type = self.type(dims, element)
        self.emit(f"{name} = linalg.fill ins({value} : {element}) outs({init.name} : {type}) -> {type}")
        return Tensor(name, tuple(dims), element)

    def generic(self, inputs, init, body, reduced=()):
        """`inputs` are tensors, each with the loops that index it; `body(names, out)` gives lines and the result."""
        loops = [dim for dim in init.dims if dim] + list(reduced)
        self.random.shuffle(loops)
        units = [f"u{n}" for n, dim in enumerate(init.dims) if not dim]
        variables = ["x" + "".join(dim) for dim in loops] + units

        def index(dims, is_output=False):
            unit = iter(units)
            return ", ".join("x" + "".join(dim) if dim else next(unit) if is_output else "0" for dim in dims)

        maps = [f"affine_map<({', '.join(variables)}) -> ({index(dims)})>" for _, dims in inputs]
        maps.append(f"affine_map<({', '.join(variables)}) -> ({index(init.dims, True)})>")
        kinds = ["reduction" if dim in reduced else "parallel" for dim in loops] + ["parallel"] * len(units)
        names = [self.fresh("in") for _ in inputs]
        out = self.fresh("out")
        self.positions = {axis: (loops.index(dim), dim) for dim in loops for axis in dim}
        lines, result = body(names, out)
        name = self.fresh("t")
        type = self.type(init.dims, init.element)
        ins = ""
        if inputs:
            ins = (f"ins({', '.join(t.name for t, _ in inputs)} : "
                   f"{', '.join(self.type(t.dims, t.element) for t, _ in inputs)}) ")
        self.emit(f"{name} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
                  f"[{', '.join(chr(34) + kind + chr(34) for kind in kinds)}]}} {ins}outs({init.name} : {type}) {{")
        block = [f"{n}: {t.element}" for n, (t, _) in zip(names, inputs)] + [f"{out}: {init.element}"]
        self.emit(f"^bb0({', '.join(block)}):")
        for line in lines:
            self.emit("  " + line)
        self.emit(f"  linalg.yield {result} : {init.element} }} -> {type}")
        return Tensor(name, init.dims, init.element)

    def coordinate(self, lines, axis):
        """In a body: the index of an axis as i32."""
        place, dim = self.positions[axis]
        index, number = self.fresh("x"), self.fresh("x")
        lines.append(f"{index} = linalg.index {place} : index")
        after = dim[dim.index(axis) + 1:]
        for inner in reversed(after):
            divided = self.fresh("x")
            lines.append(f"{divided} = arith.divui {index}, %size_{inner} : index")
            index = divided
        if dim.index(axis) > 0:
            rest = self.fresh("x")
            lines.append(f"{rest} = arith.remui {index}, %size_{axis} : index")
            index = rest
        lines.append(f"{number} = arith.index_cast {index} : index to i32")
        return number

    # Reshapes and transpositions.

    def reshape(self, tensor, dims, is_expanding):
        long, short = (dims, tensor.dims) if is_expanding else (tensor.dims, dims)
        groups, position = [], 0
        for number, dim in enumerate(short):
            group, covered = [], 0
            while covered < len(dim) or not group:
                covered += len(long[position])
                group.append(position)
                position += 1
            if number == len(short) - 1:
                group += range(position, len(long))
                position = len(long)
            groups.append(group)
        name = self.fresh("r")
        before, after = self.type(tensor.dims, tensor.element), self.type(dims, tensor.element)
        if is_expanding:
            sizes = [self.run_time_size(dim) if self.extent(dim) == "?" else str(self.size(dim)) for dim in dims]
            self.emit(f"{name} = tensor.expand_shape {tensor.name} {groups} output_shape [{', '.join(sizes)}] : "
                      f"{before} into {after}")
        else:
            self.emit(f"{name} = tensor.collapse_shape {tensor.name} {groups} : {before} into {after}")
        return Tensor(name, tuple(dims), tensor.element)

    def transpose(self, tensor, dims):
        if tensor.dims == tuple(dims):
            return tensor
        init = self.empty(dims, tensor.element)
        if self.chance(0.5):
            return self.generic([(tensor, tensor.dims)], init, lambda names, out: ([], names[0]))
        permutation = [tensor.dims.index(dim) for dim in dims]
        name = self.fresh("t")
        self.emit(f"{name} = linalg.transpose ins({tensor.name} : {self.type(tensor.dims, tensor.element)}) "
                  f"outs({init.name} : {self.type(dims, tensor.element)}) permutation = {permutation}")
        return Tensor(name, tuple(dims), tensor.element)

    def convert(self, tensor, dims):
        """Converts to these dimensions, through one dimension per axis."""
        dims = tuple(dims)
        if tensor.dims == dims:
            return tensor
        atoms = tuple((axis,) for dim in tensor.dims for axis in dim)
        if len(atoms) > len(tensor.dims):
            tensor = self.reshape(tensor, atoms, True)
        elif len(atoms) < len(tensor.dims):
            tensor = self.reshape(tensor, atoms, False)
        tensor = self.transpose(tensor, [(axis,) for dim in dims for axis in dim])
        if len(dims) < len(atoms):
            tensor = self.reshape(tensor, dims, False)
        return tensor

    def cast(self, tensor, element):
        if tensor.element == element:
            return tensor
        op = "extf" if element == "f32" else "truncf"

        def body(names, out):
            result = self.fresh("x")
            return [f"{result} = arith.{op} {names[0]} : {tensor.element} to {element}"], result

        return self.generic([(tensor, tensor.dims)], self.empty(tensor.dims, element), body)

    def scaled(self, tensor, factor):
        def body(names, out):
            constant, result = self.fresh("c"), self.fresh("x")
            return [f"{constant} = arith.constant {factor!r} : {tensor.element}",
                    f"{result} = arith.mulf {names[0]}, {constant} : {tensor.element}"], result

        return self.generic([(tensor, tensor.dims)], self.empty(tensor.dims, tensor.element), body)

    def contract(self, a, b, dims, element, axis):
        """A contraction over `axis`, as a named op if one fits."""
        init = self.fill(dims, element, "0.0")
        named = self.find_named(a, b, dims, axis) if self.chance(0.6) else None
        if named:
            name = self.fresh("m")
            type = self.type(dims, element)
            self.emit(f"{name} = {named} ins({a.name}, {b.name} : {self.type(a.dims, a.element)}, "
                      f"{self.type(b.dims, b.element)}) outs({init.name} : {type}) -> {type}")
            return Tensor(name, tuple(dims), element)

        def body(names, out):
            lines, factors = [], []
            for name, tensor in zip(names, (a, b)):
                if tensor.element != element:
                    wide = self.fresh("x")
                    lines.append(f"{wide} = arith.extf {name} : {tensor.element} to {element}")
                    name = wide
                factors.append(name)
            self.random.shuffle(factors)
            product, result = self.fresh("x"), self.fresh("x")
            terms = [out, product]
            self.random.shuffle(terms)
            lines += [f"{product} = arith.mulf {factors[0]}, {factors[1]} : {element}",
                      f"{result} = arith.addf {terms[0]}, {terms[1]} : {element}"]
            return lines, result

        operands = [(a, a.dims), (b, b.dims)]
        return self.generic(operands, init, body, reduced=(axis,))

    def find_named(self, a, b, dims, axis):
        if len(a.dims) == 2 and a.dims[1] == axis and b.dims == (axis, dims[1]) and a.dims[0] == dims[0]:
            return "linalg.matmul"
        if len(a.dims) == 3 and len(b.dims) == 3 and a.dims == (dims[0], dims[1], axis) and b.dims == (dims[0], axis, dims[2]):
            return "linalg.batch_matmul"
        return None


# Score modifications: each is a function of the writer and the scores' dimensions that returns
# inputs, a body `(names, score) -> (lines, result)`, and its equivalent in numpy for scores with
# axes b, h, g, i, j.


def grid(writer, axis):
    return np.arange(writer.extents[axis]).reshape([-1 if a == axis else 1 for a in "bhgij"])


def spread(writer, values, dims):
    """An array of these dimensions, over all axes of scores."""
    axes = [axis for dim in dims for axis in dim]
    values = np.asarray(values, np.float64).reshape([writer.extents[axis] for axis in axes])
    values = values.transpose([axes.index(axis) for axis in "bhgij" if axis in axes])
    return values.reshape([writer.extents[axis] if axis in axes else 1 for axis in "bhgij"])


def binary(writer, op, a, b, element="f32"):
    result = writer.fresh("x")
    return f"{result} = arith.{op} {a}, {b} : {element}", result


def constant(writer, value, element="f32"):
    name = writer.fresh("c")
    return f"{name} = arith.constant {value} : {element}", name


def draw_factor(writer, dims):
    factor, op = writer.random.choice([0.5, 0.25, 2.0]), writer.random.choice(["mulf", "divf"])

    def body(names, score):
        line, number = constant(writer, factor)
        last, result = binary(writer, op, score, number)
        return [line, last], result

    return [], body, lambda s: s * factor if op == "mulf" else s / factor


def draw_run_time_factor(writer, dims):
    value = 0.75
    scale = writer.scalar("scale", value)

    def body(names, score):
        last, result = binary(writer, "mulf", scale, score)
        return [last], result

    return [], body, lambda s: s * value


def some_dims(writer, dims):
    chosen = [dim for dim in dims if dim and writer.chance(0.6)]
    if writer.chance(0.3):
        chosen.insert(writer.random.randrange(len(chosen) + 1), ())
    writer.random.shuffle(chosen)
    # A captured tensor has at most four dimensions.
    return chosen[:4]


def draw_bias(writer, dims):
    chosen, element = some_dims(writer, dims), writer.random.choice(["f32", "f16"])
    values = writer.numbers.normal(size=[writer.size(dim) for dim in chosen]).astype(DTYPES[element])
    bias = writer.argument("bias", chosen, element, values)

    def body(names, score):
        lines, name = [], names[0]
        if element != "f32":
            name = writer.fresh("x")
            lines.append(f"{name} = arith.extf {names[0]} : {element} to f32")
        last, result = binary(writer, "addf", *writer.random.sample([score, name], 2))
        return lines + [last], result

    wide = spread(writer, values, chosen)
    return [(bias, tuple(chosen))], body, lambda s: s + wide


def draw_soft_cap(writer, dims):
    def body(names, score):
        line, cap = constant(writer, 3.0)
        divide, x = binary(writer, "divf", score, cap)
        t = writer.fresh("x")
        last, result = binary(writer, "mulf", t, cap)
        return [line, divide, f"{t} = math.tanh {x} : f32", last], result

    return [], body, lambda s: 3.0 * np.tanh(s / 3.0)


def draw_bend(writer, dims):
    """The score is used twice."""
    def body(names, score):
        t = writer.fresh("x")
        last, result = binary(writer, "addf", score, t)
        return [f"{t} = math.tanh {score} : f32", last], result

    return [], body, lambda s: s + np.tanh(s)


def draw_distance(writer, dims):
    """ALiBi with a constant slope."""
    def body(names, score):
        lines = []
        i, j = writer.coordinate(lines, "i"), writer.coordinate(lines, "j")
        difference, distance = binary(writer, "subi", j, i, "i32")
        number = writer.fresh("x")
        line, slope = constant(writer, 0.125)
        multiply, bias = binary(writer, "mulf", number, slope)
        last, result = binary(writer, "addf", score, bias)
        return lines + [difference, f"{number} = arith.sitofp {distance} : i32 to f32", line, multiply, last], result

    return [], body, lambda s: s + 0.125 * (grid(writer, "j") - grid(writer, "i"))


def causal(writer, lines):
    i, j = writer.coordinate(lines, "i"), writer.coordinate(lines, "j")
    seen = writer.fresh("seen")
    lines.append(f"{seen} = arith.cmpi sge, {i}, {j} : i32")
    return seen


def choose(writer, lines, seen, shown, hidden):
    """The comparison with either operand first."""
    result = writer.fresh("x")
    if writer.chance(0.3):
        line, true = constant(writer, "true", "i1")
        lines.append(line.replace(" : i1", ""))
        negation, unseen = binary(writer, "xori", seen, true, "i1")
        lines.append(negation)
        lines.append(f"{result} = arith.select {unseen}, {hidden}, {shown} : f32")
    else:
        lines.append(f"{result} = arith.select {seen}, {shown}, {hidden} : f32")
    return result


def mask(writer, lines, seen, score):
    """By a select, or by adding -inf."""
    line, hidden = constant(writer, "0xFF800000")
    lines.append(line)
    if writer.chance(0.5):
        return choose(writer, lines, seen, score, hidden)
    line, zero = constant(writer, "0.0")
    lines.append(line)
    term = choose(writer, lines, seen, zero, hidden)
    last, result = binary(writer, "addf", score, term)
    lines.append(last)
    return result


def hide(writer, seen):
    return lambda s: np.where(seen, s, -np.inf)


def draw_causal(writer, dims):
    def body(names, score):
        lines = []
        return lines, mask(writer, lines, causal(writer, lines), score)

    return [], body, hide(writer, grid(writer, "i") >= grid(writer, "j"))


def draw_lengths(writer, dims):
    """Key 0 is visible to all queries."""
    chosen = next((dim for dim in dims if "b" in dim), ())
    values = writer.numbers.integers(0, writer.extents["j"], size=writer.size(chosen))
    last = writer.argument("last", [chosen] if chosen else [], "i32", values)

    def body(names, score):
        lines = []
        j, seen = writer.coordinate(lines, "j"), writer.fresh("seen")
        lines.append(f"{seen} = arith.cmpi sle, {j}, {names[0]} : i32")
        return lines, mask(writer, lines, seen, score)

    wide = spread(writer, values, [chosen])
    return [(last, (chosen,) if chosen else ())], body, hide(writer, grid(writer, "j") <= wide)


def draw_boolean_mask(writer, dims):
    chosen = [dim for dim in dims if dim and (dim == ("j",) or writer.chance(0.4))]
    while len(chosen) > 4:
        chosen.remove(next(dim for dim in chosen if dim != ("j",)))
    values = writer.numbers.random([writer.size(dim) for dim in chosen]) < 0.6
    np.moveaxis(values, chosen.index(("j",)), 0)[0] = True
    given = writer.argument("mask", chosen, "i1", values)

    def body(names, score):
        lines = []
        return lines, mask(writer, lines, names[0], score)

    wide = spread(writer, values, chosen) != 0
    return [(given, tuple(chosen))], body, hide(writer, wide)


def draw_causal_tensor(writer, dims):
    """Computed in advance, as a tensor of conditions or of summands."""
    is_term = writer.chance(0.5)
    order = [("i",), ("j",)]
    writer.random.shuffle(order)

    def make(names, out):
        lines = []
        seen = causal(writer, lines)
        if not is_term:
            return lines, seen
        a, zero = constant(writer, "0.0")
        b, hidden = constant(writer, "0xFF800000")
        lines += [a, b]
        return lines, choose(writer, lines, seen, zero, hidden)

    tensor = writer.generic([], writer.empty(order, "f32" if is_term else "i1"), make)

    def body(names, score):
        if is_term:
            last, result = binary(writer, "addf", score, names[0])
            return [last], result
        lines = []
        return lines, mask(writer, lines, names[0], score)

    return [(tensor, tuple(order))], body, hide(writer, grid(writer, "i") >= grid(writer, "j"))


STEPS = [draw_factor, draw_factor, draw_run_time_factor, draw_bias, draw_bias, draw_soft_cap, draw_bend, draw_distance,
         draw_causal, draw_lengths, draw_boolean_mask, draw_causal_tensor]


def draw_chain(writer, scores, values):
    """Steps between the contractions, some fused into one op; scores with axes b, h, g, i, j."""
    steps = [writer.random.choice(STEPS) for _ in range(writer.random.randrange(4))]
    while steps:
        fused = steps[:writer.random.choice([1, 1, 2, 3])]
        steps = steps[len(fused):]
        drawn = []
        for step in fused:
            writer.notes.append(step.__name__)
            drawn.append(step(writer, scores.dims))
            values = drawn[-1][2](values)

        def body(names, out):
            lines, names, score = [], iter(names), next(iter(names))
            next(names)
            for inputs, step, _ in drawn:
                more, score = step([next(names) for _ in inputs], score)
                lines += more
            return lines, score

        inputs = [(scores, scores.dims)] + [one for inputs, _, _ in drawn for one in inputs]
        init = scores if writer.chance(0.2) else writer.empty(scores.dims, "f32")
        scores = writer.generic(inputs, init, body)
    return scores, values


def reduce(writer, tensor, axis, op, start):
    dims = [dim for dim in tensor.dims if dim != axis]
    init = writer.fill(dims, "f32", start)

    def body(names, out):
        last, result = binary(writer, op, *writer.random.sample([names[0], out], 2))
        return [last], result

    return writer.generic([(tensor, tensor.dims)], init, body, reduced=(axis,))


def map_pairs(writer, tensor, row, axis, body):
    """An elementwise op of a tensor and one value per row, which may keep the reduced dimension."""
    index = row.dims
    if writer.chance(0.3) and len(row.dims) > 0:
        kept = tuple(() if dim == axis else dim for dim in tensor.dims)
        row = writer.reshape(row, kept, True)
        index = kept
    init = writer.empty(tensor.dims, "f32")
    return writer.generic([(tensor, tensor.dims), (row, index)], init, body)


def draw_softmax(writer, x, axis):
    if writer.chance(0.4):
        writer.notes.append("named softmax")
        name, init = writer.fresh("p"), writer.empty(x.dims, "f32")
        type = writer.type(x.dims, "f32")
        writer.emit(f"{name} = linalg.softmax dimension({x.dims.index(axis)}) ins({x.name} : {type}) outs({init.name} : {type}) -> {type}")
        return Tensor(name, x.dims, "f32")

    def exponential(names, out):
        less, difference = binary(writer, "subf", names[0], names[1])
        result = writer.fresh("x")
        return [less, f"{result} = math.exp {difference} : f32"], result

    largest = reduce(writer, x, axis, writer.random.choice(["maximumf", "maxnumf"]), "0xFF800000")
    e = map_pairs(writer, x, largest, axis, exponential)
    total = reduce(writer, e, axis, "addf", "0.0")
    is_inverse = writer.chance(0.3)
    writer.notes.append("decomposed softmax" + " with reciprocal" * is_inverse)

    def divide(names, out):
        if not is_inverse:
            last, result = binary(writer, "divf", *names)
            return [last], result
        line, one = constant(writer, "1.0")
        inverse, reciprocal = binary(writer, "divf", one, names[1])
        last, result = binary(writer, "mulf", names[0], reciprocal)
        return [line, inverse, last], result

    return map_pairs(writer, e, total, axis, divide)


# Whole programs.


def join(writer, axes, probability):
    """Dimensions with these axes in order, some of them collapsed."""
    dims = []
    for axis in axes:
        if dims and writer.chance(probability):
            dims[-1] += (axis,)
        else:
            dims.append((axis,))
    return tuple(dims)


def draw_operand(writer, hint, axes, element):
    """An argument with these axes in some order, and its values over b, h, g, i, j, d, e."""
    order = list(axes)
    if writer.chance(0.5):
        place = writer.random.randrange(len(order))
        order.insert(place, order.pop(len(order) - 2))
    dims = join(writer, order, 0.15)
    if any(len(dim) > 1 and writer.dynamic & set(dim) and len(writer.dynamic & set(dim)) > 0 for dim in dims):
        dims = tuple((axis,) for axis in order)
    values = writer.numbers.normal(size=[writer.size(dim) for dim in dims]).astype(DTYPES[element])
    tensor = writer.argument(hint, dims, element, values)
    values = values.astype(np.float64).reshape([writer.extents[axis] for axis in order])
    return tensor, values.transpose([order.index(axis) for axis in axes])


def repeat(writer, tensor, axis, after):
    """A tensor broadcast along one more axis."""
    place = tensor.dims.index((after,)) + 1
    dims = tensor.dims[:place] + ((axis,),) + tensor.dims[place:]
    init = writer.empty(dims, tensor.element)
    if writer.chance(0.5):
        return writer.generic([(tensor, tensor.dims)], init, lambda names, out: ([], names[0]))
    name = writer.fresh("t")
    writer.emit(f"{name} = linalg.broadcast ins({tensor.name} : {writer.type(tensor.dims, tensor.element)}) "
                f"outs({init.name} : {writer.type(dims, tensor.element)}) dimensions = [{place}]")
    return Tensor(name, dims, tensor.element)


def shuffled(writer, dims, probability=0.4):
    dims = list(dims)
    if writer.chance(probability):
        writer.random.shuffle(dims)
    return tuple(dims)


def draw(seed):
    writer = Writer(seed)
    batch = writer.random.choice(["", "b", "h", "bh", "bh", "bhg", "bhg"])
    for axis in "bhg":
        if axis not in batch:
            writer.extents[axis] = 1
            writer.dynamic.discard(axis)
    writer.notes.append(f"batch axes {batch or 'none'}")
    shared = batch.replace("g", "")
    element = writer.random.choice(["f32", "f32", "f16", "bf16"])
    writer.notes.append(element)
    q, q_values = draw_operand(writer, "q", batch + "id", element)
    k, k_values = draw_operand(writer, "k", shared + "jd", element)
    v, v_values = draw_operand(writer, "v", shared + "je", element)

    # Grouped heads: repeated keys, or a dimension of the queries only.
    is_repeated = "g" in batch and writer.chance(0.5)
    wide = batch if is_repeated else shared
    if is_repeated:
        writer.notes.append("repeated keys")
        k = repeat(writer, writer.convert(k, [(axis,) for axis in shared + "jd"]), "g", "h")
        v = repeat(writer, writer.convert(v, [(axis,) for axis in shared + "je"]), "g", "h")
    groups = join(writer, wide, 0.4)
    rest = tuple((axis,) for axis in batch if axis not in wide)

    factor = 1.0
    if writer.chance(0.3):
        factor = 0.5
        q = writer.scaled(q, factor)
    if element != "f32" and writer.chance(0.2):
        writer.notes.append("extended")
        q, k, v = (writer.cast(tensor, "f32") for tensor in (q, k, v))

    i, j, d, e = ("i",), ("j",), ("d",), ("e",)
    score_dims = shuffled(writer, groups + rest + (i, j), 0.2)
    q = writer.convert(q, shuffled(writer, groups + rest + (i, d), 0.2))
    k = writer.convert(k, shuffled(writer, groups + writer.random.choice([(j, d), (d, j), (d, j)]), 0.2))
    scores = writer.contract(*([q, k] if writer.chance(0.7) else [k, q]), score_dims, "f32", d)
    values = factor * np.einsum(f"{batch}id,{shared}jd->{batch}ij", q_values, k_values)
    values = values.reshape([writer.extents[axis] for axis in "bhgij"])

    if writer.chance(0.5):
        split = [(axis,) for dim in score_dims for axis in dim]
        scores = writer.convert(scores, shuffled(writer, split, 0.2))
    scores, values = draw_chain(writer, scores, values)
    weights = draw_softmax(writer, scores, j)
    if v.element != "f32" and writer.chance(0.5):
        weights = writer.cast(weights, v.element)
    if v.element != weights.element and weights.element == "f32" and writer.chance(0.3):
        v = writer.cast(v, "f32")
    weights = writer.convert(weights, shuffled(writer, groups + rest + (i, j), 0.2))
    v = writer.convert(v, shuffled(writer, groups + (j, e), 0.2))
    output = writer.contract(*([weights, v] if writer.chance(0.7) else [v, weights]),
                             shuffled(writer, groups + rest + (i, e), 0.2), "f32", j)
    axes = list(batch + "i") + ["e"]
    if writer.chance(0.5):
        writer.random.shuffle(axes)
    output = writer.convert(output, [(axis,) for axis in axes])

    largest = values.max(axis=-1, keepdims=True)
    p = np.exp(values - largest)
    p /= p.sum(axis=-1, keepdims=True)
    p = p.reshape([writer.extents[axis] for axis in batch + "ij"])
    expected = np.einsum(f"{batch}ij,{shared}je->{''.join(axes)}", p, v_values)
    return finish(writer, output, expected)


def finish(writer, output, expected):
    head = [f"func.func @{writer.name}({', '.join(writer.arguments)}) -> {writer.type(output.dims, output.element)} {{"]
    for axis, extent in writer.extents.items():
        if axis not in writer.sizes:
            head.append(f"  %size_{axis} = arith.constant {extent} : index")
            continue
        name, position, type = writer.sizes[axis]
        head += [f"  %at_{axis} = arith.constant {position} : index",
                 f"  %size_{axis} = tensor.dim {name}, %at_{axis} : {type}"]
    tail = [f"  return {output.name} : {writer.type(output.dims, output.element)}", "}"]
    return Program(writer.name, "\n".join(head + writer.lines + tail) + "\n", writer.inputs, expected, writer.notes)
