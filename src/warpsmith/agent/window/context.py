"""A conversation that no longer fits a model's window: what is left out of it, and in what order.

The system message, the task, the latest turns, the latest verdict and the best program's verdict stay. What
goes is first the results of old tool calls, then whole old turns, then, if that is not enough, the middle of
long messages. Whatever goes is handed back as text, to be kept where the policy can read it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from warpsmith.agent.window.cutting import cut, longest
from warpsmith.agent.window.history import (
    Line,
    collapsed,
    is_marked,
    left_out,
    lines_of,
    path_of,
    remaining,
    summary,
    turn_line,
    turn_text,
    verdict_words,
)
from warpsmith.agent.window.tokens import message_tokens
from warpsmith.core import Message, Passed, Role, Verdict

GOAL_SHARE = 0.7
"""Of the limit: making room for one turn only would change the conversation's beginning at every turn."""

MAX_LINES = 40  # of the summary that tell of one turn each
LONG = 4_000  # characters; shorter texts are cut only after the latest turns' results have gone
SHORT = 240  # nothing is cut below that

Counter = Callable[[Message], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What is left whole as long as there is anything else to leave out."""

    num_turns: int = 6  # the latest; 1 at least
    feeds_thinking: bool = False  # whether the policy hears its own reasoning again, so that it counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """All of a turn, as text for the file that the conversation names; 0 is what came before the first."""

    turn: int
    text: str

    @property
    def path(self) -> str:
        return path_of(self.turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A conversation, made shorter if it had to be."""

    messages: tuple[Message, ...]
    context: tuple[int | Message, ...]  # the same: a message that it was made from by number, or a new one
    dropped: tuple[Dropped, ...]  # turns that something is missing of from now on
    num_tokens: int
    does_fit: bool  # False: nothing is left that could be left out


KEEP = Keep()


def fitted(
    messages: Sequence[Message], limit_tokens: int, keep: Keep = KEEP, counter: Counter | None = None
) -> Fitted:
    """`messages` in at most `limit_tokens`, as `counter` counts them, or as short as they can be made.

    `messages` open with the system message and the task; a call's answers follow it. What an earlier call
    made of them may be given again, with what has been said since.
    """
    draft = _Draft(
        messages=messages,
        keep=keep,
        counter=counter or (lambda message: message_tokens(message, with_thinking=keep.feeds_thinking)),
    )
    goal = int(limit_tokens * GOAL_SHARE)
    if draft.num_tokens > limit_tokens:
        draft.shrink(goal, _leaving_out(draft, draft.turns[: -keep.num_turns], MAX_LINES))
    if draft.num_tokens > limit_tokens:
        recent = draft.turns[-keep.num_turns : -1]
        draft.shrink(goal, (partial(draft.cut, goal, LONG), *_leaving_out(draft, recent, 0)))
    draft.shrink(
        limit_tokens,
        (
            partial(draft.cut, limit_tokens, SHORT),
            partial(draft.cut, limit_tokens, SHORT, with_task=True),
        ),
    )
    return draft.fitted(limit_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A reply and all that was said until the next, as places in the conversation."""

    number: int
    places: range


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A conversation that is being made shorter."""

    messages: Sequence[Message]
    keep: Keep
    counter: Counter

    turns: list[_Turn] = field(init=False)
    num_tokens: int = field(init=False)
    _now: list[Message | None] = field(init=False)
    _sizes: list[int] = field(init=False)
    _lines: list[Line] = field(init=False)
    _summary_place: int = field(init=False)  # where the summary stands, or would be put in
    _summary: Message | None = field(init=False)  # if it is a new one
    _num_opening: int = field(init=False)

    def __post_init__(self) -> None:
        self._now = list(self.messages)
        self._sizes = [self.counter(message) for message in self.messages]
        self.num_tokens = sum(self._sizes)
        starts = [place for place, message in enumerate(self.messages) if message.role is Role.ASSISTANT]
        ends = [*starts, len(self.messages)]
        self._num_opening, self._summary = ends[0], None
        self._lines, self._summary_place = self._read_summary(ends[0])
        numbers = remaining(self._lines, len(starts))
        self.turns = [
            _Turn(number=number, places=range(start, end))
            for number, start, end in zip(numbers, starts, ends[1:], strict=True)
        ]

    def shrink(self, target_tokens: int, steps: Iterable[Callable[[], None]]) -> None:
        """Take one step after the other until the target is reached."""
        for step in steps:
            if self.num_tokens <= target_tokens:
                return
            step()

    def leave_out_results(self, turn: _Turn) -> None:
        """A line for each answer of a tool, but for verdicts that must stay; and no reasoning."""
        kept = self._protected()
        for place in turn.places:
            message = self._now[place]
            if message is None or place in kept:
                continue
            if message.role is Role.TOOL:
                words = "" if message.verdict is None else f"{verdict_words(message.verdict)} "
                self._put(place, replace(message, text=f"{words}[{left_out(turn.number)}]"))
            elif self.keep.feeds_thinking and message.thinking:
                self._put(place, replace(message, thinking=f"[{left_out(turn.number)}]"))

    def leave_out(self, turn: _Turn) -> None:
        """The whole turn, unless a verdict of it must stay."""
        if self._protected() & set(turn.places) or self._now[turn.places[0]] is None:
            return
        for place in turn.places:
            self.num_tokens -= self._sizes[place]
            self._now[place], self._sizes[place] = None, 0
        line = turn_line(turn.number, [self.messages[place] for place in turn.places])
        self._tell([*self._lines, line])

    def collapse(self, num_lines: int) -> None:
        """Tell of all but the last turns in the summary by their numbers alone."""
        if len(self._lines) > num_lines:
            self._tell(collapsed(self._lines, num_lines))

    def cut(self, limit_tokens: int, floor: int, *, with_task: bool = False) -> None:
        """Cut the middle out of all that is longer than a length, the largest with which all fits."""
        low, high = floor, max(floor, *(longest(message) for message in self._now if message is not None))
        if self._num_tokens_cut(low, with_task=with_task) <= limit_tokens:
            while high - low > 1:
                middle = (low + high) // 2
                fits = self._num_tokens_cut(middle, with_task=with_task) <= limit_tokens
                low, high = (middle, high) if fits else (low, middle)
        for place, message in self._cut(low, with_task=with_task):
            self._put(place, message)

    def fitted(self, limit_tokens: int) -> Fitted:
        context: list[int | Message] = []
        for place, message in enumerate(self._now):
            if place == self._summary_place and self._summary is not None:
                context.append(self._summary)
            if message is not None:
                context.append(place if message is self.messages[place] else message)
        if self._summary_place == len(self._now) and self._summary is not None:
            context.append(self._summary)
        return Fitted(
            messages=tuple(self.messages[item] if isinstance(item, int) else item for item in context),
            context=tuple(context),
            dropped=tuple(self._dropped()),
            num_tokens=self.num_tokens,
            does_fit=self.num_tokens <= limit_tokens,
        )

    def _dropped(self) -> Iterator[Dropped]:
        """Turns that were whole, or whole in their file alone, until now."""
        opening = range(self._num_opening - (1 if self._lines_were_there() else 0))
        for number, places in ((0, opening), *((turn.number, turn.places) for turn in self.turns)):
            before = [self.messages[place] for place in places]
            is_changed = any(self._now[place] is not self.messages[place] for place in places)
            if is_changed and not is_marked(number, before):
                yield Dropped(turn=number, text=turn_text(number, before))

    def _protected(self) -> set[int]:
        """Places of the latest verdict and of the best program's, on each GPU that one was timed on."""
        verdicts = {
            place: message.verdict
            for place, message in enumerate(self._now)
            if message is not None and message.verdict is not None
        }
        return {*_best(verdicts), *list(verdicts)[-1:]}

    def _read_summary(self, num_opening: int) -> tuple[list[Line], int]:
        """What an earlier call has left out."""
        last = num_opening - 1
        if last > 0 and self.messages[last].role is Role.USER:
            lines = lines_of(self.messages[last].text)
            if lines is not None:
                return lines, last
        return [], num_opening

    def _lines_were_there(self) -> bool:
        return self._summary_place < self._num_opening

    def _tell(self, lines: list[Line]) -> None:
        before = 0 if self._summary is None else self.counter(self._summary)
        if self._lines_were_there():
            self.num_tokens -= self._sizes[self._summary_place]
            self._now[self._summary_place], self._sizes[self._summary_place] = None, 0
        self._lines, self._summary = lines, Message(role=Role.USER, text=summary(lines))
        self.num_tokens += self.counter(self._summary) - before

    def _put(self, place: int, message: Message) -> None:
        """Replace what stands there, if that saves anything."""
        size = self.counter(message)
        if size < self._sizes[place]:
            self.num_tokens += size - self._sizes[place]
            self._now[place], self._sizes[place] = message, size

    def _num_tokens_cut(self, length: int, *, with_task: bool) -> int:
        return self.num_tokens + sum(
            min(0, self.counter(message) - self._sizes[place])
            for place, message in self._cut(length, with_task=with_task)
        )

    def _cut(self, length: int, *, with_task: bool) -> Iterator[tuple[int, Message]]:
        """Every message that is longer, cut."""
        places = [(turn.number, place) for turn in self.turns for place in turn.places]
        if with_task:
            places += [(0, place) for place in range(self._num_opening) if place != self._summary_place]
        for number, place in places:
            message = self._now[place]
            if message is not None and message.role is not Role.SYSTEM and longest(message) > length:
                yield place, cut(message, length, number)


def _leaving_out(draft: _Draft, turns: list[_Turn], num_lines: int) -> Iterator[Callable[[], None]]:
    """The oldest results first, then the oldest turns, then what is told of these."""
    yield from (partial(draft.leave_out_results, turn) for turn in turns)
    yield from (partial(draft.leave_out, turn) for turn in turns)
    yield partial(draft.collapse, num_lines)


def _best(verdicts: dict[int, Verdict]) -> Iterable[int]:
    """Where the fastest is, for each GPU; of what was never timed the latest, if nothing was."""
    timed: dict[tuple[str, str], tuple[float, int]] = {}
    untimed: int | None = None
    for place, verdict in verdicts.items():
        match verdict:
            case Passed(timing=None):
                untimed = place
            case Passed(timing=timing) if timing is not None:
                key = timing.provenance.value, timing.gpu
                speed = timing.candidate.median_us, place
                timed[key] = min(timed.get(key, speed), speed)
            case _:
                pass
    return [place for _, place in timed.values()] or [place for place in (untimed,) if place is not None]
