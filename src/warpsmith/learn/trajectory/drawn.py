"""Samples from the tokens that a local model drew in a run: nothing is made into tokens a second time."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.agent.events import Sampled
from warpsmith.agent.runs.record import TOKENS
from warpsmith.core import UsageError
from warpsmith.core.codec import from_data
from warpsmith.learn.rewards.base import Outcome
from warpsmith.learn.trajectory.nouns import Sample, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What all samples of one run have in common."""

    sample_id: str
    task_id: str
    group: str = ""
    tokenizer: str = ""
    weights: str = ""
    end_ids: frozenset[int] = frozenset()  # what ends a turn; a reply without is one that was cut
    is_truncated: bool = False
    outcome: Outcome | None = None


@dataclass(slots=True, kw_only=True)
class _Piece:
    ids: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


def samples_of(turns: Iterable[Sampled], origin: Origin) -> tuple[Sample, ...]:
    """One sample where each prompt begins with all that was read and drawn before it.

    Where it does not (the conversation was compacted, or templated anew) another sample begins, so a run may
    give several; all have its outcome. Of a turn that was drawn twice, since a run was resumed, the last
    counts. Raises UsageError for a turn without tokens.
    """
    last_of = {event.turn: event for event in turns}
    pieces: list[_Piece] = []
    for number in sorted(last_of):
        tokens = last_of[number].tokens
        if not tokens.ids or not tokens.prompt_ids:
            raise UsageError(f"{origin.sample_id}: turn {number} has no tokens")
        known = pieces[-1].ids if pieces else None
        if known is None or list(tokens.prompt_ids[: len(known)]) != known:
            pieces.append(_Piece())
        piece = pieces[-1]
        start = len(tokens.prompt_ids)
        piece.ids = [*tokens.prompt_ids, *tokens.ids]
        piece.spans.append(
            Span(
                start=start,
                end=start + len(tokens.ids),
                weights=origin.weights,
                is_cut=bool(origin.end_ids) and tokens.ids[-1] not in origin.end_ids,
                logprobs=tokens.logprobs,
            )
        )
    return tuple(_sample(piece, number, len(pieces), origin) for number, piece in enumerate(pieces, 1))


def _sample(piece: _Piece, number: int, total: int, origin: Origin) -> Sample:
    return Sample(
        sample_id=origin.sample_id if total == 1 else f"{origin.sample_id}/{number}",
        task_id=origin.task_id,
        ids=tuple(piece.ids),
        spans=tuple(piece.spans),
        group=origin.group,
        tokenizer=origin.tokenizer,
        outcome=origin.outcome,
        is_truncated=origin.is_truncated and number == total,
    )


def turns_in(folder: Path) -> tuple[Sampled, ...]:
    """The tokens in a run's folder, turn by turn. Raises UsageError, naming the line, if it holds none."""
    path = folder / TOKENS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); only a local model's runs have their tokens"
        ) from error
    return _turns(path, lines)


def _turns(path: Path, lines: Sequence[str]) -> tuple[Sampled, ...]:
    turns = []
    for number, line in enumerate(lines, 1):
        try:
            turns.append(from_data(Sampled, json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: {error!s:.200}") from error
    return tuple(turns)
