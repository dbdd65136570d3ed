"""Gradients of attention by finite differences, in numpy and f64.

    gradients.py inputs FOLDER [name=value...]
    gradients.py check FOLDER [name=value...]

The loss is sum(o * do) + sum(lse * dlse). `inputs` writes q, k, v, o, lse, do,
dlse and other tensors of the options; `check` compares dNAME.npy for each NAME of `by` with
differences. Names:

    sizes=B,Hq,Hkv,Sq,Skv,D,Dv  by=q,k,v  layout=bshd  sinks=1  dlse=1  scale=S
    captures=t:4x8,u:3  integers=n:70/10  score=EXPR  mask=EXPR  kept=EXPR  keep=P  magnitude=M
    do=EXPR  element=bf16  tolerance=T  places=N

The expressions see s, b, h, i, j, the captured tensors by name and np; `kept` says
which probabilities dropout keeps, each with probability P. Rows without keys have
lse -inf and are ignored. With `places` only N elements of each gradient are compared.
"""

import pathlib
import sys

import numpy as np
from npy import load, to_bf16

command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
options = dict(argument.split("=", 1) for argument in sys.argv[3:])
batch, heads, key_heads, queries, keys, depth, width = map(int, options["sizes"].split(","))
captures = dict(each.split(":") for each in options.get("captures", "").split(",") if each)
integers = {name: np.array(text.split("/"), np.int32)
            for name, text in (each.split(":") for each in options.get("integers", "").split(",") if each)}
by = options.get("by", "q,k,v").split(",")


def attend(x):
    """O and LSE of the tensors `x`, by name."""
    k, v = (np.repeat(x[name], heads // key_heads, 1) for name in "kv")
    b, h, i, j = np.ogrid[:batch, :heads, :queries, :keys]
    names = dict(x, **integers, np=np, b=b, h=h, i=i, j=j)
    s = np.einsum("bhid,bhjd->bhij", x["q"], k) * x.get("scale", depth**-0.5)
    shape = s.shape
    s = np.broadcast_to(eval(options.get("score", "s"), dict(names, s=s)), shape)
    s = np.where(eval(options.get("mask", "True"), names), s, -np.inf)
    sinks = x["sinks"][None, :, None, None] if "sinks" in x else np.float64(-np.inf)
    most = np.maximum(s.max(-1, keepdims=True), sinks)
    most = np.where(np.isinf(most), 0, most)
    p = np.exp(s - most)
    total = p.sum(-1, keepdims=True) + np.exp(sinks - most)
    p = p / np.where(total > 0, total, 1)
    with np.errstate(divide="ignore"):
        lse = (most + np.log(total))[..., 0]
    if "kept" in options:
        p = np.where(eval(options["kept"], names), p / float(options["keep"]), 0)
    # Masked values have no influence.
    return np.einsum("bhij,bhjd->bhid", p, np.nan_to_num(v)), lse


def loss(x, do, dlse):
    with np.errstate(invalid="ignore"):
        o, lse = attend(x)
    return (o * do).sum() + (np.where(np.isinf(lse), 0, lse) * dlse).sum()


def turn(array):
    """Converts between (B, H, S, D) and the layout in memory."""
    return array.transpose(0, 2, 1, 3) if array.ndim == 4 and options.get("layout") == "bshd" else array


def write(name, array):
    half = options.get("element") == "bf16" and name in ("q", "k", "v", "o", "do")
    array = np.ascontiguousarray(turn(array)) if array.ndim else array
    np.save(folder / f"{name}.npy", to_bf16(array) if half else array.astype(np.float32))


def read(name):
    array = load(folder / f"{name}.npy").astype(np.float64)
    return turn(array) if name in ("q", "k", "v", "o", "do", "dq", "dk", "dv") else array


def write_inputs():
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(int(options.get("seed", 1)))
    shapes = {"q": (batch, heads, queries, depth), "k": (batch, key_heads, keys, depth), "v": (batch, key_heads, keys, width)}
    shapes |= {name: tuple(map(int, filter(None, text.split("x")))) for name, text in captures.items()}
    shapes |= {"sinks": (heads,)} if "sinks" in options else {}
    for name, shape in shapes.items():
        array = random.standard_normal(shape)
        write(name, array * float(options.get("magnitude", 1)) if name == "q" else array)
    for name, array in integers.items():
        np.save(folder / f"{name}.npy", array)
    if "scale" in options:
        write("scale", np.float64(options["scale"]))
    x = tensors()
    o, lse = attend(x)
    do = random.standard_normal(o.shape)
    write("o", o)
    write("lse", lse)
    write("do", eval(options["do"], dict(np=np, do=do)) if "do" in options else do)
    write("dlse", random.standard_normal(lse.shape) * ("dlse" in options))


def tensors():
    names = ["q", "k", "v", *captures, *(name for name in ("sinks", "scale") if name in options)]
    return {name: read(name) for name in names}


def check():
    x, do, dlse = tensors(), read("do"), read("dlse")
    for name in by:
        places = list(np.ndindex(x[name].shape))
        if "places" in options:
            random = np.random.default_rng(1)
            places = [places[at] for at in random.choice(len(places), min(len(places), int(options["places"])), replace=False)]
        expected, step = np.zeros(len(places)), 1e-5
        for number, place in enumerate(places):
            kept = x[name][place]
            losses = []
            for moved in (kept + step, kept - step):
                x[name][place] = moved
                losses.append(loss(x, do, dlse))
            x[name][place] = kept
            expected[number] = (losses[0] - losses[1]) / (2 * step)
        found = read(f"d{name}")
        assert found.shape == x[name].shape, (name, found.shape, x[name].shape)
        assert np.isfinite(found).all(), name
        error = np.abs(np.array([found[place] for place in places]) - expected).max() / max(np.abs(expected).max(), 1e-3)
        tolerance = float(options.get("tolerance", 1e-5))
        print(f"d{name}", "agrees with differences" if error <= tolerance else f"is off by {error}")


write_inputs() if command == "inputs" else check()
