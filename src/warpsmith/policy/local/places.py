"""Rows' places in memory: who has one, who waits for one, and what is read into it."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import torch
from torch import Tensor

from warpsmith.policy.local.drawing import Drawing, check_finite, uniforms
from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.rows import Row
from warpsmith.policy.local.slots import Slots
from warpsmith.policy.local.stepping import Board, Stepper, Width
from warpsmith.policy.local.tokens import DecodingConfig

LATER_TOKENS = 4_096  # of a chunk; over 128k tokens its mask takes 1.5 GB


class Places:
    """Of `sizes` rows, slots a row and tokens that a row may draw."""

    def __init__(
        self, reader: Reader, stops: Tensor, config: DecodingConfig, sizes: tuple[int, int, int]
    ) -> None:
        num_rows, num_slots, most_drawn = sizes
        self._device = stops.device
        self._reader = reader
        self._config = config
        self._slots = Slots(num_rows, num_slots)
        self._board = Board.of(num_rows, most_drawn, self._device)
        self.stepper = Stepper(reader, self._board, self._slots, stops, is_captured=config.is_captured)
        self._taken: dict[int, Row] = {}

    def holds(self, num_rows: int, num_slots: int, most_drawn: int) -> bool:
        board, slots = self._board, self._slots
        return (
            num_rows <= slots.num_rows and num_slots <= slots.num_slots and most_drawn <= board.ids.shape[1]
        )

    def run(self, rows: Sequence[Row], drawing: Drawing, is_late: Callable[[], bool]) -> None:
        waiting = _alike_together(rows)
        self._taken.clear()
        self._board.alive.zero_()
        while waiting or self._taken:
            self._admit(waiting)
            self._draw(drawing)
            self._look()
            if is_late():
                self._cut()
                return
            if not waiting:
                self._move_together()

    def _admit(self, waiting: list[Row]) -> None:
        """As many as there is room for; the last of `waiting` is the first."""
        free = [place for place in range(self._slots.num_rows) if place not in self._taken]
        coming = [(place, waiting.pop()) for place in free if waiting]
        if not coming:
            return
        firsts, sources, targets = _expanded(coming)
        self._read([(place, row.prompt[:-1]) for place, row in firsts])
        if targets:
            longest = max(len(row.prompt) for _, row in coming)
            self._slots.copy(self._tensor(sources), self._tensor(targets), longest)
        board, places = self._board, self._tensor([place for place, _ in coming])
        board.tokens[places] = self._tensor([row.prompt[-1] for _, row in coming])
        board.lengths[places] = self._tensor([len(row.prompt) - 1 for _, row in coming])
        board.limits[places] = self._tensor([row.limit for _, row in coming])
        board.counts[places] = 0
        board.alive[places] = True
        most = max(row.limit for _, row in coming)
        chances = torch.zeros((len(coming), most), dtype=torch.float64)
        for number, (_, row) in enumerate(coming):
            chances[number, : row.limit] = uniforms(row.chance, row.limit)
        board.chances[places, :most] = chances.to(self._device)
        self._taken.update(coming)

    def _read(self, prompts: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Fill slots with (place, ids), long ones in chunks, alike lengths side by side."""
        ordered = sorted((one for one in prompts if one[1]), key=lambda one: len(one[1]))
        while ordered:
            width = len(ordered[-1][1])
            count = max(1, self._config.chunk_tokens // width)
            part, ordered = ordered[-count:], ordered[:-count]
            ids = torch.tensor([[*ids, *[0] * (width - len(ids))] for _, ids in part], device=self._device)
            rows = self._tensor([place for place, _ in part])
            for start, end in _chunks(width, self._config.chunk_tokens):
                self._read_chunk(ids[:, start:end], rows, start)

    def _read_chunk(self, ids: Tensor, rows: Tensor, start: int) -> None:
        end = start + ids.shape[1]
        positions = torch.arange(start, end, device=self._device).expand(len(rows), -1)
        mask = None
        if start:
            slot = torch.arange(end, device=self._device)
            mask = (slot <= positions[:, :, None])[:, None]  # [B, 1, T, end]
        self._slots.at(rows, positions, end if start else 0)
        self._reader.read(ids, self._slots, attention_mask=mask, position_ids=positions)

    def _draw(self, drawing: Drawing) -> None:
        """Steps up to the next look."""
        rows = self._taken.values()
        count = min(self._config.steps_per_check, max(row.limit - len(row.ids) for row in rows))
        num_rows = max(self._taken) + 1
        if not self.stepper.why_not:
            num_rows = min(1 << (num_rows - 1).bit_length(), self._slots.num_rows)
        longest = max(len(row.prompt) + len(row.ids) for row in rows) + count
        num_slots = min(multiple(longest, self._config.bucket_tokens), self._slots.num_slots)
        width = Width(num_rows=num_rows, num_slots=num_slots)
        for _ in range(count):
            self.stepper.step(width, drawing)

    def _look(self) -> None:
        """Take from the device what was drawn since the last look. Raises InfraError if it is no number."""
        board, held = self._board, max(self._taken) + 1
        known = {place: len(row.ids) for place, row in self._taken.items()}
        low, counts = min(known.values()), board.counts[:held].tolist()
        ids, logprobs = (table[:held, low : max(counts)].cpu() for table in (board.ids, board.logprobs))
        for place, row in list(self._taken.items()):
            new = slice(known[place] - low, counts[place] - low)
            check_finite(logprobs[place, new])
            row.note(ids[place, new].tolist(), logprobs[place, new].tolist())
            if not row.is_alive:
                del self._taken[place]

    def _cut(self) -> None:
        self._taken.clear()

    def _move_together(self) -> None:
        """Once half of the rows have ended, so that steps are narrower; copying costs too."""
        count = len(self._taken)
        high = [place for place in sorted(self._taken) if place >= count]
        if not high or count * 2 > max(self._taken) + 1:
            return
        free = [place for place in range(count) if place not in self._taken]
        sources, targets = self._tensor(high), self._tensor(free)
        longest = max(len(self._taken[place].prompt) + len(self._taken[place].ids) for place in high)
        self._slots.copy(sources, targets, longest)
        self._board.copy(sources, targets)
        self._board.alive[sources] = False
        for source, target in zip(high, free, strict=True):
            self._taken[target] = self._taken.pop(source)

    def _tensor(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, device=self._device)


def _alike_together(rows: Sequence[Row]) -> list[Row]:
    """In an order to be taken from the end: as they were first met, equal prompts side by side."""
    met: dict[tuple[int, ...], int] = {}
    for row in rows:
        met.setdefault(row.prompt, len(met))
    return sorted(rows, key=lambda row: -met[row.prompt])


def _expanded(
    coming: Sequence[tuple[int, Row]],
) -> tuple[list[tuple[int, Row]], list[int], list[int]]:
    """(one of each prompt, whose keys go from where, to where)."""
    firsts, sources, targets = [], [], []
    for _, group in groupby(coming, key=lambda one: one[1].prompt):
        first, *others = group
        firsts.append(first)
        sources += [first[0]] * len(others)
        targets += [place for place, _ in others]
    return firsts, sources, targets


def _chunks(width: int, size: int) -> Iterator[tuple[int, int]]:
    """Of the first `width` tokens. Later chunks are shorter: each has a mask over all that came before."""
    end = min(width, size)
    yield 0, end
    later = min(size, LATER_TOKENS)
    for start in range(end, width, later):
        yield start, min(width, start + later)


def multiple(count: int, of: int) -> int:
    return -(-count // of) * of
