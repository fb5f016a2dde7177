"""The model that learns: read from a folder, and written as one that everything else can read."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from warpsmith.core import UsageError
from warpsmith.policy.local import adapter
from warpsmith.policy.local.checkpoint import load, located
from warpsmith.policy.local.engine import Engine
from warpsmith.policy.local.template import Template, vocabulary_of
from warpsmith.policy.local.tokens import DecodingConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """A causal language model, and what it takes to let it act. Nobody else holds its weights.

    It is in float32, but for what an adapter leaves frozen.
    """

    folder: Path  # what it was read from
    base: Path  # of a whole model the same, of an adapter the model that it is for
    model: Any
    tokenizer: Any
    template: Template
    stop_ids: frozenset[int]
    context_tokens: int
    engines: dict[DecodingConfig, Engine] = field(default_factory=dict, compare=False, repr=False)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    @property
    def vocabulary(self) -> str:
        """A digest of which text each id stands for: samples of another one mean something else."""
        return vocabulary_of(self.tokenizer)

    def engine(self, decoding: DecodingConfig | None = None) -> Engine:
        """What draws with the weights as they are at each use; made once, for what it captures is dear."""
        decoding = decoding or DecodingConfig()
        if decoding not in self.engines:
            self.engines[decoding] = Engine(
                self.model, stop_ids=self.stop_ids, context_tokens=self.context_tokens, decoding=decoding
            )
        return self.engines[decoding]


def student_of(folder: Path) -> Student:
    """Raises what `policy.local.checkpoint.load` raises, and UsageError for GGUF, which can't be written."""
    place, gguf = located(str(folder))
    if gguf is not None:
        raise UsageError(f"{folder} is GGUF; convert it to Hugging Face's files to train it")
    checked = load(
        str(place)
    )  # shared with whoever speaks with it, and in bfloat16 on a GPU: not to be trained
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = adapter.base_of(place) if adapter.is_adapter(place) else place
    model = AutoModelForCausalLM.from_pretrained(
        str(base), dtype=torch.float32, local_files_only=True, trust_remote_code=False
    )
    if base != place:
        adapter.read(model, place)
    return Student(
        folder=place,
        base=base,
        model=model.to(checked.device.kind),
        tokenizer=AutoTokenizer.from_pretrained(str(place), local_files_only=True),
        template=checked.template,
        stop_ids=checked.stop_ids,
        context_tokens=checked.context_tokens,
    )


def write_model(model: Any, folder: Path) -> None:
    """What has been learnt: the adapter alone if there is one, else all weights."""
    if adapter.is_attached(model):
        adapter.write(model, folder)
    else:
        model.save_pretrained(folder)


def write_whole(model: Any, folder: Path) -> None:
    """All weights, with an adapter's added to them."""
    if adapter.is_attached(model):
        adapter.write_merged(model, folder)
    else:
        model.save_pretrained(folder)


def write_student(student: Student, folder: Path, *, is_merged: bool = True) -> None:
    """Weights and tokenizer: a folder for a local policy to begin with, and if merged for other trainers."""
    if is_merged:
        write_whole(student.model, folder)
    else:
        write_model(student.model, folder)
    student.tokenizer.save_pretrained(folder)


def put_back(model: Any, folder: Path) -> None:
    """Make the weights of `model` those in `folder`, bit by bit.

    Raises UsageError if they don't fit, lack some of the model's, or are damaged.
    """
    if adapter.is_attached(model):
        adapter.restore(model, folder)
        return
    from safetensors import SafetensorError
    from safetensors.torch import load_model

    lacking: set[str] | None = None
    try:
        for file in sorted(folder.glob("*.safetensors")):
            missing, unexpected = load_model(model, str(file), strict=False)
            if unexpected:
                raise UsageError(f"{folder} is of another model: it has {sorted(unexpected)[0]}")
            lacking = set(missing) if lacking is None else lacking & set(missing)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UsageError(f"{folder}: its weights cannot be read: {error!s:.200}") from error
    if lacking is None or lacking:
        raise UsageError(f"{folder} lacks weights: {', '.join(sorted(lacking or {'all of them'})[:3])}")
