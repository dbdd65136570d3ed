"""Functions that are recreated at each call are traced once if their code and the values that they
refer to are the same; every change of a value that a trace depends on is detected."""

import collections
import enum
import functools
import gc
import itertools
import types
import weakref

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

WINDOW = 6
settings = types.ModuleType("settings_of_the_test")
settings.window, settings.table = 6, torch.ones(4)


def helper(i, j):
    return i - j < 3


def other_helper(i, j):
    return i - j < 5


class Kind(enum.Enum):
    NEAR, FAR = 1, 2


@pytest.fixture
def programs(fovea, monkeypatch):
    from fovea.torch.cache import _programs

    for one in (_programs._families, _programs._order):
        monkeypatch.setattr(_programs, one is _programs._order and "_order" or "_families", type(one)())
    return _programs


class Traces:
    """The ``program`` of two functions, and the number of traces."""

    def __init__(self, programs, monkeypatch):
        self.programs, self.count, self._build = programs, 0, programs.build
        self.facts = programs.Facts(torch.bfloat16, torch.device("cpu"), 16, 16, None, True)
        monkeypatch.setattr(programs, "build", self._counted)

    def _counted(self, *arguments):
        self.count += 1
        return self._build(*arguments)

    def program(self, score_mod=None, mask_mod=None):
        return self.programs.program_of(score_mod, mask_mod, self.facts)[0]

    def check(self, score_mod=None, mask_mod=None):
        """The program equals that of a new trace, and reads the same tensors, except created ones."""
        found, wanted = self.program(score_mod, mask_mod), self._build(score_mod, mask_mod, self.facts)
        assert found.text == wanted.text and len(found.captures) == len(wanted.captures)
        for index, (one, other) in enumerate(zip(found.captures, wanted.captures)):
            assert one is other or index in wanted.made and torch.equal(one, other)


@pytest.fixture
def traces(programs, monkeypatch):
    return Traces(programs, monkeypatch)


class Model(torch.nn.Module):
    shift = 2
    kind = Kind.NEAR

    def __init__(self):
        super().__init__()
        self.slopes, self.window, self.none = torch.nn.Parameter(torch.ones(4)), 6, None
        self.register_buffer("table", torch.ones(4, 4))
        self.bias = torch.nn.Embedding(8, 4)
        self.config = types.SimpleNamespace(window=6, scales=[1.0, 2.0])

    def score(self, s, b, h, i, j):
        return s + self.slopes[h] * self.distance(i, j)

    def distance(self, i, j):
        return (i - j) * self.shift


class Slots:
    __slots__ = ("window",)

    def __init__(self, window):
        self.window = window

    def __call__(self, b, h, i, j):
        return i - j < self.window


Shape = collections.namedtuple("Shape", ["window", "scale"])


class Held:
    """Values that the cases refer to and change."""

    def __init__(self):
        self.model, self.slots = Model(), Slots(6)
        self.n, self.x, self.t, self.u = 1000, 0.5, torch.ones(4), torch.ones(4)
        self.shape = Shape(6, 1.0)
        self.many, self.by_name, self.helper = [3, self.t], {"window": 3, "table": self.t}, helper


def score_of(t):
    return lambda s, b, h, i, j: s + t[h]


def with_number(n):
    return lambda s, b, h, i, j: s * n


def with_nested(t, n):
    def outer(i):
        return (lambda j: t[j] * n)(i)

    return lambda s, b, h, i, j: s + outer(h) + sum([n * k for k in range(2)])


def with_default(n):
    return lambda s, b, h, i, j, n=n: s * n


def with_keyword(n):
    def score(s, b, h, i, j, *, n=n):
        return s * n

    return score


def with_helper(f):
    return lambda b, h, i, j: f(i, j)


def with_shared(t, u):
    return lambda s, b, h, i, j: s + t[h] if t is u else s + t[h] + u[h]


def setting(name, value):
    return lambda held: setattr(settings, name, value)


def model_setting(name, value):
    return lambda held: setattr(held.model, name, value)


def held_setting(name, value):
    return lambda held: setattr(held, name, value)


def globally(name, value):
    return lambda held: globals().__setitem__(name, value)


SCORE, MASK = "score_mod", "mask_mod"
#: Cases: the function's role, its factory, and possible changes.
CASES = {
    "cell, number": (SCORE, lambda c: with_number(c.n), [held_setting("n", 2000), held_setting("n", 1000.0)]),
    "cell, float": (SCORE, lambda c: with_number(c.x), [held_setting("x", -0.0), held_setting("x", 0.0), held_setting("x", 1)]),
    "cell, flag": (SCORE, lambda c: with_number(c.n), [held_setting("n", 1), held_setting("n", True)]),
    "cell, numpy": (SCORE, lambda c: with_number(c.x), [held_setting("x", pytest.importorskip("numpy").float32(0.25)),
                                                       held_setting("x", 0.25)]),
    "cell, tensor": (SCORE, lambda c: score_of(c.t), [
        held_setting("t", torch.ones(4).half()), held_setting("t", torch.ones(4, 1)), held_setting("t", torch.ones(1)),
        held_setting("t", torch.ones(8)[::2]), held_setting("t", torch.ones(4, requires_grad=True))]),
    "two tensors": (SCORE, lambda c: with_shared(c.t, c.u), [lambda c: setattr(c, "u", c.t), held_setting("u", torch.ones(4))]),
    "default": (SCORE, lambda c: with_default(c.n), [held_setting("n", 3)]),
    "default by name": (SCORE, lambda c: with_keyword(c.n), [held_setting("n", 3)]),
    "nested": (SCORE, lambda c: with_nested(c.t, c.n), [held_setting("n", 3), held_setting("t", torch.ones(4).half())]),
    "helper": (MASK, lambda c: with_helper(c.helper), [held_setting("helper", other_helper)]),
    "helper's code": (MASK, lambda c: with_helper(helper), [lambda c: setattr(helper, "__code__", other_helper.__code__)]),
    "helper, made": (MASK, lambda c: with_helper((lambda n: lambda i, j: i - j < n)(c.n)), [held_setting("n", 3)]),
    "global": (MASK, lambda c: lambda b, h, i, j: i - j < WINDOW, [globally("WINDOW", 5), globally("WINDOW", 5.0)]),
    "global before a builtin": (SCORE, lambda c: lambda s, b, h, i, j: s * abs(-2), [globally("abs", lambda x: 3)]),
    "module": (MASK, lambda c: lambda b, h, i, j: (i - j < settings.window) & (settings.table[h] > 0), [
        setting("window", 5), setting("table", torch.ones(4).half())]),
    "list": (SCORE, lambda c: lambda s, b, h, i, j: s * c.many[0] + c.many[1][h], [
        lambda c: c.many.__setitem__(0, 4), lambda c: c.many.__setitem__(1, torch.ones(4).half()), lambda c: c.many.append(5)]),
    "dictionary": (SCORE, lambda c: lambda s, b, h, i, j: s * c.by_name["window"] + c.by_name["table"][h], [
        lambda c: c.by_name.update(window=4), lambda c: c.by_name.update(table=torch.ones(4).half()),
        lambda c: c.by_name.update({"other": 1})]),
    "attribute": (MASK, lambda c: (lambda m: lambda b, h, i, j: i - j < m.window)(c.model), [model_setting("window", 5)]),
    "attribute's attribute": (MASK, lambda c: (lambda m: lambda b, h, i, j: i - j < m.config.window)(c.model), [
        lambda c: setattr(c.model.config, "window", 5),
        model_setting("config", types.SimpleNamespace(window=4)), model_setting("config", Slots(3))]),
    "attribute's list": (SCORE, lambda c: (lambda m: lambda s, b, h, i, j: s * m.config.scales[1])(c.model), [
        lambda c: c.model.config.scales.__setitem__(1, 3.0)]),
    "attribute of a class": (SCORE, lambda c: (lambda m: lambda s, b, h, i, j: s * m.shift)(c.model), [
        lambda c: setattr(Model, "shift", 4), model_setting("shift", 5)]),
    "class": (SCORE, lambda c: lambda s, b, h, i, j: s * Model.shift, [lambda c: setattr(Model, "shift", 4)]),
    "enumeration": (SCORE, lambda c: (lambda m: lambda s, b, h, i, j: s if m.kind is Kind.NEAR else -s)(c.model), [
        model_setting("kind", Kind.FAR)]),
    "slots": (MASK, lambda c: (lambda m: lambda b, h, i, j: i - j < m.window)(c.slots), [held_setting("slots", Slots(4))]),
    "parameter": (SCORE, lambda c: (lambda m: lambda s, b, h, i, j: s + m.slopes[h] + m.table[h, 0])(c.model), [
        lambda c: c.model.half(), lambda c: c.model.slopes.requires_grad_(False),
        model_setting("slopes", torch.nn.Parameter(torch.ones(5))), model_setting("table", torch.ones(4, 1)),
        lambda c: c.model.__dict__.update(slopes=torch.zeros(4).bfloat16()),
        lambda c: c.model.__dict__.pop("slopes"), lambda c: setattr(Model, "table", torch.zeros(4, 4).half())]),
    "parameter of a module's": (SCORE, lambda c: (lambda m: lambda s, b, h, i, j: s + m.bias.weight[h, 0])(c.model), [
        model_setting("bias", torch.nn.Embedding(9, 4)),
        model_setting("bias", torch.nn.Linear(4, 8).half())]),
    "parameter or none": (SCORE, lambda c: (lambda m: lambda s, b, h, i, j: s if m.none is None else s + m.none[h])(c.model), [
        model_setting("none", torch.ones(4))]),
    "named tuple": (MASK, lambda c: (lambda n: lambda b, h, i, j: i - j < n.window)(c.shape), [
        held_setting("shape", Shape(4, 1.0)), held_setting("shape", Shape(4, 2.0))]),
    "method": (SCORE, lambda c: c.model.score, [
        lambda c: setattr(Model, "shift", 7), held_setting("model", Model()),
        lambda c: setattr(c.model, "distance", lambda i, j: i + j),
        lambda c: setattr(Model, "score", lambda self, s, b, h, i, j: s * 2)]),
    "method within": (SCORE, lambda c: (lambda m: lambda *given: m.score(*given))(c.model), [model_setting("shift", 7)]),
    "callable object": (MASK, lambda c: c.slots, [
        lambda c: setattr(c.slots, "window", 3), held_setting("slots", Slots(4)),
        lambda c: setattr(Slots, "__call__", lambda self, b, h, i, j: i - j < 2 * self.window)]),
    "partial": (SCORE, lambda c: functools.partial(lambda n, s, b, h, i, j, x: s * n + x, c.n, x=c.x), [
        held_setting("n", 3), held_setting("x", 0.75)]),
    "partial of a tensor": (SCORE, lambda c: functools.partial(lambda t, s, b, h, i, j: s + t[h], c.t), [
        held_setting("t", torch.ones(4).half())]),
    "functions of PyTorch": (MASK, lambda c: torch.nn.attention.flex_attention.and_masks(
        (lambda n: lambda b, h, i, j: i - j < n)(c.n), lambda b, h, i, j: i >= j), [held_setting("n", 3)]),
    "tensors made": (SCORE, lambda c: lambda s, b, h, i, j: s + torch.arange(4)[h] * c.n, [held_setting("n", 3)]),
}


@pytest.fixture
def restored():
    """Restores the module's values that cases change."""
    before = {"WINDOW": WINDOW, "shift": Model.shift, "score": Model.score, "call": Slots.__call__, "code": helper.__code__}
    yield
    globals()["WINDOW"] = before["WINDOW"]
    globals().pop("abs", None)
    Model.shift, Model.score, Slots.__call__, helper.__code__ = (before[one] for one in ("shift", "score", "call", "code"))
    if "table" in vars(Model):
        del Model.table
    settings.window, settings.table = 6, torch.ones(4)


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_noticed(traces, restored, name):
    role, make, changes = CASES[name]
    held = Held()
    traces.check(**{role: make(held)})
    assert traces.count == 1
    for change in changes:
        change(held)
        traces.check(**{role: make(held)})
        traces.check(**{role: make(held)})


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_traced_once(traces, restored, name):
    role, make, changes = CASES[name]
    held = Held()
    for change in (None, *changes):
        if change is not None:
            change(held)
        traces.program(**{role: make(held)})
        before = traces.count
        for _ in range(2):
            traces.check(**{role: make(held)})
        assert traces.count == before


def test_other_tensors_of_the_same_look_are_read(traces):
    """Matches without a trace, also for values that are recomputed and objects that are recreated at each call."""
    for n in range(3):
        t = torch.full((4,), float(n))
        traces.check(score_of(t))
        traces.check(Model().score)
    assert traces.count == 2


class Opaque:
    """An object with computed attributes."""

    def __init__(self):
        self.values = {"window": 3}

    def __getattr__(self, name):
        return self.values[name]

    @property
    def twice(self):
        return 2 * self.values["window"]


def counting():
    count = 0

    def mask(b, h, i, j):
        nonlocal count
        count += 1
        return i - j < count

    return mask


def test_what_is_not_guarded_is_traced_each_time(traces):
    opaque, one, t = Opaque(), [3], torch.tensor([3])
    grown, name = torch.ones(4, requires_grad=True), "window"
    grown.grad = torch.ones(4)
    count = itertools.count(2)
    numpy, told = pytest.importorskip("numpy"), torch.ones(4)
    told.window = 3
    functions = [
        lambda b, h, i, j: i - j < opaque.window, lambda b, h, i, j: i - j < opaque.twice,
        lambda b, h, i, j: i - j < getattr(opaque, name), lambda b, h, i, j: i - j < t.tolist()[0],
        lambda b, h, i, j: i - j < (told, told.window)[1], lambda b, h, i, j: i - j < int(numpy.asarray(t)[0]),
        lambda b, h, i, j: grown.grad[h] > 0, lambda b, h, i, j: i - j < next(count),
        lambda b, h, i, j: i - j < globals()["WINDOW"], lambda b, h, i, j: i - j < eval("WINDOW"),
        lambda b, h, i, j: i - j < len(gc.get_objects()) % 2, counting(),
    ]
    for function in functions:
        before = traces.count
        for _ in range(3):
            traces.program(mask_mod=function)
        assert traces.count == before + 3, function.__code__.co_firstlineno
    opaque.values["window"], one[0], t[0], grown.grad, told.window = 5, 5, 5, torch.ones(4), 5
    for function in functions[:7]:
        traces.check(mask_mod=function)


def test_code_of_other_globals(traces):
    code = (lambda s, b, h, i, j: s * FACTOR).__code__  # noqa: F821
    for factor in (2, 3, 2):
        traces.check(types.FunctionType(code, {"FACTOR": factor}))
    assert traces.count == 2


def test_guards_keep_nothing_alive(traces):
    def once():
        held = Held()
        for make in (lambda c: score_of(c.t), lambda c: c.model.score, lambda c: with_number(c.n)):
            traces.program(make(held))
        return [weakref.ref(one) for one in (held.t, held.model, held.model.slopes)]

    kept = once()
    gc.collect()
    assert [one() for one in kept] == [None] * 3


def test_identities_that_come_again(traces):
    """A new object may have the id of a deleted one."""
    for n in range(200):
        traces.check(with_number(1000 + n % 3))
        traces.check(mask_mod=Slots(n % 3))
        traces.check(score_of(torch.ones(4, dtype=(torch.float16, torch.float32)[n % 2])))
    assert traces.count == 8


def test_functions_of_one_code_have_a_limit(traces, programs):
    for n in range(3 * programs._MAX_OF_CODE):
        traces.check(with_number(n))
    assert sum(map(len, programs._families.values())) <= programs._MAX_OF_CODE
