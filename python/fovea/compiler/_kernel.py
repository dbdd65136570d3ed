"""``fovea.compile`` and ``Kernel``: compiles programs, and stores, interprets and launches kernels."""

from __future__ import annotations

import collections
import contextlib
import copy
import ctypes
import dataclasses
import hashlib
import json
import logging
import os
import pathlib
import reprlib
import threading
import warnings
from typing import TYPE_CHECKING, Any, Container, Dict, Iterable, Iterator, List, Mapping, NoReturn, Optional, Sequence, Tuple, Union

from ..runtime import _emulator, _launch, _outputs
from . import _library, _lines
from .. import cache as disk
from ..runtime._arrays import as_tensors, check_outputs, to_host
from .._files import read_regular
from ._library import Context
from ._structs import Options, RunOptions
from ..frontend._program import Program, Spec, as_spec, in_names_of, internal_names, with_users_names
from .._version import VERSION
from ..errors import CompileError, CompileWarning, Diagnostic, Error, LaunchError

if TYPE_CHECKING:
    from ..tools._explanation import Explanation

_MAGIC = b"fovea-kernel 3\n"
_LEVELS = {"attn": 0, "tile": 1, "warp": 2, "nvvm": 3, "llvm": 4, "ptx": 5, "metadata": 6}
DEFAULT_TARGET = "sm_90a"
#: Problems that users can't fix are logged; those that they can fix are warnings.
_log = logging.getLogger("fovea")


def version() -> str:
    """The version of the compiler."""
    return _library.compiler().foveaVersion().decode()


def targets() -> List[str]:
    """The targets of the compiler, for example "sm_90a"."""
    library = _library.compiler()
    names: List[str] = []
    while True:
        name = library.foveaTargetName(len(names))
        if name is None:
            return names
        names.append(name.decode())


def find_ptxas() -> Optional[str]:
    """The path of NVIDIA's assembler, ptxas, or None: searched on the PATH, in CUDA_HOME, and
    where toolkits and Python packages (nvidia-cuda-nvcc, triton) install it."""
    import glob
    import importlib.util
    import shutil

    candidates = [shutil.which("ptxas") or ""]
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    candidates += [os.path.join(root, "bin", "ptxas") for root in roots if root]
    candidates += sorted(glob.glob("/usr/local/cuda-*/bin/ptxas"), reverse=True)
    for package, inside in (("nvidia", "*/bin/ptxas"), ("triton", "backends/nvidia/bin/ptxas")):
        try:
            found = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            found = None
        for folder in (found.submodule_search_locations or []) if found else []:
            candidates += sorted(glob.glob(os.path.join(folder, inside)))
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return None


#: Compile options: the arguments of ``compile`` by name.
Choices = Mapping[str, Union[None, bool, str]]
#: A schedule: "auto", or user-specified fields.
Schedule = Union[str, Mapping[str, Union[int, str]]]


def _options(choices: Choices) -> Options:
    result = Options(ctypes.sizeof(Options))
    for name, value in choices.items():
        setattr(result, name, value.encode() if isinstance(value, str) else value)
    return result


# --- Running in the interpreter -----------------------------------------------


def _interpret(spec: Spec, options: Choices, arrays: Mapping[str, Any], level: str, exact: bool,
               seed: int) -> Any:
    if level not in ("attn", "tile", "warp"):
        raise ValueError(f"level must be 'attn', 'tile', 'warp' or 'ptx', found {level!r}")
    with in_names_of(spec):
        return _interpreted(spec, options, arrays, level, exact, seed)


def _interpreted(spec: Spec, options: Choices, arrays: Mapping[str, Any], level: str, exact: bool, seed: int) -> Any:
    names = internal_names(spec)
    with Context() as context:
        module = context.parse(spec.located, spec.file)
        arguments = _options(options)
        signature = json.loads(context.take(
            context.lib.foveaModuleSignature(module, ctypes.byref(arguments))
        ))
        dtypes = {entry["name"]: entry["dtype"] for entry in signature["inputs"]}
        if not exact:
            check_outputs(dtypes, {names.get(name, name): value for name, value in arrays.items()})
        named = []
        for name, value in arrays.items():
            internal = names.get(name, name)
            if internal not in dtypes:
                known = [{v: k for k, v in names.items()}.get(n, n) for n in dtypes]
                raise TypeError(f"the program takes no '{name}'; it takes {', '.join(known)}")
            named.append((internal, dtypes[internal], to_host(name, value, dtypes[internal])))
        _check_missing("the program", dtypes, {names.get(name, name) for name in arrays}, names)
        tensors, keep = as_tensors(named)
        run = RunOptions(ctypes.sizeof(RunOptions), _LEVELS[level], exact, seed)
        results = tuple(array for _, array in context.take_tensors(context.lib.foveaInterpret(
            module, ctypes.byref(arguments), ctypes.byref(run), tensors, len(named)
        )))
        del keep
    return results[0] if len(results) == 1 else results


def _check_missing(what: str, taken: Iterable[str], given: Container[str], internal: Mapping[str, str]) -> None:
    """Raises TypeError for missing arguments, by the caller's names."""
    names = {one: name for name, one in internal.items()}
    missing = [f"'{names.get(one, one)}'" for one in taken if one not in given]
    if missing:
        raise TypeError(f"{what} needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} missing")


def _given(arguments: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments without those of q, k and v that the program does not take."""
    return {name: value for name, value in arguments.items() if value is not None or name not in ("q", "k", "v")}


def reference(program: Program, q: Any = None, k: Any = None, v: Any = None, **others: Any) -> Any:
    """Evaluates a program in f64 on the CPU, on numpy arrays or PyTorch tensors. Returns the
    output, or (output, log-sum-exp) if the program has both, as f64 arrays.

    ``others`` are captured tensors by name, ``scale``, ``lengths``, ``cu_q`` and ``cu_k``.
    Inputs are first rounded to the program's dtypes. Raises CompileError, TypeError.
    """
    return _interpret(as_spec(program), {}, _given({"q": q, "k": k, "v": v, **others}), "attn", True, 0)


# --- Kernels ------------------------------------------------------------------


class Kernel:
    """A compiled kernel, made by ``fovea.compile`` or ``Kernel.load``. It serves all sizes
    that its program leaves open. Threads can share it.

    ``name`` is the entry in the PTX, ``target`` the target, ``captures`` the names of
    captured tensors, ``mlir`` the program that it was compiled from.
    """

    def __init__(self, spec: Spec, options: Choices, ptx: bytes, metadata: bytes,
                 cubin: Optional[bytes] = None, key: Optional[str] = None, is_asked_for: Optional[bool] = None,
                 backward: Optional[Kernel] = None):
        self._spec, self._options, self._key = spec, dict(options), key
        # False if `_fit` replaced the planner's schedule: the options then have a schedule that the user did not specify.
        self._is_asked_for = options.get("schedule", "auto") != "auto" if is_asked_for is None else is_asked_for
        self._ptx, self._metadata, self._cubin = ptx, metadata, cubin
        #: ptxas's performance warnings: spilled registers, serialised wgmma.
        self._faults: Tuple[str, ...] = ()
        self._facts = json.loads(metadata)
        self._loaded: Dict[int, _launch.LoadedKernel] = {}
        self._lock = threading.Lock()
        self.name: str = self._facts["kernel"]
        self.target: str = self._facts["target"]
        self.captures: Tuple[str, ...] = spec.captures
        self._backward = backward
        self._internal = internal_names(spec)
        # Kernels of gradients also have gradients with respect to captured tensors.
        gradients = {f"d{name}": f"d{internal}" for name, internal in self._internal.items()}
        tensors = {tensor["name"] for tensor in self._facts["tensors"]}
        self._internal = {**{name: one for name, one in gradients.items() if one in tensors}, **self._internal}

    def __repr__(self) -> str:
        return f"<fovea.Kernel {self.name} for {self.target}>"

    @property
    def has_backward(self) -> bool:
        """Whether the program's gradients were compiled with the kernel."""
        return self._backward is not None

    @property
    def backward(self) -> Kernel:
        """The kernel of the program's gradients. Raises Error if they were not compiled; see
        the parameter ``gradient`` of ``fovea.attention``."""
        if self._backward is None:
            raise Error(f"kernel '{self.name}' was compiled without gradients: request them by "
                        f"fovea.attention(..., gradient=('q', 'k', 'v')), or compile fovea.gradient(spec)")
        return self._backward

    @property
    def mlir(self) -> str:
        """The program, MLIR text at the attn level."""
        return self._spec.mlir

    @property
    def ptx(self) -> str:
        """The kernel's PTX."""
        return self._ptx.decode()

    @property
    def metadata(self) -> Dict[str, Any]:
        """The launch metadata; docs/Specification/ABI.md describes the members."""
        return json.loads(self._metadata)

    @property
    def cubin(self) -> bytes:
        """Machine code, assembled by ptxas (see ``find_ptxas``) at first use. Raises Error if
        there is no ptxas, CompileError with its messages if it fails.

        If ptxas reports performance problems, such as spilled registers, and ``schedule`` was
        user-specified, they are a CompileError. Otherwise schedules with fewer registers are
        tried, and ``ptx`` and ``metadata`` become those of the first without problems. If
        none is without, the log (``logging``'s "fovea", INFO) and ``explain`` report the
        problems."""
        return self._assemble(None, allow_faults=False)

    def assemble(self, ptxas: Optional[os.PathLike] = None, *, allow_faults: bool = False) -> bytes:
        """Like ``cubin``, with a given ptxas. With ``allow_faults`` performance problems of a
        user-specified schedule are a CompileWarning."""
        return self._assemble(None if ptxas is None else os.fspath(ptxas), allow_faults)

    def _assemble(self, ptxas: Optional[str], allow_faults: bool) -> bytes:
        with self._lock:
            if self._cubin is not None and ptxas is None:
                return self._cubin
            program = ptxas or find_ptxas()
            if program is None:
                raise Error("no ptxas was found; install CUDA's, or pip install nvidia-cuda-nvcc")
            cubin, faults = _run_ptxas(self._ptx, self.target, program)
            more = ""
            if faults and not allow_faults:
                if self._is_asked_for:
                    raise CompileError(faults)
                more = "; smaller schedules were tried"
                fitting = self._fit(program)
                if fitting:
                    kernel, cubin = fitting
                    self._options, self._facts = kernel._options, kernel._facts
                    self._ptx, self._metadata, faults = kernel._ptx, kernel._metadata, ()
            for fault in faults:
                if self._is_asked_for:
                    warnings.warn(str(fault), CompileWarning, stacklevel=3)
                else:
                    _log.info("for %s: %s%s", self.target, fault.message, more)
            self._cubin, self._faults = cubin, tuple(fault.message + more for fault in faults)
        if self._key is not None:
            disk.write(self._key, self.to_bytes())
        return self._cubin

    def _fit(self, ptxas: str) -> Optional[Tuple[Kernel, bytes]]:
        """The kernel of the first smaller schedule without performance problems, and its machine code."""
        alone = dataclasses.replace(self._spec, backward=None)
        for schedule in _smaller(self._metadata):
            try:
                kernel = _compile(alone, {**self._options, "schedule": schedule}, None)
                cubin, faults = _run_ptxas(kernel._ptx, kernel.target, ptxas)
            except CompileError:
                continue
            if not faults:
                _log.debug("kernel '%s' for %s: schedule %s, since ptxas finds faults with the chosen one", self.name, self.target,
                           schedule)
                return kernel, cubin
        return None

    def ir(self, level: str) -> str:
        """The IR at a level of the compiler: "attn", "tile", "warp", "nvvm", "llvm", "ptx".
        All levels except "ptx" are compiled again with the same options. With ``line_info``
        ops have locations."""
        if level not in _LEVELS:
            raise ValueError(f"level must be one of {', '.join(_LEVELS)}, found {level!r}")
        if level == "ptx":
            return self.ptx
        if level == "attn":
            return self._spec.located if self._has_lines else self.mlir
        options = _options(self._options)
        with Context() as context:
            module = context.parse(self._spec.located, self._spec.file)
            return context.take(context.lib.foveaEmit(module, ctypes.byref(options), _LEVELS[level])).decode()

    def explain(self, compare: Optional[Mapping[str, Any]] = None) -> Explanation:
        """The compiler's reasons for the kernel: the chosen schedule and the limits of its
        fields, the visible keys, bounds and block predicates of the mask, the ops of the
        mask that give no range, the transformations that were not applied and why.
        Statements have their line of Python or MLIR. ``print`` shows the explanation; a
        notebook shows the page of ``fovea.explain``. The program is compiled again, as far
        as needed. ``fovea.tools.explain_kernel`` is the same as a function.

        compare
            options of ``fovea.compile`` (target, schedule, recurrence, accurate_tanh,
            schedule_table) of a variant to compare with; the others are this kernel's.

        Raises CompileError; Error for a variant that is the same kernel.

        >>> print(kernel.explain(compare={"target": "sm_80"}))  # doctest: +SKIP
        """
        # At call time: tools compiles kernels.
        from ..tools import explain_kernel

        return explain_kernel(self, compare)

    @property
    def _has_lines(self) -> bool:
        return bool(self._options.get("line_info"))

    def source_of(self, ptx_line: int) -> Optional[_lines.SourceLine]:
        """The line of Python or MLIR that a line of ``ptx``, counted from 1, was compiled
        from: a line of a score_mod or mask_mod, or the call of ``fovea.attention``. None for
        a line without an instruction, and for an instruction of several source lines. Raises
        Error if the kernel was compiled without ``line_info``, ValueError for a line out of
        range.

        >>> print(kernel.source_of(2364))  # doctest: +SKIP
        alibi.py:4:12: return score + slopes[h] * (kv_idx - q_idx)
        """
        if not self._has_lines:
            raise Error(f"kernel '{self.name}' was compiled without line_info=True")
        places = _lines.places(self.ptx)
        if not 1 <= ptx_line <= len(places):
            raise ValueError(f"ptx_line must be from 1 to {len(places)}, found {ptx_line}")
        place = places[ptx_line - 1]
        return None if place is None else _lines.SourceLine(*place, _lines.text_of(*place[:2], self.mlir))

    # --- Files ---------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Serialises the kernel, as ``save`` writes it."""
        blobs = [self._spec.mlir.encode(), self._ptx, self._metadata, self._cubin or b""]
        if self.has_backward:
            blobs.append(self.backward.to_bytes())
        header = {
            "version": VERSION, "name": self._spec.name, "captures": self._spec.captures,
            "options": self._options, "is_asked_for": self._is_asked_for, "faults": self._faults,
            "sizes": [len(blob) for blob in blobs],
        }
        # Files contain paths of the compiling machine only with line_info.
        if self._has_lines:
            header["lines"] = [self._spec.located, self._spec.file]
        body = b"".join([json.dumps(header).encode(), b"\n", *blobs])
        return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    @classmethod
    def from_bytes(cls, data: bytes, key: Optional[str] = None) -> Kernel:
        """Deserialises a kernel. Raises Error if the data is not a complete kernel."""
        digest, newline, body = data[len(_MAGIC):].partition(b"\n")
        if not data.startswith(_MAGIC) or not newline:
            raise Error("not a kernel of this version of Fovea")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            raise Error("the kernel is damaged: its checksum is wrong")
        try:
            text, _, rest = body.partition(b"\n")
            header = json.loads(text)
            blobs = []
            for size in header["sizes"]:
                blobs.append(rest[:size])
                rest = rest[size:]
            mlir, ptx, metadata, cubin, *more = blobs
            if len(more) > 1:
                raise ValueError(f"it has {len(more)} kernels of gradients")
            backward = cls.from_bytes(more[0]) if more else None
            located, file = header.get("lines", (mlir.decode(), "<mlir>"))
            spec = Spec(header["name"], mlir.decode(), tuple(header["captures"]), located, file,
                        backward=backward and backward._spec)
            kernel = cls(spec, header["options"], ptx, metadata, cubin or None, key, header["is_asked_for"], backward)
            kernel._faults = tuple(header.get("faults", ()))
            ptx.decode()
            if not all(isinstance(text, str) for text in (kernel.name, kernel.target, spec.name, located, file, *spec.captures,
                                                          *kernel._faults)):
                raise TypeError("its names are not strings")
            return kernel
        # Deeply nested JSON raises RecursionError.
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise Error(f"the kernel is malformed: {error}") from error

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the kernel to a file: program, PTX, metadata, machine code if it was
        assembled, and the kernel of the gradients if there is one."""
        pathlib.Path(path).write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: Union[str, os.PathLike]) -> Kernel:
        """Reads a file that ``save`` wrote; needs no compiler. Raises Error, OSError."""
        return cls.from_bytes(read_regular(path))

    # --- Running -------------------------------------------------------------

    def __call__(self, q: Any = None, k: Any = None, v: Any = None, *unnamed: NoReturn, stream: Optional[int] = None, device: Optional[int] = None,
                 check: bool = False, **others: Any) -> Any:
        """Allocates the outputs, launches, and returns the outputs without waiting: the output,
        or (output, log-sum-exp), or the gradients in the order of the metadata. Outputs are
        tensors of the framework of ``q``, PyTorch or CuPy, on its device; an output that is
        passed by name is written instead. They are allocated on the framework's current
        stream: with another ``stream`` the caller must order the two and keep the tensors alive
        until the kernel has finished. The other arguments and the errors are those of
        ``launch``."""
        if unnamed:
            raise TypeError(f"captured tensors and other operands are passed by name, found {len(unnamed)} without a name: "
                            f"{self._called()}")
        tensors = _given({"q": q, "k": k, "v": v, **others})
        first, like = next(iter(tensors.items()), ("q", None))
        if getattr(like, "__array_interface__", None) is not None or getattr(like, "is_cuda", True) is False:
            raise TypeError(f"kernel '{self.name}' runs on a GPU and '{first}' is in host memory: move the tensors to the GPU, "
                            f"or run {self._called('.interpret')} on the CPU")
        named = self._named(tensors)
        # An updated tensor is an input and an output: it can't be allocated.
        needed = [one["name"] for one in self._facts["tensors"] if one["access"] == "update" or (
            one["access"] == "read" and (like is None or one["name"] in ("q", "k", "v")))]
        _check_missing(f"kernel '{self.name}'", needed, named, self._internal)
        for name, (shape, dtype) in _outputs.output_shapes(self._facts, named).items():
            named[name] = _outputs.allocate(like, shape, dtype)
        self.launch(stream=stream, device=device, check=check, **named)
        results = tuple(named[one["name"]] for one in self._facts["tensors"] if one["access"] != "read")
        return results[0] if len(results) == 1 else results

    def _taken(self, inputs: bool) -> List[str]:
        """The keyword arguments of a call, for messages: all tensors, or only inputs."""
        named = {internal: name for name, internal in self._internal.items()}
        tensors = [one["name"] for one in self._facts["tensors"] if not inputs or one["access"] != "write"]
        return [f"{name}={name}" for name in (named.get(one, one) for one in [*tensors, *_launch.scalar_types(self._facts)])]

    def _launched(self) -> str:
        return f"kernel.launch({', '.join(self._taken(inputs=False))})"

    def _called(self, method: str = "") -> str:
        return f"kernel{method}({', '.join(self._taken(inputs=True))})"

    def interpret(self, q: Any = None, k: Any = None, v: Any = None, *unnamed: NoReturn, level: str = "attn", seed: int = 0, **others: Any) -> Any:
        """Runs the program on the CPU with the rounding of its dtypes, on numpy arrays or
        PyTorch tensors. It is slow and meant for tests.

        level
            "attn" runs the program as written; "tile" and "warp" run the IR of that level,
            with an order of asynchronous events drawn from ``seed``; "ptx" executes the PTX
            on an emulated driver, launched by the runtime. The emulator raises LaunchError
            for errors of the kernel, such as races and out-of-bounds reads
            (lib/PTX/README.md lists them).
        others
            captured tensors, ``scale``, ``lengths``, ``cu_q`` and ``cu_k``; for gradients
            also ``o``, ``lse``, ``do`` and ``dlse``. Those must have the program's dtypes, or
            be numpy arrays of q's dtype; ``o`` may also be float32, which replaces 16-bit
            dtypes.

        Returns the output, or (output, log-sum-exp); bf16 results are float32 arrays. Raises
        TypeError for wrong arguments. Only the level "attn" detects an ``lse`` to base 2, if
        all rows show it.
        """
        if unnamed:
            raise TypeError(f"captured tensors and other operands are passed by name, found {len(unnamed)} without a name: "
                            f"{self._called('.interpret')}")
        arrays = _given({"q": q, "k": k, "v": v, **others})
        if level != "ptx":
            return _interpret(self._spec, self._options, arrays, level, False, seed)
        tensors = [one["name"] for one in self._facts["tensors"] if one["access"] != "write"]
        taken = [*tensors, *_launch.scalar_types(self._facts)]
        named = self._named(arrays, taken)
        _check_missing(f"kernel '{self.name}'", taken, named, self._internal)
        with self._in_names_of_captures():
            results = _emulator.run(self._ptx, self._metadata, self._facts, named, seed)
        return results[0] if len(results) == 1 else results

    def _named(self, arguments: Mapping[str, Any], taken: Optional[Sequence[str]] = None) -> Dict[str, Any]:
        """Arguments by the kernel's internal names. Raises TypeError for one that is neither in
        ``taken``, by default all tensors and scalars, nor a captured tensor."""
        taken = [*(one["name"] for one in self._facts["tensors"]), *_launch.scalar_types(self._facts)] if taken is None else taken
        named = {self._internal.get(name, name): value for name, value in arguments.items()}
        for name in named:
            if name not in taken and name not in self._internal.values():
                known = {internal: given for given, internal in self._internal.items()}
                raise TypeError(f"kernel '{self.name}' takes no '{name}' here; it takes {', '.join(known.get(one, one) for one in taken)}")
        return named

    def loaded(self, device: int = _launch.CURRENT_DEVICE) -> _launch.LoadedKernel:
        """The kernel loaded on a device, at first use. It is loaded as machine code if there
        is a ptxas and the device has the target's major compute capability; otherwise the
        driver compiles the PTX. Raises LaunchError."""
        kernel = self._loaded.get(device)
        if kernel is not None:
            return kernel
        # First, since without a device this raises and ptxas need not run.
        _launch.open_device(device)
        runs_machine_code = _launch.device_info(device)["major"] == generation_of(self.target)
        if runs_machine_code and self._cubin is None and find_ptxas() is not None:
            self.assemble()
        with self._lock:
            if device not in self._loaded:
                # Assembling may replace PTX and metadata, so both are read here.
                image = self._cubin if runs_machine_code and self._cubin is not None else self._ptx
                self._loaded[device] = _launch.LoadedKernel(image, self._metadata, self._facts, device)
            return self._loaded[device]

    def launch(self, *unnamed: NoReturn, stream: Optional[int] = None, device: Optional[int] = None, check: bool = False,
               **tensors: Any) -> None:
        """Launches the kernel on a CUDA stream, without waiting.

        tensors
            ``q``, ``k``, ``v``, the outputs ``o`` and, if the program has it, ``lse``;
            captured tensors by name, ``scale``, ``lengths``, ``cu_q`` and ``cu_k``: PyTorch
            tensors, objects with ``__cuda_array_interface__`` or ``__dlpack__``, or
            DeviceTensors. Strides must meet the constraints in the metadata.
        stream
            the address of a CUstream, by default of the current stream of PyTorch or CuPy if
            the tensors are theirs, else of the default stream.
        device
            the device's index, by default that of q.
        check
            whether to check lengths, offsets and block-sparse lists first, which waits for
            the stream.

        Raises TypeError for wrong arguments, LaunchError for sizes, strides or checked
        integers that the kernel does not support, and for errors of the device.
        """
        if unnamed:
            raise TypeError(f"tensors are passed by name, found {len(unnamed)} without a name: {self._launched()}")
        if device is None:
            device = _launch.device_of(tensors.get("q", next(iter(tensors.values()), None)))
        kernel = self.loaded(device)
        named = self._named(tensors, kernel.tensors + kernel.scalars)
        if stream is None:
            stream = _outputs.current_stream(named.values(), device)
        with self._in_names_of_captures():
            kernel.launch_named(stream, named, check)

    @contextlib.contextmanager
    def _in_names_of_captures(self) -> Iterator[None]:
        """Raises errors again with the user's names of captured tensors."""
        try:
            yield
        except LaunchError as error:
            raise LaunchError(error.status, with_users_names(self._spec, error.message)) from None
        except TypeError as error:
            raise TypeError(with_users_names(self._spec, str(error))) from None


# --- Compiling ----------------------------------------------------------------

_MEMORY_ENTRIES = 256
_memory: "collections.OrderedDict[str, Kernel]" = collections.OrderedDict()
_memory_lock = threading.Lock()
_in_work: Dict[str, threading.Lock] = {}


def _library_identity() -> List[Any]:
    """Identifies the build of the compiler; its version stays the same during development.
    Does not load the compiler, since that takes longer than a cache hit."""
    facts = _library.find("libFovea.so").stat()
    return [VERSION, facts.st_size, facts.st_mtime_ns]


def _cache_key(spec: Spec, options: Choices) -> str:
    facts = [_MAGIC.decode(), _library_identity(), spec.name, spec.mlir, spec.captures, sorted(options.items()),
             spec.backward and spec.backward.mlir]
    if options.get("line_info"):
        facts += [(one.located, one.file) for one in (spec, spec.backward) if one]
    table = options.get("schedule_table")
    if isinstance(table, str) and os.path.isfile(table):  # otherwise the compiler reports the error
        with open(table, "rb") as file:
            facts.append(hashlib.sha256(file.read()).hexdigest())
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _warn(context: Context, stacklevel: int) -> None:
    for diagnostic in context.diagnostics():
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), CompileWarning, stacklevel=stacklevel)


def generation_of(target: str) -> int:
    """The major compute capability of a target; machine code runs only on GPUs with the same one."""
    return int(target[len("sm_"):].rstrip("af")) // 10


def _run_ptxas(ptx: bytes, target: str, program: str) -> Tuple[bytes, Tuple[Diagnostic, ...]]:
    """Machine code, and ptxas's performance warnings."""
    with Context() as context:
        cubin = context.take(context.lib.foveaAssemble(
            context.handle, ptx, len(ptx), target.encode(), program.encode()
        ))
        return cubin, tuple(each for each in context.diagnostics() if each.severity == "warning")


def _smaller(metadata: bytes) -> List[str]:
    """Schedules with fewer registers than the kernel's, the fastest first."""
    with Context() as context:
        return context.take(context.lib.foveaSmallerSchedules(context.handle, metadata, len(metadata))).decode().splitlines()


def _compile(spec: Spec, options: Choices, key: Optional[str], stacklevel: int = 4) -> Kernel:
    """Compiles a program. By default, warnings name the line of the caller's caller."""
    c_options = _options(options)
    with in_names_of(spec), Context() as context:
        module = context.parse(spec.located, spec.file)
        kernel = context.check(context.lib.foveaCompile(module, ctypes.byref(c_options)))
        try:
            ptx = context.lib.foveaKernelPTX(kernel).bytes()
            metadata = context.lib.foveaKernelMetadata(kernel).bytes()
        finally:
            context.lib.foveaKernelDestroy(kernel)
        _warn(context, stacklevel)
    return Kernel(spec, options, ptx, metadata, None, key, backward=_compile_backward(spec, options))


def _compile_backward(spec: Spec, options: Choices) -> Optional[Kernel]:
    """Compiles the gradients with the same options, except those of the forward kernel alone, such as its schedule."""
    if spec.backward is None:
        return None
    return _compile(spec.backward, {**options, "schedule": "auto", "recurrence": "auto", "kernel": None}, None)


def _from_disk(key: str, spec: Spec) -> Optional[Kernel]:
    data = disk.read(key)
    if data is None:
        return None
    try:
        kernel = Kernel.from_bytes(data, key)
    except Error:
        return None
    # The file has the same program without source lines; those are the caller's.
    kernel._spec = spec
    if kernel.has_backward and spec.backward is not None:
        kernel.backward._spec = spec.backward
    return kernel


def _with_lines_of(kernel: Kernel, spec: Spec) -> Kernel:
    """The kernel with the source lines of `spec`, which is the same program. Loaded kernels
    are shared."""
    if (kernel._spec.located, kernel._spec.file) == (spec.located, spec.file):
        return kernel
    result = copy.copy(kernel)
    result._spec = spec
    if kernel.has_backward and spec.backward is not None:
        result._backward = _with_lines_of(kernel.backward, spec.backward)
    return result


def schedule_text(schedule: Schedule) -> str:
    """The compiler's text of a schedule: "tile_n=64,stages=3" for {"tile_n": 64, "stages": 3}.
    Raises TypeError."""
    if isinstance(schedule, str):
        return schedule
    if not isinstance(schedule, Mapping) or not all(isinstance(name, str) and isinstance(value, (int, str))
                                                    for name, value in schedule.items()):
        raise TypeError('schedule must be "auto", fields such as "tile_n=64,stages=3" or {"tile_n": 64, "stages": 3}, found '
                        + reprlib.repr(schedule))
    return ",".join(f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in schedule.items()) or "auto"


def _chosen(target: str, schedule: Schedule = "auto", recurrence: str = "auto", kernel: Optional[str] = None,
            accurate_tanh: bool = False,
            schedule_table: Union[None, str, "os.PathLike[str]"] = None, line_info: bool = False) -> Dict[str, Union[None, bool, str]]:
    # ctypes would interpret other types as addresses of strings.
    for name, value in (("target", target), ("recurrence", recurrence), ("kernel", kernel)):
        if not isinstance(value, str) and (name != "kernel" or value is not None):
            raise TypeError(f"{name} must be a string, found {reprlib.repr(value)}")
    return {
        "target": target, "schedule": schedule_text(schedule), "recurrence": recurrence, "kernel": kernel,
        "accurate_tanh": bool(accurate_tanh),
        "schedule_table": None if schedule_table is None else os.fspath(schedule_table),
        "line_info": bool(line_info),
    }


def _keep(key: str, kernel: Kernel) -> None:
    with _memory_lock:
        _memory[key] = kernel
        while len(_memory) > _MEMORY_ENTRIES:
            _memory.popitem(last=False)


def compile(
    program: Program,
    target: str = DEFAULT_TARGET,
    *,
    schedule: Schedule = "auto",
    recurrence: str = "auto",
    kernel: Optional[str] = None,
    accurate_tanh: bool = False,
    schedule_table: Union[None, str, "os.PathLike[str]"] = None,
    line_info: bool = False,
    cache: bool = True,
) -> Kernel:
    """Compiles a program for a target. Needs neither a GPU nor PyTorch.

    program
        a Spec of ``fovea.attention``, MLIR text with an attention function, or the path (a
        ``pathlib.Path``) of a file with it.
    target
        one of ``fovea.targets()``, "sm_90a" by default.
    schedule
        "auto", or options of the schedule (docs/Dialects/Plan.md): "tile_n=64,stages=3", or
        {"tile_n": 64, "stages": 3}.
    recurrence
        the algorithm of the softmax loop: "auto", "deferred", "lazy" and so on
        (docs/Dialects/Tile.md).
    kernel
        the name of the function, if the program has several.
    accurate_tanh
        whether tanh is accurate to 1e-6. The default is the GPU's approximation, whose
        relative error is at most 2^-16.5 (measured on an H200).
    schedule_table
        a file of measured schedules, written by ``fovea-run --tune``; options of
        ``schedule`` override it.
    line_info
        whether the PTX has source lines of its instructions (``.loc``), for
        ``Kernel.source_of`` and profilers; the instructions are the same. ``Kernel.ir`` then
        has locations, and files of ``save`` contain paths of source files.
    cache
        whether to use a cached kernel from memory or disk, and to cache this one (see
        ``fovea.cache``).

    Raises CompileError, whose ``diagnostics`` have messages and positions; OSError for a
    file that can't be read; TypeError. Gives a CompileWarning for a mask that hides
    everything, and for sm_90, which lacks Hopper's own features.
    """
    spec = as_spec(program)
    options = _chosen(target, schedule, recurrence, kernel, accurate_tanh, schedule_table, line_info)
    result = _cached(spec, options) if cache else _compile(spec, options, None)
    if target == "sm_90":
        warnings.warn("kernels for sm_90 run on later GPUs, too, but use neither wgmma nor TMA; kernels for sm_90a do",
                      CompileWarning, stacklevel=2)
    return result


def _cached(spec: Spec, options: Choices) -> Kernel:
    """The kernel of an earlier call, or else a new one, which is cached."""
    key = _cache_key(spec, options)
    with _memory_lock:
        found = _memory.get(key)
        if found is not None:
            _memory.move_to_end(key)
            return _with_lines_of(found, spec)
        working = _in_work.setdefault(key, threading.Lock())
    # If several threads need the same kernel, one compiles it.
    with working:
        with _memory_lock:
            found = _memory.get(key)
        if found is None:
            found = _from_disk(key, spec)
            if found is None:
                found = _compile(spec, options, key, 5)
                disk.write(key, found.to_bytes())
            _keep(key, found)
            with _memory_lock:
                _in_work.pop(key, None)
    return _with_lines_of(found, spec)


def compile_again(kernel: Kernel, **changes: Any) -> Kernel:
    """Compiles the kernel's program with some options changed."""
    options: Dict[str, Any] = {**kernel._options, **changes}
    return compile(kernel._spec, **options)


__all__ = ["Kernel", "compile", "reference", "targets", "version", "find_ptxas", "CompileError"]
