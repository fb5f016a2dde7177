"""What a run has spent, a row a turn, and what it got for it. Derived from events alone."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from warpsmith.agent.events import (
    Aborted,
    Event,
    Finished,
    Forked,
    Improved,
    Judged,
    Resumed,
    Said,
    TurnEnded,
)
from warpsmith.agent.runs.log import writing
from warpsmith.core import Cost, Passed, Provenance, Solution

LEDGER = "ledger.jsonl"


class Item(StrEnum):
    """What was paid for."""

    TURN = "turn"
    FORK = "fork"  # the parent's best program, measured on the new device
    FINAL = "final"  # the verdict of record
    LOST = "lost"  # to a kill, after the turn that the run was resumed from
    UNFINISHED = "unfinished"  # the turn that the run ended in


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The fastest program so far. `us` is absent if it was never timed, `ratio` also if that was modelled."""

    digest: str
    us: float | None
    ratio: float | None  # the better baseline's time over its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that was paid for. `turn` is the last one that had begun."""

    item: Item
    turn: int
    cost: Cost
    total: Cost  # of the run until here
    best: Best | None

    def to_json(self) -> str:
        """One flat line, as spreadsheets and data frames take it."""
        best = self.best
        data = {
            "item": self.item.value,
            "turn": self.turn,
            **asdict(self.cost),
            **{f"total_{name}": value for name, value in asdict(self.total).items()},
            "best_digest": None if best is None else best.digest,
            "best_us": None if best is None else best.us,
            "best_ratio": None if best is None else best.ratio,
        }
        return json.dumps(data, allow_nan=False)


@dataclass(slots=True)
class Ledger:
    """Turns events into rows, one by one. What was inherited from another run costs nothing here."""

    total: Cost = field(default_factory=Cost)

    _open: Cost = field(default_factory=Cost)  # spent, and in no row yet
    _turn: int = 0  # that has ended
    _best: Best | None = None
    _num_inherited: int = 0
    _elsewhere: set[int] = field(default_factory=set)  # turns after which another device judged

    def rows(self, event: Event) -> list[Row]:
        """What `event` adds."""
        match event:
            case Said(cost=cost):
                self._open += cost
            case Judged():
                return self._judged(event)
            case Improved(solution=solution):
                self._best = _best(solution)
            case Forked(turn=turn, is_elsewhere=is_elsewhere):
                # A fork of a fork brings the earlier one with it.
                self._num_inherited = max(self._num_inherited, turn)
                self._elsewhere |= {turn} if is_elsewhere else set()
            case TurnEnded(number=number):
                return self._ended(number)
            case Resumed(turn=turn, lost=lost):
                self._turn, self._open = turn, Cost()
                return self._booked(Item.LOST, turn, lost)
            case Finished() | Aborted():
                return self._closed()
            case _:
                pass
        return []

    def _judged(self, event: Judged) -> list[Row]:
        """Its cost, if no answer carries it; and what is left of the best program."""
        if event.tool == Item.FINAL and event.candidate is not None:
            self._best = _best(Solution(candidate=event.candidate, verdict=event.verdict))
        elif not isinstance(event.verdict, Passed) and self._best is not None:
            self._best = None if self._best.digest == event.digest else self._best
        item = Item.FORK if event.tool == Item.FORK else Item.FINAL
        return self._booked(item, self._turn, event.cost)

    def _ended(self, number: int) -> list[Row]:
        """A turn's own row, also if it was free; none for a turn of the parent's."""
        spent, self._open, self._turn = self._open, Cost(), number
        if number in self._elsewhere:
            self._best = None
        if number > self._num_inherited:
            return self._booked(Item.TURN, number, spent, is_free_told=True)
        if number == self._num_inherited:
            self.total = Cost()
        return []

    def _closed(self) -> list[Row]:
        spent, self._open = self._open, Cost()
        return self._booked(Item.UNFINISHED, self._turn + 1, spent)

    def _booked(self, item: Item, turn: int, cost: Cost, *, is_free_told: bool = False) -> list[Row]:
        if cost == Cost() and not is_free_told:
            return []
        self.total += cost
        return [Row(item=item, turn=turn, cost=cost, total=self.total, best=self._best)]


class LedgerFile:
    """A listener that writes each row to the run's folder as it comes.

    Nothing is kept open, and nothing has to be closed. Raises InfraError when the disk is full.
    """

    def __init__(self, folder: Path, told: Iterable[Event] = ()) -> None:
        """`told` is what a run that is resumed or forked brings with it, those events that count."""
        self._path = folder / LEDGER
        self._ledger = Ledger()
        before = [row for event in told for row in self._ledger.rows(event)]
        if before or self._path.exists():
            with writing(self._path):
                fresh = self._path.with_name(f".{LEDGER}.fresh")
                fresh.write_text(_lines(before), encoding="utf-8")
                fresh.replace(self._path)

    def on_event(self, event: Event) -> None:
        rows = self._ledger.rows(event)
        if rows:
            with writing(self._path), self._path.open("a", encoding="utf-8") as file:
                file.write(_lines(rows))


def ledger_of(events: Iterable[Event]) -> tuple[Row, ...]:
    """The rows of a run whose events these are, those that count (see `in_effect`)."""
    ledger = Ledger()
    return tuple(row for event in events for row in ledger.rows(event))


def summary_lines(rows: Sequence[Row]) -> tuple[str, ...]:
    """What was spent, on what most, and for what; none if nothing was done."""
    turns = [row for row in rows if row.item is Item.TURN]
    if not rows:
        return ()
    lines = [f"spent: {_counted(len(turns), 'turn')}, {cost_text(rows[-1].total)}"]
    if len(turns) > 1 and any(any(_weight(row.cost)) for row in turns):
        dearest = max(turns, key=lambda row: _weight(row.cost))
        lines.append(f"dearest turn: {dearest.turn}, {cost_text(dearest.cost)}")
    others = [row for row in rows if row.item is not Item.TURN]
    lines += [f"{OTHERS[row.item]}: {cost_text(row.cost)}" for row in others]
    return (*lines, _gained(rows))


OTHERS = {
    Item.FORK: "measuring the parent's best here",
    Item.FINAL: "final measurement",
    Item.LOST: "lost to a kill",
    Item.UNFINISHED: "for a turn that did not end",
}


def cost_text(cost: Cost) -> str:
    """'330,120 + 15,678 tokens, 1.23 USD, 12.3 s of GPU, 251 s'; what is zero is left out, but for time."""
    parts = []
    if cost.prompt_tokens or cost.completion_tokens:
        parts.append(f"{cost.prompt_tokens:,} + {cost.completion_tokens:,} tokens")
    if cost.usd:
        parts.append(f"{cost.usd:.2f} USD" if cost.usd >= 0.1 else f"{cost.usd:.2g} USD")
    if cost.gpu_s:
        parts.append(f"{cost.gpu_s:.1f} s of GPU")
    return ", ".join([*parts, f"{cost.wall_s:.1f} s"])


def _gained(rows: Sequence[Row]) -> str:
    best = rows[-1].best
    if best is None:
        return "no correct program"
    first = next(row for row in rows if row.best is not None and row.best.digest == best.digest)
    time = "not timed" if best.us is None else f"{best.us:.1f} us"
    since = _counted(sum(row.item is Item.TURN and row.turn > first.turn for row in rows), "turn")
    return f"best: {best.digest[:12]}, {time}, of turn {first.turn}; {since} since then"


def _best(solution: Solution) -> Best:
    timing = solution.verdict.timing if isinstance(solution.verdict, Passed) else None
    if timing is None:
        return Best(digest=solution.candidate.digest, us=None, ratio=None)
    is_measured = timing.provenance is Provenance.MEASURED
    return Best(
        digest=solution.candidate.digest,
        us=timing.candidate.median_us,
        ratio=timing.best_baseline.centre if is_measured else None,
    )


def _weight(cost: Cost) -> tuple[float, int]:
    """What makes a turn dear: money, or tokens where nothing is paid."""
    return cost.usd, cost.prompt_tokens + cost.completion_tokens


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _lines(rows: Iterable[Row]) -> str:
    return "".join(f"{row.to_json()}\n" for row in rows)
