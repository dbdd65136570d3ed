"""Times transformers' continuous batching (`generate_batch`) with Fovea and with its own attention.

    python benchmarks/continuous_batching.py
    python benchmarks/continuous_batching.py --requests 64 --prompt 4096 --new 64 --layers 8

A Llama of random weights (32 query and 8 key heads of dim 128, bf16) generates greedily for many
prompts of different tokens. Contestants: transformers' paged sdpa, and Fovea's kernel folder. Each
runs once to warm up; then they take turns in random order. Tokens per second count generated
tokens and include the prompts' time, without the warm-up of transformers' CUDA graphs. Prints how
many requests have the same tokens as with sdpa: random weights give near ties, so some may differ.

Needs transformers 5.24 and kernels (`scripts/requirements-doors.txt`).
"""

import argparse
import os
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

OWN, FOVEA = "paged|sdpa", "fovea/flash"


def accept_kernels():
    """The newest kernels on PyPI is older than transformers 5.24 expects."""
    from transformers.utils import import_utils

    check = import_utils.is_kernels_available
    while hasattr(check, "__wrapped__"):
        check = check.__wrapped__
    check.__defaults__ = ("0.17.0", "1.0")
    import_utils.is_kernels_available.cache_clear()


def make_model(torch, layers):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=layers, num_attention_heads=32,
                         num_key_value_heads=8, vocab_size=32000, max_position_embeddings=1 << 17)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return LlamaForCausalLM(config).eval()


def generate(torch, model, name, prompts, args):
    """The seconds of a call, and the tokens of each request."""
    from transformers import ContinuousBatchingConfig, GenerationConfig

    model.set_attn_implementation(name, allow_all_kernels=True)
    options = GenerationConfig(max_new_tokens=args.new, do_sample=False, eos_token_id=-1, pad_token_id=0)
    batching = ContinuousBatchingConfig(auto_switch_to_flash=False, allow_block_sharing=False, page_size=args.page,
                                        max_batch_tokens=args.tokens, max_memory_percent=0.5)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    made = model.generate_batch(prompts, generation_config=options, continuous_batching_config=batching, warmup=False)
    seconds = time.perf_counter() - begin
    return seconds, [made[key].generated_tokens for key in sorted(made, key=lambda one: int(one.rsplit("_", 1)[-1]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=4096, help="tokens of each prompt")
    parser.add_argument("--new", type=int, default=64, help="tokens that each request generates")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--page", type=int, default=256, help="rows of a page of the cache")
    parser.add_argument("--tokens", type=int, default=4096, help="most tokens of a batch")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of prompts and the contestants' order")
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("SKIP: PyTorch finds no GPU")
        return 0
    accept_kernels()  # before the import of transformers' kernels
    import fovea.transformers

    fovea.transformers.register()
    os.environ["LOCAL_KERNELS"] = f"{FOVEA}={fovea.transformers.kernel_folder()}"
    model, rng = make_model(torch, args.layers), random.Random(args.seed)
    prompts = [[rng.randrange(1, 32000) for _ in range(args.prompt)] for _ in range(args.requests)]
    times, tokens = {OWN: [], FOVEA: []}, {}
    for name in times:
        first, tokens[name] = generate(torch, model, name, prompts, args)
        print(f"{name}: {first:.2f} s, first call", flush=True)
    for _ in range(args.rounds):
        for name in rng.sample(list(times), 2):
            times[name].append(generate(torch, model, name, prompts, args)[0])
    generated = args.requests * args.new
    for name, found in times.items():
        print(f"{name:<12} {statistics.median(found):7.2f} s {generated / statistics.median(found):8.0f} tokens/s")
    same = sum(a == b for a, b in zip(*tokens.values()))
    firsts = sum(a[0] == b[0] for a, b in zip(*tokens.values()))
    print(f"the same tokens: {same} of {args.requests} requests; the same first token: {firsts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
