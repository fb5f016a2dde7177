"""What the events of a run come to. A live run and a resumed one go through the same code, event by event."""

import posixpath
from dataclasses import dataclass, field, replace

from warpsmith.agent.events import (
    Compacted,
    Event,
    Forked,
    Handed,
    Improved,
    Judged,
    Resumed,
    Said,
    TurnEnded,
)
from warpsmith.agent.runs.snapshot import Snapshot
from warpsmith.agent.team.state import TeamState
from warpsmith.core import Cost, Message, Passed, Provenance, Role, Solution, StopReason, Turn

MAX_SAME = 3  # so often in a row the same reply is taken as it is
MAX_NUDGES = 3  # in a row, then it is given up
JUDGED_BY_US = ("fork", "final")  # not asked for by the policy
WAITING_TOOLS = ("bash_output",)
SEEING_TOOLS = ("read", "write", "edit", "multi_edit")  # their policy knows the file's text afterwards


@dataclass(slots=True)
class Episode:
    """The state of one episode, made of nothing but its events; `apply` is the only way to change it.

    `turns`, and what follows from them, are of the whole conversation; `cost` and `elapsed_s` of this run,
    not of the one that it was forked from.
    """

    context: list[Message] = field(default_factory=list)  # what the policy hears next
    turns: list[Turn] = field(default_factory=list)
    cost: Cost = field(default_factory=Cost)
    passed: dict[str, Solution] = field(default_factory=dict)  # by digest, in the order of their last verdict
    snapshot: Snapshot | None = None  # of the workspace, when the last turn ended
    seen: dict[str, str | None] = field(
        default_factory=dict
    )  # a file's text when it was last told, as a blob
    num_fruitless: int = 0  # verdicts since there was a faster program
    num_nudges: int = 0  # turns in a row that led nowhere
    num_inherited: int = 0  # turns of the run that this one was forked from
    is_elsewhere: bool = False  # on another device than that run
    to_be_timed: Solution | None = None  # the best of that run, if it is
    team: TeamState = field(default_factory=TeamState)  # stays as it is where there is one voice

    _ended_s: float = 0.0  # elapsed when the last turn ended ...
    _since: Cost = field(default_factory=Cost)  # ... and spent since then
    _reply: Message | None = None  # of the turn that has not ended
    _answers: list[Message] = field(default_factory=list)
    _forks: dict[int, bool] = field(default_factory=dict)  # after which turn, and whether on another device
    _fastest: tuple[int, float] | None = None
    _fastest_digest: str = ""

    def apply(self, event: Event) -> None:
        match event:
            case Said(message=message, cost=cost):
                self._said(message)
                self._spent(cost)
            case Judged():
                self._judged(event)
            case Improved(solution=solution):
                self._improved(solution)
            case TurnEnded():
                self._turn_ended(event)
            case Compacted() | Handed():
                self._heard_anew(event)
            case Resumed(lost=lost):
                self._spent(lost)
            case Forked(turn=turn, is_elsewhere=is_elsewhere):
                self._forks[turn] = is_elsewhere or self._forks.get(turn, False)
                self.num_inherited = max(self._forks)
            case _:
                pass  # it is told for the record or for the eye
        self.team.apply(event)

    @property
    def elapsed_s(self) -> float:
        """As far as events tell; a live run counts on from there with a clock."""
        return self._ended_s + self._since.wall_s

    @property
    def num_turns(self) -> int:
        """Of this run alone."""
        return len(self.turns) - self.num_inherited

    @property
    def best(self) -> Solution | None:
        return next(iter(self.ranked()), None)

    def ranked(self) -> list[Solution]:
        """All programs that have passed, the fastest first; among those never timed, the latest."""
        latest_first = list(self.passed.values())[::-1]
        return sorted(latest_first, key=rank)

    def ended_by_policy(self) -> StopReason | None:
        """Whether the last turn is the policy's last: it called no tool, or it leads nowhere."""
        if self.num_turns <= 0:
            return None
        if self.num_nudges > MAX_NUDGES:
            return StopReason.STUCK
        last = self.turns[-1]
        return None if last.reply.tool_calls or _was_nudged(last) else StopReason.FINISHED

    def still_seen(self) -> tuple[str, ...]:
        """The files in the workspace that the policy knows as they are, when the last turn ended."""
        files = {} if self.snapshot is None else self.snapshot.files
        return tuple(name for name, digest in self.seen.items() if digest and files.get(name) == digest)

    def repeats(self, reply: Message) -> int:
        """How many of the last turns' replies in a row say and call the same; waiting is no repetition."""
        if any(call.tool in WAITING_TOOLS for call in reply.tool_calls):
            return 0
        words, count = _words(reply), 0
        for turn in reversed(self.turns):
            if _words(turn.reply) != words:
                break
            count += 1
        return count

    def _spent(self, cost: Cost) -> None:
        self.cost += cost
        self._since += cost

    def _said(self, message: Message) -> None:
        self.context.append(message)
        if message.role is Role.ASSISTANT:
            self._reply, self._answers = message, []
        elif self._reply is not None:
            self._answers.append(message)

    def _heard_anew(self, event: Compacted | Handed) -> None:
        heard = self.context
        self.context = [heard[item] if isinstance(item, int) else item for item in event.context]
        if isinstance(event, Handed):
            files = {} if self.snapshot is None else self.snapshot.files
            self.seen.update((name, files.get(name)) for name in event.shown)

    def _judged(self, event: Judged) -> None:
        """Keep the program if it has passed, drop it if it has failed since it passed."""
        self._spent(event.cost)
        if event.tool == "final":
            return
        known = self.passed.pop(event.digest, None)
        if isinstance(event.verdict, Passed) and event.candidate is not None:
            solution = Solution(candidate=event.candidate, verdict=event.verdict)
            self.passed[event.digest] = min(solution, known or solution, key=rank)
        if event.tool in JUDGED_BY_US:
            self.to_be_timed = None
        else:
            self.num_fruitless += 1

    def _improved(self, solution: Solution) -> None:
        """Only a faster program rewards patience: not the same measured again, nor the next best."""
        speed, digest = rank(solution), solution.candidate.digest
        if self._fastest is None or speed < self._fastest:
            if digest != self._fastest_digest:
                self.num_fruitless = 0
            self._fastest, self._fastest_digest = speed, digest

    def _turn_ended(self, event: TurnEnded) -> None:
        if self._reply is not None:
            turn = Turn(reply=self._reply, answers=tuple(self._answers), cost=event.cost)
            is_idle = _was_nudged(turn) and (
                not turn.reply.tool_calls or self.repeats(turn.reply) >= MAX_SAME - 1
            )
            self.num_nudges = self.num_nudges + 1 if is_idle else 0
            self.turns.append(turn)
            self._note_seen(turn, event.files)
        self._reply, self._answers = None, []
        self.snapshot = Snapshot(files=event.files, skipped=event.skipped, executable=event.executable)
        self._ended_s, self._since = event.elapsed_s, Cost()
        if event.number in self._forks:
            self._take_over(is_elsewhere=self._forks[event.number])

    def _note_seen(self, turn: Turn, files: dict[str, str]) -> None:
        """What a policy has seen of a file is taken for what the file held when the turn ended."""
        answers = {answer.call_id: answer.text for answer in turn.answers}
        for call in turn.reply.tool_calls:
            path = call.arguments.get("path")
            is_done = not answers.get(call.call_id, "error:").startswith(("error:", "not run:"))
            if call.tool in SEEING_TOOLS and isinstance(path, str) and is_done:
                name = posixpath.normpath(path)
                self.seen[name] = files.get(name)

    def _take_over(self, *, is_elsewhere: bool) -> None:
        """The parent's turns end here: what it spent is its own, and its times are if the device is."""
        self.cost, self._ended_s, self.num_fruitless, self.num_nudges = Cost(), 0.0, 0, 0
        self.is_elsewhere = is_elsewhere
        self.team.taken_over(is_elsewhere=is_elsewhere)
        if is_elsewhere:
            self.to_be_timed = self.best
            self._fastest, self._fastest_digest = None, ""
            self.passed = {digest: _untimed(solution) for digest, solution in self.passed.items()}


def rank(solution: Solution) -> tuple[int, float]:
    """Lower is better: measured before modelled before never timed, then by the candidate's median."""
    timing = solution.verdict.timing if isinstance(solution.verdict, Passed) else None
    if timing is None:
        return 2, 0.0
    return int(timing.provenance is not Provenance.MEASURED), timing.candidate.median_us


def _untimed(solution: Solution) -> Solution:
    if not isinstance(solution.verdict, Passed):
        return solution
    return replace(solution, verdict=replace(solution.verdict, timing=None))


def _was_nudged(turn: Turn) -> bool:
    return any(answer.role is Role.USER for answer in turn.answers)


def _words(reply: Message) -> tuple[object, ...]:
    """What a reply says, whatever its calls are numbered."""
    return (reply.text, *((call.tool, call.arguments) for call in reply.tool_calls))
