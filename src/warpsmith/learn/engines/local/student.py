"""The model that learns: read from a folder, and written as one that everything else can read."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from warpsmith.core import UsageError
from warpsmith.policy.local.checkpoint import load, located
from warpsmith.policy.local.engine import Engine
from warpsmith.policy.local.template import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """A causal language model in float32, and what it takes to let it act. Nobody else holds its weights."""

    folder: Path  # what it was read from
    model: Any
    tokenizer: Any
    template: Template
    stop_ids: frozenset[int]
    context_tokens: int

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    @property
    def vocabulary(self) -> str:
        """A digest of which text each id stands for: samples of another one mean something else."""
        words = sorted(self.tokenizer.get_vocab().items())
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]

    def engine(self) -> Engine:
        """What draws with the weights as they are now: one for each step, so that no cache is of before."""
        return Engine(self.model, stop_ids=self.stop_ids, context_tokens=self.context_tokens)


def student_of(folder: Path) -> Student:
    """Raises what `policy.local.checkpoint.load` raises, and UsageError for GGUF, which can't be written."""
    place, gguf = located(str(folder))
    if gguf is not None:
        raise UsageError(f"{folder} is GGUF; convert it to Hugging Face's files to train it")
    checked = load(
        str(place)
    )  # shared with whoever speaks with it, and in bfloat16 on a GPU: not to be trained
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(
        str(place), dtype=torch.float32, local_files_only=True, trust_remote_code=False
    )
    return Student(
        folder=place,
        model=model.to(checked.device.kind),
        tokenizer=AutoTokenizer.from_pretrained(str(place), local_files_only=True),
        template=checked.template,
        stop_ids=checked.stop_ids,
        context_tokens=checked.context_tokens,
    )


def write_model(model: Any, folder: Path) -> None:
    model.save_pretrained(folder)


def write_student(student: Student, folder: Path) -> None:
    """Weights and tokenizer: a folder that a local policy, or another trainer, can begin with."""
    write_model(student.model, folder)
    student.tokenizer.save_pretrained(folder)


def put_back(model: Any, folder: Path) -> None:
    """Make the weights of `model` those in `folder`, bit by bit. Raises UsageError if they don't fit."""
    from safetensors import SafetensorError
    from safetensors.torch import load_model

    try:
        for file in sorted(folder.glob("*.safetensors")):
            load_model(model, str(file), strict=False)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UsageError(f"{folder}: its weights cannot be read: {error!s:.200}") from error
