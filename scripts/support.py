"""Writes docs/Support.md and the tables "Support" of the README.

Usage: support.py [--check]     (needs numpy and a build: FOVEA_LIBRARY_PATH, PYTHONPATH=python)

Targets, units, head dims, types, sequence forms and gradients are queried from the compiler: a combination is listed if a
kernel of it compiles. PTX kernels are executed by the emulator and compared with the reference. The other facts are in
support_facts.py. With --check nothing is written; the exit code is 1 if a page is stale.
"""

import ctypes
import functools
import pathlib
import re
import sys
import textwrap
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import support_facts as facts  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE, README = ROOT / "docs" / "Support.md", ROOT / "README.md"
BEGIN, END = "<!-- scripts/support.py writes these tables -->\n", "<!-- end of the tables -->\n"
FORMS = ("dense", "lengths", "packed", "paged")
#: Names of the forms in other libraries.
ALIASES = {"dense": "dense", "lengths": "lengths (padded KV cache, seqused_k)", "packed": "packed (varlen, cu_seqlens)",
           "paged": "paged (page table)"}
#: Head dims that represent the rule, and some that violate it.
TAKEN, REFUSED = (8, 72, 128, 256), (4, 12, 264)
GRADIENTS = {"dq", "dk", "dv", "dgains", "dsinks", "dscale"}
#: The targets whose programs are compiled; None: all.
PROBED = None
#: Options of a description that the page lists.
PARTS = ({"blocks": (128, 128)}, {"dropout": 0.1}, {"sinks": True}, {"output_dtype": "f32"}, {"value_head_dim": 128})
#: The fewest rows of a page that TMA copies.
PAGE_ROWS = 8
#: The tolerance of an output's relative error: f16 products of 64 keys.
TOLERANCE = 5e-3


# --- Queries of the compiler ----------------------------------------------------------------------


def all_targets():
    import fovea

    # The page states that kernels for sm_90 do not use wgmma.
    warnings.filterwarnings("ignore", "kernels for sm_90 ", fovea.CompileWarning)
    return fovea.targets()


def gain(score, b, h, q_idx, kv_idx, gains):
    return score * gains[h]


def compiles(target, sequences="dense", gradient=False, **description):
    """True if the kernel compiles; with `gradient`, also the kernels of all kinds of gradients."""
    import fovea

    form = fovea.Paged(PAGE_ROWS) if sequences == "paged" else sequences
    description = {"dtype": "f16", "head_dim": 64, "sequences": form, **description}
    if gradient:
        description.update(score_mod=gain, captures={"gains": ("f32", (None,))}, sinks=True, scale="runtime", gradient=True)
    try:
        kernel = fovea.compile(fovea.attention(**description), target=target)
    except (fovea.CompileError, ValueError):
        return False
    return not gradient or kernel.has_backward and GRADIENTS <= {tensor["name"] for tensor in kernel.backward.metadata["tensors"]}


@functools.lru_cache(None)
def unit(target):
    """The MMA unit of a kernel, as its plan names it."""
    import fovea
    from fovea.compiler import _kernel
    from fovea.compiler._library import Context

    spec = fovea.attention(head_dim=64)
    options = _kernel._options({"target": target})
    with Context() as context:
        module = context.parse(spec.located, spec.file)
        text = context.take(context.lib.foveaEmit(module, ctypes.byref(options), _kernel._LEVELS["tile"])).decode()
    return re.search(r"#warp\.(\w+)_unit", text)[1].replace("_", ".")


@functools.lru_cache(None)
def ptx_version(target):
    import fovea

    return re.search(r"^\.version (\S+)", fovea.compile(fovea.attention(dtype="f16", head_dim=64), target=target).ptx, re.MULTILINE)[1]


@functools.lru_cache(None)
def emulated_error(target):
    """The largest error of a causal kernel's output, executed by the emulator, relative to the largest element."""
    import fovea
    import numpy

    spec = fovea.attention(mask_mod=lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, dtype="f16", head_dim=64)
    generator = numpy.random.default_rng(0)
    q, k, v = (generator.standard_normal((1, 2, 64, 64)).astype("float16") for _ in range(3))
    o, _ = fovea.compile(spec, target=target).interpret(q, k, v, level="ptx")
    expected, _ = fovea.reference(spec, q, k, v)
    return float(abs(o - expected).max() / abs(expected).max())


def status(target):
    if not emulated_error(target) < TOLERANCE:
        raise AssertionError(f"the emulator's output for {target} is wrong by {emulated_error(target)}")
    measured = facts.MEASURED.get(target)
    return "emulator" + (f", [{measured}](Performance.md)" if measured else "")


@functools.lru_cache(None)
def types_of(target):
    return tuple(dtype for dtype in ("bf16", "f16", "f32") if compiles(target, dtype=dtype))


def narrow_targets():
    """The targets with kernels for 8-bit floats, and a check of the head dims that the page states."""
    found = tuple(target for target in PROBED or all_targets() if compiles(target, dtype="f8E4M3FN"))
    for target in found:
        if not compiles(target, dtype="f8E4M3FN", head_dim=16) or compiles(target, dtype="f8E4M3FN", gradient=True):
            raise AssertionError(f"8-bit kernels for {target} have gradients, or lack head dim 16")
    return found


@functools.lru_cache(None)
def head_dims_hold(target):
    """True if the page's rule agrees with the compiler."""
    return all(compiles(target, head_dim=d) for d in TAKEN) and not any(compiles(target, head_dim=d) for d in REFUSED)


@functools.lru_cache(None)
def forms_of(target, gradient):
    return tuple(form for form in FORMS if compiles(target, sequences=form, gradient=gradient))


@functools.lru_cache(None)
def parts_compile(target):
    return all(compiles(target, **part) for part in PARTS)


# --- Queries of the package -----------------------------------------------------------------------


def project():
    text = (ROOT / "pyproject.toml").read_text()
    needs = {package: re.search(rf'"{package}>=([\d.]+)"', text)[1] for package in ("torch", "transformers")}
    return {"python": re.search(r'^requires-python = ">=(.*)"', text, re.MULTILINE)[1], **needs}


def tested(package, requirements):
    """The version of a package in a file of `scripts`."""
    return re.search(rf"^{package}==(\S+)", (ROOT / "scripts" / requirements).read_text(), re.MULTILINE)[1]


def tested_torch():
    return tested("torch", "requirements-torch.txt")


# --- Pages --------------------------------------------------------------------------------------


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def targets_table():
    rows = []
    for target in all_targets():
        version = ptx_version(target)
        cuda, branch = facts.DRIVERS[version]
        rows.append([f"`{target}`", facts.GPUS[target], unit(target), version, f"{branch} (CUDA {cuda})", status(target)])
    return table(["target", "GPUs", "MMA unit", "PTX", "least driver", "status"], rows)


def the_same_on_all(question, *arguments):
    """The common answer of all targets, or of those in `PROBED`."""
    answers = {question(target, *arguments) for target in PROBED or all_targets()}
    if len(answers) != 1:
        raise AssertionError(f"{question.__name__} differs by target: {answers}; the page needs a column")
    return answers.pop()


def named(forms):
    return ", ".join(ALIASES[form] for form in forms)


def programs_table():
    types, rule = the_same_on_all(types_of), the_same_on_all(head_dims_hold)
    forward, backward = the_same_on_all(forms_of, False), the_same_on_all(forms_of, True)
    if not rule or not the_same_on_all(parts_compile):
        raise AssertionError("head dims are not the multiples of 8 up to 256, or a part of a description does not compile")
    narrow = narrow_targets()
    return points({
        "Q, K, V": ", ".join(types) + "; sums and log-sum-exp in f32. Products of f32 have the error of f32, or with `tf32` that of tf32",
        "fp8": f"Q, K and V of e4m3 (`f8E4M3FN`) for {', '.join(f'`{target}`' for target in narrow)}, forward, with scales per tensor, batch "
               "entry or key head and V's mean ([PyTorch](Guides/PyTorch.md#float8)); rows start at multiples of 16 bytes",
        "output": "the type of Q, or f32; of fp8 inputs bf16, f16 or f32",
        "head dims": "multiples of 8 from 8 to 256, and another one for V; `fovea.torch` pads other sizes and splits wider V. "
                     "Not above 256 for Q and K (MLA's 576)",
        "sequence forms": f"{named(forward)}. Pages have any number of rows; "
                          f"TMA copies those of a multiple of {PAGE_ROWS}",
        "gradients": f"of {', '.join(backward)}, with respect to Q, K, V, captured tensors, sinks and the scale. "
                     "Not of gradients ([others](Guides/PyTorch.md#gradients))",
        "heads": "any number, GQA and MQA",
        "decoding": "any number of queries over a KV cache, contiguous or in pages, with a length for each batch entry. Up to 16 queries, and packed "
                    "queries, split the keys of all sequences evenly among CTAs, except on sm_100a ([Serving](Guides/Serving.md))",
        "schedules": "chosen by the compiler; `--schedule` overrides them, `fovea-run --tune` measures candidates on a GPU",
        "masks and scores": "any score_mod and mask_mod of supported ops ([Python](Guides/Python.md#functions), "
                            "[PyTorch](Guides/PyTorch.md#functions)), BlockMasks, dropout, sinks",
    })


def points(items):
    """A list with lines of at most 100 characters."""
    lines = []
    for name, text in items.items():
        links = re.sub(r"\[[^]]*\]\([^)]*\)|`[^`]*`|needs glibc \S+", lambda match: match[0].replace(" ", "\0"), f"**{name}**: {text}.")
        lines += textwrap.wrap(links, 100, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ") + "\n"


def software():
    """(software, needed, tested)"""
    needs = project()
    return [
        ("OS", "Linux on x86-64", facts.BUILD_SYSTEM),
        ("Python", needs["python"] + " or later", facts.PYTHON_TESTED),
        ("PyTorch (optional)", needs["torch"] + " or later", f"{tested_torch()}; also run: {', '.join(facts.TORCH_ALSO_RUN)}"),
        ("transformers (optional)", needs["transformers"] + " or later", tested("transformers", "requirements-doors.txt")),
        ("NVIDIA driver", "by target; none to compile", facts.MEASURED_WITH.partition(",")[0]),
        ("CUDA toolkit", "none; ptxas is optional", facts.MEASURED_WITH.split(", ")[1]),
        ("LLVM", "22 to build; none with the wheel", "22, Debian packages"),
    ]


MISSING = {
    "fp8 in part": "on other targets, in gradients, in functions of `fovea.torch` other than `flex_attention` and `attention_with_kvcache`, e5m2, outputs of fp8, and scales "
                   "per block or token other than captured tensors of a score_mod",
    "split KV (flash decoding) on sm_100a": "one CTA processes all keys of its queries, so decoding with a small batch uses a part of "
                                            "the GPU; `attn.merge` combines results over disjoint keys",
    "several GPUs": "each call runs on one GPU; there is no ring or context parallelism",
    "other hardware": "AMD, Intel and Apple GPUs, and CPUs, are not targets; the interpreter and the PTX emulator are for checks",
}


def render():
    """The text of the page."""
    glibc = ".".join(map(str, facts.WHEEL_GLIBC))
    return f"""<!-- Written by scripts/support.py; don't edit -->
# Support

This page lists combinations for which kernels compiled. A test
(`test/python/test_support.py`) compiles samples and fails if the page is stale. Names of GPUs,
drivers and measurements are in `scripts/support_facts.py`.

## Targets

{targets_table()}
In the column "status", "emulator" means that a kernel of this target ran on the CPU
([PTX](../lib/PTX/README.md)) with the right output. A GPU means that kernels were run and timed on
it.
Kernels for `sm_100a` and `sm_103a` are verified on the emulator and by ptxas, not on hardware;
those of gradients use mma.sync.
Kernels for `sm_80` were measured on an H200, not on an A100. "Least driver" is the first Linux
driver that loads PTX of that version by NVIDIA's release notes; older drivers than that of the
measurements were not tried. PTX of a target without the suffix `a` also runs on later GPUs.

## Programs

All targets support the same programs, except for fp8.

{programs_table()}
## Software

{table(["", "needed", "tested"], software())}
On PyTorch {' and '.join(facts.TORCH_GRAPH_BREAKS)}, `torch.compile` breaks the graph at a call.
The wheel needs glibc {glibc} or later.

## Not supported

{points(MISSING)}"""


def generations_table():
    rows = []
    for name, targets in facts.GENERATIONS.items():
        measured = [f"{facts.MEASURED[target]} ({target})" for target in targets if target in facts.MEASURED]
        code = ", ".join(f"`{target}`" for target in targets)
        forward, backward = the_same_on_all(forms_of, False), the_same_on_all(forms_of, True)
        caches = [name for name, form in (("contiguous", "lengths"), ("paged", "paged")) if form in forward]
        decode = f"{' and '.join(caches)} KV" if caches else "no"
        rows.append([name, code, ", ".join(dict.fromkeys(unit(target) for target in targets)), ", ".join(the_same_on_all(types_of)),
                     "yes" if forward else "no", "yes" if backward else "no", decode,
                     ", ".join(["emulator", *measured])])
    return table(["GPU", "targets", "MMA", "Q, K, V", "forward", "backward", "decode", "run on"], rows)


def readme_table():
    forward, backward = the_same_on_all(forms_of, False), the_same_on_all(forms_of, True)
    gradients = "with gradients" if forward == backward else f"gradients of {', '.join(backward)}"
    shown = [name.replace("padded KV cache, ", "") for name in (ALIASES[form] for form in forward)]
    names, needed, tested = zip(*software())
    return f"""{generations_table()}
{points({
    "sequences": f"{', '.join(shown)}; {gradients}",
    "head dims": "multiples of 8 up to 256; `fovea.torch` pads others",
    "fp8": f"e4m3 for {', '.join(f'`{target}`' for target in narrow_targets())}, forward",
    "not supported": "split KV on sm_100a, second-order gradients",
})}
{table(["", *names], [["needed", *needed], ["tested", *tested]])}"""


def with_table(readme):
    """The README with current tables."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{readme_table()}{END}{after}"


def main():
    pages = {PAGE: render(), README: with_table(README.read_text())}
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text() != text]
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is stale: run scripts/support.py", file=sys.stderr)
        return 1 if stale else 0
    for page, text in pages.items():
        page.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
