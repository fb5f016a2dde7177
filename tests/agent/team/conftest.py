"""A team on a fake judge: each part says its lines, and the run is a real record that can be broken off."""

from collections import Counter

import pytest

from warpsmith.agent import (
    Budget,
    Diagnosed,
    Examined,
    Handed,
    HandedIn,
    Planned,
    Routed,
    Said,
    Silent,
    in_effect,
    read_events,
)
from warpsmith.agent.optimize import OptimizeConfig, episode
from warpsmith.agent.runs.record import Record
from warpsmith.agent.runs.resume import Means, fork, resume
from warpsmith.agent.team.cast import Actor, Cast
from warpsmith.agent.team.nouns import Kind, Member, Rhythm
from warpsmith.agent.team.spec import TeamSpec
from warpsmith.core import Cost, Message, Role
from warpsmith.device import select_device
from warpsmith.policy import PolicyConfig, Reply


class Killed(BaseException):
    """In place of a signal: nothing of the run's own may catch it."""


class Lines:
    """Says its lines in order, however often its conversation begins anew: it counts in the run's record."""

    context_tokens = None

    def __init__(self, member, folder, lines):
        self.name = f"lines of the {member}"
        self.member, self.folder, self.lines = member, folder, lines
        self.heard, self.offered, self.asked = [], [], []

    def respond(self, messages, tools):
        said = [event for event in in_effect(read_events(self.folder)) if isinstance(event, Said)]
        due = sum(event.by == self.member for event in said)
        self.heard.append(messages)
        self.offered.append([tool.name for tool in tools])
        self.asked.append(due)
        line = self.lines[min(due, len(self.lines) - 1)]
        message = line if isinstance(line, Message) else Message(role=Role.ASSISTANT, text=line)
        return Reply(message=message, cost=Cost(usd=1.0, prompt_tokens=10))


class TeamRun:
    """A run of a team in a folder; `on_event` is told all of it and may break it off."""

    def __init__(self, folder, say, task):
        self.folder, self.say, self.task = folder, say, task
        self.judge = say.Judge()
        self.kind, self.rhythm = Kind.TEAM, Rhythm()
        self.budget = Budget()
        self.parts = {}
        self.told = Counter()

    def of(self, **lines):
        """The parts by name, each with its lines."""
        self.parts = {Member(name): Lines(Member(name), self.folder, said) for name, said in lines.items()}
        return self

    @property
    def cast(self):
        actors = {member: Actor(policy=one, config=PolicyConfig()) for member, one in self.parts.items()}
        return Cast(self.kind, self.rhythm, actors)

    def on_event(self, event):
        if self.dies_at(event):
            raise Killed

    dies_at = staticmethod(lambda event: False)

    def start(self, dies_at=None):
        self.dies_at = dies_at or TeamRun.dies_at
        bench = self.say.bench_of(self.judge)
        team = TeamSpec(kind=self.kind, rhythm=self.rhythm)
        config = OptimizeConfig(device=select_device("cpu"), sandbox="process", team=team, budget=self.budget)
        try:
            with Record.create(self.folder, self.task) as record, bench(self.task, config) as held:
                return episode(self.cast, held, config, record, self)
        except Killed:
            return None

    def resume(self, dies_at=None, budget=None):
        self.dies_at = dies_at or TeamRun.dies_at
        try:
            return resume(self.folder, self, self._means(), budget).trajectory
        except Killed:
            return None

    def fork(self, turn, out, spec=None):
        for one in self.parts.values():
            one.folder = out
        return fork(self.folder, turn, out, Silent(), spec, self._means()).trajectory

    def _means(self):
        return Means(policy=self.cast, bench=self.say.bench_of(self.judge))

    @property
    def events(self):
        return in_effect(read_events(self.folder))

    def story(self):
        """What happened, a line a step."""
        return [line for event in self.events if (line := told(event))]


def told(event):
    match event:
        case Handed(to=to):
            return f"{to} has the word"
        case Planned(plan=None):
            return "no plan"
        case Planned(plan=plan):
            return f"plan: {', '.join(one.name for one in plan.sub_tasks)}"
        case HandedIn():
            return "handed in"
        case Examined(outcome=outcome):
            return f"tested: {outcome}"
        case Diagnosed(diagnosis=diagnosis):
            return f"diagnosed by {diagnosis.by}"
        case Routed(route=route):
            return f"next: {route}"
        case _:
            return None


@pytest.fixture
def team(tmp_path, say, task):
    return TeamRun(tmp_path / "run", say, task)


@pytest.fixture
def write(say):
    """A coder's reply that makes the program that the fake judge finds to be so: `write("100")`."""

    def made(word):
        return say.reply(say.program(word))

    return made
