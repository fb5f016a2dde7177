"""One sub-task of the builtin coder: the variants of one group, the others left as they are.

A conversation tells where it begins: the program that stands in the workspace is read, and in which variant
each group of it is written is found by writing them all. So any process can take it up.
"""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from warpsmith.core import Candidate, Message, Passed, Role, TaskError, Timing, ToolCall, Verdict
from warpsmith.core.candidate import MODULE
from warpsmith.policy.base import PolicyConfig
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.engineer import BuiltinPolicy
from warpsmith.policy.builtin.explaining import gain_text, outcome_text
from warpsmith.policy.builtin.graph import Graph
from warpsmith.policy.builtin.plan import Plan, make_plan, recipe_of
from warpsmith.policy.builtin.program import write_program
from warpsmith.policy.builtin.recipes.base import Declined, Group, Part, Variant
from warpsmith.policy.builtin.search import (
    Choice,
    Coordinate,
    SearchConfig,
    coordinates_of,
    with_variant,
    worth_trying,
)

NOT_MINE = "The program in the workspace is not one of mine, and I know no variant of its kernels."
NO_GROUP = "My plan has no kernel of that name. I leave the program as it is."

Talk = Generator[Message, tuple[Message, ...], None]
"""Yields what to say, and is sent the answers to its calls."""


class GroupPolicy(BuiltinPolicy):
    """Looks for the fastest variant of the group `name`, and leaves the fastest program that passed."""

    def __init__(self, config: PolicyConfig, name: str, search: SearchConfig | None = None) -> None:
        super().__init__(config, search)
        self._steps = _steps(config, name, search or SearchConfig())


def _steps(config: PolicyConfig, name: str, search: SearchConfig) -> Talk:
    bench = _Bench()
    (answer,) = yield bench.say("First the reference.", bench.call("read", path="model.py"))
    try:
        graph = capture(answer.text)
        plan = make_plan(graph, config.gpu)
    except (Declined, TaskError):
        yield bench.say(NOT_MINE)
        return
    coordinates = coordinates_of(plan, config.gpu, config.precision)
    coordinate = next((one for one in coordinates if name in {group.name for group in one.groups}), None)
    if coordinate is None:
        yield bench.say(NO_GROUP)
        return
    paths = tuple(dict.fromkeys((MODULE, *_paths(coordinates))))
    answers = yield bench.say(
        "Now the program as it stands.", *(bench.call("read", path=path) for path in paths)
    )
    choice = present_choice(
        graph,
        plan,
        coordinates,
        {path: answer.text for path, answer in zip(paths, answers, strict=True)},
    )
    if choice is None:
        yield bench.say(NOT_MINE)
        return
    yield from _Search(bench=bench, graph=graph, plan=plan, search=search).along(coordinate, choice)


def _paths(coordinates: tuple[Coordinate, ...]) -> Iterator[str]:
    """All files that a program of these coordinates may have beside its module."""
    for group, variant in _written(coordinates):
        part = recipe_of(group).emit(group, variant)
        if part.file is not None:
            yield part.file
        yield from (path for path, _ in part.headers)


def _written(coordinates: tuple[Coordinate, ...]) -> Iterator[tuple[Group, Variant]]:
    for coordinate in coordinates:
        yield from ((group, variant) for group in coordinate.groups for variant in coordinate.variants)


def present_choice(
    graph: Graph, plan: Plan, coordinates: tuple[Coordinate, ...], files: Mapping[str, str]
) -> Choice | None:
    """The variants that the program in `files` is written in; None if it is no program of this plan."""
    choice: dict[str, Variant] = {}
    for coordinate in coordinates:
        variant = next((one for one in coordinate.variants if _is_there(coordinate, one, files)), None)
        if variant is None:
            return None
        choice |= {group.name: variant for group in coordinate.groups}
    whole = dict(write_program(graph, plan, choice).files)
    return choice if all(files.get(path) == text for path, text in whole.items()) else None


def _is_there(coordinate: Coordinate, variant: Variant, files: Mapping[str, str]) -> bool:
    parts = (recipe_of(group).emit(group, variant) for group in coordinate.groups)
    return all(_is_part_there(part, files) for part in parts)


def _is_part_there(part: Part, files: Mapping[str, str]) -> bool:
    module = files.get(MODULE, "")
    is_called = all(line in module for line in (*part.setup, *part.forward))
    return is_called and (part.file is None or files.get(part.file) == part.source)


class _Bench:
    """Numbers the calls."""

    def __init__(self) -> None:
        self._num_calls = 0

    def say(self, text: str, *calls: ToolCall) -> Message:
        return Message(role=Role.ASSISTANT, text=text, tool_calls=calls)

    def call(self, tool: str, **arguments: str) -> ToolCall:
        self._num_calls += 1
        return ToolCall(call_id=f"builtin-{self._num_calls}", tool=tool, arguments=dict(arguments))

    def change(self, before: Candidate, after: Candidate) -> tuple[ToolCall, ...]:
        """Calls that make one program of another."""
        known = dict(before.files)
        stale = sorted(known.keys() - dict(after.files).keys())
        removal = (self.call("bash", command=f"rm -f {' '.join(stale)}"),) if stale else ()
        changed = ((path, text) for path, text in after.files if known.get(path) != text)
        return (*removal, *(self.call("write", path=path, text=text) for path, text in changed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """The variants of one coordinate, one after the other."""

    bench: _Bench
    graph: Graph
    plan: Plan
    search: SearchConfig

    def along(self, coordinate: Coordinate, choice: Choice) -> Talk:
        """Leaves the fastest in the workspace, and says what came of it."""
        bench, present = self.bench, choice[coordinate.name]
        stands = best = write_program(self.graph, self.plan, choice)
        answers = yield bench.say(f"{coordinate.name} is written as: {present.name}.", bench.call("profile"))
        timing = _timing(answers[-1].verdict)
        if timing is None:
            yield bench.say("That was not timed, so nothing can be compared with it. I leave it.")
            return
        limits = self.search.limits[timing.provenance]
        found, name, misses, num_tries, news = timing, present.name, 0, 0, ""
        for variant in worth_trying(coordinate, present, self.search, timing.provenance):
            if misses >= limits.patience or num_tries >= limits.max_tries:
                break
            program = write_program(self.graph, self.plan, with_variant(choice, coordinate, variant))
            num_tries += 1
            text = f"{news}\nNext, {coordinate.name} as: {variant.name}.".strip()
            answers = yield bench.say(text, *bench.change(stands, program), bench.call("profile"))
            stands, news = program, _news(answers[-1].verdict)
            tried = _timing(answers[-1].verdict)
            if tried is not None and self._is_gain(found, tried):
                news += f" That is {gain_text(found, tried)}, and kept."
                best, found, name, misses = program, tried, variant.name, 0
            else:
                misses += 1
        back = bench.change(stands, best)
        if back:
            yield bench.say(f"{news}\nThe fastest that passed goes back into the workspace.".strip(), *back)
        yield bench.say(
            f"{coordinate.name}: {num_tries} other variants tried; {name} stands. "
            "The kernels of the other sub-tasks are as they were."
        )

    def _is_gain(self, before: Timing, after: Timing) -> bool:
        return after.candidate.median_us < (1.0 - self.search.min_gain) * before.candidate.median_us


def _timing(verdict: Verdict | None) -> Timing | None:
    return verdict.timing if isinstance(verdict, Passed) else None


def _news(verdict: Verdict | None) -> str:
    return "" if verdict is None else outcome_text(verdict)
