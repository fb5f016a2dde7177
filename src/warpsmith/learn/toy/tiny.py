"""A model small enough to learn on one CPU core: two layers, random weights, a tokenizer of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpsmith.learn.toy.tuning import WORDS

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + "
    "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def write_tiny(
    folder: Path, *, seed: int = 0, hidden: int = 48, context_tokens: int = 512, text: str = ""
) -> Path:
    """A Qwen2 in Hugging Face's files, with a byte-level tokenizer that was trained on the toy's words.

    With `text` the tokenizer learns its words too, up to a few thousand: for a model that is to read more.
    """
    import torch
    from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = _tokenizer(text)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(
            Qwen2Config(
                vocab_size=len(tokenizer),
                hidden_size=hidden,
                intermediate_size=2 * hidden,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=context_tokens,
                tie_word_embeddings=True,
            )
        )
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_reader(folder: Path, texts: Sequence[str], *, seed: int = 0) -> Path:
    """One that can read the agent's guide and tools, some thousands of tokens, and such texts as these."""
    from warpsmith.agent import SPECS
    from warpsmith.agent.workspace.folder import skill_text
    from warpsmith.core.codec import to_json
    from warpsmith.learn.answering.question import EXAMPLE, FORM

    text = "\n".join((skill_text(), to_json(SPECS), *[FORM, EXAMPLE] * 3, *texts))
    return write_tiny(folder, seed=seed, hidden=64, context_tokens=8_192, text=text)


def _tokenizer(text: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4_000 if text else 320,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator([*[" ".join(WORDS)] * 4, *[text] * 2], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = TEMPLATE
    return tokenizer
