"""Imitation: the student learns to say what the samples' policies said."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from warpsmith.core import UsageError
from warpsmith.core.codec import to_json
from warpsmith.learn.config import SftConfig
from warpsmith.learn.engines.local.actor import Actor
from warpsmith.learn.engines.local.batch import Batch, parts, rows_of
from warpsmith.learn.engines.local.descent import Descent
from warpsmith.learn.engines.local.lora import adapted
from warpsmith.learn.engines.local.student import Student, write_student
from warpsmith.learn.losses.imitation import cross_entropy
from warpsmith.learn.losses.weights import Averaging, token_weights
from warpsmith.learn.metrics import Metric, Metrics
from warpsmith.learn.order import drawn_for
from warpsmith.learn.trajectory.nouns import Sample


class Sft:
    """Masked cross entropy over drawn tokens, in an order that is shuffled anew in each epoch."""

    name = "sft"

    def __init__(self, student: Student, samples: Sequence[Sample], config: SftConfig) -> None:
        """Raises UsageError if there is no sample, or one that is longer than the student can read."""
        check_samples(samples, student)
        self.config = config
        self.data = digest_of(samples)
        self._student = student
        self._samples = samples
        adapted(student.model, config.lora, seed=config.loop.seed, base=student.base)
        self._actor = Actor(student.model, config.memory)
        self._descent = Descent(student.model, config.descent)

    def step(self, number: int) -> Metrics:
        chosen = drawn_for(number, self._samples, self.config.samples_per_step, self.config.loop.seed)
        batch = Batch.of(chosen, self._actor.device)
        averaging = Averaging.SAMPLES if self.config.is_by_sample else Averaging.TOKENS
        weights = token_weights(batch.mask, averaging)
        entropies: list[float] = []
        lr = self._descent.lr
        loss, norm = self._descent.step(self._losses(batch, weights, entropies))
        return {
            Metric.LOSS: loss,
            Metric.GRAD_NORM: norm,
            Metric.LR: lr,
            Metric.ENTROPY: sum(entropies),
            Metric.SAMPLES: float(len(chosen)),
            Metric.TOKENS: float(batch.mask.sum()),
            Metric.READ: float(sum(batch.lengths)),
        }

    def _losses(self, batch: Batch, weights: Tensor, entropies: list[float]) -> Iterator[Tensor]:
        for piece in parts(batch.lengths, range(len(batch.lengths)), self.config.memory.micro_tokens):
            part = batch.rows(piece)
            said = self._actor.said(part)
            weight = rows_of(weights, piece, part)
            entropies.append(float((said.entropy * weight).sum()))
            yield cross_entropy(said.logprobs, weight)

    def networks(self) -> dict[str, Any]:
        return {"actor": self._student.model}

    def state(self) -> dict[str, Any]:
        return {"actor": self._descent.state()}

    def load(self, state: dict[str, Any]) -> None:
        self._descent.load(state["actor"])

    def write(self, folder: Path) -> None:
        lora = self.config.lora
        write_student(self._student, folder / "actor", is_merged=lora is None or lora.is_merged)


def check_samples(samples: Sequence[Sample], student: Student) -> None:
    if not samples:
        raise UsageError("there is no sample to learn from")
    most, rows = student.context_tokens, student.model.get_input_embeddings().weight.shape[0]
    known = ("", student.vocabulary)
    for sample in samples:
        if len(sample.ids) > most:
            raise UsageError(
                f"sample {sample.sample_id!r} has {len(sample.ids)} tokens; the model reads {most}"
            )
        if sample.tokenizer not in known:
            raise UsageError(f"sample {sample.sample_id!r} was made with another tokenizer than the model's")
        if max(sample.ids) >= rows:
            raise UsageError(
                f"sample {sample.sample_id!r} has the id {max(sample.ids)}, the model only {rows}: "
                "it was made with another tokenizer"
            )


def digest_of(samples: Sequence[Sample]) -> str:
    key = hashlib.sha256()
    for sample in samples:
        key.update(to_json(sample).encode())
    return key.hexdigest()[:16]
