"""A kernel engineer made of rules: it reads, plans, writes, measures and keeps the fastest, as a model would.

It never trusts a variant: the judge decides what is right, and how fast it is.
"""

from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from warpsmith.core import (
    Candidate,
    InfraError,
    Message,
    Passed,
    Provenance,
    Role,
    Timing,
    ToolCall,
    ToolSpec,
    Verdict,
)
from warpsmith.core import Cost as Spent
from warpsmith.device.base import Gpu
from warpsmith.policy.base import PolicyConfig, Reply
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.explaining import gain_text, outcome_text, plan_text, summary_text
from warpsmith.policy.builtin.graph import Graph
from warpsmith.policy.builtin.plan import Plan, make_plan
from warpsmith.policy.builtin.program import write_program
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.search import (
    Choice,
    Coordinate,
    SearchConfig,
    coordinates_of,
    fastest_point,
    starting_points,
    with_variant,
    worth_trying,
    worth_tuning,
)

T = TypeVar("T")
Steps = Generator[Message, tuple[Message, ...], T]
"""Yields what to say, is sent the answers to its calls, and comes to a T in the end."""

MIN_LEAP = 2  # coordinates; of one, its variants are tried in turn anyway
TOOLS = frozenset({"bash", "read", "write", "compile", "verify", "profile"})


class BuiltinPolicy:
    """Needs no model. Deterministic: the same answers lead to the same next message.

    One instance serves one conversation; a fresh one can take up a conversation that another has begun.
    """

    name = "builtin"
    context_tokens: int | None = None

    def __init__(self, config: PolicyConfig, search: SearchConfig | None = None) -> None:
        self._steps = _steps(config, search or SearchConfig())
        self._said: list[Message] = []

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The next step. Raises InfraError if the conversation is not the one that it has led."""
        missing = TOOLS - {tool.name for tool in tools}
        if missing:
            raise InfraError(f"the builtin policy needs the tools {', '.join(sorted(missing))}")
        turns = _turns(messages)
        if not self._said:
            self._said.append(next(self._steps))
        for number, (said, answers) in enumerate(turns):
            if number >= len(self._said) or said != self._said[number]:
                raise InfraError(f"reply {number + 1} of this conversation is not the builtin policy's")
            if number == len(self._said) - 1:
                self._said.append(self._next(answers))
        if len(self._said) != len(turns) + 1:
            raise InfraError("this conversation lacks the builtin policy's last reply; start a new one")
        return Reply(message=self._said[-1], cost=Spent())

    def _next(self, answers: tuple[Message, ...]) -> Message:
        try:
            return self._steps.send(answers)
        except StopIteration:
            raise InfraError("the builtin policy has finished; start a new conversation") from None


def _turns(messages: tuple[Message, ...]) -> list[tuple[Message, tuple[Message, ...]]]:
    """The replies with the answers to their calls. Raises InfraError unless each call has its answer."""
    turns: list[tuple[Message, tuple[Message, ...]]] = []
    for message in messages:
        if message.role is Role.ASSISTANT:
            turns.append((message, ()))
        elif message.role is Role.TOOL and turns:
            reply, answers = turns[-1]
            turns[-1] = (reply, (*answers, message))
    for reply, answers in turns:
        if [call.call_id for call in reply.tool_calls] != [answer.call_id for answer in answers]:
            raise InfraError("the answers in this conversation do not belong to its tool calls")
    return turns


class _Desk:
    """Writes the messages: numbers the calls, and knows which files stand in the workspace."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._num_calls = 0

    def say(self, text: str, *calls: ToolCall) -> Message:
        return Message(role=Role.ASSISTANT, text=text, tool_calls=calls)

    def call(self, tool: str, **arguments: str) -> ToolCall:
        self._num_calls += 1
        return ToolCall(call_id=f"builtin-{self._num_calls}", tool=tool, arguments=dict(arguments))

    def place(self, candidate: Candidate) -> tuple[ToolCall, ...]:
        """Calls that make the workspace hold `candidate`; only what differs is touched."""
        wanted = dict(candidate.files)
        stale = sorted(set(self._files) - set(wanted))
        changed = [path for path in wanted if self._files.get(path) != wanted[path]]
        self._files = wanted
        removal = (self.call("bash", command=f"rm -f {' '.join(stale)}"),) if stale else ()
        return (*removal, *(self.call("write", path=path, text=wanted[path]) for path in changed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """A program that has passed and was timed."""

    choice: Choice
    candidate: Candidate
    timing: Timing


def _steps(config: PolicyConfig, search: SearchConfig) -> Steps[None]:
    desk, gpu = _Desk(), config.gpu
    (answer,) = yield desk.say("First the reference.", desk.call("read", path="model.py"))
    try:
        graph = capture(answer.text)
        plan = make_plan(graph, gpu)
    except Declined as declined:
        yield desk.say(f"I decline this task: no kernel of mine covers {declined}. I have written nothing.")
        return
    if not plan.groups:
        yield desk.say("I decline this task: its forward computes nothing. I have written nothing.")
        return
    work = _Work(desk, graph, plan, gpu, search)
    coordinates = coordinates_of(plan, gpu, config.precision)
    first = yield from work.first_that_passes(coordinates, plan_text(graph, plan, gpu))
    if first is not None:
        best = yield from work.improved(coordinates, first)
        yield from work.finish(first, best)


class _Work:
    """From a plan to the fastest program that passes."""

    def __init__(self, desk: _Desk, graph: Graph, plan: Plan, gpu: Gpu, config: SearchConfig) -> None:
        self._desk = desk
        self._graph = graph
        self._plan = plan
        self._gpu = gpu
        self._config = config
        self._seen: set[str] = set()  # digests of the programs judged
        self._num_tries = 0
        self._news = ""  # what came of the last try: every message begins with it

    def first_that_passes(self, coordinates: tuple[Coordinate, ...], intention: str) -> Steps[_Tried | None]:
        """Guess after guess, the first one step by step; gives None, having said so, if none passes."""
        for choice in islice(starting_points(coordinates), self._config.max_starts):
            candidate = self._written(choice)
            if candidate.digest in self._seen:
                continue
            if self._seen:
                tried = yield from self._profiled(choice, candidate, "Now every kernel in its next variant.")
            else:
                verdict = yield from self._step_by_step(candidate, intention)
                tried = _timed(choice, candidate, verdict)
            if tried is not None:
                return tried
        yield self._desk.say(f"{self._news}\nI have no other variant that could pass, and stop here.")
        return None

    def _written(self, choice: Choice) -> Candidate:
        return write_program(self._graph, self._plan, choice)

    def _step_by_step(self, candidate: Candidate, intention: str) -> Steps[Verdict]:
        """Compile, verify, profile: the verdict of the step that fails, or of the last one."""
        desk = self._desk
        self._seen.add(candidate.digest)
        verdict = yield from self._ask(intention, *desk.place(candidate), desk.call("compile"))
        if verdict is None:
            verdict = yield from self._ask("Is it right?", desk.call("verify"))
        if isinstance(verdict, Passed):
            verdict = yield from self._ask("How fast is it?", desk.call("profile"))
        if verdict is None:
            raise InfraError("verify and profile gave no verdict")
        return verdict

    def improved(self, coordinates: tuple[Coordinate, ...], best: _Tried) -> Steps[_Tried]:
        """`best`, or what is faster: all that is predicted fastest at once, then coordinate by coordinate."""
        if best.timing.provenance is Provenance.MEASURED:  # what a model predicts it would only confirm
            best = yield from self._leapt(coordinates, best)
        for coordinate in worth_tuning(coordinates, best.choice, self._gpu, self._config):
            best = yield from self._improved_along(coordinate, best)
        return best

    def _leapt(self, coordinates: tuple[Coordinate, ...], best: _Tried) -> Steps[_Tried]:
        """A network has more coordinates than there are tries."""
        choice = fastest_point(coordinates)
        candidate = self._written(choice)
        if candidate.digest in self._seen or len(coordinates) < MIN_LEAP:
            return best
        self._num_tries += 1
        tried = yield from self._profiled(choice, candidate, "Next, every kernel as it is predicted fastest.")
        if tried is None or not self._is_gain(best, tried):
            self._news += " I keep what I had."
            return best
        self._news += f" That is {gain_text(best.timing, tried.timing)}, and kept."
        return tried

    def _improved_along(self, coordinate: Coordinate, best: _Tried) -> Steps[_Tried]:
        limits = self._config.limits[best.timing.provenance]
        present, misses = best.choice[coordinate.name], 0
        for variant in worth_trying(coordinate, present, self._config, best.timing.provenance):
            if misses >= limits.patience or self._num_tries >= limits.max_tries:
                break
            choice = with_variant(best.choice, coordinate, variant)
            candidate = self._written(choice)
            if candidate.digest in self._seen:
                continue
            self._num_tries += 1
            tried = yield from self._profiled(
                choice, candidate, f"Next, {coordinate.name} as: {variant.name}."
            )
            if tried is not None and self._is_gain(best, tried):
                self._news += f" That is {gain_text(best.timing, tried.timing)}, and kept."
                best, misses = tried, 0
            else:
                self._news += f" I keep {best.choice[coordinate.name].name}."
                misses += 1
        return best

    def _profiled(self, choice: Choice, candidate: Candidate, intention: str) -> Steps[_Tried | None]:
        """One try; None unless it passes. The judge builds and verifies before it times."""
        self._seen.add(candidate.digest)
        calls = self._desk.place(candidate)
        verdict = yield from self._ask(intention, *calls, self._desk.call("profile"))
        return _timed(choice, candidate, verdict)

    def _is_gain(self, best: _Tried, tried: _Tried) -> bool:
        now_us = best.timing.candidate.median_us
        return tried.timing.candidate.median_us < (1.0 - self._config.min_gain) * now_us

    def finish(self, first: _Tried, best: _Tried) -> Steps[None]:
        """Put the best back and say what came of it."""
        restore = self._desk.place(best.candidate)
        if restore:
            yield from self._ask("The fastest that passed goes back into the workspace.", *restore)
            self._news = ""
        yield self._desk.say(f"{self._news}\n{summary_text(best.choice, first.timing, best.timing)}".strip())

    def _ask(self, intention: str, *calls: ToolCall) -> Steps[Verdict | None]:
        """The verdict of the last call, if it gives one. Raises InfraError if a file cannot be placed."""
        text = f"{self._news}\n{intention}".strip()
        answers = yield self._desk.say(text, *calls)
        refused = [answer.text for answer in answers[:-1] if answer.text.startswith("error")]
        if refused:
            raise InfraError(f"the workspace does not take the builtin policy's files: {refused[0]}")
        verdict = answers[-1].verdict
        self._news = outcome_text(verdict) if verdict is not None else ""
        return verdict


def _timed(choice: Choice, candidate: Candidate, verdict: Verdict | None) -> _Tried | None:
    if not isinstance(verdict, Passed) or verdict.timing is None:
        return None
    return _Tried(choice=choice, candidate=candidate, timing=verdict.timing)
