"""A modelled timeline per warp role: a trace of the interpreter, laid out in time.

The order is executed: the interpreter runs the warp program and records what each
warp group computes, copies and waits for. The durations are a model: each unit runs
at the GPU's full rate, products of an SM queue for its tensor cores, copies for its
port to L2, and warp groups that compute at the same time share the other units.
Nothing in it is measured.
"""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..runtime._gpus import Gpu
from ..compiler._kernel import Kernel, _options
from ..compiler._library import Context
from ._blocks import tensors_of
from ._inputs import Input

#: Assumptions that are not in a data sheet, in clocks and bytes per clock.
COPY_LATENCY, PORT_BYTES, ISSUE = 700.0, 64.0, 8.0

Trace = Dict[str, Any]


def trace(kernel: Kernel, inputs: Sequence[Input], contents: Mapping[str, Any], max_events: int = 900) -> Trace:
    """The events of the kernel's first CTA, from foveaTrace. Raises CompileError."""
    tensors, count, keep = tensors_of(inputs, contents)
    options = _options(kernel._options)
    with Context() as context:
        module = context.parse(kernel._spec.located, kernel._spec.file)
        text = context.take(context.lib.foveaTrace(module, ctypes.byref(options), tensors, count, max_events))
    del keep
    result: Trace = json.loads(text)
    return result


@dataclass(frozen=True)
class Span:
    """An interval on a lane; ``kind`` selects its colour."""

    lane: str
    kind: str
    begin: float
    end: float
    text: str


@dataclass
class Timeline:
    """Spans by lane, in SM clocks from the CTA's start."""

    lanes: List[str] = field(default_factory=list)
    spans: List[Span] = field(default_factory=list)
    clocks: float = 0.0
    #: Utilisation of units between the first and the last product.
    busy: Dict[str, float] = field(default_factory=dict)


#: Products by the tensors of their operands: the kind, which selects the colour, and the name.
_OF_SCORES = {frozenset("qk"): ("qk", "Q K^T"), frozenset(("v", "do")): ("dp", "dO V^T")}
_OF_OPERAND = {"v": ("pv", "P V"), "do": ("dv", "P^T dO"), "q": ("dk", "dS^T Q"), "k": ("dq", "dS K")}
#: Kinds of all products.
PRODUCTS = tuple(kind for kind, _ in (*_OF_SCORES.values(), *_OF_OPERAND.values()))


def tensor_label(name: str) -> str:
    """A tensor's name in formulas: "Q", "dO"."""
    return name[0] + name[1:].upper() if name in ("do", "dq", "dk", "dv") else name.upper()


def product_of(trace: Mapping[str, Any], event: Sequence[Any]) -> Tuple[str, str]:
    """The kind of a dot's event, and the product as a formula."""
    is_of_scores, operands = event[7], [number for number in event[8:10] if number >= 0]
    tensors = [trace["buffers"][number]["tensor"] for number in operands]
    if is_of_scores:
        return _OF_SCORES.get(frozenset(tensors), ("qk", "Q K^T"))
    return next((_OF_OPERAND[one] for one in reversed(tensors) if one in _OF_OPERAND), ("pv", "P V"))


def agent_name(agent: Mapping[str, Any]) -> str:
    """A lane's name."""
    if agent["role"] is None:
        return "all warps"
    return f"{agent['role']} {agent['group']}" if agent["groups"] > 1 else agent["role"]


class _Agent:
    def __init__(self, number: int, name: str, processor: int):
        self.number, self.name, self.processor = number, name, processor
        self.events: List[List[Any]] = []
        self.next = 0
        self.ready = 0.0  # the time at which it can continue, if it is not blocked
        self.blocked_since: Optional[float] = None
        self.work: Optional[float] = None  # remaining clocks of the current computation
        self.begun = 0.0
        self.waits: Dict[Tuple[int, int], int] = {}
        self.turns = 0

    @property
    def event(self) -> Optional[List[Any]]:
        return self.events[self.next] if self.next < len(self.events) else None


class _Model:
    """Simulates the timing of a trace. Agents continue as soon as the event that they wait for
    has happened. Each CTA of a cluster has its own SM."""

    def __init__(self, trace: Trace, gpu: Gpu, cluster: int):
        self.trace, self.gpu, self.cluster = trace, gpu, cluster
        self.agents = [
            _Agent(number, agent_name(agent), agent["group"] * cluster // max(agent.get("groups", 1), cluster))
            for number, agent in enumerate(trace["agents"])
        ]
        for event in trace["events"]:
            self.agents[event[1]].events.append(event)
        self.result = Timeline()
        self.now = self.port_free = 0.0
        self.tensor_free = [0.0] * cluster
        self.dots: Dict[int, float] = {}
        self.copies: Dict[int, float] = {}  # by agent: completion time of its copies since the acquire
        self.full: Dict[Tuple[int, int], List[float]] = {}
        self.acquired: Dict[Tuple[int, int], int] = {}
        self.released: Dict[Tuple[int, int, int], int] = {}
        self.consumers: Dict[int, Set[int]] = {}
        self.turns_ended = 0
        for event in trace["events"]:
            if event[0] in ("wait", "release"):
                self.consumers.setdefault(event[2], set()).add(event[1])
        self.names = self._pipeline_names()

    def _pipeline_names(self) -> Dict[int, str]:
        """Names of pipelines: the tensor that is copied between acquire and commit."""
        names: Dict[int, str] = {}
        for agent in self.agents:
            held: List[int] = []
            for event in agent.events:
                if event[0] == "acquire":
                    held.append(event[2])
                elif event[0] == "copy" and held:
                    tensor = self.trace["buffers"][event[2]]["tensor"]
                    names.setdefault(held[-1], tensor_label(tensor) if tensor else f"buffer {event[2]}")
                elif event[0] == "send" and held:
                    names.setdefault(held[-1], "a work item")
                elif event[0] == "commit" and event[2] in held:
                    held.remove(event[2])
        return {n: names.get(n, f"pipeline {n}") for n in range(len(self.trace["pipelines"]))}

    def span(self, lane: str, kind: str, begin: float, end: float, text: str) -> None:
        if end > begin:
            self.result.spans.append(Span(lane, kind, begin, end, text))

    def tensor_lanes(self) -> List[str]:
        """A lane for the SM of each CTA."""
        return ["tensor cores"] if self.cluster == 1 else [f"tensor cores {n}" for n in range(self.cluster)]

    # The time that an event waits for, or None while it is unknown.

    def _is_free(self, pipeline: int, stage: int) -> bool:
        rounds = self.acquired.get((pipeline, stage), 0)
        consumers = self.consumers.get(pipeline, set())
        return all(self.released.get((pipeline, stage, agent), 0) >= rounds for agent in consumers)

    def when(self, agent: _Agent, event: List[Any]) -> Optional[float]:
        kind = event[0]
        if kind == "acquire":
            return self.now if self._is_free(event[2], event[3]) else None
        if kind == "wait":
            rounds = agent.waits.get((event[2], event[3]), 0)
            times = self.full.get((event[2], event[3]), [])
            # A second wait for a stage that the agent already has is free.
            held = rounds > self.released.get((event[2], event[3], agent.number), 0)
            return self.now if held else times[rounds] if rounds < len(times) else None
        if kind == "dot_wait":
            return self.dots.get(event[2], self.now)
        if kind == "begin_turn":
            groups = self.trace["agents"][agent.number].get("groups", 1)
            mine = agent.turns * groups + self.trace["agents"][agent.number]["group"]
            return self.now if groups == 1 or self.turns_ended >= mine else None
        return self.now

    def reason(self, event: List[Any]) -> str:
        kind = event[0]
        if kind == "acquire":
            return f"waits for a free stage of {self.names[event[2]]}"
        if kind == "wait":
            return f"waits for {self.names[event[2]]}, stage {event[3]}"
        if kind == "dot_wait":
            return "waits for a product"
        return "waits for its ping-pong section"

    def perform(self, agent: _Agent, event: List[Any]) -> None:
        """Executes an event."""
        kind, now = event[0], self.now
        agent.ready = now + ISSUE
        if kind == "acquire":
            self.acquired[event[2], event[3]] = self.acquired.get((event[2], event[3]), 0) + 1
            self.copies.pop(agent.number, None)
        elif kind == "copy":
            tensor = self.trace["buffers"][event[2]]["tensor"] or f"buffer {event[2]}"
            begin = max(now, self.port_free)
            self.port_free = begin + event[3] / PORT_BYTES
            landed = max(self.port_free, now + COPY_LATENCY)
            self.copies[agent.number] = max(self.copies.get(agent.number, 0.0), landed)
            self.span("copies", "copy_" + tensor, begin, landed, f"copy of {tensor_label(tensor)}, {event[3] >> 10} KiB")
        elif kind == "commit":
            self.full.setdefault((event[2], event[3]), []).append(max(self.copies.get(agent.number, now), now))
        elif kind == "wait":
            held = agent.waits.get((event[2], event[3]), 0) > self.released.get((event[2], event[3], agent.number), 0)
            if not held:
                agent.waits[event[2], event[3]] = agent.waits.get((event[2], event[3]), 0) + 1
        elif kind == "release":
            key = event[2], event[3], agent.number
            self.released[key] = self.released.get(key, 0) + 1
        elif kind == "dot":
            number, rows, columns, depth, is_async = event[2:7]
            begin = max(now, self.tensor_free[agent.processor])
            end = begin + 2.0 * rows * columns * depth / self.gpu.tensor
            self.tensor_free[agent.processor] = self.dots[number] = end
            kind, what = product_of(self.trace, event)
            self.span(self.tensor_lanes()[agent.processor], kind, begin, end, f"{what} of {agent.name}: {rows} x {columns} x {depth}")
            if not is_async:
                agent.ready = end
        elif kind == "begin_turn":
            agent.turns += 1
        elif kind == "end_turn":
            self.turns_ended += 1
        elif kind in ("load", "store"):
            length = COPY_LATENCY if kind == "load" else event[2] / PORT_BYTES
            agent.ready = now + length
            self.span(agent.name, kind, now, agent.ready, f"{kind}s {event[2] / 1024:.3g} KiB")
        elif kind == "compute":
            _, _, ordinary, special, _ = event
            agent.work = max(ordinary / self.gpu.ordinary, special / self.gpu.special)
            agent.begun = now

    def finish_compute(self, agent: _Agent, event: List[Any]) -> None:
        _, _, ordinary, special, masked = event
        kind = "masked" if masked else "softmax" if special else "other"
        text = f"computes: {ordinary} operations, {special} of the special-function unit"
        self.span(agent.name, kind, agent.begun, self.now, text + (f", a mask of {masked} scores" if masked else ""))
        agent.work = None
        agent.ready = self.now

    def step(self) -> bool:
        """Runs each agent as far as possible, then advances the time. Returns False at the end."""
        moved = True
        while moved:
            moved = False
            for agent in self.agents:
                event = agent.event
                if event is None or agent.work is not None or agent.ready > self.now:
                    continue
                time = self.when(agent, event)
                if time is None or time > self.now:
                    if agent.blocked_since is None:
                        agent.blocked_since = self.now
                    continue
                if agent.blocked_since is not None:
                    self.span(agent.name, "wait", agent.blocked_since, self.now, self.reason(event))
                    agent.blocked_since = None
                self.perform(agent, event)
                if agent.work is None:
                    agent.next += 1
                moved = True
        # The time of the next change.
        computing = [agent for agent in self.agents if agent.work is not None]
        sharing = [sum(agent.processor == n for agent in computing) for n in range(self.cluster)]
        times = [self.now + (agent.work or 0.0) * sharing[agent.processor] for agent in computing]
        for agent in self.agents:
            if agent.event is None or agent.work is not None:
                continue
            if agent.ready > self.now:
                times.append(agent.ready)
            else:
                time = self.when(agent, agent.event)
                if time is not None:
                    times.append(time)
        if not times:
            return False
        then = min(times)
        for agent in computing:
            assert agent.work is not None
            agent.work -= (then - self.now) / sharing[agent.processor]
        self.now = then
        for agent in computing:
            if agent.work is not None and agent.work <= 1e-6:
                event = agent.event
                assert event is not None
                self.finish_compute(agent, event)
                agent.next += 1
        return True


def lay_out(trace: Trace, gpu: Gpu, cluster: int = 1) -> Timeline:
    """Lays out a trace in time, with the model in this module's docstring."""
    model = _Model(trace, gpu, cluster)
    while model.step():
        pass
    result = model.result
    # The producer first, then the warp groups in order.
    copying = {event[1] for event in trace["events"] if event[0] == "copy"}
    agents = sorted(model.agents, key=lambda agent: (agent.number not in copying, agent.name))
    result.lanes = ["copies", *(agent.name for agent in agents if agent.events), *model.tensor_lanes()]
    # Omit the code before and after the roles.
    shown = {span.lane for span in result.spans if span.kind != "wait"} | {agent_name(one) for one in trace["agents"] if one["role"]}
    result.lanes = [lane for lane in dict.fromkeys(result.lanes) if lane in shown]
    result.spans = [span for span in result.spans if span.lane in result.lanes]
    result.clocks = max((span.end for span in result.spans), default=0.0)
    products = [span for span in result.spans if span.kind in PRODUCTS]
    if products:
        begin, end = min(span.begin for span in products), max(span.end for span in products)
        length = max(end - begin, 1.0)
        for lane in result.lanes:
            spans = [span for span in result.spans if span.lane == lane and span.kind not in ("wait", "load", "store")]
            share = sum(max(min(s.end, end) - max(s.begin, begin), 0) for s in spans) / length
            # The producer's computation is negligible.
            if lane != "copies" and share >= 0.005:
                result.busy[lane] = share
    return result
