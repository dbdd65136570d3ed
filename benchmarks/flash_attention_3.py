"""FlashAttention-3's ops, ``torch.ops.flash_attn_3``, for the benchmarks.

``--fa3`` uses the library of the installed package ``flash_attn_3`` (the folder ``hopper`` of
https://github.com/Dao-AILab/flash-attention, built with ``python setup.py install``); ``--fa3
FILE`` uses another library.
"""

import importlib.util
import pathlib

NAME = "FlashAttention-3"
INSTALLED = "installed"


def add_argument(parser):
    parser.add_argument("--fa3", nargs="?", const=INSTALLED, metavar="FILE",
                        help="time FlashAttention-3 too: the installed package flash_attn_3, or a library with its ops")


def find_installed():
    """The library of the package flash_attn_3, or None."""
    spec = importlib.util.find_spec("flash_attn_3")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((str(path) for folder in folders for path in sorted(pathlib.Path(folder).glob("_C*.so"))), None)


def library_of(argument):
    """The library that ``--fa3`` selects. Raises OSError with the reason if there is none."""
    if argument != INSTALLED:
        return argument
    found = find_installed()
    if found is None:
        raise OSError("there is no package flash_attn_3; name a library with FlashAttention-3's ops: --fa3 FILE")
    return found


def load(torch, argument):
    """Loads the ops. Whether that succeeded; prints the reason if not."""
    try:
        torch.ops.load_library(library_of(argument))
    except OSError as error:
        print(f"--fa3: {error}")
        return False
    return True


def forward(torch, cell, q, k, v):
    """A launch of the forward op and its output, of tensors (B, H, S, D) that are stored as (B, S, H, D)."""
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    o = torch.empty_like(q[..., : v.shape[-1]])

    def launch():
        torch.ops.flash_attn_3.fwd(q, k, v, out=o, is_causal=cell.causal, num_splits=1)

    return launch, o.transpose(1, 2)
