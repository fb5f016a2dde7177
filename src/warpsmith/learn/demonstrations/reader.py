"""Of a student, its tokens alone: its weights need not be read to write what it shall read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from warpsmith.core import UsageError
from warpsmith.policy.local.checkpoint import BROKEN, located
from warpsmith.policy.local.template import Template, vocabulary_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How a student reads, and which tokenizer its ids belong to: as `Student.vocabulary` has it."""

    template: Template
    vocabulary: str

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Raises UsageError if there is no tokenizer with a chat template, as a model's folder has one."""
        place, gguf = located(str(folder))
        from transformers import AutoTokenizer

        named = {} if gguf is None else {"gguf_file": gguf}
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(place), local_files_only=True, **named)
        except BROKEN as error:
            raise UsageError(f"{folder}: its tokenizer cannot be read: {error!s:.200}") from error
        return cls(
            template=Template(tokenizer, str(folder)),
            vocabulary=vocabulary_of(tokenizer),
        )
