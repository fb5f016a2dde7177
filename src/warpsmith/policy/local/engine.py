"""A transformers model that continues token ids."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from warpsmith.policy.base import Sampling
from warpsmith.policy.local.decoding import Decoder
from warpsmith.policy.local.drawing import drawing_of
from warpsmith.policy.local.plain import Prefix, run
from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.rows import rows_of
from warpsmith.policy.local.tokens import DecodingConfig, TokenOutput


class Engine:
    """A TokenPolicy. Not for two threads at once: whoever shares a model takes turns.

    A conversation that reads on from where it was goes by the plain loop; prompts that begin anew by the
    decoder, unless `why_plain` says what it cannot do for this model.
    """

    def __init__(
        self,
        model: Any,
        *,
        stop_ids: frozenset[int],
        context_tokens: int,
        decoding: DecodingConfig | None = None,
    ) -> None:
        self._reader = Reader(model)
        self._stop_ids = stop_ids
        self._context_tokens = context_tokens
        self._decoding = decoding or DecodingConfig()
        self._decoder: Decoder | None = None
        self.why_plain = ""

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        *,
        prefix: Prefix | None = None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> tuple[TokenOutput, ...]:
        """See TokenPolicy. A single prompt reads on from `prefix` and leaves there what it has read.

        `is_late` is asked after each token, or after some; once it says so, all that are unfinished are cut.
        """
        rows = rows_of(prompts, sampling, self._context_tokens, self._stop_ids)
        if not rows:
            return ()
        drawing = drawing_of(sampling, self._reader.model.generation_config)
        decoder = self.decoder() if prefix is None or len(rows) > 1 else None
        if decoder is not None:
            decoder.run(rows, drawing, is_late)
        else:
            run(self._reader, rows, drawing, prefix or Prefix(), is_late)
        return tuple(row.output() for row in rows)

    def decoder(self) -> Decoder | None:
        """None if the plain loop does its work."""
        if self._decoder is None and not self.why_plain:
            try:
                self._decoder = Decoder(self._reader, self._stop_ids, self._decoding)
            except NotImplementedError as error:
                self.why_plain = str(error)
        return self._decoder

    def release(self) -> None:
        """Give back what is kept from one use to the next."""
        if self._decoder is not None:
            self._decoder.release()
