"""fovea.transformers with the real package: tiny models with random weights on the CPU, against their
own eager attention. `make doors` installs the package; elsewhere these tests are skipped."""

import pathlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: make doors installs it")

SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
GROUPS = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
WINDOW = 5

#: The model's class and its configuration.
DECODERS = {
    "Llama": GROUPS, "Mistral": {**GROUPS, "sliding_window": WINDOW},
    "Gemma2": {**GROUPS, "sliding_window": WINDOW, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 8},
    "GptOss": {**GROUPS, "sliding_window": WINDOW, "num_local_experts": 2, "num_experts_per_tok": 1},
}
T5 = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0,
      "dropout_rate": 0.0}


@pytest.fixture(scope="module", autouse=True)
def registered(fovea):
    import fovea.transformers

    fovea.transformers.register(backend="interpret")
    transformers.logging.set_verbosity_error()
    return fovea.transformers


@pytest.fixture
def calls(monkeypatch):
    """The texts of the programs that the interpreter runs."""
    from fovea.torch.ops import _op

    seen, interpret = [], _op._interpret
    monkeypatch.setattr(_op, "_interpret", lambda *given: (seen.append(given[-1].program), interpret(*given))[1])
    return seen


def model_of(name, head="ForCausalLM", **changes):
    torch.manual_seed(0)
    sizes = {**(T5 if name == "T5" else DECODERS[name]), **changes}
    model = getattr(transformers, name + head)(getattr(transformers, name + "Config")(**sizes)).eval()
    for parameter in model.parameters():  # also those that start at 0 or 1, such as sinks
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def tokens(rows=2, length=12):
    """Ids, and a mask with padding at the start of the first row."""
    ids = torch.randint(2, 64, (rows, length), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(rows, length, dtype=torch.long)
    mask[0, :4] = 0
    return ids, mask


def both(model, run):
    """The results of `run` with eager attention and with Fovea's."""
    results = []
    for name in ("eager", "fovea"):
        model.set_attn_implementation(name)
        results.append(run(model))
    return results


def check(model, run, tolerance=2e-5):
    """Compares logits, and gradients of the loss with respect to all parameters."""
    def with_gradients(model):
        logits, loss = run(model)
        parameters = [one for one in model.parameters() if one.requires_grad]
        return logits, torch.autograd.grad(loss, parameters, allow_unused=True)

    (expected, wanted), (found, gradients) = both(model, with_gradients)
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    compared = [(one, other) for one, other in zip(gradients, wanted) if other is not None]
    assert len(compared) > 10 and all(one is not None for one, _ in compared)
    for one, other in compared:
        torch.testing.assert_close(one, other, rtol=10 * tolerance, atol=tolerance)


# --- Decoders -----------------------------------------------------------------


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("padded", [False, True])
def test_forward_and_loss(name, padded, calls):
    model, (ids, mask) = model_of(name), tokens()

    def run(model):
        # A token predicts the next: neither may be padding.
        labels = torch.where((mask > 0) & (mask.roll(1, 1) > 0), ids, -100) if padded else ids
        result = model(ids, attention_mask=mask if padded else None, labels=labels)
        return result.logits[mask > 0] if padded else result.logits, result.loss

    check(model, run)
    assert len(calls) == 2, "one call for each layer"
    assert all("%c" not in text or padded for text in calls), "a mask without padding reads no tensor"


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("cache", [None, "static"])
def test_generate(name, cache, calls):
    """The same tokens; a step has the program of the step before."""
    model, (ids, mask) = model_of(name), tokens()
    options = {"max_new_tokens": 8, "do_sample": False, "attention_mask": mask}
    expected, found = both(model, lambda model: model.generate(ids, cache_implementation=cache, **options))
    assert found.shape == (2, 20) and torch.equal(found, expected)
    assert len(calls) == 8 * 2
    kinds = 1 if name in ("Llama", "Mistral") else 2  # of layers
    assert len(set(calls[2 * 3:])) <= 2 * kinds, "programs of steps depend on the position"


def test_packed_sequences_by_positions(calls):
    """Positions that start again are another sequence."""
    ids, _ = tokens(rows=1)
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6]])
    model = model_of("Llama")
    expected, found = both(model, lambda model: model(ids, position_ids=positions, use_cache=False).logits)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)
    apart = torch.cat([model(part).logits for part in ids.split([5, 7], 1)], 1)
    torch.testing.assert_close(found, apart, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_packed_sequences_by_offsets(name, calls):
    """The offsets of transformers' padding-free batches select the packed form."""
    ids, _ = tokens(rows=1)
    offsets, positions = torch.tensor([0, 5, 12], dtype=torch.int32), torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6]])
    model = model_of(name)
    model.set_attn_implementation("fovea")
    found = model(ids, position_ids=positions, cu_seq_lens_q=offsets, cu_seq_lens_k=offsets, max_length_q=7, max_length_k=7).logits
    assert len(calls) == 2 and all(" packed(" in text for text in calls)
    model.set_attn_implementation("eager")
    apart = torch.cat([model(part).logits for part in ids.split([5, 7], 1)], 1)
    torch.testing.assert_close(found, apart, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", ["booleans", "numbers"])
def test_masks_of_users(kind):
    """A mask of four dimensions is read as it is."""
    model, (ids, _) = model_of("Llama"), tokens()
    keep = torch.ones(12, 12, dtype=torch.bool).tril() & (torch.arange(12) % 5 != 2) | torch.eye(12, dtype=torch.bool)
    numbers = torch.zeros(12, 12).masked_fill(~keep, torch.finfo(torch.float32).min)[None, None].expand(2, 1, 12, 12)
    given = {"eager": numbers, "fovea": numbers if kind == "numbers" else keep[None, None].expand(2, 1, 12, 12)}
    expected, found = both(model, lambda model: model(ids, attention_mask=given[model.config._attn_implementation]).logits)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


def test_compiled():
    torch.compiler.reset()
    model, (ids, mask) = model_of("Llama"), tokens()
    model.set_attn_implementation("fovea")
    options = {"attention_mask": mask, "use_cache": False}
    expected = model(ids, **options).logits
    found = torch.compile(model, backend="aot_eager", fullgraph=True)(ids, **options).logits
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


def test_gradient_checkpointing():
    model, (ids, _) = model_of("Llama"), tokens()
    model.train()
    model.set_attn_implementation("fovea")
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            model.gradient_checkpointing_enable()
        gradients.append(torch.autograd.grad(model(ids, labels=ids).loss, list(model.parameters())))
    for one, other in zip(*gradients):
        torch.testing.assert_close(one, other)


# --- Encoders -----------------------------------------------------------------


def test_t5(calls):
    """Position biases with a gradient, cross attention, and a scale of 1."""
    model, (ids, mask) = model_of("T5", "ForConditionalGeneration"), tokens()

    def run(model):
        result = model(input_ids=ids, attention_mask=mask, labels=ids)
        return result.logits, result.loss

    check(model, run)
    assert len(calls) == 2 + 2 * 2
    expected, found = both(model, lambda model: model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False))
    assert torch.equal(found, expected)


def test_bidirectional_windows():
    torch.manual_seed(0)
    model = transformers.ModernBertModel(transformers.ModernBertConfig(
        **{**SIZES, "num_hidden_layers": 4, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}, local_attention=6,
        global_attn_every_n_layers=2)).eval()
    ids, mask = tokens()
    expected, found = both(model, lambda model: model(ids, attention_mask=mask).last_hidden_state[mask > 0])
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


# --- Errors -------------------------------------------------------------------


def test_refused():
    model, (ids, mask) = model_of("Llama", attention_dropout=0.1), tokens()
    model.set_attn_implementation("fovea")
    with pytest.raises(NotImplementedError, match="LlamaAttention: output_attentions is not supported, since P is not computed"):
        model(ids, output_attentions=True)
    with pytest.raises(ValueError, match="output_attentions"):
        model.config.output_attentions = True
    with pytest.raises(NotImplementedError, match="LlamaAttention: attention dropout 0.1 is not supported, expected 0"):
        model.train()(ids)
    with pytest.raises(NotImplementedError, match="query is of torch.float64, expected"):
        model.eval().double()(ids)
    model = model_of("Llama")
    model.set_attn_implementation("fovea")
    offsets = torch.tensor([0, 12], dtype=torch.int32)
    with pytest.raises(NotImplementedError, match="cu_seq_lens_q needs one batch entry and no position_bias, found 2 entries"):
        model(ids, cu_seq_lens_q=offsets, cu_seq_lens_k=offsets, max_length_q=12, max_length_k=12)


def test_backends(registered):
    from transformers import AttentionInterface

    model, (ids, _) = model_of("Llama"), tokens()
    registered.register("fovea_on_cuda")
    assert "fovea_on_cuda" in AttentionInterface().valid_keys()
    model.set_attn_implementation("fovea_on_cuda")
    with pytest.raises(NotImplementedError, match="query is on cpu, but kernels run on CUDA"):
        model(ids)
    with pytest.raises(ValueError, match="backend must be 'cuda' or one of"):
        registered.register(backend="cpu")
    with pytest.raises(ValueError, match="name must be a string that is not empty, found ''"):
        registered.register("")


# --- Continuous batching ------------------------------------------------------

BATCHES = """
import sys

# The newest kernels on PyPI is older than transformers expects.
from transformers.utils import import_utils

check = import_utils.is_kernels_available
while hasattr(check, "__wrapped__"):
    check = check.__wrapped__
check.__defaults__ = ("0.17.0", "1.0")
import_utils.is_kernels_available.cache_clear()

import torch
from transformers import GenerationConfig, {model}Config, {model}ForCausalLM, logging
from fovea.torch.ops import _op

logging.set_verbosity_error()
torch.manual_seed(0)
model = {model}ForCausalLM({model}Config(**{sizes})).eval()
options = GenerationConfig(max_new_tokens=6, do_sample=False, eos_token_id=-1, pad_token_id=0, num_blocks=32, max_batch_tokens=64)
seen, interpret = [], _op._interpret
_op._interpret = lambda *given: (seen.append(given[-1].program), interpret(*given))[1]
results = []
for name in ("paged|eager", "fovea/flash"):
    model.set_attn_implementation(name, allow_all_kernels=True)
    made = model.generate_batch([[5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15], [3, 4]], generation_config=options, progress_bar=False)
    results.append([made[key].generated_tokens for key in sorted(made)])
assert [len(one) for one in results[0]] == [6, 6, 6] and results[0] == results[1], results
assert len(seen) == 12 and all(" packed(" in text for text in seen), len(seen)

# The same functions without continuous batching, with and without padding.
ids, mask = torch.arange(2, 26).reshape(2, 12), torch.ones(2, 12, dtype=torch.long)
for padded in (False, True):
    mask[0, :4] = 0 if padded else 1
    logits = []
    for name in ("eager", "fovea/flash"):
        model.set_attn_implementation(name, allow_all_kernels=True)
        logits.append(model(ids, attention_mask=mask).logits[mask > 0])
    torch.testing.assert_close(*logits, rtol=2e-5, atol=2e-5)
print("all as it should be")
"""


@pytest.mark.parametrize("name", ["Llama", "Mistral"])
def test_continuous_batching(name, run_python, registered):
    pytest.importorskip("kernels", reason="kernels is not installed: make doors installs it")
    pytest.importorskip("psutil", reason="psutil is not installed: make doors installs it")
    folder = registered.kernel_folder()
    assert isinstance(folder, pathlib.Path)
    result = run_python(BATCHES.replace("{model}", name).replace("{sizes}", repr(DECODERS[name])),
                        LOCAL_KERNELS=f"fovea/flash={folder}", HF_HUB_OFFLINE="1")
    assert result.returncode == 0, result.stderr
    assert "all as it should be" in result.stdout
