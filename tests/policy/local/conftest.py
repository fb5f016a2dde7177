"""Tiny checkpoints, made on the spot."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warpsmith.policy import PolicyConfig, Sampling
from warpsmith.policy.local import LocalPolicy

CHATML = (
    "{%- if tools %}{{ '<|im_start|>system\nTools:' }}{% for tool in tools %}{{ '\n' + tool | tojson }}"
    "{% endfor %}{{ '<|im_end|>\n' }}{% endif %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'tool' %}"
    "{{ '<|im_start|>user\n<tool_response>' + message.content + '</tool_response><|im_end|>\n' }}"
    "{%- else %}{{ '<|im_start|>' + message.role + '\n' + message.content }}"
    "{%- for call in message.tool_calls or [] %}"
    '{{ \'\n<tool_call>{"name": "\' + call.function.name + \'", "arguments": \' }}'
    "{{ call.function.arguments | tojson + '}</tool_call>' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endif %}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""ChatML with tools, as Qwen writes it."""

WITHOUT_TOOLS = (
    "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content }}"
    "{{ '<|im_end|>\n' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

TEXT = (
    "Make the module in model.py faster.",
    "__global__ void scale_kernel(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x; }",
    '{"name": "read", "arguments": {"path": "model.py"}}',
    "The quick brown fox jumps over the lazy dog, 0123456789 times.",
)
TEMPLATES = {"tools": CHATML, "plain": WITHOUT_TOOLS}
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def write_checkpoint(
    folder: Path, *, template: str | None = "tools", context_tokens: int = 4096, missing_rows: int = 0
) -> Path:
    """A Qwen2 of two layers with random weights, and a byte-level tokenizer of a few hundred tokens.

    `template` is a name of TEMPLATES, or a text of its own.
    """
    import torch
    from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM

    tokenizer = _tokenizer(TEMPLATES.get(template or "", template))
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer) - missing_rows,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=context_tokens,
        tie_word_embeddings=True,
        initializer_range=0.5,
    )
    model = Qwen2ForCausalLM(config)
    # A base model's own end, not the chat's: the template's end must be found all the same.
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.convert_tokens_to_ids("<|endoftext|>"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(template: str | None):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator(TEXT, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|endoftext|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = template
    return tokenizer


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Several threads take longer than one on matrices this small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Path:
    """A sound one; tests that spoil it make their own."""
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """Writes a checkpoint that the test may spoil."""
    return lambda **how: write_checkpoint(tmp_path / "tiny", **how)


@pytest.fixture
def speak(checkpoint) -> Callable[..., LocalPolicy]:
    """A policy of the tiny model."""

    def made(folder: Path = checkpoint, *, style="auto", context_tokens=None, **sampling) -> LocalPolicy:
        given = {"temperature": 1.0, "max_tokens": 24, "seed": 1} | sampling
        config = PolicyConfig(sampling=Sampling(**given), style=style, context_tokens=context_tokens)
        return LocalPolicy(str(folder), config)

    return made
